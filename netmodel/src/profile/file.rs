//! The TOML form of a profile: plain structs whose docs are the schema's descriptions.
//!
//! What a `kind` needs and refuses is checked when the file is resolved, so that every problem is
//! found at once and keeps its place in the text.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use toml::Spanned;
use units::{ParseError, Rate, Share, Size, Span};

use super::netem::NetemFile;
use super::short::{MaybeShort, Short};
use super::types::{Distribution, Order, RateCounts};

/// The JSON schema of a profile file.
pub fn profile_schema() -> Schema {
    schemars::schema_for!(ProfileFile)
}

/// Declares the keys that stand at the top for both directions and in `[up]` and `[down]` for one.
macro_rules! with_direction_keys {
    ($(#[$meta:meta])* pub struct $name:ident { $($own:tt)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($own)*
            /// One-way delay after the queue, and the middle of the jitter. Default 0 ms. Not
            /// together with `rtt`.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<String>")]
            pub delay: Option<Spanned<Span>>,
            /// How the delay varies from packet to packet: its σ (`"15 ms"`) or a table. Default none.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<MaybeShort<JitterFile>>")]
            pub jitter: Option<Spanned<MaybeShort<JitterFile>>>,
            /// Which packets are lost before the queue. Default none.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<LossFile>")]
            pub loss: Option<Spanned<LossFile>>,
            /// Loss and delay as kernel netem has them, to the bit, in place of `delay`, `jitter` and `loss`.
            /// Default none.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<NetemFile>")]
            pub netem: Option<Spanned<NetemFile>>,
            /// How fast the bottleneck sends: a rate (`"2.5 Mbit/s"`) or a table. Default unlimited.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<MaybeShort<RateFile>>")]
            pub rate: Option<Spanned<MaybeShort<RateFile>>>,
            /// What of a packet the rate counts: `"ip"`, the bytes of the IP packet (default), or
            /// `"ethernet"`, what it takes on an Ethernet wire with preamble, header, check sequence
            /// and gap (38 bytes more, at least 84 in all).
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<RateCounts>")]
            pub rate_counts: Option<Spanned<RateCounts>>,
            /// What waits for the bottleneck. Default a drop-tail queue of 300 ms (RFC 8867 §5).
            /// Needs a rate.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<QueueFile>")]
            pub queue: Option<Spanned<QueueFile>>,
            /// The chance of a packet to arrive twice, at the same moment. Default 0 %.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<String>")]
            pub duplicate: Option<Spanned<Share>>,
            /// The chance of a packet to arrive corrupted; of two copies, each for itself. Default 0 %.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Option<String>")]
            pub corrupt: Option<Spanned<Share>>,
            /// Changes at times, in order of time. Default none.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(with = "Vec<ChangeFile>")]
            pub schedule: Vec<Spanned<ChangeFile>>,
        }
    };
}

with_direction_keys! {
    /// A link's conditions in both directions.
    ///
    /// The keys at the top hold for both directions; `[up]` and `[down]` replace any of them for one.
    pub struct ProfileFile {
        /// What the profile stands for, for people. Default empty.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub description: Option<String>,
        /// Round-trip delay, halved into both directions. Default 0 ms. Not together with a `delay`.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Option<String>")]
        pub rtt: Option<Spanned<Span>>,
        /// What differs towards the relay (robot's hop), or from operator to relay (operator's hop).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub up: Option<DirectionFile>,
        /// What differs away from the relay (robot's hop), or from relay to operator (operator's hop).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub down: Option<DirectionFile>,
    }
}

with_direction_keys! {
    /// What differs in one direction. Each key replaces the shared one as a whole.
    pub struct DirectionFile {}
}

/// How the delay of a packet varies. Short form: its `sigma` as a text.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterFile {
    /// Standard deviation of the one-way delay in this direction, before any bound. A delay never
    /// goes below zero. Default 0 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sigma: Option<Spanned<Span>>,
    /// The shape of the variation. Default `normal`.
    #[serde(default)]
    pub distribution: Distribution,
    /// Whether a packet may overtake another. Default `fifo`. In a schedule, a change from `reorder`
    /// to `fifo` holds for the packets sent after it.
    #[serde(default)]
    pub order: Order,
}

