//! The resolved form of a profile: what the link models are built from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Rate, Share, Size, Span};

use super::netem::Netem;
use crate::trace::Trace;

/// The conditions of one direction of a link.
///
/// [`DirectionProfile::default`] is a perfect link: no delay, no loss, no limit of rate.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DirectionProfile {
    /// One-way delay after the queue; the middle of the jitter.
    pub delay: Span,
    /// How the delay varies from packet to packet.
    pub jitter: Jitter,
    /// Which packets never enter.
    pub loss: Loss,
    /// Loss and delay as kernel netem has them, behind the queue. `delay` is then its delay, and there is
    /// neither `jitter` nor `loss`.
    pub netem: Option<Netem>,
    /// How fast the bottleneck sends.
    pub rate: RateModel,
    /// What of a packet the rate counts.
    pub rate_counts: RateCounts,
    /// What waits for the bottleneck. Without a rate nothing waits.
    pub queue: Queue,
    /// The chance of a packet to arrive twice.
    pub duplicate: Share,
    /// The chance of a packet to arrive corrupted.
    pub corrupt: Share,
    /// Changes at times, in their order.
    pub schedule: Vec<Change>,
}

/// One entry of a schedule: what becomes different at a time. `None` stays as it was.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    /// When, after the link's origin.
    pub at: Span,
    /// The delay from then on.
    pub delay: Option<Span>,
    /// The jitter from then on.
    pub jitter: Option<Jitter>,
    /// The loss from then on; a Gilbert-Elliott chain starts anew in its good state.
    pub loss: Option<Loss>,
    /// The rate from then on; the times in it stay relative to the link's origin.
    pub rate: Option<RateModel>,
    /// The queue from then on; what already waits beyond a smaller limit stays.
    pub queue: Option<Queue>,
    /// The chance of duplication from then on.
    pub duplicate: Option<Share>,
    /// The chance of corruption from then on.
    pub corrupt: Option<Share>,
    /// From then on, for this long, nothing enters the link.
    pub outage: Option<Span>,
}

/// How the delay of a packet varies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Jitter {
    /// Standard deviation of the one-way delay in this direction, before any bound.
    pub sigma: Span,
    /// The shape of the variation.
    pub distribution: Distribution,
    /// Whether a packet may overtake another.
    pub order: Order,
}

/// The shape of the delay's variation around its mean. A delay is never below zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Normal with standard deviation σ, truncated at 3 σ on both sides (which leaves a standard
    /// deviation of 0.9866 σ).
    #[default]
    Normal,
    /// Uniform with standard deviation σ: within ±√3 σ.
    Uniform,
    /// Pareto of shape 3, as the table of that name in netem, bounded at ten times its scale; mean 0
    /// and standard deviation σ exactly; between −0.69 σ and +12.12 σ.
    Pareto,
    /// The backoff of a contended 802.11 channel: contention windows of 15 slots doubling to 1023,
    /// a quarter of the attempts collide, at most seven attempts; mean 0 and standard deviation σ
    /// exactly; between −0.49 σ and +64.5 σ, beyond 10 σ once in about 700 packets.
    Wifi,
}

/// Whether a packet may overtake another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Never: a packet is released no sooner than the one before it (NR-BPDV, RFC 8868 §4.5.2, with
    /// a serialisation time of zero after the bottleneck).
    #[default]
    Fifo,
    /// By its own delay alone (RBPDV, RFC 8868 §4.5.1), as kernel netem does without a rate.
    Reorder,
}

/// Which packets are lost before the queue.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Loss {
    /// The law of chance.
    pub model: LossModel,
    /// Packets that are lost whatever chance says: their numbers in this direction, from 0, sorted.
    pub drop: Vec<u64>,
}

/// A law of loss.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum LossModel {
    /// Nothing is lost.
    #[default]
    None,
    /// Each packet is lost with the same chance, independently.
    Bernoulli {
        /// The chance.
        p: Share,
    },
    /// Two states with a loss each.
    GilbertElliott(GilbertElliott),
}

/// A Gilbert-Elliott channel: a Markov chain of a good and a bad state, each with its own loss.
///
/// The chain starts in the good state. The state decides a packet's fate before it moves on for
/// the next packet, as in netem.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// What the chain is made of.
    pub moves: Moves,
    /// Loss in the good state; 0 unless stated.
    pub loss_good: Share,
    /// Loss in the bad state; 100 % unless stated.
    pub loss_bad: Share,
    /// What the chain moves by.
    pub clock: LossClock,
}

