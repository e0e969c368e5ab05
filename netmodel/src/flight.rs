//! What is under way: the packets that have a time to come out.
//!
//! In order of release a queue is enough, since releases do not fall. Where packets may overtake
//! each other it is a binary heap on (time, sequence number) over slots that are used again.
//! Neither allocates for a packet once it has grown to what is under way at most.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use units::{Span, Time};

/// A packet under way.
#[derive(Debug, Clone)]
pub(crate) struct Flight<P> {
    pub(crate) at: Time,
    pub(crate) id: u64,
    pub(crate) queued: Span,
    pub(crate) ip_bytes: u32,
    pub(crate) ecn: u8,
    pub(crate) corrupted: bool,
    pub(crate) duplicate: bool,
    pub(crate) payload: P,
}

/// The packets under way.
#[derive(Debug, Clone)]
pub(crate) enum Flights<P> {
    /// Releases never fall.
    InOrder(VecDeque<Flight<P>>),
    /// Releases in any order.
    AnyOrder { heap: BinaryHeap<Reverse<(Time, u64, u32)>>, slots: Vec<Option<Flight<P>>>, free: Vec<u32> },
}

impl<P> Flights<P> {
    pub(crate) fn in_order() -> Self {
        Self::InOrder(VecDeque::new())
    }

    pub(crate) fn any_order() -> Self {
        Self::AnyOrder { heap: BinaryHeap::new(), slots: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::InOrder(queue) => queue.len(),
            Self::AnyOrder { heap, .. } => heap.len(),
        }
    }

    /// When the next comes out; [`Time::MAX`] if none does.
    #[inline]
    pub(crate) fn next_at(&self) -> Time {
        match self {
            Self::InOrder(queue) => queue.front().map_or(Time::MAX, |flight| flight.at),
            Self::AnyOrder { heap, .. } => heap.peek().map_or(Time::MAX, |Reverse((at, ..))| *at),
        }
    }

    /// Adds a packet: its copy after itself, one sent later after one sent sooner.
    #[inline]
    pub(crate) fn push(&mut self, flight: Flight<P>) {
        match self {
            Self::InOrder(queue) => queue.push_back(flight),
            Self::AnyOrder { heap, slots, free } => {
                let sequence = flight.id * 2 + u64::from(flight.duplicate);
                let at = flight.at;
                let slot = if let Some(slot) = free.pop() {
                    slots[slot as usize] = Some(flight);
                    slot
                } else {
                    slots.push(Some(flight));
                    (slots.len() - 1) as u32
                };
                heap.push(Reverse((at, sequence, slot)));
            }
        }
    }

    /// The next packet, if it comes out by `now`.
    #[inline]
    pub(crate) fn pop(&mut self, now: Time) -> Option<Flight<P>> {
        if self.next_at() > now {
            return None;
        }
        match self {
            Self::InOrder(queue) => queue.pop_front(),
            Self::AnyOrder { heap, slots, free } => {
                let Reverse((_, _, slot)) = heap.pop()?;
                free.push(slot);
                slots[slot as usize].take()
            }
        }
    }
}