impl Short for JitterFile {
    const EXPECTING: &'static str = "a duration as text, for example \"15 ms\", or a table with `sigma`";

    fn short(text: &str) -> Result<Self, ParseError> {
        Ok(Self { sigma: Some(unplaced(text.parse()?)), ..Self::default() })
    }
}

/// Which packets are lost before the queue.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossFile {
    /// The law of loss. Default `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LossKind>")]
    pub kind: Option<Spanned<LossKind>>,
    /// `bernoulli`: the chance of a loss. `gilbert-elliott`: the chance of a move from good to bad at
    /// a packet, together with `r`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub p: Option<Spanned<Share>>,
    /// `gilbert-elliott`: the chance of a move from bad to good at a packet, together with `p`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub r: Option<Spanned<Share>>,
    /// `gilbert-elliott`: the share of packets in the bad state in the long run (which with the
    /// default losses is the share lost), together with `burst`. Below 100 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub mean: Option<Spanned<Share>>,
    /// `gilbert-elliott`: the mean number of packets in a row in the bad state (which with the default
    /// losses is the mean length of a run of losses), together with `mean`. At least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub burst: Option<Spanned<f64>>,
    /// `gilbert-elliott`: the chance of a loss in the good state. Default 0 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub loss_good: Option<Spanned<Share>>,
    /// `gilbert-elliott`: the chance of a loss in the bad state. Default 100 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub loss_bad: Option<Spanned<Share>>,
    /// `gilbert-elliott`: what the states move by. `packet` (default): one step at each packet, as
    /// netem does. `time`: by the clock, so that a slow sender does not stay in a bad state; needs
    /// `interval`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<ClockKind>")]
    pub clock: Option<Spanned<ClockKind>>,
    /// `gilbert-elliott` by `time`: the spacing of packets at which the states move as they would by
    /// `packet`. With `burst = 3` and `interval = "4 ms"` a bad state lasts about 12 ms. At least 10 us.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval: Option<Spanned<Span>>,
    /// Any kind: packets that are lost besides, by their number in this direction, from 0. Default none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drop: Vec<u64>,
}

/// The laws of loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossKind {
    /// No loss but the packets in `drop`.
    #[default]
    None,
    /// Each packet with chance `p`, independently.
    Bernoulli,
    /// A good and a bad state with a loss each: by `mean` and `burst`, or by `p` and `r`.
    GilbertElliott,
}

/// What the states of a Gilbert-Elliott channel move by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockKind {
    /// One step at each packet.
    #[default]
    Packet,
    /// Continuous time.
    Time,
}

/// How fast the bottleneck sends. Short form: a constant rate as a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateFile {
    /// How the rate runs.
    #[schemars(with = "RateKind")]
    pub kind: Spanned<RateKind>,
    /// `constant`: the rate. Above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rate: Option<Spanned<Rate>>,
    /// `steps`: the rate from each time on; the first at 0 s, the times rising. A rate of 0 bit/s
    /// holds what waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<RateStepFile>")]
    pub steps: Vec<Spanned<RateStepFile>>,
    /// `trace`: the path of a Mahimahi trace: a line for each chance to send 1500 bytes, with its time
    /// in whole milliseconds, not falling; repeated for ever with the last time as the period.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub path: Option<Spanned<String>>,
    /// `trace`: the text of such a file, instead of its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub content: Option<Spanned<String>>,
}

impl Short for RateFile {
    const EXPECTING: &'static str = "a rate as text, for example \"2.5 Mbit/s\", or a table with `kind`";

    fn short(text: &str) -> Result<Self, ParseError> {
        Ok(Self { rate: Some(unplaced(text.parse()?)), ..Self::of(RateKind::Constant) })
    }
}

