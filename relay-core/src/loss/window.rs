//! A loss share over a sliding window, from two counters that only grow.

use std::collections::VecDeque;

use units::{Span, Time};

/// The share of lost packets among sent ones over the last while.
#[derive(Debug)]
pub(crate) struct LossWindow {
    length: Span,
    step: Span,
    /// Readings of (time, packets, lost), one a step.
    readings: VecDeque<(Time, u64, u64)>,
}

impl LossWindow {
    pub(crate) fn new(length: Span) -> Self {
        Self { length, step: length / STEPS, readings: VecDeque::new() }
    }

    /// Takes the counters as they stand and returns the loss share since a window ago; zero while
    /// fewer than [`PACKETS_MIN`] packets say anything.
    pub(crate) fn update(&mut self, now: Time, packets: u64, lost: u64) -> f64 {
        while self.readings.len() > 1 && self.readings[1].0 + self.length <= now {
            self.readings.pop_front();
        }
        if self.readings.back().is_none_or(|(at, ..)| *at + self.step <= now) {
            self.readings.push_back((now, packets, lost));
        }
        let Some((_, packets_then, lost_then)) = self.readings.front() else { return 0.0 };
        let sent = packets.saturating_sub(*packets_then);
        if sent < PACKETS_MIN {
            return 0.0;
        }
        lost.saturating_sub(*lost_then) as f64 / sent as f64
    }
}

/// Readings kept over a window's length.
const STEPS: u64 = 20;
/// One loss in fewer packets than this would say 5 % or more.
const PACKETS_MIN: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_window_counts() {
        let mut window = LossWindow::new(Span::from_secs(1));
        let mut now = Time::ZERO;
        assert!(window.update(now, 0, 0) < f64::EPSILON);
        for step in 1..=40u64 {
            now += Span::from_millis(50);
            // Ten packets a step, one lost in each of the first twenty steps.
            let share = window.update(now, step * 10, step.min(20));
            if step >= 2 {
                let expected = match step {
                    2..=20 => 0.1,
                    _ => (40 - step) as f64 / 200.0,
                };
                assert!((share - expected).abs() < 0.011, "step {step}: {share} against {expected}");
            }
        }
        assert!(window.update(now + Span::from_millis(50), 410, 20) < 0.006);
    }
}
