//! What the links of a cell did, and how well they kept time.

use std::time::Duration;

use hdrhistogram::Histogram;
use netmodel::LinkCounters;
use netmodel::units::Span;

/// The report of a cell's links.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkReport {
    /// The backend.
    pub backend: &'static str,
    /// What the stages of each link did, in the order of [`LINKS`](super::LINKS).
    pub links: [LinkCounters; 4],
    /// How much later than the model said packets left. It does not accumulate: the times of the model count
    /// from the kernel's stamps.
    pub release_lag: Lag,
    /// How long packets waited for the link's thread to take them in.
    pub arrival_lag: Lag,
    /// Frames that were not packets of the cell, and went nowhere.
    pub strays: u64,
    /// Packets that came without a stamp of the kernel's, or with one that cannot be.
    pub unstamped: u64,
    /// Frames that the kernel dropped because the link did not take them in time.
    pub socket_drops: u64,
    /// Packets that the kernel did not take at the exit.
    pub send_failures: u64,
    /// Packet events that nobody took.
    pub events_dropped: u64,
    /// Processor time of the link's thread.
    pub cpu: Duration,
    /// How long the links were there.
    pub wall: Duration,
    /// What the system did not allow, for people.
    pub notes: Vec<String>,
}

/// A distribution of lags.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Lag {
    /// How many.
    pub count: u64,
    /// The median, in microseconds; 0 of none.
    pub us_p50: f64,
    /// The 99th percentile, in microseconds.
    pub us_p99: f64,
    /// The greatest, in microseconds.
    pub us_max: f64,
}

/// Collects lags: three digits, from 1 ns to 10 s; what is above counts as 10 s.
#[derive(Debug, Clone)]
pub(super) struct LagHistogram(Histogram<u64>);

impl LagHistogram {
    pub(super) fn new() -> Self {
        Self(Histogram::new_with_max(LAG_MAX.as_nanos(), 3).expect("the bounds are in order"))
    }

    pub(super) fn record(&mut self, lag: Span) {
        self.0.saturating_record(lag.as_nanos());
    }

    pub(super) fn lag(&self) -> Lag {
        let us = |ns: u64| ns as f64 / 1e3;
        Lag {
            count: self.0.len(),
            us_p50: us(self.0.value_at_quantile(0.5)),
            us_p99: us(self.0.value_at_quantile(0.99)),
            us_max: us(self.0.max()),
        }
    }
}

const LAG_MAX: Span = Span::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_have_their_percentiles() {
        let mut lags = LagHistogram::new();
        assert_eq!(lags.lag(), Lag::default());
        for us in 1..=1000 {
            lags.record(Span::from_micros(us));
        }
        lags.record(Span::from_secs(100));
        let lag = lags.lag();
        assert_eq!(lag.count, 1001);
        assert!((lag.us_p50 - 501.0).abs() < 2.0 && (lag.us_p99 - 991.0).abs() < 3.0, "{lag:?}");
        assert!((9.9e6..1.1e7).contains(&lag.us_max), "{lag:?}");
    }
}