impl RateFile {
    pub(super) fn of(kind: RateKind) -> Self {
        Self { kind: unplaced(kind), rate: None, steps: Vec::new(), path: None, content: None }
    }
}

/// How a rate runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateKind {
    /// No limit: what arrives leaves at once.
    #[default]
    Unlimited,
    /// Always `rate`.
    Constant,
    /// `steps` over time.
    Steps,
    /// The delivery opportunities of a Mahimahi trace, by `path` or `content`.
    Trace,
}

/// The rate from a time on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateStepFile {
    /// When, after the start of the traffic.
    #[schemars(with = "String")]
    pub at: Span,
    /// How fast from then on.
    #[schemars(with = "String")]
    pub rate: Rate,
}

/// What waits for the bottleneck. Exactly one limit; the packet that is being sent counts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueFile {
    /// How the queue decides what to drop. Default `drop-tail`.
    #[serde(default)]
    pub kind: QueueKindFile,
    /// At most so many bytes of IP packets. At least 1500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub bytes: Option<Spanned<Size>>,
    /// At most so many packets. At least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<u64>")]
    pub packets: Option<Spanned<u64>>,
    /// At most so long from a packet's arrival until its last bit has left. Above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub time: Option<Spanned<Span>>,
    /// At most so many times the bandwidth-delay product: the rate in effect (the first step, the mean
    /// of a trace) times the round trip without jitter; at least 1500 bytes. Resolves to `bytes`. Above 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    pub bdp: Option<Spanned<f64>>,
    /// `codel`: the delay that a queue may keep; default 5 ms. `dualpi2`: the delay that the classic queue is
    /// held at; default 15 ms. Above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub target: Option<Spanned<Span>>,
    /// `codel`: for how long the delay must be above the target before the first drop; about the longest
    /// round trip. Default 100 ms. Above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval: Option<Spanned<Span>>,
    /// `codel`: whether packets whose sender understands ECN are marked and not dropped. Default `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<bool>")]
    pub ecn: Option<Spanned<bool>>,
    /// `dualpi2`: the longest round trip it is stable for. Default 100 ms. Above zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub rtt_max: Option<Spanned<Span>>,
}

/// How a queue decides what to drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKindFile {
    /// What would not fit is dropped as it arrives.
    #[default]
    DropTail,
    /// Controlled delay (RFC 8289): besides, drops (or marks) as packets leave while none of them waited
    /// less than `target`.
    Codel,
    /// The coupled queues of L4S (RFC 9332 appendix A): ECT(1) waits in a queue of low latency and is
    /// marked early; the rest is held at `target`.
    #[serde(rename = "dualpi2")]
    DualPi2,
}

/// One change at a time. At least one key besides `at`; what is not stated stays as it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFile {
    /// When, after the start of the traffic. Not before the entry above.
    #[schemars(with = "String")]
    pub at: Spanned<Span>,
    /// The one-way delay from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub delay: Option<Spanned<Span>>,
    /// The jitter from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<MaybeShort<JitterFile>>")]
    pub jitter: Option<Spanned<MaybeShort<JitterFile>>>,
    /// The loss from then on; a Gilbert-Elliott channel starts in its good state.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<LossFile>")]
    pub loss: Option<Spanned<LossFile>>,
    /// The rate from then on, also for what waits already. Times in it are counted from the start of
    /// the traffic, not from `at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<MaybeShort<RateFile>>")]
    pub rate: Option<Spanned<MaybeShort<RateFile>>>,
    /// The queue from then on; what already waits beyond a smaller limit stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<QueueFile>")]
    pub queue: Option<Spanned<QueueFile>>,
    /// The chance of duplication from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub duplicate: Option<Spanned<Share>>,
    /// The chance of corruption from then on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub corrupt: Option<Spanned<Share>>,
    /// For this long, every packet that is sent is dropped; what is under way still arrives. To hold
    /// packets instead, change the rate to 0 bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub outage: Option<Spanned<Span>>,
}

/// A value that stands nowhere in a text.
pub(super) fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}