/// How often the two states change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moves {
    /// By what comes of it, with loss 0 in good and 100 % in bad: r = 1 / burst and
    /// p = mean × r / (1 − mean).
    MeanAndBurst {
        /// Share of packets in the bad state in the long run.
        mean: Share,
        /// Mean number of packets in a row in the bad state; at least 1.
        burst: f64,
    },
    /// By the chances of a move at each packet.
    Chances {
        /// Good to bad.
        p: Share,
        /// Bad to good.
        r: Share,
    },
}

impl Moves {
    /// The chances of a move at each packet, good to bad and bad to good.
    pub fn chances(self) -> (f64, f64) {
        match self {
            Self::Chances { p, r } => (p.as_f64(), r.as_f64()),
            Self::MeanAndBurst { mean, burst } => {
                let r = 1.0 / burst;
                (mean.as_f64() * r / (1.0 - mean.as_f64()), r)
            }
        }
    }
}

/// What a Gilbert-Elliott chain moves by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossClock {
    /// One step a packet, as netem does. A slow sender stays in the bad state for longer.
    Packet,
    /// Continuous time. Packets sent `interval` apart meet the same chain as under the packet clock;
    /// others meet the same states for the same lengths of time.
    Time {
        /// The reference spacing of packets.
        interval: Span,
    },
}

/// How fast the bottleneck sends.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RateModel {
    /// At once.
    #[default]
    Unlimited,
    /// Always the same.
    Constant(Rate),
    /// Steps over time; the first is at zero. A rate of zero holds what waits.
    Steps(Vec<RateStep>),
    /// Delivery opportunities, repeated for ever.
    Trace(Trace),
}

/// The rate from a time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateStep {
    /// When, after the link's origin.
    pub at: Span,
    /// How fast.
    pub rate: Rate,
}

/// What of a packet the rate counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateCounts {
    /// The bytes of the IP packet.
    #[default]
    Ip,
    /// What it takes on an Ethernet wire (IEEE 802.3): at least 46 bytes of payload, and 38 bytes of
    /// preamble, header, check sequence and gap.
    Ethernet,
}

/// What waits for the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Queue {
    /// How the queue decides what to drop.
    pub kind: QueueKind,
    /// How much it holds, the packet that is being sent included.
    pub limit: QueueLimit,
}

/// How a queue decides what to drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueueKind {
    /// What would not fit is dropped as it arrives.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289): besides, packets are dropped or marked as they leave while none of them
    /// waited less than a target.
    Codel(CodelParameters),
    /// The coupled queues of L4S (RFC 9332 appendix A): packets that carry ECT(1) wait in a queue of low
    /// latency and are marked early, others in a classic queue whose drops and marks are the square.
    DualPi2(DualPi2Parameters),
}

/// What CoDel is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodelParameters {
    /// Delay that a queue may keep.
    pub target: Span,
    /// For how long the delay must be above the target before the first drop.
    pub interval: Span,
    /// Whether packets whose sender understands ECN are marked and not dropped.
    pub ecn: bool,
}

impl Default for CodelParameters {
    /// 5 ms and 100 ms (RFC 8289 §4.2 and §4.3), drops only.
    fn default() -> Self {
        Self { target: Span::from_millis(5), interval: Span::from_millis(100), ecn: false }
    }
}

/// What DualPI2 is set to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DualPi2Parameters {
    /// Delay that the classic queue is held at.
    pub target: Span,
    /// The longest round trip it is stable for; sets how fast it reacts.
    pub rtt_max: Span,
}

impl Default for DualPi2Parameters {
    /// 15 ms and 100 ms (RFC 9332 appendix A.1, figure 2).
    fn default() -> Self {
        Self { target: Span::from_millis(15), rtt_max: Span::from_millis(100) }
    }
}

/// How much a queue holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueLimit {
    /// Bytes of IP packets.
    Bytes(Size),
    /// Packets.
    Packets(u64),
    /// The time a packet may take from its arrival to its last bit's departure.
    Time(Span),
}

impl Default for QueueLimit {
    /// 300 ms, the bottleneck queue of RFC 8867 §5.
    fn default() -> Self {
        Self::Time(Span::from_millis(300))
    }
}
