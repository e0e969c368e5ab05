//! The receiver's side: remembers what came lately and makes reports of it.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::wire::{Arrival, Feedback, SeqRange};

/// Remembers received sequence numbers and when they came.
#[derive(Debug)]
pub(crate) struct ReceiverLog {
    interval: Span,
    /// Bit i says whether `highest - i` came.
    recent: VecDeque<u64>,
    highest: Option<u32>,
    arrivals: Vec<Arrival>,
    due: Time,
}

impl ReceiverLog {
    pub(crate) fn new(interval: Span) -> Self {
        Self { interval, recent: VecDeque::new(), highest: None, arrivals: Vec::new(), due: Time::MAX }
    }

    /// Notes a received datagram.
    pub(crate) fn insert(&mut self, now: Time, seq: u32) {
        let highest = *self.highest.get_or_insert(seq);
        if self.recent.is_empty() {
            self.recent.resize(WORDS, 0);
        }
        let offset = if seq > highest {
            self.shift(seq - highest);
            self.highest = Some(seq);
            0
        } else {
            highest - seq
        };
        let (word, bit) = ((offset / 64) as usize, 1u64 << (offset % 64));
        match self.recent.get_mut(word) {
            Some(bits) if *bits & bit == 0 => *bits |= bit,
            // Seen before, or too old to matter.
            _ => return,
        }
        if self.arrivals.len() < ARRIVALS_KEPT {
            self.arrivals.push(Arrival { seq, at_us: now.as_nanos() / 1_000 });
        }
        if self.due == Time::MAX {
            self.due = now + self.interval;
        }
    }

    /// When the next report is due; [`Time::MAX`] if nothing has come since the last.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// The report, if it is due.
    pub(crate) fn poll_report(&mut self, now: Time) -> Option<Feedback> {
        if now < self.due {
            return None;
        }
        self.due = Time::MAX;
        // The next report will have about as many.
        let room = Vec::with_capacity(self.arrivals.len());
        let arrivals = std::mem::replace(&mut self.arrivals, room);
        Some(Feedback { ranges: self.ranges(), arrivals })
    }

    /// Makes room for `by` newer numbers.
    fn shift(&mut self, by: u32) {
        let by = by as usize;
        if by >= WORDS * 64 {
            self.recent.iter_mut().for_each(|word| *word = 0);
            return;
        }
        for _ in 0..by / 64 {
            self.recent.pop_back();
            self.recent.push_front(0);
        }
        let bits = by % 64;
        if bits > 0 {
            let mut carry = 0;
            for word in &mut self.recent {
                let next = *word >> (64 - bits);
                *word = *word << bits | carry;
                carry = next;
            }
        }
    }

    fn ranges(&self) -> Vec<SeqRange> {
        let Some(highest) = self.highest else { return Vec::new() };
        let mut ranges: Vec<SeqRange> = Vec::new();
        let reach = (WORDS * 64) as u32;
        let mut offset = 0;
        while offset < reach && offset <= highest && ranges.len() < RANGES_KEPT {
            let run = self.run(offset, true).min((highest - offset).saturating_add(1));
            if run > 0 {
                ranges.push(SeqRange { first: highest - offset - (run - 1), last: highest - offset });
            }
            offset += run;
            if offset > highest {
                break;
            }
            offset += self.run(offset, false);
        }
        ranges
    }

    /// How many numbers from `offset` downwards came (or did not).
    fn run(&self, offset: u32, came: bool) -> u32 {
        let mut at = offset;
        let reach = (WORDS * 64) as u32;
        while at < reach {
            let word = self.recent[(at / 64) as usize] >> (at % 64);
            let bits = if came { word.trailing_ones() } else { word.trailing_zeros() };
            let left = 64 - at % 64;
            at += bits.min(left);
            if bits < left {
                break;
            }
        }
        at - offset
    }
}

/// How far back reports reach: 1024 datagrams, some three seconds of the default workload.
const WORDS: usize = 16;
/// Ranges in a report; with more gaps than this the oldest are left out.
const RANGES_KEPT: usize = 64;
/// Arrivals in a report; more in one interval are counted in the ranges but not timed.
const ARRIVALS_KEPT: usize = 160;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const STEP: Span = Span::from_millis(25);

    #[test]
    fn a_report_comes_once_an_interval_and_only_when_something_came() {
        let mut log = ReceiverLog::new(STEP);
        assert_eq!(log.due(), Time::MAX);
        let t = Time::ZERO + Span::from_secs(1);
        log.insert(t, 10);
        assert_eq!(log.poll_report(t), None);
        let report = log.poll_report(t + STEP).expect("due");
        assert_eq!(report.ranges, [SeqRange { first: 10, last: 10 }]);
        assert_eq!(report.arrivals, [Arrival { seq: 10, at_us: 1_000_000 }]);
        assert_eq!(log.due(), Time::MAX);
    }

    proptest! {
        #[test]
        fn ranges_say_what_came(seqs in prop::collection::vec(0u32..900, 1..300)) {
            let mut log = ReceiverLog::new(STEP);
            for seq in &seqs {
                log.insert(Time::ZERO, *seq);
            }
            let report = log.poll_report(Time::ZERO + STEP).expect("due");
            let mut expected: Vec<u32> = seqs.clone();
            expected.sort_unstable();
            expected.dedup();
            let reported: Vec<u32> =
                report.ranges.iter().rev().flat_map(|range| range.first..=range.last).collect();
            // The newest 64 ranges are kept.
            prop_assert!(expected.ends_with(&reported));
            if report.ranges.len() < RANGES_KEPT {
                prop_assert_eq!(expected.len(), reported.len());
            }
        }
    }

    #[test]
    fn a_jump_over_everything_forgets_everything() {
        let mut log = ReceiverLog::new(STEP);
        log.insert(Time::ZERO, 1);
        log.insert(Time::ZERO, u32::MAX);
        let report = log.poll_report(Time::ZERO + STEP).expect("due");
        assert_eq!(report.ranges, [SeqRange { first: u32::MAX, last: u32::MAX }]);
    }
}
