//! The loss stage: which packets never enter the link.
//!
//! Each packet takes one 64-bit word of the stage's stream, whatever the law: the upper half moves the
//! chain, the lower half decides the loss. So packet n meets the same draw whatever was sent before it, and when.

use units::{Share, Time};

use crate::profile::{GilbertElliott, Loss, LossClock, LossModel};
use crate::random::{Stream, StreamKey};

/// One law of loss at work.
#[derive(Debug, Clone)]
pub(crate) struct LossProcess {
    law: Law,
    drop: Box<[u64]>,
}

#[derive(Debug, Clone)]
enum Law {
    None,
    Bernoulli { p: Chance },
    ByPacket { to_bad: Chance, to_good: Chance, states: States },
    ByTime { good_ns: f64, bad_ns: f64, states: States, until_ns: f64, sojourns: Box<Stream> },
}

#[derive(Debug, Clone, Copy)]
struct States {
    bad: bool,
    loss_good: Chance,
    loss_bad: Chance,
}

/// A probability in units of 2⁻³², against the half of a word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chance(u64);

impl LossProcess {
    /// The stage for `loss`, in force from `from`. `label` names the stream of the time clock's
    /// sojourns, one for each entry of a schedule, so that they depend on the time alone.
    pub(crate) fn new(loss: &Loss, key: &StreamKey, label: &str, from: Time) -> Self {
        let law = match loss.model {
            LossModel::None => Law::None,
            LossModel::Bernoulli { p } => Law::Bernoulli { p: p.into() },
            LossModel::GilbertElliott(model) => Law::gilbert_elliott(&model, key, label, from),
        };
        Self { law, drop: loss.drop.clone().into() }
    }

    /// Whether the law draws at all.
    pub(crate) fn draws(&self) -> bool {
        !matches!(self.law, Law::None)
    }

    /// Whether the packet `id`, sent at `now`, is lost. `word` is its draw.
    #[inline]
    pub(crate) fn decide(&mut self, now: Time, id: u64, word: u64) -> bool {
        let by_law = match &mut self.law {
            Law::None => false,
            Law::Bernoulli { p } => p.hit(lower(word)),
            Law::ByPacket { to_bad, to_good, states } => {
                let lost = states.loss(lower(word));
                let leave = if states.bad { *to_good } else { *to_bad };
                states.bad ^= leave.hit(upper(word));
                lost
            }
            Law::ByTime { good_ns, bad_ns, states, until_ns, sojourns } => {
                while now.as_nanos() as f64 >= *until_ns {
                    states.bad = !states.bad;
                    let mean = if states.bad { *bad_ns } else { *good_ns };
                    *until_ns += mean * sojourns.exponential();
                }
                states.loss(lower(word))
            }
        };
        by_law || (!self.drop.is_empty() && self.drop.binary_search(&id).is_ok())
    }
}

impl Law {
    fn gilbert_elliott(model: &GilbertElliott, key: &StreamKey, label: &str, from: Time) -> Self {
        let states =
            States { bad: false, loss_good: model.loss_good.into(), loss_bad: model.loss_bad.into() };
        let (p, r) = model.moves.chances();
        match model.clock {
            LossClock::Packet => Self::ByPacket { to_bad: Chance::of(p), to_good: Chance::of(r), states },
            LossClock::Time { interval } => {
                let (good_ns, bad_ns) = sojourns_ns(p, r, interval.as_nanos() as f64);
                let mut sojourns = Box::new(key.stream(label));
                let until_ns = from.as_nanos() as f64 + good_ns * sojourns.exponential();
                Self::ByTime { good_ns, bad_ns, states, until_ns, sojourns }
            }
        }
    }
}

/// The mean lengths of stays in the good and in the bad state for which the continuous chain, looked
/// at every `interval_ns`, moves with the chances `p` and `r`.
///
/// With rates λ and μ of leaving, P(good → bad over t) = λ / (λ + μ) × (1 − e^(−(λ + μ) t)), which is
/// p at t = interval for (λ + μ) × interval = −ln(1 − p − r) and λ : μ = p : r. This needs p + r < 1.
fn sojourns_ns(p: f64, r: f64, interval_ns: f64) -> (f64, f64) {
    let sum = -libm::log(1.0 - p - r) / interval_ns;
    let stay = |chance: f64| if chance > 0.0 { (p + r) / (chance * sum) } else { f64::INFINITY };
    (stay(p), stay(r))
}

impl States {
    #[inline]
    fn loss(&self, half: u64) -> bool {
        let chance = if self.bad { self.loss_bad } else { self.loss_good };
        chance.hit(half)
    }
}

