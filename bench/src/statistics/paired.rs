//! Statistics of paired differences: an interval, a p-value, and p-values of many tests at once.
//!
//! Two settings meet the same link and the same cameras under the same seed, so what is compared is
//! the difference within a seed, and how much one seed differs from the next drops out. The
//! random draws come from a `ChaCha` stream of a fixed seed: the same differences always give the
//! same numbers. [`mod@crate::statistics`] has what a single cell needs; who asks for this is the
//! comparison of runs.

use netmodel::{Stream, StreamKey};

/// The 95 % bootstrap interval of the mean of `differences`, lower end first; `None` for fewer than
/// two, since one says nothing of how they vary.
///
/// Percentile bootstrap with [`RESAMPLES`] resamples (Efron and Tibshirani, An Introduction to the
/// Bootstrap, 1993, chapter 13), whose percentiles are moved outward for few values as Hesterberg
/// gives it (What Teachers Should Know about the Bootstrap, The American Statistician 69(4), 2015,
/// §3.2): plainly taken, the interval of five values would cover the mean only 82 % of the time. Of
/// up to four values it is the range of the values, and too narrow all the same.
pub fn bootstrap_interval(differences: &[f64]) -> Option<(f64, f64)> {
    let count = differences.len();
    let first = *differences.first().filter(|_| count >= 2)?;
    if differences.iter().all(|difference| difference.total_cmp(&first).is_eq()) {
        return Some((first, first));
    }
    let mut stream = stream("bootstrap");
    let mut means: Vec<f64> = (0..RESAMPLES).map(|_| resampled_mean(differences, &mut stream)).collect();
    means.sort_unstable_by(f64::total_cmp);
    let tail = TAILS[count.min(TAILS.len() + 1) - 2];
    let outside = (tail * RESAMPLES as f64) as usize;
    Some((means[outside], means[RESAMPLES - 1 - outside]))
}

fn resampled_mean(values: &[f64], stream: &mut Stream) -> f64 {
    let count = values.len() as u64;
    let sum: f64 = (0..count).map(|_| values[stream.range(0, count) as usize]).sum();
    sum / count as f64
}

/// The two-sided p-value of `differences` being as likely to go one way as the other: the share of
/// the ways to flip their signs that give a sum at least as far from zero.
///
/// Exact, over all ways, for up to [`EXACT_MAX`] values; beyond that over [`FLIPS`] drawn ones,
/// counting the one that was seen (Phipson and Smyth, Permutation P-values Should Never Be Zero,
/// 2010). 1 for no values. Source: Fisher, The Design of Experiments, 1935, §21.
pub fn sign_flip_p(differences: &[f64]) -> f64 {
    let size: f64 = differences.iter().map(|difference| difference.abs()).sum();
    let seen = differences.iter().sum::<f64>().abs();
    // Sums of the same numbers in another order differ in their last digits.
    let as_far = |sum: f64| sum.abs() >= seen - size * 1e-12;
    let count = differences.len();
    if count == 0 {
        return 1.0;
    }
    if count <= EXACT_MAX {
        // Flipping all signs changes nothing, so the first one can stay as it is.
        let ways = 1u32 << (count - 1);
        let found = (0..ways).filter(|way| as_far(flipped_sum(differences, u64::from(*way) << 1))).count();
        return found as f64 / f64::from(ways);
    }
    let mut stream = stream("sign-flip");
    let found = (0..FLIPS).filter(|_| as_far(drawn_sum(differences, &mut stream))).count();
    (found + 1) as f64 / (FLIPS + 1) as f64
}

/// The sum of `values` with the signs of those flipped whose bit in `way` is set.
fn flipped_sum(values: &[f64], way: u64) -> f64 {
    let signed = |(index, value): (usize, &f64)| if (way >> index) & 1 == 1 { -value } else { *value };
    values.iter().enumerate().map(signed).sum()
}

fn drawn_sum(values: &[f64], stream: &mut Stream) -> f64 {
    values.chunks(64).map(|chunk| flipped_sum(chunk, stream.u64())).sum()
}

