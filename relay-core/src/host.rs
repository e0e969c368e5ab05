//! A quinn endpoint with its connections: what robot, relay and operator have in common.

use std::collections::VecDeque;
use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ConnectionEvent, ConnectionHandle, DatagramEvent, EcnCodepoint, Endpoint, Incoming,
    Transmit as QuinnTransmit,
};
use units::Time;

use crate::arena::Arena;
use crate::carried::Carried;
use crate::clock::Clock;
use crate::hop::Hop;
use crate::machine::{Totals, Transmit};

/// What became of a received datagram.
pub(crate) enum Received {
    /// It was for this connection, which has taken it.
    Hop(ConnectionHandle),
    /// Somebody wants to connect.
    Incoming(Box<Incoming>),
    /// Nothing more to do.
    Done,
}

/// An endpoint and its hops.
pub(crate) struct Host {
    pub(crate) endpoint: Endpoint,
    pub(crate) clock: Clock,
    pub(crate) arena: Arena,
    /// Indexed by connection handle.
    hops: Vec<Option<Box<Hop>>>,
    /// Answers of the endpoint itself: retries, resets, version negotiation.
    answers: VecDeque<(QuinnTransmit, Bytes)>,
    /// What connections counted that are gone.
    past: Totals,
    /// The hop that is asked first, so that none is starved.
    turn: usize,
}

impl Host {
    pub(crate) fn new(endpoint: Endpoint, clock: Clock) -> Self {
        Self {
            endpoint,
            clock,
            arena: Arena::default(),
            hops: Vec::new(),
            answers: VecDeque::new(),
            past: Totals::default(),
            turn: 0,
        }
    }

    pub(crate) fn hop(&self, handle: ConnectionHandle) -> Option<&Hop> {
        self.hops.get(handle.0)?.as_deref()
    }

    pub(crate) fn hop_mut(&mut self, handle: ConnectionHandle) -> Option<&mut Hop> {
        self.hops.get_mut(handle.0)?.as_deref_mut()
    }

    pub(crate) fn hops_mut(&mut self) -> impl Iterator<Item = &mut Hop> {
        self.hops.iter_mut().filter_map(|slot| slot.as_deref_mut())
    }

    /// Counts over all connections so far.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = self.past;
        for hop in self.hops.iter().flatten() {
            totals += hop.totals();
        }
        totals
    }

    /// The handles of all hops, and of some that are gone.
    pub(crate) fn handles(&self) -> impl Iterator<Item = ConnectionHandle> + use<> {
        (0..self.hops.len()).map(ConnectionHandle)
    }

    pub(crate) fn insert(&mut self, hop: Hop) {
        let index = hop.handle.0;
        if self.hops.len() <= index {
            self.hops.resize_with(index + 1, || None);
        }
        self.hops[index] = Some(Box::new(hop));
    }

    pub(crate) fn handle_datagram(
        &mut self,
        now: Time,
        from: SocketAddr,
        ecn: u8,
        datagram: BytesMut,
    ) -> Received {
        let mut answer = Vec::new();
        let ecn = EcnCodepoint::from_bits(ecn);
        let event = self.endpoint.handle(self.clock.instant(now), from, None, ecn, datagram, &mut answer);
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                self.deliver(handle, event);
                Received::Hop(handle)
            }
            Some(DatagramEvent::NewConnection(incoming)) => Received::Incoming(Box::new(incoming)),
            Some(DatagramEvent::Response(transmit)) => {
                self.answer(transmit, &answer);
                Received::Done
            }
            None => Received::Done,
        }
    }

    fn deliver(&mut self, handle: ConnectionHandle, event: ConnectionEvent) {
        if let Some(hop) = self.hop_mut(handle) {
            hop.conn.handle_event(event);
            hop.on_received();
        }
    }

    /// Queues an answer of the endpoint itself.
    pub(crate) fn answer(&mut self, transmit: QuinnTransmit, bytes: &[u8]) {
        if self.answers.len() < ANSWERS_MAX {
            let bytes = Bytes::copy_from_slice(&bytes[..transmit.size]);
            self.answers.push_back((transmit, bytes));
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        let clock = self.clock;
        for hop in self.hops_mut() {
            hop.handle_timeout(now, clock);
        }
    }

    pub(crate) fn timeout(&self) -> Time {
        self.hops.iter().flatten().map(|hop| hop.timeout()).min().unwrap_or(Time::MAX)
    }

    /// The next packet of any hop.
    pub(crate) fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some((transmit, bytes)) = self.answers.pop_front() {
            buffer.clear();
            buffer.extend_from_slice(&bytes);
            return Some(outgoing(&transmit, Carried::default()));
        }
        let count = self.hops.len();
        for offset in 0..count {
            let after = self.turn + offset;
            let index = if after < count { after } else { after - count };
            let Some(hop) = self.hops[index].as_deref_mut() else { continue };
            if let Some((transmit, carries)) = hop.poll_transmit(now, self.clock, &mut self.arena, buffer) {
                self.turn = index;
                return Some(outgoing(&transmit, carries));
            }
        }
        None
    }

    /// Lets endpoint and connections exchange their events until a connection is gone for good:
    /// which one that was, if any.
    pub(crate) fn settle(&mut self) -> Option<ConnectionHandle> {
        for slot in &mut self.hops {
            let Some(hop) = slot.as_deref_mut() else { continue };
            let handle = hop.handle;
            let mut drained = false;
            while let Some(event) = hop.conn.poll_endpoint_events() {
                drained |= event.is_drained();
                if let Some(event) = self.endpoint.handle_event(handle, event) {
                    hop.conn.handle_event(event);
                    hop.touch();
                }
            }
            if drained {
                self.past += hop.totals();
                *slot = None;
                return Some(handle);
            }
        }
        None
    }
}

fn outgoing(transmit: &QuinnTransmit, carries: Carried) -> Transmit {
    Transmit {
        to: transmit.destination,
        bytes: transmit.size,
        ecn: transmit.ecn.map_or(0, |ecn| ecn as u8),
        segment_bytes: transmit.segment_size,
        carries,
    }
}

/// Answers waiting; a flood of unwanted packets is answered no further than this.
const ANSWERS_MAX: usize = 32;
