//! What became of each frame of each camera.

use netmodel::Verdict;
use relay_core::{DropPlace, DropReason, FrameId, VideoPart};
use serde::{Deserialize, Serialize};
use units::{Span, Time};

use super::cause::{Cause, CauseSummary, LATE_AFTER};
use super::freezes::{self, FreezeRow};
use super::journey::{Journey, Out};
use super::log::{place_name, reason_name};
use super::playout::{Playout, Seen};
use super::summary::{CameraSummary, DelayAllSummary, DelaySummary, DropSummary, OnTime, Percentiles};
use super::why::Circumstances;
use crate::statistics::{millis, percentile, ratio, rounded};

/// One frame of a cell: a row of the frames table. Times are microseconds since the start of the
/// traffic; `null` means it never happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRow {
    /// The camera's name.
    pub camera: String,
    /// Number within the camera, from 0.
    pub frame: u32,
    /// Its size.
    pub bytes: u32,
    /// The camera handed it to the robot's end.
    pub produced_us: u64,
    /// It was complete at the relay.
    pub at_relay_us: Option<u64>,
    /// Its last byte was handed to the transport towards the operator.
    pub forwarded_us: Option<u64>,
    /// Datagrams it took towards the operator.
    pub packets: u32,
    /// It was complete at the operator.
    pub delivered_us: Option<u64>,
    /// It came on screen.
    pub shown_us: Option<u64>,
    /// Where it was given up: `robot`, `relay` or `operator`; `link` where no machine gave it up and
    /// it was lost on the way to one.
    pub dropped_at: Option<String>,
    /// Why it was given up: `skipped`, `expired`, `superseded`, `no-peer` or `incomplete`; `lost` on
    /// a link.
    pub dropped_why: Option<String>,
    /// Why it is missing, or late if it came more than 300 ms after it was made; `null` otherwise.
    pub cause: Option<Cause>,
    /// Packets sent with a part of it towards the operator: fragments, parity and fragments sent again.
    pub packets_sent: u32,
    /// Those of them that carried parity.
    pub packets_parity: u32,
    /// Those of them that carried a fragment once more.
    pub packets_again: u32,
    /// Those of them that the link lost or damaged.
    pub packets_lost: u32,
    /// Those of them that found the link's queue full.
    pub packets_overflowed: u32,
    /// Those of them that were sent while the link was down.
    pub packets_in_outage: u32,
    /// The longest wait of one of its fragments in the link's queue.
    pub link_queue_us_max: u64,
}

impl FrameRow {
    /// From the camera to complete at the operator, in microseconds; `None` if it never was.
    pub fn delay_us(&self) -> Option<u64> {
        self.delivered_us.map(|at| at.saturating_sub(self.produced_us))
    }
}

/// All frames of one camera.
#[derive(Debug)]
pub(super) struct CameraRecord {
    pub(super) name: String,
    playout: Playout,
    frames: Vec<Frame>,
    /// When each frame became complete at the operator, in that order.
    deliveries: Vec<(Time, u32)>,
}

/// What happened to one frame; moments that never came are [`Time::MAX`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) bytes: u32,
    pub(super) packets: u32,
    pub(super) produced: Time,
    pub(super) at_relay: Time,
    pub(super) forwarded: Time,
    pub(super) delivered: Time,
    pub(super) dropped: Option<(DropPlace, DropReason)>,
    pub(super) journey: Journey,
}

impl Frame {
    pub(super) fn new(produced: Time, bytes: u32) -> Self {
        Self {
            bytes,
            packets: 0,
            produced,
            at_relay: Time::MAX,
            forwarded: Time::MAX,
            delivered: Time::MAX,
            dropped: None,
            journey: Journey::default(),
        }
    }

    /// Whether it was complete at the operator, but too late.
    pub(super) fn is_late(&self) -> bool {
        self.delivered < Time::MAX && self.delivered.since(self.produced) > LATE_AFTER
    }

