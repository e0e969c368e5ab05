//! Loss and delay as kernel netem has them, draw by draw.
//!
//! With `TCA_NETEM_PRNG_SEED` (Linux 6.6 and later) netem's generator is taus113 in a known state, and its draws have a
//! known order (`net/sched/sch_netem.c`: `netem_enqueue`, `loss_event`, `tabledist`), so that the fate of the nth
//! packet is known beforehand. Nothing here is better than what netem does, and nothing is different.

use units::{Span, Time};

use crate::delay::Release;
use crate::profile::{KernelLoss, Netem};

/// The stage at work.
#[derive(Debug, Clone)]
pub(crate) struct NetemStage {
    generator: Taus113,
    latency: Span,
    jitter_ns: u32,
    loss: KernelLoss,
    bad: bool,
}

impl NetemStage {
    pub(crate) fn new(netem: &Netem, seed: u64) -> Self {
        Self {
            generator: Taus113::new(seed),
            latency: netem.delay,
            jitter_ns: netem.jitter_ns(),
            loss: netem.kernel_loss(),
            bad: false,
        }
    }

    /// The release of the next packet, which reaches the stage at `now`; `None` if it is lost. A packet that
    /// never reaches the stage takes no draws.
    pub(crate) fn next(&mut self, now: Time) -> Option<Release> {
        if self.lost() {
            return None;
        }
        if self.jitter_ns == 0 {
            return Some(Release { at: now + self.latency, bounded_at_zero: false });
        }
        // `tabledist` without a table: uniform from −jitter to jitter − 1 ns.
        let offset = i64::from(self.generator.next() % (2 * self.jitter_ns)) - i64::from(self.jitter_ns);
        let delay = self.latency.as_nanos().checked_add_signed(offset);
        let bounded_at_zero = delay.is_none() && offset < 0;
        Some(Release { at: now + Span::from_nanos(delay.unwrap_or(0)), bounded_at_zero })
    }

    /// `loss_event`: the state before the move decides the loss.
    fn lost(&mut self) -> bool {
        match self.loss {
            KernelLoss::None => false,
            KernelLoss::Random { loss } => loss >= self.generator.next(),
            KernelLoss::GilbertElliott { p, r, h, k1 } => {
                let was_bad = self.bad;
                let leave = if was_bad { r } else { p };
                self.bad ^= self.generator.next() < leave;
                let draw = self.generator.next();
                if was_bad { draw > h } else { draw < k1 }
            }
        }
    }
}

/// The combined Tausworthe generator of `lib/random32.c` (P. L'Ecuyer, "Tables of Maximally-Equidistributed
/// Combined LFSR Generators", Mathematics of Computation 68 (225), 1999).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Taus113([u32; 4]);

impl Taus113 {
    /// `prandom_seed_state`, which does not warm it up.
    fn new(seed: u64) -> Self {
        let start = ((seed >> 32) ^ (seed << 10) ^ seed) as u32;
        Self([2, 8, 16, 128].map(|least| if start < least { start + least } else { start }))
    }

    /// `prandom_u32_state`.
    fn next(&mut self) -> u32 {
        let step = |s: u32, a: u32, b: u32, mask: u32, d: u32| ((s & mask) << d) ^ (((s << a) ^ s) >> b);
        let [s1, s2, s3, s4] = self.0;
        self.0 = [
            step(s1, 6, 13, 0xffff_fffe, 18),
            step(s2, 2, 27, 0xffff_fff8, 2),
            step(s3, 13, 21, 0xffff_fff0, 7),
            step(s4, 3, 12, 0xffff_ff80, 13),
        ];
        self.0.into_iter().fold(0, |all, s| all ^ s)
    }
}

#[cfg(test)]
mod tests {
    use units::Share;

    use super::*;
    use crate::profile::{GilbertElliott, LossClock, LossModel, Moves};

    fn netem(loss: LossModel, jitter: Span) -> Netem {
        Netem { seed: None, delay: Span::from_millis(50), jitter, loss }
    }

    fn chain(p: &str, r: &str, loss_good: &str, loss_bad: &str) -> LossModel {
        let share = |text: &str| -> Share { text.parse().unwrap() };
        LossModel::GilbertElliott(GilbertElliott {
            moves: Moves::Chances { p: share(p), r: share(r) },
            loss_good: share(loss_good),
            loss_bad: share(loss_bad),
            clock: LossClock::Packet,
        })
    }

    /// The delay of each of `count` packets in nanoseconds; of a lost one, none.
    fn fates(netem: &Netem, seed: u64, count: usize) -> Vec<Option<u64>> {
        let mut stage = NetemStage::new(netem, seed);
        let now = Time::from_nanos(1_000);
        (0..count).map(|_| stage.next(now).map(|release| release.at.since(now).as_nanos())).collect()
    }

