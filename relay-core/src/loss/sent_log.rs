//! The sender's side: what was sent, and what reports say became of it.

use std::collections::VecDeque;

use units::{Span, Time};

use super::OUTAGE_MIN;
use super::flight::Flight;
use crate::congestion::{Acked, Lost, Sent};
use crate::event::FrameId;
use crate::fec::LossEstimate;
use crate::wire::Feedback;

/// What became of a datagram in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The receiver has it.
    Acked(Acked),
    /// It is given up. It may still turn out to have arrived.
    Lost(Lost),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unknown,
    Arrived,
    Lost,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    at: Time,
    fate: Fate,
    /// Its UDP payload; zero until it is known.
    bytes: u32,
    standing: Standing,
    app_limited: bool,
    /// What it carried.
    piece: Piece,
    /// Whether it was reported as missing for the sake of repair.
    missed: bool,
}

/// Where a datagram stands with the control law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The law has heard of its fate, or never will.
    Closed,
    /// It counts as in flight.
    InFlight,
    /// It counts as in flight no more, but its fate is open.
    Overdue,
}

impl Entry {
    /// The law hears of its fate now, unless it has: whether it was in flight until then.
    fn close(&mut self) -> Option<bool> {
        match std::mem::replace(&mut self.standing, Standing::Closed) {
            Standing::Closed => None,
            Standing::InFlight => Some(true),
            Standing::Overdue => Some(false),
        }
    }
}

/// What a datagram carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A fragment of a frame, or parity of it.
    Part { frame: FrameId, index: u16 },
    /// The nth parity packet over the sliding window.
    WindowParity { number: u32 },
}

/// News of a piece, for repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// It is missing, as far as one can tell so early.
    Missing(Piece),
    /// It was said to be missing, and has come after all.
    Found(Piece),
}

/// What a sender knows of its datagrams by sequence number.
#[derive(Debug)]
pub(crate) struct SentLog {
    first: u32,
    sent: VecDeque<Entry>,
    /// Everything below has been judged.
    judged_to: u32,
    /// When the newest datagram known to have arrived was sent.
    newest_arrived: Time,
    /// Everything below has been looked at for pieces that are missing.
    missed_to: u32,
    /// How much later-sent a datagram may arrive before an earlier one is missing: what reordering was
    /// seen lately.
    reordering: Span,
    reordering_seen: Span,
    news: VecDeque<News>,
    estimate: LossEstimate,
    /// Datagrams lost in a row up to what was judged last, and when the first of them was sent.
    lost_run: (u32, Time),
    judged: u64,
    lost: u64,
    limit_hits: u64,
    /// Datagrams of whose fate the control law has yet to hear.
    open: usize,
    /// What is in flight, where somebody wants to know.
    flight: Option<Flight>,
}

impl SentLog {
    pub(crate) fn new() -> Self {
        Self {
            first: 0,
            sent: VecDeque::new(),
            judged_to: 0,
            newest_arrived: Time::ZERO,
            missed_to: 0,
            reordering: MISSING_FIRST,
            reordering_seen: Span::ZERO,
            news: VecDeque::new(),
            estimate: LossEstimate::new(),
            lost_run: (0, Time::ZERO),
            judged: 0,
            lost: 0,
            limit_hits: 0,
            open: 0,
            flight: None,
        }
    }

    /// From now on keeps count of what is in flight and has [outcomes](Self::poll_outcome).
    pub(crate) fn track_flight(&mut self) {
        self.flight.get_or_insert_default();
    }

    pub(crate) fn tracks_flight(&self) -> bool {
        self.flight.is_some()
    }

    /// The number for the datagram that is sent now.
    pub(crate) fn assign(&mut self, now: Time, piece: Piece) -> u32 {
        if self.sent.len() >= SENT_MAX {
            self.limit_hits += 1;
            if let (Some(mut entry), Some(flight)) = (self.sent.pop_front(), &mut self.flight)
                && let Some(was_in_flight) = entry.close()
            {
                self.open -= 1;
                flight.on_lost(entry.at, entry.bytes.into(), was_in_flight);
            }
            self.first = self.first.wrapping_add(1);
            self.judged_to = self.judged_to.max(self.first);
            self.missed_to = self.missed_to.max(self.first);
        }
        self.sent.push_back(Entry {
            at: now,
            fate: Fate::Unknown,
            bytes: 0,
            standing: Standing::Closed,
            app_limited: false,
            piece,
            missed: false,
        });
        self.first + (self.sent.len() - 1) as u32
    }

