//! The four links, what is on them, and who listens in.

use std::net::SocketAddr;

use bench::bulk::{BulkFlow, BulkPacket};
use bench::{Cell, Direction, End, Hop, IP_UDP_OVERHEAD_BYTES, Recorder};
use bytes::BytesMut;
use netmodel::units::{Share, Time};
use netmodel::{Admission, Link, QueueDrop};
use relay_core::{Camera, Carried, Event, Machine, Output, Role, Snapshot, Transmit};

use super::arena::Arena;
use super::calendar::{Actor, Calendar, LinkId};
use super::guard::Guard;
use super::machines::{OPERATOR, RELAY, ROBOT};
use crate::error::SimError;
use crate::pool::EventLog;
use crate::tap::{Arrived, Dropped, LinkSample, PacketId, Sample, Sent, Tap};

/// Everything between the machines.
pub(super) struct Network<'a> {
    links: [Link<Freight>; 4],
    arena: Arena,
    /// What a machine writes its transmits to.
    buffer: Vec<u8>,
    pub(super) calendar: Calendar,
    pub(super) guard: Guard,
    pub(super) recorder: Recorder,
    pub(super) tap: Option<&'a mut dyn Tap>,
    /// Frame sizes that the robot was asked for and that the traffic has not been told of.
    pub(super) sizes_asked: Vec<(Camera, Share)>,
}

/// What is on a link.
#[derive(Debug, Clone)]
enum Freight {
    /// A machine's.
    Datagram(BytesMut),
    /// The second flow's.
    Flow(BulkPacket),
}

/// What came out of a link, for whom it concerns.
pub(super) enum Out {
    /// A datagram for a machine.
    Datagram(Arrival),
    /// A packet of the second flow.
    Flow(BulkPacket),
}

/// A datagram on arrival.
pub(super) struct Arrival {
    pub(super) from: SocketAddr,
    pub(super) to: End,
    pub(super) ecn: u8,
    pub(super) datagram: BytesMut,
}

impl<'a> Network<'a> {
    pub(super) fn new(cell: &Cell, log: Option<EventLog>, tap: Option<&'a mut dyn Tap>) -> Self {
        let key = cell.key();
        let origin = Time::ZERO + cell.warmup;
        let links = LinkId::ALL.map(|id| {
            let (hop, direction) = id.place();
            let profile = match hop {
                Hop::Robot => &cell.robot_hop,
                Hop::Operator => &cell.profile,
            };
            let profile = match direction {
                Direction::Up => &profile.up,
                Direction::Down => &profile.down,
            };
            Link::new(profile, &key, id.label(), origin)
        });
        Self {
            links,
            arena: Arena::default(),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            calendar: Calendar::new(),
            guard: Guard::new(cell.warmup + cell.duration + Cell::DRAIN),
            recorder: Recorder::new(cell, log),
            tap,
            sizes_asked: Vec::new(),
        }
    }

    /// Takes everything that `machine` wants out of it, then notes when to wake it.
    pub(super) fn drain(&mut self, now: Time, end: End, machine: &mut impl Machine) -> Result<(), SimError> {
        loop {
            self.guard.step(now)?;
            match machine.poll_output(now, &mut self.buffer) {
                Output::Transmit(transmit) => self.transmit(now, end, transmit)?,
                Output::Event(event) => {
                    self.recorder.event(now, end, &event);
                    if let Some(tap) = &mut self.tap {
                        tap.event(now, end, &event);
                    }
                    if let Event::FrameSizeAsked { camera, share } = event {
                        self.sizes_asked.push((camera, share));
                    }
                }
                Output::Wait(until) => {
                    self.calendar.set(Actor::Timer(end), until.max(now));
                    return Ok(());
                }
            }
        }
    }

