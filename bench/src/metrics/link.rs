//! What one direction of a link did, counted packet by packet.

use netmodel::Verdict;
use units::{Span, Time};

use super::log::PacketExit;
use super::summary::{LinkSummary, Percentiles};
use crate::statistics::{millis, rank};

/// Counts of one direction, of packets sent from the start of the traffic on.
#[derive(Debug)]
pub(super) struct LinkRecord {
    start: Time,
    /// Packets handed to the link since the cell began.
    pub(super) packets_all: u64,
    pub(super) offered: u64,
    pub(super) bytes: u64,
    lost: u64,
    queue_dropped: u64,
    outage_dropped: u64,
    delivered: u64,
    duplicated: u64,
    corrupted: u64,
    reordered: u64,
    /// Number of the first packet sent in the traffic; those before it do not count.
    first: Option<u64>,
    /// The highest packet number that has come out.
    newest_out: Option<u64>,
    /// Nanoseconds each packet that came out had waited in the queue.
    queued_ns: Vec<u64>,
}

impl LinkRecord {
    pub(super) fn new(start: Time, packets_expected: usize) -> Self {
        Self {
            start,
            packets_all: 0,
            offered: 0,
            bytes: 0,
            lost: 0,
            queue_dropped: 0,
            outage_dropped: 0,
            delivered: 0,
            duplicated: 0,
            corrupted: 0,
            reordered: 0,
            first: None,
            newest_out: None,
            queued_ns: Vec::with_capacity(packets_expected),
        }
    }

    #[inline]
    pub(super) fn sent(&mut self, now: Time, id: u64, ip_bytes: u32, verdict: Verdict) {
        self.packets_all += 1;
        if now < self.start {
            return;
        }
        if self.first.is_none() {
            self.first = Some(id);
        }
        self.offered += 1;
        self.bytes += u64::from(ip_bytes);
        match verdict {
            Verdict::Accepted => {}
            Verdict::Lost => self.lost += 1,
            Verdict::QueueFull => self.queue_dropped += 1,
            Verdict::Outage => self.outage_dropped += 1,
        }
    }

    #[inline]
    pub(super) fn exit(&mut self, id: u64, exit: PacketExit) {
        if self.first.is_none_or(|first| id < first) {
            return;
        }
        if exit.duplicate {
            self.duplicated += 1;
            return;
        }
        self.delivered += 1;
        self.corrupted += u64::from(exit.corrupted);
        self.queued_ns.push(exit.queued.as_nanos());
        if self.newest_out.is_some_and(|newest| id < newest) {
            self.reordered += 1;
        } else {
            self.newest_out = Some(id);
        }
    }

    /// A packet that the link had accepted was dropped in its queue.
    pub(super) fn dropped(&mut self, id: u64) {
        self.queue_dropped += u64::from(self.first.is_some_and(|first| id >= first));
    }

    /// Packets that did not come out intact.
    pub(super) fn really_lost(&self) -> u64 {
        self.lost + self.queue_dropped + self.outage_dropped + self.corrupted
    }

    pub(super) fn summary(&mut self) -> LinkSummary {
        LinkSummary {
            offered: self.offered,
            lost: self.lost,
            queue_dropped: self.queue_dropped,
            outage_dropped: self.outage_dropped,
            delivered: self.delivered,
            duplicated: self.duplicated,
            corrupted: self.corrupted,
            reordered: self.reordered,
            bytes: self.bytes,
            queue_ms: self.queue_percentiles(),
            queue_ms_max: self.queued_ns.iter().copied().max().map(millis),
            queue_bytes_max: None,
            marked: None,
        }
    }

    /// Selects the two ranks instead of sorting: there is a value for every packet.
    fn queue_percentiles(&mut self) -> Percentiles {
        let mut pick = |percent| {
            let index = rank(self.queued_ns.len(), percent)?;
            Some(millis(*self.queued_ns.select_nth_unstable(index).1))
        };
        Percentiles { p50: pick(50), p99: pick(99) }
    }
}

/// Packets and waiting of one direction within one second.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkSecond {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) lost: u64,
    pub(super) queued_max: Span,
}

impl LinkSecond {
    #[inline]
    pub(super) fn sent(&mut self, ip_bytes: u32, verdict: Verdict) {
        self.packets += 1;
        self.bytes += u64::from(ip_bytes);
        self.lost += u64::from(verdict != Verdict::Accepted);
    }

    #[inline]
    pub(super) fn dropped(&mut self) {
        self.lost += 1;
    }

    #[inline]
    pub(super) fn exit(&mut self, queued: Span) {
        self.queued_max = self.queued_max.max(queued);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(queued_ms: u64) -> PacketExit {
        PacketExit { ip_bytes: 100, queued: Span::from_millis(queued_ms), corrupted: false, duplicate: false }
    }

    #[test]
    fn each_fate_is_counted_once_and_the_warm_up_not_at_all() {
        let start = Time::from_nanos(100);
        let mut link = LinkRecord::new(start, 0);
        link.sent(Time::from_nanos(99), 0, 100, Verdict::Lost);
        link.exit(0, exit(9));
        let fates = [Verdict::Accepted, Verdict::Lost, Verdict::QueueFull, Verdict::Outage];
        for (id, verdict) in (1..).zip(fates.into_iter().chain([Verdict::Accepted, Verdict::Accepted])) {
            link.sent(start, id, 100, verdict);
        }
        link.exit(0, exit(9));
        link.exit(5, exit(1));
        link.exit(1, exit(3));
        link.exit(6, PacketExit { corrupted: true, ..exit(2) });
        link.exit(6, PacketExit { duplicate: true, ..exit(2) });
        // One of those that were accepted, and one of the warm-up.
        link.dropped(5);
        link.dropped(0);
        let summary = link.summary();
        assert_eq!(link.packets_all, 7);
        assert_eq!((summary.offered, summary.bytes, summary.delivered), (6, 600, 3));
        assert_eq!((summary.lost, summary.queue_dropped, summary.outage_dropped), (1, 2, 1));
        assert_eq!((summary.duplicated, summary.corrupted, summary.reordered), (1, 1, 1));
        assert_eq!(link.really_lost(), 5);
        assert_eq!(summary.queue_ms, Percentiles { p50: Some(2.0), p99: Some(3.0) });
        assert_eq!(summary.queue_ms_max, Some(3.0));
    }
}