    /// The datagram numbered last has left as `bytes` of UDP payload; what to tell the control law,
    /// if the flight is tracked.
    pub(crate) fn on_left(&mut self, bytes: u64, app_limited: bool) -> Option<Sent> {
        let (entry, flight) = (self.sent.back_mut()?, self.flight.as_mut()?);
        entry.bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.open += usize::from(entry.close().is_none());
        entry.standing = Standing::InFlight;
        entry.app_limited = app_limited;
        let in_flight_bytes = flight.on_sent(entry.bytes.into());
        Some(Sent { bytes: entry.bytes.into(), in_flight_bytes, app_limited })
    }

    /// What became of datagrams, in the order in which it was found out.
    pub(crate) fn poll_outcome(&mut self) -> Option<Outcome> {
        self.flight.as_mut()?.poll_outcome()
    }

    /// What is in flight, where that is tracked.
    pub(crate) fn flight_bytes(&self) -> Option<u64> {
        self.flight.as_ref().map(Flight::bytes)
    }

    /// Whether the control law has yet to hear of something, as far as that is tracked.
    pub(crate) fn has_open(&self) -> bool {
        self.open > 0
    }

    /// What is new about pieces, for repair.
    pub(crate) fn poll_news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// How much reordering was seen lately.
    pub(crate) fn reordering_seen(&self) -> Span {
        self.reordering_seen
    }

    /// Loss share and burst length lately.
    pub(crate) fn estimate(&self) -> &LossEstimate {
        &self.estimate
    }

    /// Datagrams whose fate is known, and those of them that were lost.
    pub(crate) fn judged(&self) -> (u64, u64) {
        (self.judged, self.lost)
    }

    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    /// Takes a report. Numbers that were never sent are ignored.
    pub(crate) fn handle(&mut self, now: Time, feedback: &Feedback) {
        let before = self.newest_arrived;
        if self.flight.is_some() {
            for arrival in &feedback.arrivals {
                let index = arrival.seq.wrapping_sub(self.first) as usize;
                if index < self.sent.len() {
                    let at = Time::ZERO + Span::from_micros(arrival.at_us);
                    self.arrived(now, before, index, Some(at));
                }
            }
        }
        for range in &feedback.ranges {
            let mut index = range.first.saturating_sub(self.first) as usize;
            let end = (u64::from(range.last) + 1).saturating_sub(self.first.into()) as usize;
            let end = end.min(self.sent.len());
            // Most of a report repeats earlier ones.
            while index < end
                && let Some(known) = self.sent.range(index..end).position(|sent| sent.fate != Fate::Arrived)
            {
                self.arrived(now, before, index + known, None);
                index += known + 1;
            }
        }
        self.miss();
        self.judge();
        self.forget();
    }

    /// Gives up what nothing has been heard of for long. First it is no longer in flight, since it has left the
    /// path one way or the other, so that a link that comes back finds somebody sending. Then, when the receiver must
    /// have fallen silent, it counts as lost for the control law. Whether it arrived is still open.
    pub(crate) fn expire(&mut self, now: Time) {
        let Some(flight) = &mut self.flight else { return };
        let (overdue, patience) = (flight.overdue(), flight.patience());
        let from = (self.judged_to - self.first) as usize;
        for entry in self.sent.range_mut(from.min(self.sent.len())..) {
            if entry.at + overdue.min(patience) > now {
                break;
            }
            if entry.at + patience <= now {
                if let Some(was_in_flight) = entry.close() {
                    self.open -= 1;
                    flight.on_lost(entry.at, entry.bytes.into(), was_in_flight);
                }
            } else if entry.standing == Standing::InFlight {
                entry.standing = Standing::Overdue;
                flight.on_overdue(entry.bytes.into());
            }
        }
    }

    /// `before` is when the newest datagram was sent that an earlier report spoke of.
    fn arrived(&mut self, now: Time, before: Time, index: usize, received_at: Option<Time>) {
        let sent = &mut self.sent[index];
        match sent.fate {
            Fate::Arrived => return,
            // It came after all; it was judged too early.
            Fate::Lost => self.lost -= 1,
            Fate::Unknown => self.judged += 1,
        }
        sent.fate = Fate::Arrived;
        if sent.at < before {
            let late = before.since(sent.at);
            self.reordering = self.reordering.max(late + late / 4).min(REORDERING);
            self.reordering_seen = self.reordering_seen.max(late);
        }
        if std::mem::take(&mut sent.missed) {
            self.news.push_back(News::Found(sent.piece));
        }
        self.newest_arrived = self.newest_arrived.max(sent.at);
        if let Some(flight) = &mut self.flight
            && sent.bytes > 0
        {
            let closed = sent.close();
            self.open -= usize::from(closed.is_some());
            let was_in_flight = closed == Some(true);
            flight.on_acked(now, sent.at, received_at, sent.bytes.into(), was_in_flight, sent.app_limited);
        }
    }

