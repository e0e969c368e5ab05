//! What the queueing delay says beyond its last value: whether it is under way, and what target suits
//! the path (RFC 8298 §4.1.2 and §4.1.2.3).

use std::collections::VecDeque;

use units::{Span, Time};

use super::RTT_MIN;

/// Whether the queueing delay is under way (§4.1.2).
#[derive(Debug, Default)]
pub(super) struct Trend {
    /// The last queueing delays as fractions of the target.
    fractions: VecDeque<f64>,
    fraction_average: f64,
    value: f64,
}

impl Trend {
    /// 0 to 1.
    pub(super) fn value(&self) -> f64 {
        self.value
    }

    pub(super) fn sample(&mut self, fraction: f64) {
        self.fraction_average += QDELAY_WEIGHT * (fraction - self.fraction_average);
        if self.fractions.len() == TREND_SAMPLES {
            self.fractions.pop_front();
        }
        self.fractions.push_back(fraction);
        // What has not been measured yet is zero (§4.1.1.2).
        let mean = self.fractions.iter().sum::<f64>() / TREND_SAMPLES as f64;
        let missing = TREND_SAMPLES - self.fractions.len();
        let off = |index: usize| index.checked_sub(missing).map_or(0.0, |index| self.fractions[index]) - mean;
        let at_lag = |lag: usize| (0..TREND_SAMPLES - lag).map(|n| off(n) * off(n + lag)).sum::<f64>();
        let power = at_lag(0);
        let prediction = if power > 0.0 { at_lag(1) / power } else { 0.0 };
        self.value = (prediction * self.fraction_average).clamp(0.0, 1.0);
    }
}

/// The target of the queueing delay, which makes room for flows that fill queues (§4.1.2.3).
#[derive(Debug)]
pub(super) struct Target {
    seconds: f64,
    /// The last queueing delays over [`QDELAY_TARGET_LO`].
    norms: VecDeque<f64>,
    /// The share of round trips with a loss.
    loss_event_rate: f64,
    round_began: Time,
}

impl Target {
    pub(super) fn new(now: Time) -> Self {
        Self { seconds: QDELAY_TARGET_LO, norms: VecDeque::new(), loss_event_rate: 0.0, round_began: now }
    }

    pub(super) fn seconds(&self) -> f64 {
        self.seconds
    }

    pub(super) fn on_loss_event(&mut self) {
        self.loss_event_rate += LOSS_EVENT_WEIGHT * (1.0 - self.loss_event_rate);
    }

    /// Lets the loss event rate fade with the round trips that have passed.
    pub(super) fn on_round_trips(&mut self, now: Time, rtt: Option<Span>) {
        let Some(rtt) = rtt else { return };
        let rounds = now.since(self.round_began).as_nanos() / rtt.max(RTT_MIN).as_nanos();
        if rounds > 0 {
            self.round_began = now;
            self.loss_event_rate *= libm::pow(1.0 - LOSS_EVENT_WEIGHT, rounds as f64);
        }
    }

    pub(super) fn sample(&mut self, queue_seconds: f64) {
        if self.norms.len() == NORMS {
            self.norms.pop_front();
        }
        self.norms.push_back(queue_seconds / QDELAY_TARGET_LO);
        // What has not been measured yet is zero (§4.1.1.2).
        let mean = self.norms.iter().sum::<f64>() / NORMS as f64;
        let squares = self.norms.iter().map(|norm| norm * norm).sum::<f64>() / NORMS as f64;
        let variance = (squares - mean * mean).max(0.0);
        let recent = self.norms.iter().rev().take(NORMS_MEAN).sum::<f64>() / NORMS_MEAN as f64;
        let wanted = (recent + libm::sqrt(variance)) * QDELAY_TARGET_LO;
        let target = if self.loss_event_rate > LOSS_EVENT_RATE_TH {
            1.5 * wanted
        } else if variance < VARIANCE_STEADY {
            wanted
        } else if wanted < QDELAY_TARGET_LO {
            (self.seconds * 0.5).max(wanted)
        } else {
            self.seconds * 0.9
        };
        self.seconds = target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }
}

/// In seconds.
const QDELAY_TARGET_LO: f64 = 0.1;
const QDELAY_TARGET_HI: f64 = 0.4;
const QDELAY_WEIGHT: f64 = 0.1;
const TREND_SAMPLES: usize = 20;
const NORMS: usize = 200;
const NORMS_MEAN: usize = 50;
const LOSS_EVENT_WEIGHT: f64 = 0.01;
const LOSS_EVENT_RATE_TH: f64 = 0.002;
const VARIANCE_STEADY: f64 = 0.2;

#[cfg(test)]
mod tests {
    use super::super::QDELAY_TREND_TH;
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_delay_that_moves_is_a_trend_and_one_that_stands_is_none() {
        let mut trend = Trend::default();
        for _ in 0..100 {
            trend.sample(0.5);
        }
        assert!(trend.value < 1e-9);
        for step in 0..20 {
            trend.sample(0.5 + f64::from(step) * 0.05);
        }
        assert!(trend.value > QDELAY_TREND_TH, "{}", trend.value);
    }

    #[test]
    fn steady_delay_or_loss_raises_the_target_and_a_short_queue_lowers_it() {
        let mut target = Target::new(ms(0));
        for _ in 0..NORMS {
            target.sample(0.25);
        }
        assert!((target.seconds - 0.25).abs() < 1e-9);
        target.on_loss_event();
        target.sample(0.25);
        assert!((target.seconds - 0.375).abs() < 1e-9);
        target.on_round_trips(ms(20_000), Some(Span::from_millis(100)));
        for _ in 0..NORMS {
            target.sample(0.0);
        }
        assert!((target.seconds - QDELAY_TARGET_LO).abs() < 1e-9);
    }
}
