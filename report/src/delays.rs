//! Delays of very many frames in little room: how many came within how long, and how many never came.

/// A histogram of delays with 1 % resolution.
///
/// Buckets are equal within an octave and double from one to the next (as in `HdrHistogram`), so the
/// room it takes does not depend on how many frames are counted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Delays {
    /// Frames by bucket; as long as the highest bucket that was needed.
    counts: Vec<u32>,
    delivered: u64,
    produced: u64,
}

impl Delays {
    /// Counts a frame: its delay in microseconds, or that it never came.
    pub fn add(&mut self, delay_us: Option<u64>) {
        self.produced += 1;
        let Some(delay_us) = delay_us else { return };
        self.delivered += 1;
        let bucket = bucket(delay_us.min(DELAY_US_MAX));
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(1);
    }

    /// Frames that were made.
    pub fn produced(&self) -> u64 {
        self.produced
    }

    /// The share of all produced frames that ever came; `None` when none was made.
    pub fn delivered_ratio(&self) -> Option<f64> {
        bench::statistics::ratio(self.delivered, self.produced)
    }

    /// The cumulative share of produced frames by delay: pairs of milliseconds and share, both
    /// ascending, one for each bucket that holds anything. It ends at the share that came.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let mut seen = 0u64;
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled
            .map(|(bucket, count)| {
                seen += u64::from(*count);
                (middle_us(bucket) / 1e3, seen as f64 / self.produced as f64)
            })
            .collect()
    }

    /// The delay in milliseconds within which `percent` of all produced frames came; `None` where so
    /// many never came.
    pub fn percentile(&self, percent: f64) -> Option<f64> {
        let wanted = percent / 100.0 * (1.0 - 1e-9);
        self.curve().into_iter().find(|(_, share)| *share >= wanted).map(|(ms, _)| ms)
    }
}

/// An hour; whatever is later is late.
const DELAY_US_MAX: u64 = 3_600_000_000;
/// Buckets in an octave, as a power of two: 1/64 is the widest a bucket is for its value.
const OCTAVE_BITS: u32 = 6;
const OCTAVE: u64 = 1 << OCTAVE_BITS;

/// The bucket of a delay: the delay itself below one octave's worth, then `OCTAVE` to each doubling.
fn bucket(delay_us: u64) -> usize {
    if delay_us < OCTAVE {
        return delay_us as usize;
    }
    let shift = delay_us.ilog2() - OCTAVE_BITS;
    ((u64::from(shift) + 1) * OCTAVE + (delay_us >> shift) - OCTAVE) as usize
}

/// The middle of a bucket, in microseconds.
fn middle_us(bucket: usize) -> f64 {
    let bucket = bucket as u64;
    if bucket < OCTAVE {
        return bucket as f64;
    }
    let shift = bucket / OCTAVE - 1;
    let from = (bucket % OCTAVE + OCTAVE) << shift;
    from as f64 + ((1u64 << shift) as f64 - 1.0) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_one_another_and_are_narrow() {
        let mut last = 0;
        for delay in (0..200_000).chain([1_000_000, DELAY_US_MAX]) {
            let bucket = bucket(delay);
            assert!(bucket == last || bucket == last + 1 || delay >= 1_000_000, "{delay}");
            last = bucket;
            let error = (middle_us(bucket) - delay as f64).abs();
            assert!(error <= delay as f64 / 100.0, "{delay} is taken for {}", middle_us(bucket));
        }
        assert!(bucket(DELAY_US_MAX) < 2048);
    }

    #[test]
    fn what_never_came_keeps_the_curve_below_one() {
        let mut delays = Delays::default();
        for delay in [Some(1_000), Some(2_000), None, Some(1_000)] {
            delays.add(delay);
        }
        let curve = delays.curve();
        assert_eq!(curve.len(), 2);
        assert!((curve[0].1 - 0.5).abs() < 1e-9 && (curve[1].1 - 0.75).abs() < 1e-9);
        assert_eq!(delays.delivered_ratio(), Some(0.75));
        assert!(delays.percentile(75.0).is_some());
        assert_eq!(delays.percentile(76.0), None);
    }

    #[test]
    fn nothing_produced_is_no_curve() {
        let delays = Delays::default();
        assert!(delays.curve().is_empty());
        assert_eq!(delays.delivered_ratio(), None);
    }
}