    fn lost(fates: &[Option<u64>]) -> Vec<usize> {
        fates.iter().enumerate().filter(|(_, fate)| fate.is_none()).map(|(n, _)| n).collect()
    }

    #[test]
    fn the_generator_is_the_kernels() {
        // By hand for seed 1: the start is 1 << 10 ^ 1 = 1025, above every least value. The four first steps are
        // (1024 << 18) ^ ((1025 << 6 ^ 1025) >> 13) = 0x1000_0008, (1024 << 2) ^ 0 = 0x1000,
        // (1024 << 7) ^ ((1025 << 13 ^ 1025) >> 21) = 0x2_0004, (1024 << 13) ^ ((1025 << 3 ^ 1025) >> 12) = 0x80_0002.
        let mut generator = Taus113::new(1);
        assert_eq!(generator.0, [1025; 4]);
        assert_eq!(generator.next(), 0x1000_0008 ^ 0x1000 ^ 0x2_0004 ^ 0x80_0002);
        assert_eq!(generator.0, [0x1000_0008, 0x1000, 0x2_0004, 0x80_0002]);
        // From a transcription of the kernel's macros in another language.
        let first = |seed| {
            let mut generator = Taus113::new(seed);
            [(); 6].map(|()| generator.next())
        };
        assert_eq!(first(0), [1_574_944, 268_744, 1_109_394_980, 8_552_980, 826_355_289, 2_421_007_874]);
        assert_eq!(
            first(77),
            [4_147_049_212, 1_150_689_057, 185_814_144, 828_176_197, 36_315_020, 787_368_643]
        );
        assert_eq!(
            first(0x1234_5678_9abc_def0),
            [1_565_990_206, 3_253_438_099, 3_391_650_309, 307_209_238, 3_498_746_814, 4_280_234_225]
        );
        assert_eq!(Taus113::new(0).0, [2, 8, 16, 128]);
    }

    #[test]
    fn each_packet_has_the_fate_that_the_kernel_gives() {
        // From a transcription of `netem_enqueue` in another language.
        let netem = netem(chain("5 %", "30 %", "0 %", "100 %"), Span::from_millis(10));
        let fates_77 = fates(&netem, 77, 400);
        assert_eq!(lost(&fates_77)[..12], [16, 17, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56]);
        let delays = [45_814_144, 47_368_643, 45_135_195, 41_862_829].map(Some);
        assert_eq!(fates_77[..4], delays);
        assert_eq!(fates_77[396..], [Some(46_081_439), Some(55_494_794), None, None]);
        assert_eq!(lost(&fates(&netem, 2, 400))[..8], [2, 7, 8, 46, 47, 48, 49, 50]);
        assert_eq!(fates(&netem, 1, 2), [Some(58_495_022), Some(42_869_889)]);
    }

    #[test]
    fn independent_losses_are_the_kernels() {
        let netem = netem(LossModel::Bernoulli { p: "2 %".parse().unwrap() }, Span::ZERO);
        let fates = fates(&netem, 2, 300);
        assert_eq!(lost(&fates), [1, 3, 6, 107, 202, 215, 266]);
        assert!(fates.into_iter().flatten().all(|delay| delay == 50_000_000));
    }

    #[test]
    fn means_are_the_closed_forms() {
        // p : r = 1 : 3, so a quarter of the packets meet the bad state.
        let netem = netem(chain("5 %", "15 %", "2 %", "60 %"), Span::from_millis(10));
        let count = 1_000_000;
        let fates = fates(&netem, 3, count);
        let loss = lost(&fates).len() as f64 / count as f64;
        assert!((loss - (0.75 * 0.02 + 0.25 * 0.6)).abs() < 0.004, "{loss}");
        let delays: Vec<u64> = fates.into_iter().flatten().collect();
        let mean = delays.iter().sum::<u64>() as f64 / delays.len() as f64;
        // Uniform from −J to J: five standard errors of J / √3.
        let error = 5.0 * 1e7 / (3.0 * delays.len() as f64).sqrt();
        assert!((mean - 5e7).abs() < error, "{mean}");
        assert!(delays.iter().all(|delay| (40_000_000..60_000_000).contains(delay)));
    }

    #[test]
    fn a_delay_is_never_below_zero() {
        let netem = Netem { delay: Span::from_millis(1), ..netem(LossModel::None, Span::from_millis(10)) };
        let mut stage = NetemStage::new(&netem, 5);
        let bounded = (0..1000).filter(|_| {
            let release = stage.next(Time::ZERO).unwrap();
            assert!(!release.bounded_at_zero || release.at == Time::ZERO);
            release.bounded_at_zero
        });
        // 9 of 20.
        assert!((380..520).contains(&bounded.count()));
    }
}
