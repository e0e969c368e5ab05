//! Values that change at times known beforehand.

use units::{Span, Time};

/// A value over time, read at times that do not go back.
#[derive(Debug, Clone)]
pub(crate) struct Timeline<T> {
    steps: Vec<(Time, T)>,
    current: usize,
    next: Time,
}

impl<T> Timeline<T> {
    /// `first` until the first of `changes`, which are in order of time; of two at the same time the
    /// later counts.
    pub(crate) fn new(first: T, changes: impl IntoIterator<Item = (Time, T)>) -> Self {
        let mut steps = vec![(Time::ZERO, first)];
        steps.extend(changes);
        let next = steps.get(1).map_or(Time::MAX, |(at, _)| *at);
        Self { steps, current: 0, next }
    }

    /// The value at `now`.
    #[inline]
    pub(crate) fn at(&mut self, now: Time) -> &mut T {
        if now >= self.next {
            self.advance(now);
        }
        &mut self.steps[self.current].1
    }

    /// The value at the latest time that was asked for.
    pub(crate) fn current(&self) -> &T {
        &self.steps[self.current].1
    }

    /// Whether any value, at any time, is so.
    pub(crate) fn any(&self, is: impl Fn(&T) -> bool) -> bool {
        self.steps.iter().any(|(_, value)| is(value))
    }

    #[cold]
    fn advance(&mut self, now: Time) {
        while now >= self.next && self.current + 1 < self.steps.len() {
            self.current += 1;
            self.next = self.steps.get(self.current + 1).map_or(Time::MAX, |(at, _)| *at);
        }
    }
}

/// Whether an outage is on, over time: the union of `outages`, each a start and a length.
pub(crate) fn outages(outages: impl IntoIterator<Item = (Time, Span)>) -> Timeline<bool> {
    let mut spans: Vec<(Time, Time)> = outages.into_iter().map(|(at, length)| (at, at + length)).collect();
    spans.sort_unstable();
    let mut merged: Vec<(Time, Time)> = Vec::with_capacity(spans.len());
    for (start, end) in spans {
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => merged.push((start, end)),
        }
    }
    Timeline::new(false, merged.into_iter().flat_map(|(start, end)| [(start, true), (end, false)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Time {
        Time::ZERO + Span::from_secs(s)
    }

    #[test]
    fn a_timeline_has_each_value_from_its_time_on() {
        let mut line = Timeline::new('a', [(at(1), 'b'), (at(2), 'c'), (at(2), 'd')]);
        assert_eq!(*line.at(Time::ZERO), 'a');
        assert_eq!(*line.at(at(1) - Span::from_nanos(1)), 'a');
        assert_eq!(*line.at(at(1)), 'b');
        assert_eq!(*line.at(at(2)), 'd');
        assert_eq!(*line.at(Time::MAX), 'd');
        assert_eq!(*line.current(), 'd');
    }

    #[test]
    fn overlapping_outages_are_one() {
        let s = Span::from_secs;
        let mut line = outages([(at(10), s(1)), (at(1), s(4)), (at(2), s(1)), (at(4), s(1)), (at(5), s(1))]);
        let on: Vec<u64> = (0..13).filter(|t| *line.at(at(*t))).collect();
        assert_eq!(on, [1, 2, 3, 4, 5, 10]);
    }
}
