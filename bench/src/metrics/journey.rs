//! What the operator hop's link did to the packets of each frame.

use std::collections::VecDeque;

use netmodel::Verdict;
use relay_core::{FrameId, PartKind, VideoPart};
use units::{Span, Time};

/// What is known of one frame's packets towards the operator.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Journey {
    /// Packets sent: fragments, parity and fragments sent again.
    pub(super) sent: u32,
    /// Those of them that carried parity.
    pub(super) parity: u32,
    /// Those of them that were sent again.
    pub(super) again: u32,
    /// Packets that the link lost or damaged.
    pub(super) lost: u32,
    /// Packets that found the link's queue full, or that it dropped.
    pub(super) overflowed: u32,
    /// Packets sent while the link was down.
    pub(super) in_outage: u32,
    /// When the last fragment that was not sent again came out; [`Time::ZERO`] if none did.
    pub(super) fragments_out: Time,
    /// The longest wait of a fragment in the link's queue.
    pub(super) queued_max: Span,
    /// The longest time that a fragment was under way, without that wait.
    pub(super) transit_max: Span,
}

impl Journey {
    pub(super) fn sent(&mut self, kind: PartKind, verdict: Verdict) {
        self.sent += 1;
        self.parity += u32::from(kind == PartKind::Parity);
        self.again += u32::from(kind == PartKind::Again);
        match verdict {
            Verdict::Accepted => {}
            Verdict::Lost => self.lost += 1,
            Verdict::QueueFull => self.overflowed += 1,
            Verdict::Outage => self.in_outage += 1,
        }
    }

    /// A packet that had been let into the link's queue was dropped there.
    pub(super) fn dropped(&mut self) {
        self.overflowed += 1;
    }

    /// A packet came out; for a frame that is not complete yet.
    pub(super) fn out(&mut self, now: Time, out: &Out) {
        if out.corrupted {
            self.lost += 1;
        } else if out.kind == PartKind::Fragment {
            self.fragments_out = self.fragments_out.max(now);
            self.queued_max = self.queued_max.max(out.queued);
            self.transit_max = self.transit_max.max(out.transit);
        }
    }
}

/// A packet of a frame that came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Out {
    pub(super) frame: FrameId,
    pub(super) kind: PartKind,
    pub(super) queued: Span,
    /// Time under way less `queued`.
    pub(super) transit: Span,
    pub(super) corrupted: bool,
}

/// The packets that are on the link.
#[derive(Debug, Default)]
pub(super) struct UnderWay {
    /// Number of the first of `packets`.
    first: u64,
    packets: VecDeque<Option<Packet>>,
    /// The least time any packet was under way, queueing left out.
    transit_min: Option<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    sent: Time,
    part: Option<VideoPart>,
}

impl UnderWay {
    /// Packet `id` went on the link at `now`.
    #[inline]
    pub(super) fn sent(&mut self, now: Time, id: u64, part: Option<VideoPart>, verdict: Verdict) {
        let next = self.first + self.packets.len() as u64;
        if id != next {
            // The first of all, or one was left out: what is under way is counted by these numbers.
            self.packets.clear();
            self.first = id;
        }
        if self.packets.len() >= PACKETS_MAX {
            self.packets.pop_front();
            self.first += 1;
        }
        self.packets.push_back((verdict == Verdict::Accepted).then_some(Packet { sent: now, part }));
    }

    /// Packet `id` was dropped in the queue: the frame that it carried a part of, if it did.
    pub(super) fn dropped(&mut self, id: u64) -> Option<FrameId> {
        let packet = self.take(id)?;
        packet.part.map(|part| part.frame)
    }

    /// Packet `id` came out at `now`, not as a copy, after `queued` in the queue: what it was, if a part of a frame.
    #[inline]
    pub(super) fn out(&mut self, now: Time, id: u64, queued: Span, corrupted: bool) -> Option<Out> {
        let Packet { sent, part } = self.take(id)?;
        let transit = Span::from_nanos(now.since(sent).as_nanos().saturating_sub(queued.as_nanos()));
        self.transit_min = Some(self.transit_min.map_or(transit, |least| least.min(transit)));
        let VideoPart { frame, kind, .. } = part?;
        Some(Out { frame, kind, queued, transit, corrupted })
    }

    #[inline]
    fn take(&mut self, id: u64) -> Option<Packet> {
        let index = usize::try_from(id.checked_sub(self.first)?).ok()?;
        let packet = self.packets.get_mut(index)?.take();
        while self.packets.front().is_some_and(Option::is_none) {
            self.packets.pop_front();
            self.first += 1;
        }
        packet
    }

    /// The least time any packet was under way, queueing left out: what no sender can change.
    pub(super) fn transit_min(&self) -> Span {
        self.transit_min.unwrap_or(Span::ZERO)
    }
}

/// As many as a modelled link lets be under way; of more the first are forgotten.
const PACKETS_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use relay_core::Camera;

    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn packets_come_out_in_any_order_and_are_known_once() {
        let frame = FrameId { camera: Camera(1), number: 7 };
        let part = Some(VideoPart { frame, kind: PartKind::Fragment, index: 0, count: 2 });
        let mut under_way = UnderWay::default();
        for (id, part) in [(5, part), (6, None), (7, part)] {
            under_way.sent(ms(id), id, part, Verdict::Accepted);
        }
        under_way.sent(ms(8), 8, part, Verdict::Lost);
        let out = under_way.out(ms(107), 7, Span::from_millis(20), false);
        let expected = Out {
            frame,
            kind: PartKind::Fragment,
            queued: Span::from_millis(20),
            transit: Span::from_millis(80),
            corrupted: false,
        };
        assert_eq!(out, Some(expected));
        assert_eq!(under_way.out(ms(107), 7, Span::ZERO, false), None);
        assert_eq!(under_way.out(ms(66), 6, Span::ZERO, false), None, "it carried no frame");
        assert_eq!(under_way.transit_min(), Span::from_millis(60));
        assert!(under_way.out(ms(120), 5, Span::ZERO, true).is_some_and(|out| out.corrupted));
        assert!(under_way.packets.is_empty());
        assert_eq!(under_way.out(ms(120), 8, Span::ZERO, true), None);
        assert_eq!(under_way.out(ms(120), u64::MAX, Span::ZERO, true), None);
        under_way.sent(ms(9), 9, part, Verdict::Accepted);
        assert_eq!((under_way.dropped(9), under_way.dropped(9)), (Some(frame), None));
    }
}
