//! The path's own delay, and the scatter around it.

use std::collections::VecDeque;

use units::{Span, Time};

/// Remembers interval quartiles over half a minute.
#[derive(Debug)]
pub(super) struct PathDelay {
    recent: VecDeque<(Time, i64)>,
    /// Mean difference between neighbouring quartiles, in nanoseconds.
    scatter: f64,
    sorted: Vec<i64>,
    /// The path's own delay as it was last reckoned.
    base: i64,
}

impl PathDelay {
    pub(super) fn new() -> Self {
        Self {
            recent: VecDeque::new(),
            scatter: SCATTER_FIRST.as_nanos() as f64,
            sorted: Vec::new(),
            base: 0,
        }
    }

    /// Forgets the past: what is seen now is the path's own delay.
    pub(super) fn restart(&mut self) {
        self.recent.clear();
    }

    /// Takes an interval's quartile and says how far it lies above the path's own delay.
    pub(super) fn insert(&mut self, now: Time, quartile: i64) -> Span {
        if let Some((_, before)) = self.recent.back() {
            let step = quartile.abs_diff(*before) as f64;
            // A queue that builds up or empties is no scatter: steps far outside it count no more
            // than its bound.
            let step = step.min(self.scatter * STEP_MAX + STEP_SLACK);
            self.scatter += (step - self.scatter) / SCATTER_INTERVALS;
        }
        self.recent.push_back((now, quartile));
        while self.recent.len() > INTERVALS_MAX
            || self.recent.front().is_some_and(|(at, _)| now.since(*at) > MEMORY)
        {
            self.recent.pop_front();
        }
        self.sorted.clear();
        self.sorted.extend(self.recent.iter().map(|(_, quartile)| *quartile));
        let rank = self.sorted.len() / 5;
        let (_, base, _) = self.sorted.select_nth_unstable(rank);
        self.base = *base;
        self.above(quartile)
    }

    /// How far a quartile lies above the path's own delay as it was last reckoned.
    pub(super) fn above(&self, quartile: i64) -> Span {
        Span::from_nanos(u64::try_from(quartile.saturating_sub(self.base)).unwrap_or(0))
    }

    /// Goes on from that after a time in which it was not reckoned.
    pub(super) fn resume(&mut self, now: Time) {
        self.recent.clear();
        self.recent.push_back((now, self.base));
    }

    /// How far above the path's own delay an interval must lie to mean a queue.
    pub(super) fn threshold(&self) -> Span {
        let scattered = Span::from_nanos((self.scatter * THRESHOLD_SCATTERS) as u64);
        scattered.clamp(THRESHOLD_MIN, THRESHOLD_MAX)
    }
}

/// How long quartiles are remembered, and how many.
const MEMORY: Span = Span::from_secs(30);
const INTERVALS_MAX: usize = 300;
/// The scatter before anything has been seen.
const SCATTER_FIRST: Span = Span::from_millis(5);
/// Intervals over which the scatter is averaged.
const SCATTER_INTERVALS: f64 = 32.0;
/// A step counts at most this many scatters and this much more.
const STEP_MAX: f64 = 3.0;
const STEP_SLACK: f64 = 1e6;
/// The threshold in scatters, and its bounds.
const THRESHOLD_SCATTERS: f64 = 3.0;
const THRESHOLD_MIN: Span = Span::from_millis(8);
const THRESHOLD_MAX: Span = Span::from_millis(45);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(value: i64) -> i64 {
        value * 1_000_000
    }

    #[test]
    fn one_lucky_packet_does_not_set_the_base() {
        let mut path = PathDelay::new();
        let mut now = Time::ZERO;
        path.insert(now, ms(50));
        for _ in 0..50 {
            now += Span::from_millis(100);
            path.insert(now, ms(100));
        }
        assert_eq!(path.insert(now, ms(101)), Span::from_millis(1));
    }

    #[test]
    fn the_threshold_follows_the_scatter() {
        let (mut quiet, mut noisy) = (PathDelay::new(), PathDelay::new());
        let mut now = Time::ZERO;
        for step in 0..300i64 {
            now += Span::from_millis(100);
            quiet.insert(now, ms(100));
            noisy.insert(now, ms(100 + step * 7 % 20));
        }
        assert_eq!(quiet.threshold(), THRESHOLD_MIN);
        assert!(noisy.threshold() > Span::from_millis(20), "{}", noisy.threshold());
    }
}
