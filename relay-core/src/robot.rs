//! The robot's end: sends camera frames to the relay and executes the commands that come back.

use std::net::SocketAddr;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use units::{Size, Span, Time};

use crate::clock::Clock;
use crate::config::{self, Dial, EndpointParams, SetupError};
use crate::congestion::{Enforce, Gate};
use crate::end::{End, Line};
use crate::event::{DropPlace, DropReason, Event, FrameId, Role};
use crate::machine::{Machine, Output, RoundTrip, Snapshot, Totals};
use crate::settings::{Congestion, CongestionKind, Settings};
use crate::video::{FrameBuffer, Limits, VideoQueue};
use crate::wire::{CAMERAS_MAX, FRAME_BYTES_MAX, Message, PoseBatch};

/// The robot's end.
pub struct Robot {
    end: End,
    /// The newest pose executed.
    executed: Option<u32>,
    executed_at: Time,
    command_age_max: Span,
}

impl Robot {
    /// Makes a robot's end that dials its relay at once, and again whenever the connection is lost.
    pub fn new(
        now: Time,
        params: &EndpointParams,
        dial: Dial,
        settings: &Settings,
    ) -> Result<Self, SetupError> {
        let (own, epoch) = (settings.clone(), params.epoch);
        let line = move || Self::line(&own, epoch);
        let end = End::dial(now, params, dial, Role::Robot, Box::new(line))?;
        Ok(Self { end, executed: None, executed_at: Time::ZERO, command_age_max: settings.pose.age_max })
    }

    /// What a new connection begins with.
    fn line(settings: &Settings, epoch: Instant) -> Line {
        let congestion = Congestion {
            kind: CongestionKind::Cubic,
            initial_window: Size::from_bytes(ROBOT_HOP_WINDOW_BYTES),
            ..Congestion::default()
        };
        let gate = Gate::new(&congestion, Enforce::Gate, Clock::new(epoch));
        let transport = config::robot_hop(settings, gate.factory());
        let limits = Limits::new(settings.deadline.frame, &settings.priority, DropPlace::Robot);
        Line { gate, transport, video: VideoQueue::new(limits) }
    }

    /// Closes the connection, telling the relay, and dials no more.
    pub fn close(&mut self, now: Time) {
        self.end.close(now);
    }

    /// Takes a frame from a camera. An empty frame, one over 4 MiB or one of a camera that cannot
    /// exist is dropped; so is any frame before the session is joined.
    pub fn handle_frame(&mut self, now: Time, frame: FrameId, data: Bytes) {
        let sendable =
            usize::from(frame.camera.0) < CAMERAS_MAX && (1..=FRAME_BYTES_MAX as usize).contains(&data.len());
        let joined = self.end.is_joined();
        match self.end.hop_mut() {
            Some(hop) if joined && sendable => {
                hop.video.queue.push(now, frame, FrameBuffer::whole(data));
                hop.touch();
            }
            _ => self.end.events.push_back(Event::FrameDropped {
                frame,
                place: DropPlace::Robot,
                reason: DropReason::NoPeer,
            }),
        }
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

    fn take_messages(&mut self, now: Time) {
        while let Some(message) = self.end.poll_message() {
            match message {
                Message::Commands(batch) => self.execute(now, batch),
                Message::Resize(request) => {
                    let asked = |(camera, share)| Event::FrameSizeAsked { camera, share };
                    self.end.events.extend(request.shares.into_iter().map(asked));
                }
                Message::Video(..) | Message::Parity(..) | Message::Poses(_) | Message::Feedback(_) => {
                    if let Some(hop) = self.end.hop_mut() {
                        hop.malformed += 1;
                    }
                }
            }
        }
    }

    /// Executes what is newer than everything executed and not too old, the oldest first.
    fn execute(&mut self, now: Time, batch: PoseBatch) {
        let transit = self.end.hop().map_or(Span::ZERO, crate::hop::Hop::one_way);
        for entry in batch.entries.into_iter().rev() {
            let age = Span::from_micros(entry.age_us) + transit;
            let pose = entry.pose;
            // After a silence as long as the age limit, whatever is young enough was taken after everything executed, by
            // whichever operator: one that was started anew counts from zero.
            let in_order = now.since(self.executed_at) > self.command_age_max
                || self.executed.is_none_or(|executed| pose >= executed);
            let stale = !in_order || age > self.command_age_max;
            if stale {
                self.end.events.push_back(Event::CommandStale { pose });
            } else if self.executed != Some(pose) {
                self.executed = Some(pose);
                self.executed_at = now;
                self.end.events.push_back(Event::CommandExecuted { pose });
            }
        }
    }
}

impl Machine for Robot {
    fn handle_datagram(&mut self, now: Time, from: SocketAddr, ecn: u8, datagram: BytesMut) {
        self.end.handle_datagram(now, from, ecn, datagram);
        self.take_messages(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.end.handle_timeout(now);
        self.take_messages(now);
    }

    fn poll_output(&mut self, now: Time, buffer: &mut Vec<u8>) -> Output {
        loop {
            if let Some(output) = self.end.poll_output(now, buffer) {
                return output;
            }
        }
    }

    fn snapshot(&self, _now: Time, _role: Role) -> Snapshot {
        self.end.hop().map(|hop| hop.snapshot(0)).unwrap_or_default()
    }
}

/// Window with which the robot starts towards the relay beside it: three main frames, so that a
/// frame never waits for a round trip.
const ROBOT_HOP_WINDOW_BYTES: u64 = 64 << 10;
