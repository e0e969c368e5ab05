//! The delay stage: when a packet that left the queue arrives.

use units::{Span, Time};

use crate::normal::normal_quantile;
use crate::profile::{Distribution, Jitter, Order};
use crate::random::unit;

/// The delay and its variation, ready for the packet path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delay {
    mean: Span,
    sigma_ns: f64,
    distribution: Distribution,
    pub(crate) order: Order,
}

/// When a packet is released by its own delay alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Release {
    pub(crate) at: Time,
    pub(crate) bounded_at_zero: bool,
}

impl Delay {
    pub(crate) fn new(mean: Span, jitter: Jitter) -> Self {
        Self {
            mean,
            sigma_ns: jitter.sigma.as_nanos() as f64,
            distribution: jitter.distribution,
            order: jitter.order,
        }
    }

    /// How many 64-bit words each packet takes of the stage's stream.
    pub(crate) fn words(&self) -> usize {
        match (self.sigma_ns > 0.0, self.distribution) {
            (false, _) => 0,
            (true, Distribution::Wifi) => 2,
            (true, _) => 1,
        }
    }

    pub(crate) fn mean(&self) -> Span {
        self.mean
    }

    /// The release of a packet that left the queue at `departure`; `words` are its draws.
    #[inline]
    pub(crate) fn release(&self, departure: Time, words: [u64; 2]) -> Release {
        if self.sigma_ns <= 0.0 {
            return Release { at: departure + self.mean, bounded_at_zero: false };
        }
        let offset = (self.sigma_ns * standard(self.distribution, words)).round() as i64;
        let delay = self.mean.as_nanos().checked_add_signed(offset);
        Release {
            at: departure + Span::from_nanos(delay.unwrap_or(if offset < 0 { 0 } else { u64::MAX })),
            bounded_at_zero: delay.is_none() && offset < 0,
        }
    }
}

/// A number of mean 0 and standard deviation 1 (0.9866 for the truncated normal).
fn standard(distribution: Distribution, [first, second]: [u64; 2]) -> f64 {
    match distribution {
        Distribution::Normal => normal_quantile(NORMAL_BELOW + unit(first) * (1.0 - 2.0 * NORMAL_BELOW)),
        Distribution::Uniform => (unit(first) * 2.0 - 1.0) * SQRT_3,
        Distribution::Pareto => {
            let above = PARETO_ABOVE + (1.0 - unit(first)) * (1.0 - PARETO_ABOVE);
            (1.0 / libm::cbrt(above) - PARETO_MEAN) / PARETO_SIGMA
        }
        Distribution::Wifi => (f64::from(backoff_slots(first, second)) - WIFI_MEAN) / WIFI_SIGMA,
    }
}

/// The slots that a packet waits in the binary exponential backoff of IEEE 802.11 (DCF): a uniform number of
/// slots from 0 to 15, and again from a doubled window after each collision, up to seven attempts. An
/// attempt collides with chance 1/4, about that of five busy stations (G. Bianchi, "Performance
/// Analysis of the IEEE 802.11 Distributed Coordination Function", IEEE JSAC 18 (3), 2000).
fn backoff_slots(first: u64, second: u64) -> u32 {
    let collisions = ((first as u16 | 1 << 15).trailing_zeros() / 2).min(WIFI_COLLISIONS_MAX);
    let uniform = [first >> 16, first >> 32, first >> 48, second, second >> 16, second >> 32, second >> 48];
    let window = |attempt: u32| 16u32 << attempt;
    (0..=collisions).zip(uniform).map(|(attempt, half)| u32::from(half as u16) & (window(attempt) - 1)).sum()
}

