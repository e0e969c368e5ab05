//! The operator's end: sends hand poses to the relay and puts together the frames that come back.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use units::Time;

use crate::clock::Clock;
use crate::config::{self, Dial, EndpointParams, SetupError};
use crate::congestion::{Enforce, Gate};
use crate::end::{End, Readable};
use crate::event::{DropPlace, DropReason, Event, Role};
use crate::loss::ReceiverLog;
use crate::machine::{Machine, Output, Snapshot};
use crate::settings::Settings;
use crate::streams::FrameStreams;
use crate::video::{Assembly, Limits, Progress, VideoQueue};
use crate::wire::{Message, PoseBatch, PoseEntry, VideoHeader};

/// The operator's end.
pub struct Operator {
    end: End,
    assembly: Assembly,
    streams: FrameStreams,
    received: ReceiverLog,
    /// The last poses with the time they were taken, the newest first.
    poses: VecDeque<(Time, u32, Bytes)>,
    repeat: usize,
}

impl Operator {
    /// Makes an operator's end that dials its relay at once.
    pub fn new(
        now: Time,
        params: &EndpointParams,
        dial: Dial,
        settings: &Settings,
    ) -> Result<Self, SetupError> {
        let gate = Gate::new(&settings.congestion, Enforce::Gate, Clock::new(params.epoch));
        let transport = config::operator_hop(settings, gate.factory());
        let limits = Limits::new(settings.deadline.frame, &settings.priority, DropPlace::Operator);
        let end = End::dial(now, params, dial, Role::Operator, gate, transport, VideoQueue::new(limits))?;
        Ok(Self {
            end,
            assembly: Assembly::new(settings.deadline.reassembly),
            streams: FrameStreams::default(),
            received: ReceiverLog::new(settings.feedback.interval),
            poses: VecDeque::new(),
            repeat: settings.pose.repeat as usize,
        })
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
        self.send(|bytes_max, out| batch.encode(false, bytes_max, out));
    }

    /// Whether the session is joined.
    pub fn is_joined(&self) -> bool {
        self.end.is_joined()
    }

    fn send(&mut self, write: impl FnOnce(usize, &mut BytesMut)) {
        let Some(bytes_max) = self.end.hop_mut().and_then(crate::hop::Hop::datagram_bytes_max) else {
            return;
        };
        let datagram = self.end.host.arena.build(bytes_max, |out| write(bytes_max, out));
        if let Some(hop) = self.end.hop_mut() {
            hop.send_urgent(datagram);
        }
    }

    fn take_messages(&mut self, now: Time) {
        while let Some(message) = self.end.poll_message() {
            match message {
                Message::Video(header, _) => self.take_video(now, &header),
                Message::Poses(_) | Message::Commands(_) | Message::Feedback(_) => self.malformed(),
            }
        }
        while let Some(readable) = self.end.poll_readable() {
            self.take_stream(readable);
        }
    }

    fn take_video(&mut self, now: Time, header: &VideoHeader) {
        self.received.insert(now, header.seq);
        match self.assembly.insert(now, header) {
            Progress::New { complete: true, .. } => {
                let (frame, bytes) = (header.frame, header.shape.frame_bytes);
                self.end.events.push_back(Event::FrameDelivered { frame, bytes });
            }
            Progress::New { .. } | Progress::Useless => {}
            Progress::Contradiction => self.malformed(),
        }
        self.forget(now);
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
        while let Some(frame) = self.assembly.poll_forgotten(now) {
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
        self.take_messages(now);
        self.forget(now);
        if let Some(report) = self.received.poll_report(now) {
            self.send(|bytes_max, out| report.encode(bytes_max, out));
        }
    }

    fn poll_output(&mut self, now: Time, buffer: &mut Vec<u8>) -> Output {
        loop {
            match self.end.poll_output(now, buffer) {
                Some(Output::Wait(at)) => {
                    return Output::Wait(at.min(self.received.due()).min(self.assembly.timeout()));
                }
                Some(output) => return output,
                None => {}
            }
        }
    }

    fn snapshot(&self, _now: Time, _role: Role) -> Snapshot {
        self.end.hop().map(|hop| hop.snapshot(0)).unwrap_or_default()
    }
}
