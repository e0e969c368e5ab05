//! Whether the path is over-used: the slope of the summed delay variation against a threshold that
//! adapts (draft-ietf-rmcat-gcc-02 §5.3 and §5.4, with WebRTC's `trendline_estimator.cc` in place of
//! the Kalman filter).

use std::collections::VecDeque;

use units::{Span, Time};

use super::groups::Delta;

/// How the path is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Usage {
    /// The queue neither grows nor shrinks.
    Normal,
    /// It grows.
    Over,
    /// It shrinks.
    Under,
}

/// The estimator and the detector.
#[derive(Debug)]
pub(super) struct Trendline {
    /// Arrival and smoothed delay of the last groups, in milliseconds from the first.
    points: VecDeque<(f64, f64)>,
    groups: u32,
    arrived_ms: f64,
    delay_ms: f64,
    delay_smoothed_ms: f64,
    slope: f64,
    threshold_ms: f64,
    threshold_at: Option<Time>,
    /// How long the slope has been above the threshold, and for how many groups.
    over: Option<(f64, u32)>,
    usage: Usage,
}

impl Trendline {
    pub(super) fn new() -> Self {
        Self {
            points: VecDeque::new(),
            groups: 0,
            arrived_ms: 0.0,
            delay_ms: 0.0,
            delay_smoothed_ms: 0.0,
            slope: 0.0,
            threshold_ms: THRESHOLD_MS,
            threshold_at: None,
            over: None,
            usage: Usage::Normal,
        }
    }

    /// Takes the next group in.
    pub(super) fn update(&mut self, now: Time, delta: &Delta) -> Usage {
        self.groups = (self.groups + 1).min(GROUPS_MAX);
        self.arrived_ms += delta.arrived_ms;
        self.delay_ms += delta.arrived_ms - delta.sent_ms;
        self.delay_smoothed_ms = SMOOTHING * self.delay_smoothed_ms + (1.0 - SMOOTHING) * self.delay_ms;
        if self.points.len() == POINTS {
            self.points.pop_front();
        }
        self.points.push_back((self.arrived_ms, self.delay_smoothed_ms));
        let before = self.slope;
        if self.points.len() == POINTS {
            self.slope = slope(&self.points).unwrap_or(self.slope);
        }
        self.detect(now, delta.sent_ms, before);
        self.usage
    }

    fn detect(&mut self, now: Time, sent_ms: f64, slope_before: f64) {
        if self.groups < 2 {
            return;
        }
        let trend_ms = f64::from(self.groups.min(GROUPS_WEIGHED)) * self.slope * GAIN;
        if trend_ms > self.threshold_ms {
            let (lasted, groups) = match self.over {
                Some((lasted, groups)) => (lasted + sent_ms, groups + 1),
                None => (sent_ms / 2.0, 1),
            };
            self.over = Some((lasted, groups));
            if lasted > OVER_USE_MS && groups > 1 && self.slope >= slope_before {
                self.over = Some((0.0, 0));
                self.usage = Usage::Over;
            }
        } else {
            self.over = None;
            self.usage = if trend_ms < -self.threshold_ms { Usage::Under } else { Usage::Normal };
        }
        self.adapt(now, trend_ms.abs());
    }

    /// Moves the threshold towards the trend, so that the flows of others do not look like over-use
    /// for ever.
    fn adapt(&mut self, now: Time, trend_ms: f64) {
        let elapsed = now.since(self.threshold_at.replace(now).unwrap_or(now)).min(ADAPT_MAX);
        if trend_ms > self.threshold_ms + SPIKE_MS {
            return;
        }
        let gain = if trend_ms < self.threshold_ms { K_DOWN } else { K_UP };
        self.threshold_ms += gain * (trend_ms - self.threshold_ms) * elapsed.as_millis_f64();
        self.threshold_ms = self.threshold_ms.clamp(THRESHOLD_MS_MIN, THRESHOLD_MS_MAX);
    }
}

/// The slope of the least-squares line.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let (over, under) = points.iter().fold((0.0, 0.0), |(over, under), (x, y)| {
        (over + (x - mean_x) * (y - mean_y), under + (x - mean_x) * (x - mean_x))
    });
    (under > 0.0).then(|| over / under)
}

const POINTS: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const GROUPS_WEIGHED: u32 = 60;
const GROUPS_MAX: u32 = 1_000;
const THRESHOLD_MS: f64 = 12.5;
const THRESHOLD_MS_MIN: f64 = 6.0;
const THRESHOLD_MS_MAX: f64 = 600.0;
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
const SPIKE_MS: f64 = 15.0;
/// However long ago it was, the threshold moves by no more than in this.
const ADAPT_MAX: Span = Span::from_millis(100);
const OVER_USE_MS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups every 10 ms, each of which arrives `later_ms` later than the one before.
    fn run(trendline: &mut Trendline, from: u64, groups: u64, later_ms: f64) -> Vec<Usage> {
        let group = |index: u64| {
            let now = Time::ZERO + Span::from_millis((from + index) * 10);
            trendline.update(now, &Delta { sent_ms: 10.0, arrived_ms: 10.0 + later_ms })
        };
        (0..groups).map(group).collect()
    }

    #[test]
    fn a_queue_that_grows_is_over_use_and_one_that_shrinks_is_not() {
        let mut trendline = Trendline::new();
        assert!(run(&mut trendline, 0, 100, 0.0).iter().all(|usage| *usage == Usage::Normal));
        let grows = run(&mut trendline, 100, 100, 1.0);
        let found = grows.iter().position(|usage| *usage == Usage::Over);
        assert!(found.is_some_and(|groups| groups < 20), "found after {found:?} groups, 10 ms each");
        let shrinks = run(&mut trendline, 200, 60, -1.0);
        assert_eq!(shrinks.last(), Some(&Usage::Under));
    }

    #[test]
    fn the_threshold_rises_to_the_trend_and_not_to_a_spike() {
        let mut trendline = Trendline::new();
        // The trend tends to 60 × 4 × 0.1 / 10.1 = 2.4 ms and the threshold to its least.
        run(&mut trendline, 0, 300, 0.1);
        assert!((trendline.threshold_ms - THRESHOLD_MS_MIN).abs() < 1e-9);
        // To 11.4 ms, less than the spike above the threshold.
        run(&mut trendline, 300, 300, 0.5);
        assert!((trendline.threshold_ms - 11.4).abs() < 0.5, "{}", trendline.threshold_ms);
        let before = trendline.threshold_ms;
        trendline.adapt(Time::ZERO + Span::from_secs(7), 100.0);
        assert!((trendline.threshold_ms - before).abs() < 1e-9);
    }
}
