//! The receiving end: what has come, and when to say so.

use std::collections::VecDeque;

use units::Time;

use super::{ACK_DELAY_MAX, BulkAck};

/// The receiver's state.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The packets that came last.
    arrivals: VecDeque<(u64, Time)>,
    /// One more than the highest number that came.
    next: u64,
    /// Which of the [`SEEN_MAX`] numbers below `next` came; the highest first.
    seen: VecDeque<bool>,
    /// Packets that came since the last acknowledgement.
    unacked: u32,
    ack_at: Time,
}

impl Receiver {
    pub(super) fn new() -> Self {
        Self { arrivals: VecDeque::new(), next: 0, seen: VecDeque::new(), unacked: 0, ack_at: Time::MAX }
    }

    /// Takes a packet; whether it is new. One that is as late as [`SEEN_MAX`] others is not known to be.
    pub(super) fn handle_data(&mut self, now: Time, number: u64) -> bool {
        let in_order = number == self.next;
        if !self.insert(number) {
            return false;
        }
        if self.arrivals.len() == ARRIVALS_MAX {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back((number, now));
        self.unacked += 1;
        let due = if self.unacked >= ACK_EVERY || !in_order { now } else { now + ACK_DELAY_MAX };
        self.ack_at = self.ack_at.min(due);
        true
    }

    /// When the next acknowledgement is due; [`Time::MAX`] if none is.
    pub(super) fn ack_at(&self) -> Time {
        self.ack_at
    }

    pub(super) fn poll_ack(&mut self, now: Time) -> Option<BulkAck> {
        if now < self.ack_at {
            return None;
        }
        self.ack_at = Time::MAX;
        self.unacked = 0;
        let newest = self.arrivals.iter().max_by_key(|(number, _)| *number)?.1;
        Some(BulkAck { arrivals: self.arrivals.iter().copied().collect(), delay: now.since(newest) })
    }

    fn insert(&mut self, number: u64) -> bool {
        if number >= self.next {
            let skipped = (number - self.next).min(SEEN_MAX as u64);
            for _ in 0..skipped {
                self.seen.push_front(false);
            }
            self.seen.push_front(true);
            self.seen.truncate(SEEN_MAX);
            self.next = number + 1;
            return true;
        }
        let back = usize::try_from(self.next - 1 - number).unwrap_or(usize::MAX);
        self.seen.get_mut(back).is_some_and(|seen| !std::mem::replace(seen, true))
    }
}

/// Packets that one acknowledgement speaks of.
const ARRIVALS_MAX: usize = 32;
/// Numbers that a copy is recognised by.
const SEEN_MAX: usize = 1024;
/// RFC 9000 §13.2.2.
const ACK_EVERY: u32 = 2;
