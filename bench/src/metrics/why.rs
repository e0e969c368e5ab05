//! Finds the one cause of each missing or late frame, and of each freeze.
//!
//! A missing frame owes it to the last thing that happened to it, or to an outage if it was in the relay in one and never sent. A late one owes it to the part of its way that took
//! the longest beyond what the link takes anyway:
//!
//! | part of the way | from | to | cause |
//! |---|---|---|---|
//! | robot hop | made | complete at the relay | `robot-hop` |
//! | relay | complete at the relay | last fragment sent | `window-shut`, or `outage` if the link was down for half of that time |
//! | link's queue | | the longest wait of a fragment | `link-queue` |
//! | link | | the longest time under way of a fragment, less the least of any packet of the cell | `link-delay` |
//! | repair | last fragment out that was not sent again | complete | what dropped its packets |
//!
//! A link on which every packet takes longer than [`LATE_AFTER`] makes every frame late by itself.

use relay_core::{DropPlace, DropReason};
use units::{Span, Time};

use super::cause::{Cause, LATE_AFTER};
use super::frames::Frame;
use super::journey::Journey;

/// What holds for all frames of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circumstances<'a> {
    /// Whether the relay lost the operator.
    pub(super) operator_lost: bool,
    /// The least time any packet took to the operator, queueing left out.
    pub(super) transit_min: Span,
    /// When the link towards the operator was down, from and until.
    pub(super) outages: &'a [(Time, Time)],
}

impl Circumstances<'_> {
    /// The cause of a frame that is missing or late; `None` for one that came in time.
    pub(super) fn cause(&self, frame: &Frame) -> Option<Cause> {
        if frame.delivered == Time::MAX {
            return Some(self.missing(frame));
        }
        frame.is_late().then(|| self.slow(frame))
    }

    /// Why a frame never became complete.
    fn missing(&self, frame: &Frame) -> Cause {
        let here = frame.at_relay < Time::MAX;
        let at_robot = matches!(frame.dropped, Some((DropPlace::Robot, _)));
        match frame.dropped {
            Some((_, DropReason::NoPeer)) => Cause::NotConnected,
            Some((_, DropReason::Skipped)) => Cause::Skipped,
            // Where it never came whole from the robot it could not be sent.
            _ if !here || at_robot => Cause::RobotHop,
            _ if frame.forwarded == Time::MAX
                && self.is_dark(frame.at_relay, frame.at_relay + LATE_AFTER) =>
            {
                Cause::Outage
            }
            Some((_, DropReason::Expired)) => Cause::ExpiredInRelay,
            Some((_, DropReason::Superseded)) => Cause::Superseded,
            Some((_, DropReason::Incomplete)) | None if frame.forwarded < Time::MAX => self.on_link(frame),
            None if self.operator_lost => Cause::NotConnected,
            Some((_, DropReason::Incomplete)) | None => Cause::WindowShut,
        }
    }

    /// Why a frame that was sent as a whole never became complete.
    fn on_link(&self, frame: &Frame) -> Cause {
        let journey = &frame.journey;
        match dropped_by(journey) {
            _ if journey.sent == 0 => Cause::InTransport,
            Some(cause) => cause,
            None if self.operator_lost => Cause::NotConnected,
            None if journey.queued_max >= self.excess(journey) => Cause::LinkQueue,
            None => Cause::LinkDelay,
        }
    }

    /// What made a delivered frame take as long as it did.
    pub(super) fn slow(&self, frame: &Frame) -> Cause {
        if self.transit_min >= LATE_AFTER {
            return Cause::LinkDelay;
        }
        let Frame { produced, delivered, journey, .. } = frame;
        let at_relay = frame.at_relay.min(*delivered);
        let forwarded = frame.forwarded.clamp(at_relay, *delivered);
        let parts = [
            (at_relay.since(*produced), Cause::RobotHop),
            (forwarded.since(at_relay), self.held(at_relay, forwarded)),
            (journey.queued_max, Cause::LinkQueue),
            (self.excess(journey), Cause::LinkDelay),
            self.after_the_last_fragment(journey, forwarded, *delivered),
        ];
        let longest = parts.into_iter().rev().max_by_key(|(span, _)| *span);
        longest.map_or(Cause::LinkDelay, |(_, cause)| cause)
    }

    /// What a frame waited for in the relay: the link to come back, or window and pacer.
    fn held(&self, from: Time, until: Time) -> Cause {
        if self.is_dark(from, until) { Cause::Outage } else { Cause::WindowShut }
    }

    /// Whether the link was down for at least half of that time.
    fn is_dark(&self, from: Time, until: Time) -> bool {
        let within = self.outages.iter().map(|(down, up)| (*up).min(until).since((*down).max(from)));
        let dark = within.fold(Span::ZERO, |sum, part| sum + part);
        !dark.is_zero() && dark * 2 >= until.since(from)
    }

    /// What a frame waited for after the last of its fragments had come out that was not sent again.
    fn after_the_last_fragment(&self, journey: &Journey, forwarded: Time, delivered: Time) -> (Span, Cause) {
        let out = (forwarded + self.transit_min).max(journey.fragments_out);
        match dropped_by(journey) {
            _ if journey.sent == 0 => (delivered.since(out), Cause::InTransport),
            Some(cause) => (delivered.since(out), cause),
            None => (Span::ZERO, Cause::LinkDelay),
        }
    }

    fn excess(&self, journey: &Journey) -> Span {
        let (most, least) = (journey.transit_max.as_nanos(), self.transit_min.as_nanos());
        Span::from_nanos(most.saturating_sub(least))
    }
}

