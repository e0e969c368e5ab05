//! Poses on their way through the relay: what is new becomes a command.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::event::Event;
use crate::wire::{PoseBatch, PoseEntry};

/// The poses of one operator.
#[derive(Debug, Default)]
pub(super) struct Poses {
    newest: Option<u32>,
}

impl Poses {
    /// Takes a batch, newest first, and returns those that are newer than any before, aged by
    /// their `transit` to here. `None` if nothing is new.
    pub(super) fn take(
        &mut self,
        _now: Time,
        transit: Span,
        batch: PoseBatch,
        events: &mut VecDeque<Event>,
    ) -> Option<PoseBatch> {
        let newest = self.newest;
        let is_new = |entry: &PoseEntry| newest.is_none_or(|newest| entry.pose > newest);
        let mut entries: Vec<PoseEntry> = batch.entries.into_iter().filter(is_new).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.pose));
        entries.dedup_by_key(|entry| entry.pose);
        self.newest = self.newest.max(entries.first().map(|entry| entry.pose));
        for entry in entries.iter_mut().rev() {
            entry.age_us = entry.age_us.saturating_add(transit.as_micros());
            events.push_back(Event::PoseAtRelay { pose: entry.pose });
        }
        (!entries.is_empty()).then_some(PoseBatch { entries })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn batch(poses: &[u32]) -> PoseBatch {
        let entries =
            poses.iter().map(|&pose| PoseEntry { pose, age_us: 100, body: Bytes::from_static(&[1]) });
        PoseBatch { entries: entries.collect() }
    }

    #[test]
    fn only_what_is_newer_than_everything_before_becomes_a_command() {
        let mut poses = Poses::default();
        let mut events = VecDeque::new();
        let transit = Span::from_millis(2);
        let mut take = |numbers: &[u32]| {
            poses
                .take(Time::ZERO, transit, batch(numbers), &mut events)
                .map(|batch| batch.entries.iter().map(|e| (e.pose, e.age_us)).collect::<Vec<_>>())
        };
        assert_eq!(take(&[3, 2, 1]), Some(vec![(3, 2100), (2, 2100), (1, 2100)]));
        assert_eq!(take(&[2, 1]), None);
        assert_eq!(take(&[5, 4, 3]), Some(vec![(5, 2100), (4, 2100)]));
        assert_eq!(take(&[5, 5]), None);
        let seen: Vec<_> = events.into_iter().collect();
        let expected: Vec<_> = [1, 2, 3, 4, 5].map(|pose| Event::PoseAtRelay { pose }).into();
        assert_eq!(seen, expected);
    }
}
