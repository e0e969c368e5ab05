//! How many seeds would probably tell what those at hand do not: for planning the next run, and never a verdict.
//!
//! The estimate takes what was measured for the truth: that differences within a seed are normal, with the mean and the
//! spread of those at hand. Of few seeds neither is known well, so it can be off by a factor of two either way, and is
//! better once there are more.

use netmodel::normal_quantile;

use super::mean;
use super::paired::smallest_p;

/// About how many seeds tell in [`POWER`] of all cases whether a difference is at least `least` to one side, or surely below
/// it, where a test must reach a p-value of `significant`. Always more than there are of `differences`.
///
/// With n seeds the mean varies by the spread ÷ √n. For a difference of at least `least` it must stay above that, and away
/// from zero for the test too; for a smaller one the 95 % interval must end below `least`. Each is the textbook sample size
/// (z₁ + z₂)² · (spread ÷ distance)², with z₁² ÷ 2 added for a spread that is not known beforehand (Guenther, Sample Size
/// Formulas for Normal Theory T Tests, The American Statistician 35(4), 1981). Fewer seeds than the sign-flip test needs to
/// reach `significant` are never enough for a difference.
///
/// `None` where nothing can be said: of fewer than two seeds, of infinite differences to either side, or if it takes more
/// than [`SEEDS_MAX`], as where the mean is about as large as `least`. Infinite differences all to one side need as many
/// seeds as the test does.
pub fn seeds_enough(differences: &[f64], least: f64, significant: f64) -> Option<usize> {
    let count = differences.len();
    let for_test = (2..=SEEDS_MAX).find(|count| smallest_p(*count) <= significant)?;
    let more = |wanted: usize| Some(wanted.max(count + 1)).filter(|_| count >= 2 && wanted <= SEEDS_MAX);
    if differences.iter().any(|difference| difference.is_infinite()) {
        let one_sided = differences.iter().all(|d| *d > 0.0) || differences.iter().all(|d| *d < 0.0);
        return if one_sided { more(for_test) } else { None };
    }
    let mean = mean(differences)?.abs();
    let spread = spread(differences);
    let power = normal_quantile(POWER);
    let wanted = if mean >= least {
        let test = normal_quantile(1.0 - significant / 2.0);
        let apart = seeds(spread, mean, test + power) + test * test / 2.0;
        let just = for_test_alone(for_test, mean, spread);
        apart.max(seeds(spread, mean - least, power)).max(just as f64)
    } else {
        let interval = normal_quantile(0.975);
        // The interval must end below on both sides; near the middle either can fail.
        let both = normal_quantile(f64::midpoint(1.0, POWER));
        seeds(spread, least - mean, interval + both) + interval * interval / 2.0
    };
    if wanted <= SEEDS_MAX as f64 { more(wanted.ceil() as usize) } else { None }
}

/// As few seeds as the test takes, and one more where they would probably not all agree: with just `count` of them, a single
/// one that goes the other way keeps the test from telling.
fn for_test_alone(count: usize, mean: f64, spread: f64) -> usize {
    // All of n agree in POWER of all cases if one does in its n-th root, which is about 1 + ln POWER ÷ n.
    let each = 1.0 + LN_POWER / count as f64;
    if mean >= spread * normal_quantile(each) { count } else { count + 1 }
}

/// How many values have a mean that is `z` of its deviations within `distance`.
fn seeds(spread: f64, distance: f64, z: f64) -> f64 {
    let root = z * spread / distance;
    // Without any spread one value is the mean, however near.
    if spread == 0.0 { 1.0 } else { root * root }
}

/// The standard deviation of the values that these are a sample of.
fn spread(values: &[f64]) -> f64 {
    let centre = mean(values).unwrap_or(0.0);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    (squares / values.len().saturating_sub(1).max(1) as f64).sqrt()
}

/// In how many cases as many seeds as are said tell.
pub const POWER: f64 = 0.8;
/// Its logarithm.
const LN_POWER: f64 = -0.223_143_551_314_209_7;
/// More seeds than this are never said: about an hour of computing for one link.
pub const SEEDS_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use netmodel::StreamKey;

    use super::super::paired::{bootstrap_interval, sign_flip_p};
    use super::*;

    /// The share of samples of as many normal values as are said to be enough that tell.
    fn tells(true_mean: f64, true_spread: f64, least: f64, significant: f64) -> (usize, f64) {
        // A sample with just that mean and spread.
        let half = true_spread / 2f64.sqrt();
        let count = seeds_enough(&[true_mean - half, true_mean + half], least, significant).unwrap();
        let mut stream = StreamKey::new([3; 32]).stream("enough");
        let tells = |_: &i32| {
            let sample: Vec<f64> = (0..count).map(|_| true_mean + true_spread * stream.normal()).collect();
            let (low, high) = bootstrap_interval(&sample).unwrap();
            let same = low > -least && high < least;
            let size = mean(&sample).unwrap().abs() >= least;
            same || size && (low > 0.0 || high < 0.0) && sign_flip_p(&sample) <= significant
        };
        (count, (0..300).filter(tells).count() as f64 / 300.0)
    }

    #[test]
    fn as_many_seeds_as_are_said_tell_about_as_often_as_is_said() {
        // A standard error of 300 samples is 0.023. The bootstrap of a sample is a little wider than its normal interval, and
        // with few seeds all must agree, so what comes out lies up to a tenth to either side.
        for (mean, spread, least, significant) in [
            (3.0, 4.0, 1.0, 0.05),
            (-3.0, 4.0, 1.0, 0.01),
            (1.5, 1.0, 1.0, 0.05),
            (0.0, 2.0, 1.0, 0.05),
            (0.5, 1.0, 1.0, 0.05),
        ] {
            let (count, share) = tells(mean, spread, least, significant);
            assert!(count >= 6 && (0.7..=0.99).contains(&share), "{mean} ± {spread}: {count} seeds, {share}");
        }
    }

    #[test]
    fn seeds_that_agree_need_as_many_as_the_test() {
        assert_eq!(seeds_enough(&[5.0, 5.0, 5.0], 1.0, 0.05), Some(6));
        assert_eq!(seeds_enough(&[5.0, 5.0, 5.0], 1.0, 0.005), Some(9), "of many results each must be surer");
        assert_eq!(seeds_enough(&[f64::INFINITY; 3], 1.0, 0.05), Some(6));
        assert_eq!(seeds_enough(&[5.0; 8], 1.0, 0.05), Some(9), "those at hand did not tell");
    }

    #[test]
    fn more_spread_and_a_nearer_limit_need_more() {
        let of = |spread: f64, mean: f64| seeds_enough(&[mean - spread, mean + spread], 1.0, 0.05).unwrap();
        assert!(of(2.0, 3.0) > of(1.0, 3.0));
        assert!(of(1.0, 1.5) > of(1.0, 3.0));
        assert!(of(1.0, 0.5) > of(1.0, 0.0));
    }

    #[test]
    fn what_cannot_be_said_is_not_said() {
        assert_eq!(seeds_enough(&[], 1.0, 0.05), None);
        assert_eq!(seeds_enough(&[5.0], 1.0, 0.05), None, "one says nothing of the spread");
        assert_eq!(seeds_enough(&[0.0, 2.0], 1.0, 0.05), None, "the mean is the limit itself");
        assert_eq!(seeds_enough(&[f64::INFINITY, f64::NEG_INFINITY], 1.0, 0.05), None);
        assert_eq!(seeds_enough(&[-1000.0, 1000.0], 1.0, 0.05), None);
    }
}