    fn transmit(&mut self, now: Time, from: End, transmit: Transmit) -> Result<(), SimError> {
        let id =
            LinkId::between(from, transmit.to).ok_or(SimError::Unroutable { to: transmit.to, at: now })?;
        let (hop, direction) = id.place();
        let segment_bytes = transmit.segment_bytes.unwrap_or(transmit.bytes).max(1);
        for datagram in self.buffer[..transmit.bytes].chunks(segment_bytes) {
            let ip_bytes = datagram.len() as u32 + IP_UDP_OVERHEAD_BYTES;
            let freight = Freight::Datagram(self.arena.copy(datagram));
            let admission = self.links[id as usize].send(now, ip_bytes, transmit.ecn, freight);
            let (packet, verdict) = (admission.id, admission.verdict);
            self.recorder.packet_sent(now, hop, direction, packet, ip_bytes, verdict, &transmit.carries);
            self.guard.packet(now)?;
            if let Some(tap) = &mut self.tap {
                let (from, _) = id.ends();
                let Transmit { to, ecn, carries, .. } = transmit;
                let verdict = admission.verdict;
                let id = PacketId { hop, direction, number: admission.id };
                tap.sent(now, &Sent { id, from, to, ecn, datagram, verdict, carries });
            }
        }
        self.calendar.set(Actor::Link(id), self.links[id as usize].next_exit());
        self.drops(now, id);
        Ok(())
    }

    /// Puts everything that the second flow has to send on the operator hop, then notes when to wake it.
    pub(super) fn drain_flow(&mut self, now: Time, flow: &mut BulkFlow) -> Result<(), SimError> {
        while let Some((direction, packet)) = flow.poll_transmit(now) {
            self.guard.step(now)?;
            self.guard.packet(now)?;
            let id = match direction {
                Direction::Up => LinkId::OperatorUp,
                Direction::Down => LinkId::OperatorDown,
            };
            let link = &mut self.links[id as usize];
            let ip_bytes = packet.ip_bytes();
            let Admission { id: number, verdict } = link.send(now, ip_bytes, 0, Freight::Flow(packet));
            self.recorder.packet_sent(
                now,
                Hop::Operator,
                direction,
                number,
                ip_bytes,
                verdict,
                &Carried::default(),
            );
            self.recorder.flow_packet_sent(direction, ip_bytes, verdict);
            self.calendar.set(Actor::Link(id), link.next_exit());
            self.drops(now, id);
        }
        self.calendar.set(Actor::Flow, flow.next_at().max(now));
        Ok(())
    }

    /// The packet that is due on link `id`.
    pub(super) fn arrival(&mut self, now: Time, id: LinkId) -> Option<Out> {
        let link = &mut self.links[id as usize];
        let exit = link.poll_exit(now);
        self.calendar.set(Actor::Link(id), link.next_exit());
        self.drops(now, id);
        let exit = exit?;
        let (hop, direction) = id.place();
        self.recorder.packet_exit(
            now,
            hop,
            direction,
            exit.id,
            exit.ip_bytes,
            exit.queued,
            exit.corrupted,
            exit.duplicate,
        );
        let mut datagram = match exit.payload {
            Freight::Datagram(datagram) => datagram,
            Freight::Flow(_) if exit.corrupted => {
                if !exit.duplicate {
                    self.recorder.flow_packet_damaged(direction);
                }
                return None;
            }
            Freight::Flow(packet) => return Some(Out::Flow(packet)),
        };
        if exit.corrupted
            && let Some(last) = datagram.last_mut()
        {
            // In the tag, which null crypto checks as well as real crypto does.
            *last ^= 1;
        }
        let (from, to) = id.ends();
        if let Some(tap) = &mut self.tap {
            let netmodel::Exit { queued, corrupted, duplicate, ecn, .. } = exit;
            let id = PacketId { hop, direction, number: exit.id };
            let (to, datagram) = (address(to), &datagram[..]);
            tap.arrived(now, &Arrived { id, from, to, ecn, datagram, queued, corrupted, duplicate });
        }
        Some(Out::Datagram(Arrival { from, to, ecn: exit.ecn, datagram }))
    }

