//! How late things happened that had a time to happen at.

use bench::metrics::summary::LagSummary;
use bench::units::Span;
use hdrhistogram::Histogram;

/// A distribution of delays, from a nanosecond to ten seconds, to two digits.
#[derive(Debug, Clone)]
pub struct Lag(Histogram<u64>);

impl Default for Lag {
    fn default() -> Self {
        Self(Histogram::new_with_bounds(1, MAX_NS, DIGITS).expect("the bounds are valid"))
    }
}

impl Lag {
    /// Something happened so long after its time. Over ten seconds counts as ten.
    pub fn record(&mut self, late: Span) {
        self.0.saturating_record(late.as_nanos());
    }

    /// Adds what another one has recorded.
    pub fn add(&mut self, other: &Self) {
        // It can only fail when the other reaches further, and all have the same bounds.
        let added = self.0.add(&other.0);
        debug_assert!(added.is_ok(), "all have the same bounds");
    }

    /// How many were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The percentiles, in microseconds; `None` when nothing was recorded.
    pub fn summary(&self) -> Option<LagSummary> {
        if self.0.is_empty() {
            return None;
        }
        let us = |ns: u64| (ns as f64 / 100.0).round() / 10.0;
        Some(LagSummary {
            p50: us(self.0.value_at_quantile(0.5)),
            p99: us(self.0.value_at_quantile(0.99)),
            max: us(self.0.max()),
        })
    }
}

const MAX_NS: u64 = 10_000_000_000;
const DIGITS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_microseconds() {
        let mut lag = Lag::default();
        assert_eq!(lag.summary(), None);
        for us in 1..=100 {
            lag.record(Span::from_micros(us));
        }
        let summary = lag.summary().unwrap();
        assert!((summary.p50 - 50.0).abs() < 1.0 && (summary.p99 - 99.0).abs() < 1.5, "{summary:?}");
        assert!((summary.max - 100.0).abs() < 1.0, "{summary:?}");
        lag.record(Span::from_secs(60));
        assert!(lag.summary().unwrap().max <= 10_100_000.0);
    }
}