    /// What became of a frame that was not delivered.
    ///
    /// Machines report what they give up. They do not know of a frame none of which arrives, nor
    /// of what still waited when the connection ended: that follows from how far it came.
    fn fate(&self, operator_lost: bool) -> Fate {
        match self.dropped {
            Some((place, reason)) => Fate::GivenUp(place, reason),
            None if self.forwarded < Time::MAX || self.at_relay == Time::MAX => Fate::LostOnLink,
            None if operator_lost => Fate::GivenUp(DropPlace::Relay, DropReason::NoPeer),
            None => Fate::Unknown,
        }
    }
}

/// What became of a frame that was not delivered.
enum Fate {
    GivenUp(DropPlace, DropReason),
    LostOnLink,
    Unknown,
}

impl CameraRecord {
    pub(super) fn new(name: String, playout: Playout, frames_expected: usize) -> Self {
        let frames = Vec::with_capacity(frames_expected);
        Self { name, playout, frames, deliveries: Vec::with_capacity(frames_expected) }
    }

    /// The camera made frame `number`; false if it does not follow the one before it.
    pub(super) fn produced(&mut self, now: Time, number: u32, bytes: u32) -> bool {
        let follows = number as usize == self.frames.len();
        if follows {
            self.frames.push(Frame::new(now, bytes));
        }
        follows
    }

    /// The frame is complete at the relay; its size if that is news.
    pub(super) fn at_relay(&mut self, now: Time, frame: FrameId) -> Option<u32> {
        let frame = self.frames.get_mut(frame.number as usize)?;
        first(&mut frame.at_relay, now).then_some(frame.bytes)
    }

    /// The frame's last byte was handed to the transport; whether that is news.
    pub(super) fn forwarded(&mut self, now: Time, frame: FrameId, packets: u32) -> bool {
        let Some(frame) = self.frames.get_mut(frame.number as usize) else { return false };
        let news = first(&mut frame.forwarded, now);
        if news {
            frame.packets = packets;
        }
        news
    }

    /// The frame was given up; whether that is news, `None` if there is no such frame.
    ///
    /// The first place counts: what one machine gave up half-sent, the next gives up as incomplete.
    pub(super) fn dropped(&mut self, frame: FrameId, place: DropPlace, reason: DropReason) -> Option<bool> {
        let frame = self.frames.get_mut(frame.number as usize)?;
        let news = frame.dropped.is_none();
        frame.dropped.get_or_insert((place, reason));
        Some(news)
    }

    /// The frame is complete at the operator with this many bytes; whether that is news and right.
    pub(super) fn delivered(&mut self, now: Time, id: FrameId, bytes: u32) -> bool {
        let Some(frame) = self.frames.get_mut(id.number as usize) else { return false };
        let news = frame.bytes == bytes && first(&mut frame.delivered, now);
        if news {
            self.deliveries.push((now, id.number));
        }
        news
    }

    /// A packet with a part of a frame went on the operator hop's link.
    pub(super) fn packet_sent(&mut self, part: &VideoPart, verdict: Verdict) {
        if let Some(frame) = self.frames.get_mut(part.frame.number as usize) {
            frame.journey.sent(part.kind, verdict);
        }
    }

    /// A queue of that link dropped a packet of this frame after it had let it in.
    pub(super) fn packet_dropped(&mut self, frame: FrameId) {
        if let Some(frame) = self.frames.get_mut(frame.number as usize) {
            frame.journey.dropped();
        }
    }

    /// It came out there. What comes after the frame is complete changes nothing.
    pub(super) fn packet_out(&mut self, now: Time, out: &Out) {
        if let Some(frame) = self.frames.get_mut(out.frame.number as usize)
            && frame.delivered == Time::MAX
        {
            frame.journey.out(now, out);
        }
    }

