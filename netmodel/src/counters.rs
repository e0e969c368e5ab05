//! What a link's stages did.

use serde::{Deserialize, Serialize};

/// Packets and their IP bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// How many packets.
    pub packets: u64,
    /// How many bytes of IP packets.
    pub bytes: u64,
}

impl Count {
    #[inline]
    pub(crate) fn add(&mut self, ip_bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(ip_bytes);
    }
}

/// What each stage of one direction of a link did since it was made.
///
/// Every packet is counted once as offered and once as what became of it:
/// `offered = outage_dropped + lost + queue_dropped + aqm_dropped + overflow_dropped + delivered + in flight`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkCounters {
    /// Given to [`crate::Link::send`].
    pub offered: Count,
    /// Dropped because they were sent during an outage.
    pub outage_dropped: Count,
    /// Lost by the loss stage.
    pub lost: Count,
    /// Dropped because the queue was full.
    pub queue_dropped: Count,
    /// Let into the queue, and dropped by its active management before they were sent.
    pub aqm_dropped: Count,
    /// Marked by the queue's active management: ECN says congestion experienced.
    pub marked: Count,
    /// Dropped because [`crate::Link::IN_FLIGHT_MAX`] packets were under way: a sign of a scenario
    /// that asks for more than can be simulated.
    pub overflow_dropped: Count,
    /// Came out, copies not counted.
    pub delivered: Count,
    /// Sent on with a copy.
    pub duplicated: Count,
    /// Sent on corrupted; a packet and its copy count each for themselves.
    pub corrupted: Count,
    /// Packets that waited for the one before them to keep the order.
    pub held_for_order: u64,
    /// Packets that came out after one that was sent later.
    pub overtaken: u64,
    /// Packets whose jitter would have made their delay less than nothing.
    pub bounded_at_zero: u64,
    /// The most bytes of IP packets that the queue held, the packet being sent included.
    pub queue_bytes_max: u64,
    /// The most packets that the queue held, the packet being sent included.
    pub queue_packets_max: u64,
}
