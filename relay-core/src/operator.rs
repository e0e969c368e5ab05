//! The operator's end: sends hand poses to the relay and puts together the frames that come back.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use units::{Span, Time};

use crate::carried::Carried;
use crate::clock::Clock;
use crate::config::{self, Dial, EndpointParams, SetupError};
use crate::congestion::{Enforce, Gate};
use crate::end::{End, Line, Readable};
use crate::event::{DropPlace, DropReason, Event, FrameId, Role};
use crate::fec::Codec;
use crate::loss::ReceiverLog;
use crate::machine::{Machine, Output, RoundTrip, Snapshot, Totals};
use crate::settings::Settings;
use crate::streams::FrameStreams;
use crate::video::{FrameReceiver, Limits, Outcome, VideoQueue, Whole};
use crate::wire::{Message, PoseBatch, PoseEntry, VideoHeader};

/// The operator's end.
pub struct Operator {
    end: End,
    frames: FrameReceiver,
    /// Whole frames that nobody has taken yet, the newest last.
    whole: VecDeque<(FrameId, Whole)>,
    codec: Codec,
    streams: FrameStreams,
    received: ReceiverLog,
    report_interval: Span,
    /// The last poses with the time they were taken, the newest first.
    poses: VecDeque<(Time, u32, Bytes)>,
    repeat: usize,
    /// When the last pose was taken, and how long after the one before.
    pose_at: Time,
    pose_interval: Span,
}

impl Operator {
    /// Makes an operator's end that dials its relay at once, and again whenever the connection is lost.
    pub fn new(
        now: Time,
        params: &EndpointParams,
        dial: Dial,
        settings: &Settings,
    ) -> Result<Self, SetupError> {
        let (own, epoch) = (settings.clone(), params.epoch);
        let line = move || Self::line(&own, epoch);
        let end = End::dial(now, params, dial, Role::Operator, Box::new(line))?;
        Ok(Self {
            end,
            frames: FrameReceiver::new(settings.deadline.reassembly),
            whole: VecDeque::new(),
            codec: Codec::default(),
            streams: FrameStreams::default(),
            received: ReceiverLog::new(settings.feedback.interval),
            report_interval: settings.feedback.interval,
            poses: VecDeque::new(),
            repeat: settings.pose.repeat as usize,
            pose_at: Time::ZERO,
            pose_interval: Span::ZERO,
        })
    }

    /// What a new connection begins with.
    fn line(settings: &Settings, epoch: Instant) -> Line {
        let gate = Gate::new(&settings.congestion, Enforce::Gate, Clock::new(epoch));
        let transport = config::operator_hop(settings, gate.factory());
        let limits = Limits::new(settings.deadline.frame, &settings.priority, DropPlace::Operator);
        Line { gate, transport, video: VideoQueue::new(limits) }
    }

    /// Closes the connection, telling the relay, and dials no more.
    pub fn close(&mut self, now: Time) {
        self.end.close(now);
    }

    /// Forgets what belongs to a connection that is gone. Frames go on: the robot counts them.
    fn begin_anew(&mut self) {
        self.received = ReceiverLog::new(self.report_interval);
        self.streams = FrameStreams::default();
        self.poses.clear();
    }

    /// Takes a hand pose and sends it at once, with the poses before it as the settings say.
    /// Before the session is joined it is dropped.
    pub fn handle_pose(&mut self, now: Time, pose: u32, body: Bytes) {
        if !self.end.is_joined() {
            return;
        }
        self.poses.push_front((now, pose, body));
        self.poses.truncate(self.repeat + 1);
        let entries = self.poses.iter().map(|(at, pose, body)| PoseEntry {
            pose: *pose,
            age_us: now.since(*at).as_micros(),
            body: body.clone(),
        });
        let batch = PoseBatch { entries: entries.collect() };
        let carries = Carried { pose: Some(pose), ..Carried::default() };
        self.send(carries, |bytes_max, out| batch.encode(false, bytes_max, out));
        // A report that is nearly due goes in the same packet.
        self.report(now + self.pose_interval / 2);
        self.pose_interval = now.since(self.pose_at).min(POSE_INTERVAL_MAX);
        self.pose_at = now;
    }

    /// Sends the report that is due by `by`.
    fn report(&mut self, by: Time) {
        if let Some(report) = self.received.poll_report(by) {
            let carries = Carried { feedback: true, ..Carried::default() };
            self.send(carries, |bytes_max, out| report.encode(bytes_max, out));
        }
    }

    /// When a report goes without a pose: it waits for the next pose as long as one can be expected.
    fn report_due(&self) -> Time {
        let due = self.received.due();
        let pose_expected = self.pose_at + self.pose_interval + self.pose_interval / 4;
        if due == Time::MAX || pose_expected < due { due } else { pose_expected }
    }

    /// Counts over all connections so far.
    pub fn totals(&self) -> Totals {
        self.end.totals()
    }

