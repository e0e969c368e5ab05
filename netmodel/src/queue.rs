//! The queue before the bottleneck: what may wait, and what waits.
//!
//! The rate stage knows at once when an admitted packet will have left, so the queue is a list of
//! departures; it holds no packets. A packet counts from its arrival until its last bit has left.

use std::collections::VecDeque;

use units::Time;

use crate::profile::{Queue, QueueLimit};

/// What waits for the bottleneck, the packet that is being sent included.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting {
    departures: VecDeque<(Time, u32)>,
    bytes: u64,
}

impl Waiting {
    /// Lets go of what has left by `now`.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time) {
        while let Some((departure, ip_bytes)) = self.departures.front() {
            if *departure > now {
                break;
            }
            self.bytes -= u64::from(*ip_bytes);
            self.departures.pop_front();
        }
    }

    /// Whether a packet that arrives `now` and would have left at `departure` is let in. What has left
    /// must be gone.
    #[inline]
    pub(crate) fn admits(&self, queue: Queue, now: Time, ip_bytes: u32, departure: Time) -> bool {
        match queue.limit {
            QueueLimit::Bytes(most) => self.bytes + u64::from(ip_bytes) <= most.as_bytes(),
            QueueLimit::Packets(most) => self.packets() < most,
            QueueLimit::Time(most) => departure.since(now) <= most,
        }
    }

    #[inline]
    pub(crate) fn enter(&mut self, ip_bytes: u32, departure: Time) {
        self.bytes += u64::from(ip_bytes);
        self.departures.push_back((departure, ip_bytes));
    }

    pub(crate) fn packets(&self) -> u64 {
        self.departures.len() as u64
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes that will still be waiting at `now`.
    pub(crate) fn bytes_at(&self, now: Time) -> u64 {
        let left = self.departures.iter().take_while(|(departure, _)| *departure <= now);
        self.bytes - left.map(|(_, ip_bytes)| u64::from(*ip_bytes)).sum::<u64>()
    }
}