impl Chance {
    fn of(probability: f64) -> Self {
        Self((probability.clamp(0.0, 1.0) * 4_294_967_296.0).round() as u64)
    }

    /// Whether the half of a word says yes.
    #[inline]
    pub(crate) fn hit(self, half: u64) -> bool {
        half < self.0
    }

    pub(crate) fn is_possible(self) -> bool {
        self.0 > 0
    }
}

impl From<Share> for Chance {
    fn from(share: Share) -> Self {
        Self::of(share.as_f64())
    }
}

#[inline]
fn lower(word: u64) -> u64 {
    word & 0xffff_ffff
}

#[inline]
fn upper(word: u64) -> u64 {
    word >> 32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::Span;

    use super::*;
    use crate::profile::Moves;

    const EVERY: Span = Span::from_millis(4);

    fn key(seed: u8) -> StreamKey {
        StreamKey::new([seed; 32])
    }

    fn share(text: &str) -> Share {
        text.parse().unwrap()
    }

    fn chain(moves: Moves, loss_good: &str, loss_bad: &str, clock: LossClock) -> Loss {
        let (loss_good, loss_bad) = (share(loss_good), share(loss_bad));
        let model = LossModel::GilbertElliott(GilbertElliott { moves, loss_good, loss_bad, clock });
        Loss { model, drop: Vec::new() }
    }

    fn by_burst(mean: &str, burst: f64, clock: LossClock) -> Loss {
        chain(Moves::MeanAndBurst { mean: share(mean), burst }, "0 %", "100 %", clock)
    }

    /// The fates of `count` packets sent `spacing` apart.
    fn fates(loss: &Loss, seed: u8, count: u64, spacing: Span) -> Vec<bool> {
        let mut process = LossProcess::new(loss, &key(seed), "clock", Time::ZERO);
        let mut words = key(seed).stream("loss");
        (0..count).map(|id| process.decide(Time::ZERO + spacing * id, id, words.u64())).collect()
    }

    /// The share lost and the mean length of a run of losses.
    fn mean_and_run(fates: &[bool]) -> (f64, f64) {
        let lost = fates.iter().filter(|lost| **lost).count() as f64;
        let runs = fates.windows(2).filter(|pair| !pair[0] && pair[1]).count() + usize::from(fates[0]);
        (lost / fates.len() as f64, lost / runs as f64)
    }

    #[test]
    fn bernoulli_loses_its_share_in_runs_of_chance() {
        let loss = Loss { model: LossModel::Bernoulli { p: share("10 %") }, drop: Vec::new() };
        let (mean, run) = mean_and_run(&fates(&loss, 1, 400_000, EVERY));
        // Five standard errors; the mean run of independent losses is 1 / (1 − p).
        assert!((mean - 0.1).abs() < 5.0 * (0.09f64 / 400_000.0).sqrt(), "{mean}");
        assert!((run - 1.0 / 0.9).abs() < 0.01, "{run}");
    }

    #[test]
    fn a_certain_loss_loses_all_and_none_loses_nothing() {
        let all = Loss { model: LossModel::Bernoulli { p: Share::ALL }, drop: Vec::new() };
        assert!(fates(&all, 1, 1000, EVERY).iter().all(|lost| *lost));
        assert!(fates(&Loss::default(), 1, 1000, EVERY).iter().all(|lost| !lost));
    }

    #[test]
    fn gilbert_elliott_has_its_mean_and_burst() {
        for (mean, burst) in [("1.5 %", 3.0), ("5 %", 1.0), ("20 %", 8.0)] {
            let count = 2_000_000;
            let (lost, run) =
                mean_and_run(&fates(&by_burst(mean, burst, LossClock::Packet), 2, count, EVERY));
            let expected = share(mean).as_f64();
            // The variance of the mean of a two-state chain is that of independent draws times
            // (1 + λ) / (1 − λ), with λ = 1 − p − r; five standard errors.
            let (p, r) = Moves::MeanAndBurst { mean: share(mean), burst }.chances();
            let inflation = (2.0 - p - r) / (p + r);
            let error = (expected * (1.0 - expected) * inflation / count as f64).sqrt();
            assert!((lost - expected).abs() < 5.0 * error, "{mean} {burst}: {lost}");
            let runs = count as f64 * expected / burst;
            let run_error = burst / runs.sqrt();
            assert!((run - burst).abs() < 5.0 * run_error.max(0.001), "{mean} {burst}: {run}");
        }
    }

    #[test]
    fn each_state_has_its_own_loss() {
        // p : r = 1 : 3, so a quarter of the packets meet the bad state.
        let moves = Moves::Chances { p: share("5 %"), r: share("15 %") };
        let loss = chain(moves, "2 %", "60 %", LossClock::Packet);
        let (measured, _) = mean_and_run(&fates(&loss, 3, 1_000_000, EVERY));
        let expected = 0.75 * 0.02 + 0.25 * 0.6;
        assert!((measured - expected).abs() < 0.004, "{measured}");
    }

    #[test]
    fn a_loss_says_nothing_of_the_move_but_by_its_state() {
        let (p, r, good, bad) = (0.05, 0.15, 0.1, 0.6);
        let moves = Moves::Chances { p: Share::from_f64(p), r: Share::from_f64(r) };
        let fates = fates(&chain(moves, "10 %", "60 %", LossClock::Packet), 8, 1_000_000, EVERY);
        let pairs = fates.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / 1e6;
        // Both of two packets in a row are lost: over the state of the first and that of the second.
        let from_good = 0.75 * good * ((1.0 - p) * good + p * bad);
        let from_bad = 0.25 * bad * (r * good + (1.0 - r) * bad);
        let expected = from_good + from_bad;
        assert!((pairs - expected).abs() < 0.003, "{pairs} for {expected}");
    }

    #[test]
    fn the_chain_starts_in_its_good_state() {
        for seed in 0..100 {
            let moves = Moves::Chances { p: share("99 %"), r: share("1 %") };
            let loss = chain(moves, "0 %", "100 %", LossClock::Packet);
            assert!(!fates(&loss, seed, 1, EVERY)[0]);
        }
    }

    #[test]
    fn at_its_reference_spacing_the_time_clock_is_the_packet_clock() {
        let loss = by_burst("5 %", 4.0, LossClock::Time { interval: EVERY });
        let (measured, run) = mean_and_run(&fates(&loss, 4, 2_000_000, EVERY));
        assert!((measured - 0.05).abs() < 0.0025, "{measured}");
        assert!((run - 4.0).abs() < 0.08, "{run}");
    }

    #[test]
    fn by_time_a_slow_sender_meets_short_runs_and_the_same_share() {
        let loss = by_burst("5 %", 4.0, LossClock::Time { interval: EVERY });
        let (measured, run) = mean_and_run(&fates(&loss, 5, 500_000, EVERY * 20));
        assert!((measured - 0.05).abs() < 0.002, "{measured}");
        assert!((run - 1.0 / 0.95).abs() < 0.02, "{run}");
        // By packet the same sender would stay in the bad state for as many packets as a fast one.
        let by_packet = by_burst("5 %", 4.0, LossClock::Packet);
        assert!(mean_and_run(&fates(&by_packet, 5, 500_000, EVERY * 20)).1 > 3.8);
    }

    #[test]
    fn by_time_senders_of_any_rate_meet_the_same_states() {
        let loss = by_burst("20 %", 10.0, LossClock::Time { interval: EVERY });
        let fast = fates(&loss, 6, 80_000, EVERY / 4);
        let slow = fates(&loss, 6, 4_000, EVERY * 5);
        let picked: Vec<bool> = fast.iter().step_by(20).copied().collect();
        assert_eq!(picked, slow);
        assert!(slow.iter().any(|lost| *lost));
    }

    #[test]
    fn the_drop_list_drops_besides_and_shifts_no_draw() {
        let plain = by_burst("10 %", 3.0, LossClock::Packet);
        let listed = Loss { drop: vec![0, 7, 8, 500], ..plain.clone() };
        let (plain, listed) = (fates(&plain, 7, 1000, EVERY), fates(&listed, 7, 1000, EVERY));
        for (id, (plain, listed)) in plain.into_iter().zip(listed).enumerate() {
            assert_eq!(listed, plain || [0, 7, 8, 500].contains(&id), "packet {id}");
        }
    }

    proptest! {
        #[test]
        fn by_packet_the_times_do_not_matter(
            seed: u8, mean in 0u32..300_000_000, burst in 1.0f64..20.0,
            gaps in prop::collection::vec(0u64..1_000_000_000, 200),
        ) {
            let moves = Moves::MeanAndBurst { mean: Share::from_parts_per_billion(mean), burst };
            let loss = chain(moves, "1 %", "90 %", LossClock::Packet);
            let mut process = LossProcess::new(&loss, &key(seed), "clock", Time::ZERO);
            let mut words = key(seed).stream("loss");
            let mut now = Time::ZERO;
            let uneven: Vec<bool> = gaps.iter().zip(0..).map(|(gap, id)| {
                now += Span::from_nanos(*gap);
                process.decide(now, id, words.u64())
            }).collect();
            prop_assert_eq!(uneven, fates(&loss, seed, 200, EVERY));
        }
    }
}
