//! The sending side of frames as streams.

use bytes::Bytes;
use quinn_proto::{Connection, Dir, StreamId, VarInt};
use units::{Span, Time};

use super::{EXPIRED, HEADER_BYTES, encode_header};
use crate::event::{Camera, DropPlace, DropReason, Event, FrameId};
use crate::video::VideoQueue;

#[derive(Debug)]
struct Open {
    id: StreamId,
    frame: FrameId,
    since: Time,
    frame_bytes: u32,
    unsent: Vec<Bytes>,
    /// Whether everything was written, so that only acknowledgements are missing.
    written: bool,
}

/// Frames that are on their way as streams of one connection.
#[derive(Debug)]
pub(crate) struct StreamSender {
    deadline: Span,
    open: Vec<Open>,
    expired: u64,
}

impl StreamSender {
    pub(crate) fn new(deadline: Span) -> Self {
        Self { deadline, open: Vec::new(), expired: 0 }
    }

    /// Frames whose stream was reset before it was wholly written.
    pub(crate) fn expired(&self) -> u64 {
        self.expired
    }

    /// Notes that the peer has all of a stream, or wants no more of it.
    pub(crate) fn on_finished(&mut self, id: StreamId) {
        self.open.retain(|open| open.id != id);
    }

    /// When the next stream reaches its deadline.
    pub(crate) fn timeout(&self) -> Time {
        let first = self.open.iter().map(|open| open.since).min();
        first.map_or(Time::MAX, |since| since + self.deadline + Span::from_nanos(1))
    }

    /// Opens streams for waiting frames, writes what can be written, and resets what is too old.
    /// Says whether quinn has something new to send.
    pub(crate) fn pump(
        &mut self,
        now: Time,
        conn: &mut Connection,
        video: &mut VideoQueue,
        events: &mut std::collections::VecDeque<Event>,
    ) -> bool {
        let mut wrote = self.reset_expired(now, conn, events);
        for open in &mut self.open {
            wrote |= open.write(conn, events);
        }
        while self.open.len() < OPEN_MAX {
            let Some((frame, since, buffer)) = video.pop_whole(now) else { break };
            let Some(id) = conn.streams().open(Dir::Uni) else {
                let reason = DropReason::Superseded;
                events.push_back(Event::FrameDropped { frame, place: DropPlace::Relay, reason });
                continue;
            };
            // Newest first within a class, the main camera's class first; never below QUIC's other
            // streams, which have priority 0 and are idle by then.
            let class = if frame.camera == Camera::MAIN { MAIN_CLASS } else { 0 };
            let priority = class + (frame.number & 0x00ff_ffff) as i32;
            let _ = conn.send_stream(id).set_priority(priority);
            let frame_bytes = buffer.frame_bytes();
            let unsent = vec![encode_header(frame, frame_bytes), buffer.into_bytes()];
            let mut open = Open { id, frame, since, frame_bytes, unsent, written: false };
            wrote |= open.write(conn, events);
            self.open.push(open);
        }
        wrote
    }

    fn reset_expired(
        &mut self,
        now: Time,
        conn: &mut Connection,
        events: &mut std::collections::VecDeque<Event>,
    ) -> bool {
        let before = self.open.len();
        let (deadline, expired) = (self.deadline, &mut self.expired);
        self.open.retain(|open| {
            if now.since(open.since) <= deadline {
                return true;
            }
            let _ = conn.send_stream(open.id).reset(VarInt::from_u32(EXPIRED));
            if !open.written {
                *expired += 1;
                let reason = DropReason::Expired;
                events.push_back(Event::FrameDropped { frame: open.frame, place: DropPlace::Relay, reason });
            }
            false
        });
        self.open.len() != before
    }
}

impl Open {
    fn write(&mut self, conn: &mut Connection, events: &mut std::collections::VecDeque<Event>) -> bool {
        let mut wrote = false;
        while let Some(chunk) = self.unsent.first_mut() {
            if chunk.is_empty() {
                self.unsent.remove(0);
                continue;
            }
            match conn.send_stream(self.id).write_chunks(std::slice::from_mut(chunk)) {
                Ok(_) => wrote = true,
                // Blocked by flow control, or stopped; `Writable` or `Finished` will tell.
                Err(_) => return wrote,
            }
        }
        if !self.written {
            self.written = true;
            let _ = conn.send_stream(self.id).finish();
            let bytes = u64::from(self.frame_bytes) + HEADER_BYTES as u64;
            let packets = bytes.div_ceil(u64::from(conn.current_mtu())) as u32;
            events.push_back(Event::FrameForwarded { frame: self.frame, packets, bytes });
        }
        wrote
    }
}

/// Streams open at once; more frames wait in the queue, where a newer one can overtake them.
const OPEN_MAX: usize = 8;
const MAIN_CLASS: i32 = 1 << 24;
