//! One direction of a hop: frames in by their stamps, frames out by the model's time.

use std::io;

use netmodel::units::Time;
use netmodel::{Exit, Link, QueueDrop};

use super::super::frame::{self, Header};
use super::super::packet_socket::{PacketSocket, Received};
use super::super::plan::{LinkPlan, Place};
use super::super::sink::{PacketEvent, PacketSink};
use crate::clock::{Clock, WallOffset};
use crate::lag::Lag;
use crate::net::Port;

/// One direction of a hop.
pub(super) struct Forward {
    port: &'static Port,
    place: Place,
    link: Link<Frame>,
    last_arrival: Time,
    buffer: Vec<u8>,
    free: Vec<Vec<u8>>,
}

/// A frame under way.
#[derive(Debug, Clone)]
struct Frame {
    bytes: Vec<u8>,
    header: Header,
}

/// What all directions count together.
pub(super) struct Tally {
    pub(super) release_lag: Lag,
    pub(super) arrival_lag: Lag,
    pub(super) strays: u64,
    pub(super) unstamped: u64,
    pub(super) send_failures: u64,
    pub(super) sink: Box<dyn PacketSink>,
}

impl Forward {
    pub(super) fn new(port: &'static Port, plan: &LinkPlan) -> Self {
        let place = Place { hop: port.hop, direction: port.direction() };
        Self {
            port,
            place,
            link: plan.link(place),
            last_arrival: Time::ZERO,
            buffer: vec![0; FRAME_BYTES_MAX],
            free: Vec::new(),
        }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn link_counters(&self) -> &netmodel::LinkCounters {
        self.link.counters()
    }

    pub(super) fn next_exit(&self) -> Time {
        self.link.next_exit()
    }

    /// Takes in what has come, but no more than [`BATCH_MAX`] frames, so that nobody's exit waits for long.
    pub(super) fn take_in(
        &mut self,
        socket: &mut PacketSocket,
        clock: Clock,
        tally: &mut Tally,
    ) -> io::Result<()> {
        let mut offset = None;
        for _ in 0..BATCH_MAX {
            let Some(received) = socket.receive(&mut self.buffer)? else { break };
            let offset = *offset.get_or_insert_with(Clock::wall_offset);
            self.arrive(received, clock, offset, tally);
        }
        Ok(())
    }

    fn arrive(&mut self, received: Received, clock: Clock, offset: WallOffset, tally: &mut Tally) {
        let frame = &self.buffer[..received.bytes.min(self.buffer.len())];
        let Some(header) = frame::parse(frame, self.port).filter(|_| !received.cut) else {
            tally.strays += 1;
            return;
        };
        let now = clock.now();
        let stamp = received.stamp.map(|stamp| clock.of_wall(stamp.into(), offset));
        // The wall clock may be set in between; a stamp from the future or from long ago is none.
        let stamp = stamp.filter(|at| now.since(*at) <= STAMP_AGE_MAX && at.since(now) <= STAMP_AHEAD_MAX);
        tally.unstamped += u64::from(stamp.is_none());
        let at = stamp.unwrap_or(now).min(now).max(self.last_arrival);
        self.last_arrival = at;
        tally.arrival_lag.record(now.since(at));
        let mut bytes = self.free.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(frame);
        let admission = self.link.send(at, header.ip_bytes, header.ecn, Frame { bytes, header });
        tally.sink.packet(PacketEvent::Sent {
            at,
            place: self.place,
            id: admission.id,
            ip_bytes: header.ip_bytes,
            verdict: admission.verdict,
        });
        self.tell_drops(tally);
    }

    /// Tells of what the model has accepted and then dropped in its queue.
    fn tell_drops(&mut self, tally: &mut Tally) {
        while let Some(QueueDrop { id, at, ip_bytes, payload }) = self.link.poll_drop() {
            tally.sink.packet(PacketEvent::Dropped { at, place: self.place, id, ip_bytes });
            self.keep(payload.bytes);
        }
    }

    /// Lets out through `socket` what is due.
    pub(super) fn let_out(&mut self, socket: &PacketSocket, clock: Clock, tally: &mut Tally) {
        while self.link.next_exit() < Time::MAX {
            let now = clock.now();
            let exit = self.link.poll_exit(now);
            self.tell_drops(tally);
            let Some(exit) = exit else { return };
            let Exit { at, id, queued, ip_bytes, ecn, corrupted, duplicate, payload } = exit;
            let Frame { mut bytes, header } = payload;
            frame::mark(&mut bytes, header, ecn);
            if corrupted {
                frame::corrupt(&mut bytes, header);
            }
            tally.send_failures += u64::from(socket.send(&bytes).is_err());
            tally.release_lag.record(now.since(at));
            tally.sink.packet(PacketEvent::Exit {
                at,
                released: now,
                place: self.place,
                id,
                ip_bytes,
                queued,
                corrupted,
                duplicate,
            });
            self.keep(bytes);
        }
    }

    /// Keeps a buffer for a frame to come.
    fn keep(&mut self, bytes: Vec<u8>) {
        if self.free.len() < FREE_MAX {
            self.free.push(bytes);
        }
    }
}

/// A frame of the devices' 1500 bytes fits; a longer one is a stray.
const FRAME_BYTES_MAX: usize = 2048;
const BATCH_MAX: usize = 64;
/// Buffers kept for frames to come.
const FREE_MAX: usize = 1024;
/// Longer than any wait in a socket's buffer that a cell survives.
const STAMP_AGE_MAX: netmodel::units::Span = netmodel::units::Span::from_secs(5);
/// The two clocks are not read at the same moment.
const STAMP_AHEAD_MAX: netmodel::units::Span = netmodel::units::Span::from_millis(1);