    /// Says early what seems to be missing: the sooner it is sent again, the sooner it is there, and what
    /// was sent again needlessly costs one packet.
    fn miss(&mut self) {
        let mut index = (self.missed_to - self.first) as usize;
        while let Some(sent) = self.sent.get_mut(index) {
            if sent.at + self.reordering >= self.newest_arrived {
                break;
            }
            if sent.fate == Fate::Unknown {
                sent.missed = true;
                self.news.push_back(News::Missing(sent.piece));
            }
            index += 1;
        }
        self.missed_to = self.first + index as u32;
        self.reordering_seen = self.reordering_seen - self.reordering_seen / REORDERING_REPORTS;
        let decayed = self.reordering - self.reordering / REORDERING_REPORTS;
        self.reordering = decayed.max(MISSING_MIN);
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
            let (run, began) = self.lost_run;
            if sent.fate == Fate::Lost {
                self.lost_run = (run + 1, if run == 0 { sent.at } else { began });
            } else {
                // Parity repairs no outage, and one says nothing about the loss after it.
                let outage = run > 0 && sent.at.since(began) >= OUTAGE_MIN;
                for lost in 0..if outage { 0 } else { run } {
                    self.estimate.insert(true, lost == 0);
                }
                self.estimate.insert(false, false);
                self.lost_run = (0, sent.at);
            }
            if let Some(was_in_flight) = sent.close()
                && let Some(flight) = &mut self.flight
            {
                self.open -= 1;
                flight.on_lost(sent.at, sent.bytes.into(), was_in_flight);
            }
            index += 1;
        }
        self.judged_to = self.first + index as u32;
    }

    fn forget(&mut self) {
        while self.sent.front().is_some_and(|sent| {
            self.judged_to.min(self.missed_to) > self.first && sent.at + REMEMBERED < self.newest_arrived
        }) {
            self.sent.pop_front();
            self.first += 1;
        }
    }
}