/// What dropped the most of a frame's packets; `None` if nothing did.
fn dropped_by(journey: &Journey) -> Option<Cause> {
    let by = [
        (journey.in_outage, Cause::Outage),
        (journey.overflowed, Cause::QueueOverflow),
        (journey.lost, Cause::Lost),
    ];
    let most = by.into_iter().rev().max_by_key(|(packets, _)| *packets);
    most.filter(|(packets, _)| *packets > 0).map(|(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Circumstances<'_> =
        Circumstances { operator_lost: false, transit_min: Span::from_millis(100), outages: &[] };

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Made at 1000 ms, at the relay 1 ms later, sent at once, 10 packets.
    fn frame() -> Frame {
        let mut frame = Frame::new(ms(1000), 10_000);
        (frame.at_relay, frame.forwarded) = (ms(1001), ms(1001));
        frame.journey.sent = 10;
        frame
    }

    #[test]
    fn what_waits_in_the_relay_for_a_link_that_is_down_owes_it_to_the_outage() {
        let dark = [(ms(900), ms(1_400))];
        let dark = Circumstances { outages: &dark, ..USUAL };
        for reason in [DropReason::Expired, DropReason::Superseded] {
            let mut given_up = frame();
            (given_up.forwarded, given_up.dropped) = (Time::MAX, Some((DropPlace::Relay, reason)));
            assert_eq!(dark.cause(&given_up), Some(Cause::Outage));
            assert_ne!(USUAL.cause(&given_up), Some(Cause::Outage));
        }
        let mut held = frame();
        (held.forwarded, held.delivered) = (ms(1_500), ms(1_600));
        assert_eq!(dark.cause(&held), Some(Cause::Outage));
        assert_eq!(USUAL.cause(&held), Some(Cause::WindowShut));
        (held.forwarded, held.delivered) = (ms(2_500), ms(2_600));
        assert_eq!(dark.cause(&held), Some(Cause::WindowShut), "most of that time the link was there");
    }

    #[test]
    fn a_missing_frame_owes_it_to_the_last_thing_that_happened_to_it() {
        let lost = |edit: fn(&mut Frame)| {
            let mut frame = frame();
            edit(&mut frame);
            USUAL.cause(&frame).unwrap()
        };
        let relay = |reason| Some((DropPlace::Relay, reason));
        assert_eq!(lost(|f| f.dropped = Some((DropPlace::Robot, DropReason::NoPeer))), Cause::NotConnected);
        assert_eq!(lost(|f| f.dropped = Some((DropPlace::Robot, DropReason::Expired))), Cause::RobotHop);
        assert_eq!(lost(|f| f.at_relay = Time::MAX), Cause::RobotHop);
        let cases = [
            (DropReason::Skipped, Cause::Skipped),
            (DropReason::Expired, Cause::ExpiredInRelay),
            (DropReason::Superseded, Cause::Superseded),
            (DropReason::NoPeer, Cause::NotConnected),
        ];
        for (reason, cause) in cases {
            let frame = Frame { dropped: relay(reason), forwarded: Time::MAX, ..frame() };
            assert_eq!(USUAL.cause(&frame), Some(cause));
        }
        assert_eq!(lost(|f| f.forwarded = Time::MAX), Cause::WindowShut);
        assert_eq!(lost(|f| f.journey.lost = 1), Cause::Lost);
        assert_eq!(lost(|f| (f.journey.lost, f.journey.overflowed) = (1, 2)), Cause::QueueOverflow);
        assert_eq!(lost(|f| (f.journey.lost, f.journey.in_outage) = (2, 2)), Cause::Outage);
        assert_eq!(lost(|f| f.journey.sent = 0), Cause::InTransport);
        assert_eq!(lost(|f| f.journey.transit_max = Span::from_millis(700)), Cause::LinkDelay);
        assert_eq!(lost(|f| f.journey.queued_max = Span::from_millis(700)), Cause::LinkQueue);
        let gone = Circumstances { operator_lost: true, ..USUAL };
        assert_eq!(gone.cause(&frame()), Some(Cause::NotConnected));
        assert_eq!(gone.cause(&Frame { forwarded: Time::MAX, ..frame() }), Some(Cause::NotConnected));
    }

    #[test]
    fn a_late_frame_owes_it_to_the_longest_part_of_its_way() {
        let slow = |delay: u64, edit: fn(&mut Frame)| {
            let mut frame = Frame { delivered: ms(1000 + delay), ..frame() };
            edit(&mut frame);
            USUAL.cause(&frame)
        };
        assert_eq!(slow(300, |_| ()), None, "in time to the last moment");
        let relay = |f: &mut Frame| f.forwarded = ms(1200);
        assert_eq!(slow(301, relay), Some(Cause::WindowShut));
        assert_eq!(slow(400, |f| (f.at_relay, f.forwarded) = (ms(1290), ms(1291))), Some(Cause::RobotHop));
        let queue = |f: &mut Frame| {
            (f.journey.queued_max, f.journey.transit_max) = (Span::from_millis(250), Span::from_millis(110));
        };
        assert_eq!(slow(360, queue), Some(Cause::LinkQueue));
        assert_eq!(slow(360, |f| f.journey.transit_max = Span::from_millis(355)), Some(Cause::LinkDelay));
        let repaired = |f: &mut Frame| {
            (f.journey.lost, f.journey.again) = (1, 1);
            f.journey.fragments_out = ms(1110);
        };
        assert_eq!(slow(390, repaired), Some(Cause::Lost));
        assert_eq!(slow(390, |f| f.journey.sent = 0), Some(Cause::InTransport));
        let far = Circumstances { transit_min: Span::from_millis(320), ..USUAL };
        assert_eq!(far.cause(&Frame { delivered: ms(1330), ..frame() }), Some(Cause::LinkDelay));
    }
}
