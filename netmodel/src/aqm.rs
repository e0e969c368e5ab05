//! Queues that look at a packet again as it leaves: CoDel and DualPI2.
//!
//! Drop-tail knows a packet's departure as it arrives. An active queue decides when the bottleneck is
//! ready for the next packet, by what has happened until then; so here packets wait in person, and the
//! link serves them one by one ([`Active::dequeue`]). It is used by a direction whose queue is, at any
//! time of its schedule, an active one.

mod codel;
mod dualpi2;

use std::collections::VecDeque;

use units::{Span, Time};

use self::codel::Codel;
use self::dualpi2::{DualPi2, Pick};
use crate::counters::Count;
use crate::profile::{Queue, QueueKind};

/// A packet that waits, with what it carries along (`T`).
#[derive(Debug, Clone)]
pub(crate) struct Held<T> {
    pub(crate) arrived: Time,
    pub(crate) id: u64,
    pub(crate) ip_bytes: u32,
    pub(crate) ecn: u8,
    pub(crate) carried: T,
}

/// A packet that the queue dropped after it had let it in, or that was lost behind such a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueDrop<P> {
    /// Its number in this direction, as [`crate::Admission`] had it.
    pub id: u64,
    /// When it was dropped.
    pub at: Time,
    /// Its IP bytes.
    pub ip_bytes: u32,
    /// What was given.
    pub payload: P,
}

/// What waits for the bottleneck, and the state of the algorithms.
#[derive(Debug, Clone)]
pub(crate) struct Active<T> {
    /// The only queue of drop-tail and CoDel; DualPI2's for classic traffic.
    classic: VecDeque<Held<T>>,
    /// DualPI2's queue of low latency.
    low: VecDeque<Held<T>>,
    bytes: u64,
    codel: Codel,
    dualpi2: DualPi2,
    /// Drops that have not been reported yet.
    dropped: VecDeque<QueueDrop<T>>,
    dropped_total: Count,
    marked_total: Count,
}

impl<T> Active<T> {
    pub(crate) fn new() -> Self {
        Self {
            classic: VecDeque::new(),
            low: VecDeque::new(),
            bytes: 0,
            codel: Codel::default(),
            dualpi2: DualPi2::default(),
            dropped: VecDeque::new(),
            dropped_total: Count::default(),
            marked_total: Count::default(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn packets(&self) -> usize {
        self.classic.len() + self.low.len()
    }

    /// When the packet that has waited longest came; `None` if none waits.
    pub(crate) fn oldest(&self) -> Option<Time> {
        let heads = [self.classic.front(), self.low.front()];
        heads.into_iter().flatten().map(|held| held.arrived).min()
    }

    /// Takes a packet that the limit admits.
    pub(crate) fn enqueue(&mut self, queue: Queue, held: Held<T>) {
        self.bytes += u64::from(held.ip_bytes);
        if let QueueKind::DualPi2(parameters) = queue.kind {
            self.dualpi2.run_until(held.arrived, parameters, self.heads());
            if held.ecn & ECT_1 != 0 {
                self.low.push_back(held);
                return;
            }
        }
        self.classic.push_back(held);
    }

    /// The packet to send at `now`, when the bottleneck is ready; `None` if the rest was dropped.
    pub(crate) fn dequeue(&mut self, now: Time, queue: Queue) -> Option<Held<T>> {
        match queue.kind {
            QueueKind::DropTail => self.take(false).or_else(|| self.take(true)),
            QueueKind::Codel(parameters) => {
                // What a schedule left in the other queue goes first.
                self.take(true).or_else(|| codel::dequeue(self, now, parameters))
            }
            QueueKind::DualPi2(parameters) => loop {
                self.dualpi2.run_until(now, parameters, self.heads());
                let sizes = [&self.low, &self.classic].map(|q| q.front().map(|held| held.ip_bytes));
                let low = self.dualpi2.schedule(sizes)?;
                let behind = if low { self.low.len() } else { self.classic.len() } - 1;
                let held = self.take(low)?;
                match self.dualpi2.pick(low, behind, now.since(held.arrived), held.ecn) {
                    Pick::Send => return Some(held),
                    Pick::Mark => return Some(self.mark(held)),
                    Pick::Drop => self.discard(now, held),
                }
            },
        }
    }

    /// The next packet that was dropped at the queue's exit.
    pub(crate) fn poll_drop(&mut self) -> Option<QueueDrop<T>> {
        self.dropped.pop_front()
    }

    /// Packets dropped and marked since it was made.
    pub(crate) fn totals(&self) -> (Count, Count) {
        (self.dropped_total, self.marked_total)
    }

    fn heads(&self) -> [Option<Time>; 2] {
        [self.low.front(), self.classic.front()].map(|head| head.map(|held| held.arrived))
    }

    fn take(&mut self, low: bool) -> Option<Held<T>> {
        let held = if low { self.low.pop_front() } else { self.classic.pop_front() }?;
        self.bytes -= u64::from(held.ip_bytes);
        Some(held)
    }

    fn mark(&mut self, held: Held<T>) -> Held<T> {
        self.marked_total.add(held.ip_bytes);
        Held { ecn: CE, ..held }
    }

    /// Has [`poll_drop`](Self::poll_drop) say that a packet it let in is gone.
    pub(crate) fn report(&mut self, drop: QueueDrop<T>) {
        self.dropped.push_back(drop);
    }

    fn discard(&mut self, now: Time, held: Held<T>) {
        let Held { id, ip_bytes, carried, .. } = held;
        self.dropped_total.add(ip_bytes);
        self.report(QueueDrop { id, at: now, ip_bytes, payload: carried });
    }
}

/// How long a packet at the head has waited; nothing if there is none.
fn waited(now: Time, head: Option<Time>) -> Span {
    head.map_or(Span::ZERO, |arrived| now.since(arrived))
}

/// The bit that ECT(1) and CE share, by which DualPI2 classifies (RFC 9331 §5.1).
const ECT_1: u8 = 0b01;
/// Congestion experienced (RFC 3168 §5).
const CE: u8 = 0b11;
/// A full packet; what is no more than that is no standing queue.
const FULL_PACKET_BYTES: u64 = 1500;

#[cfg(test)]
mod tests;