    pub(super) fn finish(&self) -> CameraResult {
        let seen = self.playout.play(&self.deliveries);
        let delivered = || self.frames.iter().filter(|f| f.delivered < Time::MAX);
        let mut delays: Vec<u64> = delivered().map(|f| f.delivered.since(f.produced).as_nanos()).collect();
        delays.sort_unstable();
        let forwarded = self.frames.iter().filter(|f| f.forwarded < Time::MAX).count() as u64;
        CameraResult {
            frozen: seen.freezes.iter().fold(Span::ZERO, |sum, f| sum + f.length()),
            frozen_w3c: seen.freezes_w3c.iter().fold(Span::ZERO, |sum, f| sum + f.length()),
            delivered_bytes: delivered().map(|f| u64::from(f.bytes)).sum(),
            forwarded,
            forwarded_lost: self
                .frames
                .iter()
                .filter(|f| f.forwarded < Time::MAX && f.delivered == Time::MAX)
                .count() as u64,
            relay_ns: self.relay_times(),
            delays,
            seen,
        }
    }

    /// How long each forwarded frame was in the relay, ascending.
    fn relay_times(&self) -> Vec<u64> {
        let both = self.frames.iter().filter(|f| f.at_relay < Time::MAX && f.forwarded < Time::MAX);
        let mut times: Vec<u64> = both.map(|f| f.forwarded.since(f.at_relay).as_nanos()).collect();
        times.sort_unstable();
        times
    }

    pub(super) fn summary(&self, result: &CameraResult, circumstances: Circumstances<'_>) -> CameraSummary {
        let produced = self.frames.len() as u64;
        let delivered = result.delays.len() as u64;
        let lost = self.frames.len() - result.delays.len();
        let duration = self.playout.end.since(self.playout.start);
        let within = |limit_ms: u64| {
            let limit = Span::from_millis(limit_ms).as_nanos();
            ratio(result.delays.partition_point(|d| *d <= limit) as u64, produced)
        };
        let of_delivered = |percent| percentile(&result.delays, 0, percent).map(millis);
        let of_all = |percent| percentile(&result.delays, lost, percent).map(millis);
        let longest = result.seen.freezes.iter().map(|f| f.length().as_nanos()).max();
        CameraSummary {
            produced,
            delivered,
            delivered_ratio: ratio(delivered, produced),
            on_time_ratio: OnTime {
                within_200_ms: within(200),
                within_300_ms: within(LATE_AFTER.as_micros() / 1000),
                within_500_ms: within(500),
            },
            delay_ms: DelaySummary {
                p50: of_delivered(50),
                p95: of_delivered(95),
                p99: of_delivered(99),
                max: of_delivered(100),
            },
            delay_all_ms: DelayAllSummary { p50: of_all(50), p95: of_all(95), p99: of_all(99) },
            frozen_s_per_min: rounded(per_minute(result.frozen, duration), 3),
            freezes: result.seen.freezes.len() as u64,
            freeze_ms_max: millis(longest.unwrap_or(0)),
            frozen_w3c_s_per_min: rounded(per_minute(result.frozen_w3c, duration), 3),
            freezes_w3c: result.seen.freezes_w3c.len() as u64,
            shown: result.seen.shown.len() as u64,
            late: result.seen.late,
            undecodable: result.seen.undecodable,
            dropped: self.drops(circumstances.operator_lost),
            causes: self.causes(circumstances),
            relay_ms: relay_percentiles(&result.relay_ns),
        }
    }

    /// Why frames that were not delivered were given up.
    fn drops(&self, operator_lost: bool) -> DropSummary {
        let mut drops = DropSummary::default();
        for frame in self.frames.iter().filter(|f| f.delivered == Time::MAX) {
            *match frame.fate(operator_lost) {
                Fate::GivenUp(_, DropReason::Skipped) => &mut drops.skipped,
                Fate::GivenUp(_, DropReason::Expired) => &mut drops.expired,
                Fate::GivenUp(_, DropReason::Superseded) => &mut drops.superseded,
                Fate::GivenUp(_, DropReason::NoPeer) => &mut drops.no_peer,
                Fate::GivenUp(_, DropReason::Incomplete) => &mut drops.incomplete,
                Fate::LostOnLink => &mut drops.lost_on_link,
                Fate::Unknown => &mut drops.unaccounted,
            } += 1;
        }
        drops
    }