/// The smallest p-value that [`sign_flip_p`] can have for so many values: 2^−(n − 1).
pub fn smallest_p(count: usize) -> f64 {
    let halvings = i32::try_from(count.saturating_sub(1)).unwrap_or(i32::MAX);
    if count <= EXACT_MAX { 0.5f64.powi(halvings) } else { 1.0 / (FLIPS + 1) as f64 }
}

/// `p_values` adjusted for being many, in their order: what is at most q among them is a discovery
/// at a false discovery rate of q.
///
/// Benjamini and Hochberg, Controlling the False Discovery Rate, Journal of the Royal Statistical
/// Society B 57(1), 1995; the adjusted value of the k-th smallest of m is the least of p · m ÷ k over
/// it and all larger ones.
pub fn benjamini_hochberg(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least: f64 = 1.0;
    for (rank, index) in order.iter().enumerate().rev() {
        least = least.min(p_values[*index] * p_values.len() as f64 / (rank + 1) as f64);
        adjusted[*index] = least;
    }
    adjusted
}

/// The rank of each value's size among all, with the value's sign: 1 for the smallest, the mean rank
/// for equal ones, and 0 for zero. Infinite values are the largest.
///
/// So values of which some are infinite can be tested like numbers (Wilcoxon, Individual Comparisons
/// by Ranking Methods, 1945).
pub fn signed_ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: f64| {
        let size = value.abs();
        let smaller = values.iter().filter(|other| other.abs() < size).count();
        let equal = values.iter().filter(|other| other.abs().total_cmp(&size).is_eq()).count();
        smaller as f64 + (equal + 1) as f64 / 2.0
    };
    values.iter().map(|v| if *v == 0.0 { 0.0 } else { rank(*v).copysign(*v) }).collect()
}

fn stream(label: &str) -> Stream {
    StreamKey::new([RANDOM_SEED; 32]).stream(label)
}

/// Resamples that an interval is taken of.
pub const RESAMPLES: usize = 10_000;
/// Flips that are drawn where there are too many ways to try all.
pub const FLIPS: usize = 100_000;
/// Up to so many values, all ways to flip signs are tried: 8192.
pub const EXACT_MAX: usize = 14;
/// Every byte of the seed that all draws come from.
pub const RANDOM_SEED: u8 = 95;

