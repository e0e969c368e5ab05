//! Exact order statistics and the few other numbers that results are made of.
//!
//! Percentiles are nearest-rank: of n values in ascending order, the p-th percentile is the one at
//! rank ⌈p · n ÷ 100⌉ (at least 1). It is always a value that occurred, never an interpolation, and
//! one infinite value never bleeds into a percentile below it.

pub mod enough;
pub mod paired;

/// The nearest-rank `percent`-th percentile of `sorted`, which is ascending; `None` when empty.
///
/// `missing` more values count as larger than all of `sorted`; a percentile that falls on one of
/// them is `None` too.
pub fn percentile(sorted: &[u64], missing: usize, percent: u32) -> Option<u64> {
    sorted.get(rank(sorted.len() + missing, percent)?).copied()
}

/// Index, in ascending order, of the nearest-rank `percent`-th percentile of `count` values.
pub(crate) fn rank(count: usize, percent: u32) -> Option<usize> {
    let rank = (u64::from(percent) * count as u64).div_ceil(100).max(1);
    (count > 0).then(|| usize::try_from(rank - 1).unwrap_or(usize::MAX).min(count - 1))
}

/// Jain's fairness index of what each flow got: (Σx)² ÷ (n · Σx²), between 1/n and 1.
///
/// 1 when all got the same; `None` for no flows or when nobody got anything (Jain, Chiu and Hawe,
/// DEC-TR-301, 1984).
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    (squares > 0.0 && squares.is_finite()).then(|| sum * sum / (shares.len() as f64 * squares))
}

/// The arithmetic mean; `None` for no values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// `part ÷ whole` to six decimals; `None` when there is no whole.
pub fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| rounded(part as f64 / whole as f64, 6))
}

/// `value` to `decimals` decimals, so that printed results are tidy and equal everywhere.
///
/// Rounding half away from zero, by exact scaling with a power of ten; values so large that
/// scaling would lose digits stay as they are.
pub fn rounded(value: f64, decimals: u32) -> f64 {
    let scale = 10u64.pow(decimals) as f64;
    let scaled = value * scale;
    if scaled.abs() < 9e15 { scaled.round() / scale } else { value }
}

/// Nanoseconds as milliseconds to three decimals.
pub fn millis(nanos: u64) -> f64 {
    rounded(nanos as f64 / 1e6, 3)
}

/// Nanoseconds as seconds to six decimals.
pub fn seconds(nanos: u64) -> f64 {
    rounded(nanos as f64 / 1e9, 6)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let values: Vec<u64> = (1..=10).collect();
        assert_eq!(percentile(&values, 0, 50), Some(5));
        assert_eq!(percentile(&values, 0, 51), Some(6));
        assert_eq!(percentile(&values, 0, 99), Some(10));
        assert_eq!(percentile(&values, 0, 0), Some(1));
        assert_eq!(percentile(&values, 0, 100), Some(10));
        assert_eq!(percentile(&[7], 0, 50), Some(7));
        assert_eq!(percentile(&[], 0, 50), None);
    }

    #[test]
    fn a_missing_value_is_larger_than_all_others() {
        assert_eq!(percentile(&[1, 2], 2, 50), Some(2));
        assert_eq!(percentile(&[1, 2], 2, 51), None);
        assert_eq!(percentile(&[], 3, 50), None);
        let ninety_nine: Vec<u64> = (0..99).collect();
        assert_eq!(percentile(&ninety_nine, 1, 99), Some(98), "1 % lost leaves the 99th percentile");
        assert_eq!(percentile(&ninety_nine[..98], 2, 99), None, "2 % lost does not");
    }

    #[test]
    fn jain_is_one_for_equal_shares_and_one_nth_for_one_taker() {
        assert_eq!(jain_index(&[2.0, 2.0, 2.0]), Some(1.0));
        assert_eq!(jain_index(&[3.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
        assert_eq!(jain_index(&[]), None);
    }

    #[test]
    fn rounding_keeps_the_decimals_asked_for() {
        assert_eq!(millis(1_234_567), 1.235);
        assert_eq!(ratio(1, 3), Some(0.333_333));
        assert_eq!(ratio(1, 0), None);
        assert_eq!(rounded(1e18, 3), 1e18);
    }

    proptest! {
        #[test]
        fn a_percentile_has_its_share_at_or_below(mut values in prop::collection::vec(0u64..1000, 1..200),
                                                  percent in 1u32..=100) {
            values.sort_unstable();
            let found = percentile(&values, 0, percent).unwrap();
            let at_or_below = values.iter().filter(|v| **v <= found).count() as u64;
            let below = values.iter().filter(|v| **v < found).count() as u64;
            let count = values.len() as u64;
            prop_assert!(at_or_below * 100 >= u64::from(percent) * count);
            prop_assert!(below * 100 < u64::from(percent) * count);
        }
    }
}