/// The chance of a standard normal variable to be below −3.
const NORMAL_BELOW: f64 = 0.001_349_898_031_630_095_7;
const SQRT_3: f64 = 1.732_050_807_568_877_2;
/// The chance of a Pareto variable of shape 3 and scale 1 to be above its bound of 10.
const PARETO_ABOVE: f64 = 0.001;
/// Its mean between 1 and 10: 3/2 × (1 − 10⁻²) / (1 − 10⁻³).
const PARETO_MEAN: f64 = 1.5 * 0.99 / 0.999;
/// Its standard deviation there, the root of 3 × (1 − 10⁻¹) / (1 − 10⁻³) − mean².
const PARETO_SIGMA: f64 = 0.702_182_759_825_221;
const WIFI_COLLISIONS_MAX: u32 = 6;
/// The mean and the standard deviation of [`backoff_slots`]: its tests work them out.
const WIFI_MEAN: f64 = 15.208_374_023_437_5;
const WIFI_SIGMA: f64 = 31.183_310_295_870_513;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::StreamKey;

    const COUNT: usize = 400_000;

    fn draws(distribution: Distribution) -> Vec<f64> {
        let mut stream = StreamKey::new([3; 32]).stream("jitter");
        (0..COUNT).map(|_| standard(distribution, [stream.u64(), stream.u64()])).collect()
    }

    fn moments(draws: &[f64]) -> (f64, f64) {
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        (mean, (draws.iter().map(|z| (z - mean) * (z - mean)).sum::<f64>() / n).sqrt())
    }

    fn bounds(draws: &[f64]) -> (f64, f64) {
        draws.iter().fold((f64::MAX, f64::MIN), |(low, high), z| (low.min(*z), high.max(*z)))
    }

    /// The largest distance between the draws' distribution and `cumulative` (Kolmogorov-Smirnov).
    fn distance(draws: &[f64], cumulative: impl Fn(f64) -> f64) -> f64 {
        let mut sorted = draws.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        sorted.iter().enumerate().map(|(i, z)| (cumulative(*z) - i as f64 / n).abs()).fold(0.0, f64::max)
    }

    /// Passed with a chance of one in a million for a true distribution.
    fn limit() -> f64 {
        2.7 / (COUNT as f64).sqrt()
    }

    #[test]
    fn the_normal_is_truncated_at_three_sigma() {
        let draws = draws(Distribution::Normal);
        let (mean, sigma) = moments(&draws);
        assert!(mean.abs() < 0.008, "{mean}");
        // 1 − 2 × 3 φ(3) / (2 Φ(3) − 1), and its root.
        assert!((sigma - 0.986_578).abs() < 0.006, "{sigma}");
        let (low, high) = bounds(&draws);
        assert!((-3.0..-2.95).contains(&low) && (2.95..=3.0).contains(&high), "{low} {high}");
        let below = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
        let truncated = |z: f64| (below(z) - below(-3.0)) / (below(3.0) - below(-3.0));
        assert!(distance(&draws, truncated) < limit());
    }

    #[test]
    fn the_uniform_spans_root_three_sigma() {
        let draws = draws(Distribution::Uniform);
        let (mean, sigma) = moments(&draws);
        assert!(mean.abs() < 0.008 && (sigma - 1.0).abs() < 0.005, "{mean} {sigma}");
        let (low, high) = bounds(&draws);
        assert!(low >= -SQRT_3 && high < SQRT_3 && high - low > 3.46, "{low} {high}");
        assert!(distance(&draws, |z| 0.5 + z / (2.0 * SQRT_3)) < limit());
    }

    #[test]
    fn the_pareto_has_shape_three_and_unit_moments() {
        let draws = draws(Distribution::Pareto);
        let (mean, sigma) = moments(&draws);
        // The fourth moment is large, so the deviation is loose; the distribution below is not.
        assert!(mean.abs() < 0.008 && (sigma - 1.0).abs() < 0.03, "{mean} {sigma}");
        let (low, high) = bounds(&draws);
        assert!((-0.6929..-0.69).contains(&low) && (11.0..=12.13).contains(&high), "{low} {high}");
        let below = |z: f64| {
            let x = z * PARETO_SIGMA + PARETO_MEAN;
            (1.0 - 1.0 / (x * x * x)) / (1.0 - PARETO_ABOVE)
        };
        assert!(distance(&draws, below) < limit());
        let second = 3.0 * (1.0 - 0.1) / (1.0 - 0.001);
        assert!((PARETO_SIGMA - libm::sqrt(second - PARETO_MEAN * PARETO_MEAN)).abs() < 1e-12);
    }

    #[test]
    fn the_backoff_has_its_closed_moments() {
        let (mut mean, mut square) = (0.0, 0.0);
        for collisions in 0..=WIFI_COLLISIONS_MAX {
            let tries = f64::from(4u32.pow(collisions));
            let chance = if collisions < WIFI_COLLISIONS_MAX { 0.75 / tries } else { 1.0 / tries };
            let windows = (0..=collisions).map(|i| f64::from(16u32 << i));
            let middle: f64 = windows.clone().map(|w| (w - 1.0) / 2.0).sum();
            let variance: f64 = windows.map(|w| (w * w - 1.0) / 12.0).sum();
            mean += chance * middle;
            square += chance * (middle * middle + variance);
        }
        assert!((WIFI_MEAN - mean).abs() < 1e-9);
        assert!((WIFI_SIGMA - libm::sqrt(square - mean * mean)).abs() < 1e-9);
        let draws = draws(Distribution::Wifi);
        let (mean, sigma) = moments(&draws);
        assert!(mean.abs() < 0.01 && (sigma - 1.0).abs() < 0.05, "{mean} {sigma}");
        assert!((bounds(&draws).0 + 15.208 / 31.183).abs() < 0.001);
        // The first try is the only one three times in four, and takes at most 15 slots.
        let short = draws.iter().filter(|z| **z * WIFI_SIGMA + WIFI_MEAN < 15.5).count() as f64;
        assert!(short / COUNT as f64 > 0.75);
    }

    #[test]
    fn a_delay_is_never_below_zero() {
        let jitter = Jitter { sigma: Span::from_millis(10), ..Jitter::default() };
        let delay = Delay::new(Span::from_millis(5), jitter);
        let departure = Time::ZERO + Span::from_secs(1);
        let mut stream = StreamKey::new([3; 32]).stream("jitter");
        let releases: Vec<Release> = (0..1000).map(|_| delay.release(departure, [stream.u64(), 0])).collect();
        assert!(releases.iter().all(|r| r.at >= departure));
        let bounded = releases.iter().filter(|r| r.bounded_at_zero).count();
        assert!(releases.iter().filter(|r| r.at == departure).count() >= bounded);
        // Φ(−0.5) is 0.309.
        assert!((250..370).contains(&bounded), "{bounded}");
    }

    #[test]
    fn without_jitter_the_delay_is_the_delay() {
        let delay = Delay::new(Span::from_millis(5), Jitter::default());
        assert_eq!(delay.words(), 0);
        assert_eq!(delay.release(Time::ZERO, [0, 0]).at, Time::ZERO + Span::from_millis(5));
    }
}