    /// Why frames were missing or late.
    fn causes(&self, circumstances: Circumstances<'_>) -> CauseSummary {
        let mut causes = CauseSummary::default();
        for frame in &self.frames {
            let counts = if frame.delivered == Time::MAX { &mut causes.missing } else { &mut causes.late };
            if let Some(cause) = circumstances.cause(frame) {
                counts.add(cause);
            }
        }
        causes
    }

    /// This camera's freezes, by time.
    pub(super) fn freezes<'a>(
        &'a self,
        seen: &'a Seen,
        circumstances: Circumstances<'a>,
    ) -> impl Iterator<Item = FreezeRow> + 'a {
        freezes::rows(&self.name, self.playout.start, &self.frames, seen, circumstances)
    }

    pub(super) fn rows(&self, seen: &Seen, circumstances: Circumstances<'_>) -> Vec<FrameRow> {
        let mut shown = vec![None; self.frames.len()];
        for (at, number) in &seen.shown {
            shown[*number as usize] = self.relative(*at);
        }
        let row = |(number, shown_us)| {
            let frame: &Frame = &self.frames[number as usize];
            let given_up = if frame.delivered < Time::MAX {
                frame.dropped.map(|(place, reason)| (place_name(place), reason_name(reason)))
            } else {
                match frame.fate(circumstances.operator_lost) {
                    Fate::GivenUp(place, reason) => Some((place_name(place), reason_name(reason))),
                    Fate::LostOnLink => Some(("link", "lost")),
                    Fate::Unknown => None,
                }
            };
            FrameRow {
                camera: self.name.clone(),
                frame: number,
                bytes: frame.bytes,
                produced_us: self.relative(frame.produced).unwrap_or(0),
                at_relay_us: self.relative(frame.at_relay),
                forwarded_us: self.relative(frame.forwarded),
                packets: frame.packets,
                delivered_us: self.relative(frame.delivered),
                shown_us,
                dropped_at: given_up.map(|(place, _)| place.to_owned()),
                dropped_why: given_up.map(|(_, reason)| reason.to_owned()),
                cause: circumstances.cause(frame),
                packets_sent: frame.journey.sent,
                packets_parity: frame.journey.parity,
                packets_again: frame.journey.again,
                packets_lost: frame.journey.lost,
                packets_overflowed: frame.journey.overflowed,
                packets_in_outage: frame.journey.in_outage,
                link_queue_us_max: frame.journey.queued_max.as_micros(),
            }
        };
        (0u32..).zip(shown).map(row).collect()
    }

    fn relative(&self, at: Time) -> Option<u64> {
        (at < Time::MAX).then(|| at.since(self.playout.start).as_micros())
    }
}

/// What one camera's events came to.
#[derive(Debug)]
pub(super) struct CameraResult {
    pub(super) seen: Seen,
    pub(super) frozen: Span,
    pub(super) frozen_w3c: Span,
    pub(super) delivered_bytes: u64,
    pub(super) forwarded: u64,
    /// Forwarded and never complete at the operator.
    pub(super) forwarded_lost: u64,
    /// Times in the relay, ascending.
    pub(super) relay_ns: Vec<u64>,
    /// Delays of delivered frames, ascending.
    delays: Vec<u64>,
}

/// `part` of `whole` in seconds a minute.
pub(super) fn per_minute(part: Span, whole: Span) -> f64 {
    if whole.is_zero() { 0.0 } else { part.as_secs_f64() * 60.0 / whole.as_secs_f64() }
}

pub(super) fn relay_percentiles(sorted: &[u64]) -> Percentiles {
    let at = |percent| percentile(sorted, 0, percent).map(millis);
    Percentiles { p50: at(50), p99: at(99) }
}

/// Sets `slot` to `now` unless it was set before; whether it did.
fn first(slot: &mut Time, now: Time) -> bool {
    let news = *slot == Time::MAX;
    if news {
        *slot = now;
    }
    news
}