/// The share of resamples beyond each end of a 95 % interval, for 2, 3, … values; the last also for
/// more, where it is 0.025 in the limit: Φ(−√(n ÷ (n − 1)) · t), with t the 97.5 % point of Student's
/// distribution with n − 1 degrees of freedom.
const TAILS: [f64; 29] = [
    0.0, 6.83e-8, 1.19e-4, 9.54e-4, 0.002_43, 0.004_11, 0.005_74, 0.007_22, 0.008_55, 0.009_72, 0.0108,
    0.0117, 0.0125, 0.0132, 0.0139, 0.0144, 0.0150, 0.0154, 0.0159, 0.0163, 0.0166, 0.0170, 0.0173, 0.0176,
    0.0179, 0.0181, 0.0183, 0.0185, 0.0188,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_needs_two_values_and_holds_equal_ones_exactly() {
        assert_eq!(bootstrap_interval(&[]), None);
        assert_eq!(bootstrap_interval(&[1.5]), None);
        assert_eq!(bootstrap_interval(&[1.5, 1.5, 1.5]), Some((1.5, 1.5)));
        assert_eq!(bootstrap_interval(&[1.0, 2.0, 6.0]), Some((1.0, 6.0)), "of three it is their range");
    }

    #[test]
    fn the_same_values_give_the_same_interval() {
        let values: Vec<f64> = (0..40).map(|n| f64::from(n * n % 17)).collect();
        let (low, high) = bootstrap_interval(&values).unwrap();
        assert_eq!(bootstrap_interval(&values), Some((low, high)));
        let mean = values.iter().sum::<f64>() / 40.0;
        let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 39.0 / 40.0).sqrt();
        assert!((high - mean - 2.02 * deviation).abs() < 0.3 * deviation, "{low} {mean} {high}");
        assert!((mean - low - 2.02 * deviation).abs() < 0.3 * deviation, "{low} {mean} {high}");
    }

    /// The share of samples of `count` normal values whose interval covers the true mean.
    fn coverage(count: usize) -> f64 {
        let mut stream = StreamKey::new([1; 32]).stream("coverage");
        let covers = |_: &i32| {
            let sample: Vec<f64> = (0..count).map(|_| 3.0 + stream.normal()).collect();
            let (low, high) = bootstrap_interval(&sample).unwrap();
            (low..=high).contains(&3.0)
        };
        (0..200).filter(covers).count() as f64 / 200.0
    }

    #[test]
    fn intervals_cover_the_mean_about_as_often_as_they_say() {
        // Two standard errors of 200 samples are 0.03 to 0.05. Few values still cover a little too seldom.
        for (count, least) in [(6, 0.86), (12, 0.89)] {
            let share = coverage(count);
            assert!((least..=0.99).contains(&share), "{count} values: {share}");
        }
        assert!(coverage(3) < 0.85, "what the documentation says of three values");
    }

    #[test]
    fn flips_are_counted_exactly() {
        assert_eq!(sign_flip_p(&[]), 1.0);
        assert_eq!(sign_flip_p(&[2.0]), 1.0);
        assert_eq!(sign_flip_p(&[0.0; 6]), 1.0);
        assert_eq!(sign_flip_p(&[1.0, 2.0, 3.0]), 0.25);
        assert_eq!(sign_flip_p(&[-0.1; 6]), 2.0 / 64.0);
        // Of the 8 ways, |±1 ±2 ±4| reaches |1 + 2 - 4| = 1 in all, and |1 - 2 + 4| = 3 in 6.
        assert_eq!(sign_flip_p(&[1.0, 2.0, -4.0]), 1.0);
        assert_eq!(sign_flip_p(&[1.0, -2.0, 4.0]), 0.75);
    }

    /// Darwin's plants: the differences in height of 15 pairs, in eighths of an inch. Fisher (The
    /// Design of Experiments, §21) counts 1726 of 32768 ways on both sides.
    #[test]
    fn drawn_flips_come_near_the_exact_count_of_fisher() {
        let darwin: Vec<f64> =
            [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48].map(f64::from).to_vec();
        let p = sign_flip_p(&darwin);
        assert!((p - 1726.0 / 32768.0).abs() < 0.003, "{p}");
    }

    #[test]
    fn the_smallest_p_is_reached_by_values_that_agree() {
        for count in 1..=EXACT_MAX {
            assert_eq!(sign_flip_p(&vec![0.3; count]), smallest_p(count), "{count}");
        }
        assert!(smallest_p(5) > 0.05 && smallest_p(6) < 0.05);
        assert!(sign_flip_p(&[0.3; 40]) >= smallest_p(40));
    }

    /// The 15 p-values of the example in Benjamini and Hochberg (1995), §3.2: at 5 % the four
    /// smallest are discoveries.
    #[test]
    fn the_example_of_benjamini_and_hochberg_comes_out() {
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0000,
        ];
        let adjusted = benjamini_hochberg(&p);
        assert_eq!(adjusted.iter().filter(|q| **q <= 0.05).count(), 4, "{adjusted:?}");
        assert!((adjusted[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
        assert!((adjusted[4] - 0.0201 * 15.0 / 5.0).abs() < 1e-12);
        assert_eq!(adjusted[14], 1.0);
        let backwards: Vec<f64> = p.iter().rev().copied().collect();
        assert_eq!(benjamini_hochberg(&backwards).into_iter().rev().collect::<Vec<_>>(), adjusted);
        assert_eq!(benjamini_hochberg(&[0.04, 0.04]), [0.04, 0.04], "a larger one can lower a smaller one");
    }

    #[test]
    fn infinite_values_have_the_highest_rank() {
        let values = [f64::INFINITY, -2.0, 0.0, 2.0, f64::NEG_INFINITY, 1.0];
        assert_eq!(signed_ranks(&values), [5.5, -3.5, 0.0, 3.5, -5.5, 2.0]);
    }
}
