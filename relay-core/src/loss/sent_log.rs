//! The sender's side: what was sent, and what reports say became of it.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::wire::Feedback;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unknown,
    Arrived,
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    fate: Fate,
}

/// What a sender knows of its datagrams by sequence number.
#[derive(Debug)]
pub(crate) struct SentLog {
    first: u32,
    sent: VecDeque<Sent>,
    /// Everything below has been judged.
    judged_to: u32,
    /// When the newest datagram known to have arrived was sent.
    newest_arrived: Time,
    judged: u64,
    lost: u64,
    limit_hits: u64,
}

impl SentLog {
    pub(crate) fn new() -> Self {
        Self {
            first: 0,
            sent: VecDeque::new(),
            judged_to: 0,
            newest_arrived: Time::ZERO,
            judged: 0,
            lost: 0,
            limit_hits: 0,
        }
    }

    /// The number for the datagram that is sent now.
    pub(crate) fn assign(&mut self, now: Time) -> u32 {
        if self.sent.len() >= SENT_MAX {
            self.limit_hits += 1;
            self.sent.pop_front();
            self.first = self.first.wrapping_add(1);
            self.judged_to = self.judged_to.max(self.first);
        }
        self.sent.push_back(Sent { at: now, fate: Fate::Unknown });
        self.first + (self.sent.len() - 1) as u32
    }

    /// Datagrams whose fate is known, and those of them that were lost.
    pub(crate) fn judged(&self) -> (u64, u64) {
        (self.judged, self.lost)
    }

    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    /// Takes a report. Numbers that were never sent are ignored.
    pub(crate) fn handle(&mut self, feedback: &Feedback) {
        for range in &feedback.ranges {
            let end = self.first + self.sent.len() as u32;
            let first = range.first.max(self.first);
            let last = range.last.min(end.saturating_sub(1));
            for seq in first..=last {
                if seq >= end {
                    break;
                }
                self.arrived((seq - self.first) as usize);
            }
        }
        self.judge();
        self.forget();
    }

    fn arrived(&mut self, index: usize) {
        let sent = &mut self.sent[index];
        match sent.fate {
            Fate::Arrived => return,
            // It came after all; it was judged too early.
            Fate::Lost => self.lost -= 1,
            Fate::Unknown => self.judged += 1,
        }
        sent.fate = Fate::Arrived;
        self.newest_arrived = self.newest_arrived.max(sent.at);
    }

    /// Declares lost what was sent long enough before something that arrived.
    fn judge(&mut self) {
        let mut index = (self.judged_to - self.first) as usize;
        while let Some(sent) = self.sent.get_mut(index) {
            if sent.at + REORDERING > self.newest_arrived {
                break;
            }
            if sent.fate == Fate::Unknown {
                sent.fate = Fate::Lost;
                self.judged += 1;
                self.lost += 1;
            }
            index += 1;
        }
        self.judged_to = self.first + index as u32;
    }

    fn forget(&mut self) {
        while self
            .sent
            .front()
            .is_some_and(|sent| self.judged_to > self.first && sent.at + REMEMBERED < self.newest_arrived)
        {
            self.sent.pop_front();
            self.first += 1;
        }
    }
}

/// How much later-sent a datagram may arrive before an earlier one counts as lost: twice three
/// standard deviations of the widest jitter among the shipped profiles (15 ms), rounded up.
const REORDERING: Span = Span::from_millis(100);
/// How long a judged datagram is remembered, so that a very late arrival is still set right.
const REMEMBERED: Span = Span::from_secs(3);
/// Most datagrams remembered: some eight seconds at 10 Mbit/s.
const SENT_MAX: usize = 8192;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::SeqRange;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn report(ranges: &[(u32, u32)]) -> Feedback {
        let ranges = ranges.iter().map(|&(first, last)| SeqRange { first, last }).collect();
        Feedback { ranges, arrivals: Vec::new() }
    }

    #[test]
    fn late_is_not_lost_until_it_is_very_late_and_even_then_it_may_come() {
        let mut log = SentLog::new();
        for ms in [0, 10, 20, 130] {
            log.assign(at(ms));
        }
        log.handle(&report(&[(2, 2), (0, 0)]));
        assert_eq!(log.judged(), (2, 0), "number 1 may still come");
        log.handle(&report(&[(2, 3), (0, 0)]));
        assert_eq!(log.judged(), (4, 1));
        log.handle(&report(&[(0, 3)]));
        assert_eq!(log.judged(), (4, 0));
    }

    #[test]
    fn reports_of_what_was_never_sent_are_ignored() {
        let mut log = SentLog::new();
        log.assign(at(0));
        log.handle(&report(&[(5, u32::MAX)]));
        assert_eq!(log.judged(), (0, 0));
    }

    proptest! {
        #[test]
        fn no_report_makes_the_counts_disagree(
            steps in prop::collection::vec((0u64..200, prop::collection::vec((0u32..400, 0u32..60), 0..4)), 1..200),
        ) {
            let mut log = SentLog::new();
            let mut now = 0;
            for (step, ranges) in steps {
                now += step;
                log.assign(at(now));
                let ranges: Vec<_> = ranges.iter().map(|&(first, length)| (first, first + length)).collect();
                log.handle(&report(&ranges));
                let (judged, lost) = log.judged();
                prop_assert!(lost <= judged);
            }
        }
    }
}
