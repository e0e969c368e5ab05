//! From what difference on a metric is worth speaking of.
//!
//! A difference can be certain and still be nothing: with enough seeds, a tenth of a millisecond is.
//! A comparison calls a result better or worse only from these sizes on, and the same where it is
//! surely below them. They are judgements about what an operator notices or a link pays, made once
//! and for all links, and not taken from any result; `docs/compare.md` gives the reasons.

use crate::metric::Metric;

impl Metric {
    /// The smallest difference that matters, in the metric's unit; above 0.
    ///
    /// A metric without an entry, which a test keeps from happening, has one step of its last printed
    /// digit.
    pub fn minimum_effect(&self) -> f64 {
        let known = MINIMUM.iter().find(|(name, _)| *name == self.name);
        known.map_or_else(|| 1.0 / f64::from(10u32.pow(self.decimals as u32)), |(_, effect)| *effect)
    }
}

const MINIMUM: &[(&str, f64)] = &[
    // Half a frame in a hundred: one more missing picture every 13 s on the main camera.
    ("delivered", 0.5),
    ("delivered-all", 0.5),
    ("on-time-200", 0.5),
    ("on-time-300", 0.5),
    ("on-time-500", 0.5),
    // A freeze is at least 217 ms on the main camera: one more every two minutes.
    ("frozen", 0.1),
    ("frozen-main", 0.1),
    ("frozen-w3c", 0.1),
    // A twentieth to a tenth of a frame interval at the median; tails vary more and matter less.
    ("delay-p50", 2.0),
    ("delay-p95", 5.0),
    ("delay-p99", 10.0),
    ("delay-max", 50.0),
    ("delay-all-p50", 2.0),
    ("delay-all-p95", 5.0),
    ("delay-all-p99", 10.0),
    ("relay-p50", 1.0),
    ("relay-p99", 5.0),
    // A pose is taken every 14 ms.
    ("hand-p50", 1.0),
    ("hand-p99", 5.0),
    ("hand-max", 20.0),
    ("command-gap", 20.0),
    // There must be none: one in a hundred cells is one too many.
    ("stale", 0.01),
    // About 1 % of the traffic.
    ("goodput", 0.03),
    ("overhead", 0.02),
    ("queue-p50", 1.0),
    ("queue-p99", 5.0),
    // What a second flow on the link pays: a hundredth of a link of some Mbit/s, and the video's own steps.
    ("bulk-goodput", 0.05),
    ("bulk-rtt", 5.0),
    ("bulk-loss", 0.2),
    ("jain", 0.02),
    // Reasons, in the steps of what they explain.
    ("skipped", 0.5),
    ("expired", 0.5),
    ("incomplete", 0.5),
    ("loss", 0.2),
    ("declared-lost", 0.5),
    ("post-loss", 0.2),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_one_and_there_is_none_without_a_metric() {
        for metric in Metric::all() {
            assert_eq!(MINIMUM.iter().filter(|(name, _)| *name == metric.name).count(), 1, "{}", metric.name);
            assert!(metric.minimum_effect() > 0.0, "{}", metric.name);
        }
        assert_eq!(MINIMUM.len(), Metric::all().len());
    }
}