    /// Tells of what link `id` has accepted and then dropped in its queue.
    #[inline]
    fn drops(&mut self, now: Time, id: LinkId) {
        let (hop, direction) = id.place();
        while let Some(QueueDrop { id: number, ip_bytes, payload, .. }) = self.links[id as usize].poll_drop()
        {
            self.recorder.packet_dropped(now, hop, direction, number, ip_bytes);
            match payload {
                Freight::Flow(_) => self.recorder.flow_packet_dropped(direction),
                Freight::Datagram(datagram) => {
                    if let Some(tap) = &mut self.tap {
                        let (from, to) = id.ends();
                        let id = PacketId { hop, direction, number };
                        tap.dropped(now, &Dropped { id, from, to: address(to), datagram: &datagram });
                    }
                }
            }
        }
    }

    /// Tells the tap how everything stands.
    pub(super) fn tap_sample(&mut self, now: Time, sides: &[(End, Role, Snapshot); 4]) {
        let links = LinkId::ALL.map(|id| {
            let (hop, direction) = id.place();
            let link = &self.links[id as usize];
            let (queue_bytes, in_flight) = (link.queue_bytes(now), link.in_flight());
            LinkSample { hop, direction, queue_bytes, in_flight, rate: link.rate_at(now) }
        });
        if let Some(tap) = &mut self.tap {
            tap.sample(now, &Sample { sides: *sides, links });
        }
    }

    /// Tells the recorder what the links counted.
    pub(super) fn record_totals(&mut self) {
        for id in LinkId::ALL {
            let (hop, direction) = id.place();
            self.recorder.link_totals(hop, direction, self.links[id as usize].counters());
        }
    }
}

impl LinkId {
    fn place(self) -> (Hop, Direction) {
        match self {
            Self::RobotUp => (Hop::Robot, Direction::Up),
            Self::RobotDown => (Hop::Robot, Direction::Down),
            Self::OperatorUp => (Hop::Operator, Direction::Up),
            Self::OperatorDown => (Hop::Operator, Direction::Down),
        }
    }

    /// What the link's random streams are keyed by.
    fn label(self) -> &'static str {
        match self {
            Self::RobotUp => "robot-hop/up",
            Self::RobotDown => "robot-hop/down",
            Self::OperatorUp => "operator-hop/up",
            Self::OperatorDown => "operator-hop/down",
        }
    }

    /// The sender's address, and who receives.
    fn ends(self) -> (SocketAddr, End) {
        match self {
            Self::RobotUp => (ROBOT, End::Relay),
            Self::RobotDown => (RELAY, End::Robot),
            Self::OperatorUp => (OPERATOR, End::Relay),
            Self::OperatorDown => (RELAY, End::Operator),
        }
    }

    fn between(from: End, to: SocketAddr) -> Option<Self> {
        match from {
            End::Robot if to == RELAY => Some(Self::RobotUp),
            End::Operator if to == RELAY => Some(Self::OperatorUp),
            End::Relay if to == ROBOT => Some(Self::RobotDown),
            End::Relay if to == OPERATOR => Some(Self::OperatorDown),
            _ => None,
        }
    }
}

/// Where `end` is.
const fn address(end: End) -> SocketAddr {
    match end {
        End::Robot => ROBOT,
        End::Relay => RELAY,
        End::Operator => OPERATOR,
    }
}

/// Room for the largest transmit that segmentation allows.
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_lead_where_the_links_do() {
        for id in LinkId::ALL {
            let (from, to) = id.ends();
            let sender =
                [End::Robot, End::Relay, End::Operator].into_iter().find(|end| address(*end) == from);
            assert_eq!(LinkId::between(sender.unwrap(), address(to)), Some(id));
        }
        assert_eq!(LinkId::between(End::Robot, OPERATOR), None);
        assert_eq!(LinkId::between(End::Relay, RELAY), None);
    }
}