    /// Round-trip times to the relay, while the session is joined and once there is a measurement.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        self.end.round_trip()
    }

    /// Whether the session is joined.
    pub fn is_joined(&self) -> bool {
        self.end.is_joined()
    }

    fn send(&mut self, carries: Carried, write: impl FnOnce(usize, &mut BytesMut)) {
        let Some(bytes_max) = self.end.hop_mut().and_then(crate::hop::Hop::datagram_bytes_max) else {
            return;
        };
        let datagram = self.end.host.arena.build(bytes_max, |out| write(bytes_max, out));
        if let Some(hop) = self.end.hop_mut() {
            hop.send_urgent(datagram, carries);
        }
    }

    fn take_messages(&mut self, now: Time) {
        while let Some(message) = self.end.poll_message() {
            match message {
                Message::Video(header, payload) => self.take_video(now, &header, payload),
                Message::Parity(parity, symbol) => {
                    self.received.insert(now, parity.seq);
                    self.frames.insert_parity(&parity, &symbol);
                    self.take_recovered(now);
                }
                Message::Poses(_) | Message::Commands(_) | Message::Feedback(_) | Message::Resize(_) => {
                    self.malformed();
                }
            }
        }
        while let Some(readable) = self.end.poll_readable() {
            self.take_stream(readable);
        }
    }

    fn take_video(&mut self, now: Time, header: &VideoHeader, payload: Bytes) {
        self.received.insert(now, header.seq);
        let outcome = self.frames.insert(now, header, payload);
        self.take_outcome(header, outcome);
        self.take_recovered(now);
    }

    /// Takes the fragments that parity over the sliding window made known.
    fn take_recovered(&mut self, now: Time) {
        while let Some((header, outcome)) = self.frames.poll_recovered(now) {
            self.take_outcome(&header, outcome);
        }
        if self.frames.take_contradictions() > 0 {
            self.malformed();
        }
        self.forget(now);
    }

    fn take_outcome(&mut self, header: &VideoHeader, outcome: Outcome) {
        match outcome {
            Outcome::Complete(data) => {
                let (frame, bytes) = (header.frame, header.shape.frame_bytes);
                self.end.events.push_back(Event::FrameDelivered { frame, bytes });
                self.whole.push_back((frame, data));
                if self.whole.len() > WHOLE_MAX {
                    self.whole.pop_front();
                }
            }
            Outcome::More => {}
            Outcome::Contradiction => self.malformed(),
        }
    }

    /// The bytes of a frame that arrived as datagrams, in order of arrival. Only the last eight wait
    /// to be taken.
    pub fn take_frame(&mut self) -> Option<(FrameId, Bytes)> {
        while let Some((frame, whole)) = self.whole.pop_front() {
            if let Some(data) = whole.into_bytes(&mut self.codec) {
                return Some((frame, data));
            }
            self.malformed();
        }
        None
    }

    fn take_stream(&mut self, readable: Readable) {
        let mut finished = Vec::new();
        let Some(hop) = self.end.hop_mut() else { return };
        match readable {
            Readable::Opened => self.streams.accept(&mut hop.conn, |result| finished.push(result)),
            Readable::Stream(id) => self.streams.read(&mut hop.conn, id, |result| finished.push(result)),
        }
        hop.touch();
        for result in finished {
            match result {
                Ok((frame, bytes)) => self.end.events.push_back(Event::FrameDelivered { frame, bytes }),
                Err(_) => self.malformed(),
            }
        }
    }

    fn forget(&mut self, now: Time) {
        while let Some(frame) = self.frames.poll_forgotten(now) {
            let (place, reason) = (DropPlace::Operator, DropReason::Incomplete);
            self.end.events.push_back(Event::FrameDropped { frame, place, reason });
        }
    }

    fn malformed(&mut self) {
        if let Some(hop) = self.end.hop_mut() {
            hop.malformed += 1;
        }
    }
}

impl Machine for Operator {
    fn handle_datagram(&mut self, now: Time, from: SocketAddr, ecn: u8, datagram: BytesMut) {
        self.end.handle_datagram(now, from, ecn, datagram);
        self.take_messages(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.end.handle_timeout(now);
        if self.end.take_redialled() {
            self.begin_anew();
        }
        self.take_messages(now);
        self.forget(now);
        if now >= self.report_due() {
            self.report(now);
        }
    }

    fn poll_output(&mut self, now: Time, buffer: &mut Vec<u8>) -> Output {
        loop {
            match self.end.poll_output(now, buffer) {
                Some(Output::Wait(at)) => {
                    return Output::Wait(at.min(self.report_due()).min(self.frames.timeout()));
                }
                Some(output) => return output,
                None => {}
            }
        }
    }

    fn snapshot(&self, _now: Time, _role: Role) -> Snapshot {
        let mut snapshot = self.end.hop().map(|hop| hop.snapshot(0)).unwrap_or_default();
        snapshot.counters.frames_restored = self.frames.restored();
        snapshot.counters.limit_hits += self.frames.limit_hits();
        snapshot
    }
}

/// Whole frames that wait to be taken; an end that only measures takes none.
const WHOLE_MAX: usize = 8;
/// Poses further apart than this are not waited for.
const POSE_INTERVAL_MAX: Span = Span::from_millis(50);