/// How much later-sent a datagram may arrive before an earlier one counts as lost: twice three
/// standard deviations of the widest jitter among the shipped profiles (15 ms), rounded up.
const REORDERING: Span = Span::from_millis(100);
/// The same for repair, which need not be sure: at first, and at least.
const MISSING_FIRST: Span = Span::from_millis(20);
const MISSING_MIN: Span = Span::from_millis(2);
/// Reports over which seen reordering is forgotten.
const REORDERING_REPORTS: u64 = 512;
/// How long a judged datagram is remembered, so that a very late arrival is still set right.
const REMEMBERED: Span = Span::from_secs(3);
/// Most datagrams remembered: some eight seconds at 10 Mbit/s.
const SENT_MAX: usize = 8192;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::wire::{Arrival, SeqRange};

    const PIECE: Piece =
        Piece::Part { frame: FrameId { camera: crate::event::Camera::MAIN, number: 0 }, index: 0 };

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
            log.assign(at(ms), PIECE);
        }
        log.handle(at(1_000), &report(&[(2, 2), (0, 0)]));
        assert_eq!(log.judged(), (2, 0), "number 1 may still come");
        log.handle(at(1_000), &report(&[(2, 3), (0, 0)]));
        assert_eq!(log.judged(), (4, 1));
        log.handle(at(1_000), &report(&[(0, 3)]));
        assert_eq!(log.judged(), (4, 0));
    }

    #[test]
    fn reports_of_what_was_never_sent_are_ignored() {
        let mut log = SentLog::new();
        log.assign(at(0), PIECE);
        log.handle(at(1_000), &report(&[(5, u32::MAX)]));
        assert_eq!(log.judged(), (0, 0));
    }

    /// A log with a datagram of 1000 bytes sent every ten milliseconds.
    fn flying(count: u64) -> SentLog {
        let mut log = SentLog::new();
        log.track_flight();
        for index in 0..count {
            log.assign(at(index * 10), PIECE);
            let sent = log.on_left(1_000, index % 2 == 0).expect("tracked");
            assert_eq!(sent.in_flight_bytes, (index + 1) * 1_000);
        }
        log
    }

    fn outcomes(log: &mut SentLog) -> Vec<Outcome> {
        std::iter::from_fn(|| log.poll_outcome()).collect()
    }

    #[test]
    fn a_report_tells_the_law_once_of_each_arrival_and_when_it_was() {
        let mut log = flying(3);
        let arrivals = vec![Arrival { seq: 1, at_us: 7_000_000 }];
        let report = Feedback { arrivals, ..report(&[(0, 1)]) };
        log.handle(at(150), &report);
        log.handle(at(175), &report);
        let acked = |sent_ms, received_at, in_flight_bytes, app_limited| {
            let sent_at = at(sent_ms);
            let rtt = at(150).since(sent_at);
            let app_limited_now = app_limited;
            let bytes = 1_000;
            Outcome::Acked(Acked {
                bytes,
                sent_at,
                received_at,
                rtt,
                in_flight_bytes,
                app_limited,
                app_limited_now,
            })
        };
        let timed = acked(10, Some(at(7_000)), 2_000, false);
        assert_eq!(outcomes(&mut log), [timed, acked(0, None, 1_000, true)]);
        assert!(log.has_open());
    }

    #[test]
    fn what_was_overtaken_is_lost_and_out_of_flight() {
        let mut log = flying(12);
        log.handle(at(200), &report(&[(1, 11)]));
        let outcomes = outcomes(&mut log);
        assert_eq!(outcomes.len(), 12);
        let lost = Lost { bytes: 1_000, sent_at: at(0), in_flight_bytes: 0, persistent: false };
        assert_eq!(outcomes.last(), Some(&Outcome::Lost(lost)));
        assert!(!log.has_open());
    }

    #[test]
    fn what_is_overdue_is_not_in_flight_although_the_law_has_yet_to_hear_of_it() {
        let mut log = flying(20);
        log.handle(at(150), &report(&[(0, 9)]));
        assert_eq!(log.flight_bytes(), Some(10_000));
        outcomes(&mut log);
        // A round trip of some 100 ms, half of it again, and the slack.
        log.expire(at(600));
        assert_eq!((log.flight_bytes(), outcomes(&mut log).len()), (Some(0), 0));
        assert!(log.has_open());
        // It was not lost, and is counted once.
        log.handle(at(700), &report(&[(0, 19)]));
        assert_eq!((log.flight_bytes(), outcomes(&mut log).len()), (Some(0), 10));
        assert!(!log.has_open());
    }

    #[test]
    fn a_silent_receiver_does_not_keep_the_window_shut() {
        let mut log = flying(200);
        log.expire(at(999));
        assert_eq!(outcomes(&mut log), []);
        log.expire(at(1_000));
        assert_eq!(outcomes(&mut log).len(), 1);
        log.expire(at(5_000));
        assert!(!log.has_open());
        let lost = outcomes(&mut log);
        assert_eq!(lost.len(), 199);
        assert!(!log.has_open());
        let persistent = |outcome: &&Outcome| matches!(outcome, Outcome::Lost(Lost { persistent: true, .. }));
        assert_eq!(lost.iter().filter(persistent).count(), 1, "a second of silence out of two");
        assert_eq!(log.judged(), (0, 0), "whether they arrived is still open");
        // They had arrived after all.
        log.handle(at(5_100), &report(&[(0, 199)]));
        assert_eq!(outcomes(&mut log).len(), 200);
        assert_eq!(log.judged(), (200, 0));
        assert!(!log.has_open());
    }

    #[test]
    fn patience_grows_with_the_round_trip() {
        let mut log = flying(1);
        log.handle(at(800), &report(&[(0, 0)]));
        log.assign(at(1_000), PIECE);
        log.on_left(1_000, false);
        log.expire(at(3_399));
        assert!(log.has_open());
        log.expire(at(3_400));
        assert!(!log.has_open());
    }

    proptest! {
        #[test]
        fn whatever_is_reported_the_flight_is_what_has_no_outcome_yet(
            steps in prop::collection::vec((0u64..400, 0u32..400, 0u32..60, 0usize..9), 1..200),
        ) {
            let mut log = SentLog::new();
            log.track_flight();
            let (mut now, mut sent, mut done) = (0, 0, std::collections::BTreeSet::new());
            for (step, first, length, packets) in steps {
                now += step;
                for _ in 0..packets {
                    now += 1;
                    log.assign(at(now), PIECE);
                    log.on_left(1_000, false);
                    sent += 1;
                }
                log.handle(at(now), &report(&[(first, first + length)]));
                log.expire(at(now));
                for outcome in outcomes(&mut log) {
                    let (sent_at, in_flight) = match outcome {
                        Outcome::Acked(acked) => (acked.sent_at, acked.in_flight_bytes),
                        Outcome::Lost(lost) => (lost.sent_at, lost.in_flight_bytes),
                    };
                    done.insert(sent_at);
                    // What is overdue is in flight no more, and has no outcome yet.
                    prop_assert!(in_flight <= (sent - done.len() as u64) * 1_000, "{}", in_flight);
                }
                prop_assert_eq!(log.has_open(), sent > done.len() as u64);
            }
        }

        #[test]
        fn no_report_makes_the_counts_disagree(
            steps in prop::collection::vec((0u64..200, prop::collection::vec((0u32..400, 0u32..60), 0..4)), 1..200),
        ) {
            let mut log = SentLog::new();
            let mut now = 0;
            for (step, ranges) in steps {
                now += step;
                log.assign(at(now), PIECE);
                let ranges: Vec<_> = ranges.iter().map(|&(first, length)| (first, first + length)).collect();
                log.handle(at(now), &report(&ranges));
                let (judged, lost) = log.judged();
                prop_assert!(lost <= judged);
            }
        }
    }
}
