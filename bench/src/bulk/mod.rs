//! A bulk flow: a sender that always has data, limited by a control law alone, and its receiver.
//!
//! It stands for whatever shares a link with the relay. Sans-IO as the relay is: packets and the time
//! go in, packets and the next wake-up come out, and whoever drives it puts them on the link. It is no
//! QUIC and no TCP, but acknowledges and detects loss as RFC 9000 §13.2 and RFC 9002 §6 say. What is
//! lost is not sent again under its own number; its bytes go in a later packet, so that what arrives is
//! what a transfer would have gained.

mod receiver;
mod rtt;
mod sender;
#[cfg(test)]
mod tests;

use units::{Span, Time};

use self::receiver::Receiver;
use self::sender::Sender;
use crate::cell::Cell;
use crate::place::Direction;
use crate::workload::CrossTraffic;

/// Both ends of one bulk flow.
#[derive(Debug)]
pub struct BulkFlow {
    sender: Sender,
    receiver: Receiver,
    direction: Direction,
}

/// What goes over the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BulkPacket {
    /// Data, by its number.
    Data(u64),
    /// What has arrived.
    Ack(Box<BulkAck>),
}

/// An acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BulkAck {
    /// The packets that came last, with the time at which each came; at most 32, so that what a lost
    /// acknowledgement said is said again.
    arrivals: Vec<(u64, Time)>,
    /// How long the newest of them waited for this.
    delay: Span,
}

/// What came of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkEvent {
    /// So many bytes of data arrived for the first time.
    Delivered(u64),
    /// A round trip was measured.
    RoundTrip(Span),
}

impl BulkPacket {
    /// Its size on the link: 1500 bytes of data, or an acknowledgement's 80, which is what a QUIC packet
    /// with a few ranges comes to.
    pub fn ip_bytes(&self) -> u32 {
        match self {
            Self::Data(_) => DATA_IP_BYTES,
            Self::Ack(_) => ACK_IP_BYTES,
        }
    }
}

impl BulkFlow {
    /// The flow that the workload of `cell` names, if it names one.
    pub fn of(cell: &Cell) -> Option<Self> {
        let spec = cell.workload.cross_traffic.as_ref()?;
        let (start, stop) = active(spec, cell);
        Some(Self {
            sender: Sender::new(start, stop, spec.congestion),
            receiver: Receiver::new(),
            direction: spec.direction,
        })
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called next; [`Time::MAX`] for never.
    pub fn next_at(&self) -> Time {
        self.sender.next_at().min(self.receiver.ack_at())
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time) {
        self.sender.handle_timeout(now);
    }

    /// A packet came out of the link, at whichever end it goes to.
    pub fn handle_packet(&mut self, now: Time, packet: &BulkPacket) -> Option<BulkEvent> {
        match packet {
            BulkPacket::Data(number) => {
                self.receiver.handle_data(now, *number).then_some(BulkEvent::Delivered(DATA_BYTES))
            }
            BulkPacket::Ack(ack) => self.sender.handle_ack(now, ack).map(BulkEvent::RoundTrip),
        }
    }

    /// The next packet to put on the operator hop, and which way it goes; `None` until something happens
    /// or [`next_at`](Self::next_at).
    pub fn poll_transmit(&mut self, now: Time) -> Option<(Direction, BulkPacket)> {
        if let Some(number) = self.sender.poll_transmit(now) {
            return Some((self.direction, BulkPacket::Data(number)));
        }
        let ack = self.receiver.poll_ack(now)?;
        Some((self.direction.opposite(), BulkPacket::Ack(Box::new(ack))))
    }

    /// How often the sender had as many packets under way as it keeps account of, and waited.
    pub fn limit_hits(&self) -> u64 {
        self.sender.limit_hits()
    }
}

/// From when to when the flow of `cell` sends.
pub(crate) fn active(spec: &CrossTraffic, cell: &Cell) -> (Time, Time) {
    let origin = Time::ZERO + cell.warmup;
    let stop = spec.stop.unwrap_or(cell.duration).min(cell.duration);
    (origin + spec.start, origin + stop)
}

/// What most of the Internet carries at most.
const DATA_IP_BYTES: u32 = 1500;
const ACK_IP_BYTES: u32 = 80;
/// What of a packet is neither IP nor UDP.
const DATA_BYTES: u64 = (DATA_IP_BYTES - crate::IP_UDP_OVERHEAD_BYTES) as u64;
/// RFC 9000 §18.2: what an acknowledgement waits for at most.
const ACK_DELAY_MAX: Span = Span::from_millis(25);
