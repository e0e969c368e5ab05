//! What robot and operator share: one connection, dialled to the relay, and joining its session.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, Dir, Endpoint, Event as QuinnEvent, StreamEvent,
    StreamId, TransportConfig,
};
use units::Time;

use crate::clock::Clock;
use crate::config::{self, Dial, EndpointParams, SetupError};
use crate::congestion::Gate;
use crate::event::{Event, LeaveReason, Role};
use crate::hop::Hop;
use crate::host::{Host, Received};
use crate::machine::Output;
use crate::video::VideoQueue;
use crate::wire::{Hello, Message, WELCOME_BYTES, Welcome, WelcomeStatus};

/// An end of a session, without what makes it a robot or an operator.
pub(crate) struct End {
    pub(crate) host: Host,
    handle: ConnectionHandle,
    role: Role,
    session: u64,
    hello_stream: Option<StreamId>,
    welcome: BytesMut,
    joined: bool,
    pub(crate) events: VecDeque<Event>,
    /// Streams with something to read; only frames come on them.
    readable: VecDeque<Readable>,
}

/// Something on a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readable {
    Opened,
    Stream(StreamId),
}

impl End {
    pub(crate) fn dial(
        now: Time,
        params: &EndpointParams,
        dial: Dial,
        role: Role,
        gate: Gate,
        transport: TransportConfig,
        video: VideoQueue,
    ) -> Result<Self, SetupError> {
        let clock = Clock::new(params.epoch);
        let mut endpoint = Endpoint::new(Arc::new(config::endpoint(params)), None, true, None);
        let mut client = ClientConfig::new(dial.crypto);
        client.transport_config(Arc::new(transport));
        client.initial_dst_cid_provider(config::first_cids(params));
        let (handle, conn) = endpoint.connect(clock.instant(now), client, dial.relay, &dial.server_name)?;
        let mut host = Host::new(endpoint, clock);
        host.insert(Hop::new(now, handle, conn, gate, video));
        Ok(Self {
            host,
            handle,
            role,
            session: dial.session,
            hello_stream: None,
            welcome: BytesMut::new(),
            joined: false,
            events: VecDeque::new(),
            readable: VecDeque::new(),
        })
    }

    pub(crate) fn hop(&self) -> Option<&Hop> {
        self.host.hop(self.handle)
    }

    pub(crate) fn hop_mut(&mut self) -> Option<&mut Hop> {
        self.host.hop_mut(self.handle)
    }

    pub(crate) fn is_joined(&self) -> bool {
        self.joined
    }

    pub(crate) fn handle_datagram(&mut self, now: Time, from: SocketAddr, ecn: u8, datagram: BytesMut) {
        match self.host.handle_datagram(now, from, ecn, datagram) {
            Received::Hop(_) => self.serve(),
            Received::Incoming(incoming) => self.host.endpoint.ignore(*incoming),
            Received::Done => {}
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.host.handle_timeout(now);
        self.serve();
    }

    /// The next application message that came.
    pub(crate) fn poll_message(&mut self) -> Option<Message> {
        let hop = self.host.hop_mut(self.handle)?;
        while let Some(datagram) = hop.conn.datagrams().recv() {
            match Message::decode(datagram) {
                Ok(message) => return Some(message),
                Err(_) => hop.malformed += 1,
            }
        }
        None
    }

    /// The next stream with something on it.
    pub(crate) fn poll_readable(&mut self) -> Option<Readable> {
        self.readable.pop_front()
    }

    /// The part of a machine's output that is the same for both ends.
    pub(crate) fn poll_output(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Output> {
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        if let Some(event) = self.hop_mut().and_then(|hop| hop.video.queue.poll_event())
            && matches!(event, Event::FrameDropped { .. })
        {
            return Some(Output::Event(event));
        }
        if let Some(transmit) = self.host.poll_transmit(now, buffer) {
            return Some(Output::Transmit(transmit));
        }
        self.host.settle();
        match self.hop() {
            Some(hop) if hop.is_touched() || hop.video.queue.has_events() => None,
            Some(hop) => Some(Output::Wait(hop.timeout())),
            None => Some(Output::Wait(Time::MAX)),
        }
    }

    /// Takes what quinn has to say about the connection.
    fn serve(&mut self) {
        while let Some(event) = self.hop_mut().and_then(|hop| hop.conn.poll()) {
            match event {
                QuinnEvent::Connected => self.say_hello(),
                QuinnEvent::ConnectionLost { reason } => self.lost(&reason),
                QuinnEvent::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.readable.push_back(Readable::Opened);
                }
                QuinnEvent::Stream(StreamEvent::Readable { id }) => {
                    if Some(id) == self.hello_stream {
                        self.read_welcome(id);
                    } else {
                        self.readable.push_back(Readable::Stream(id));
                    }
                }
                QuinnEvent::HandshakeDataReady
                | QuinnEvent::Stream(_)
                | QuinnEvent::DatagramReceived
                | QuinnEvent::DatagramsUnblocked => {}
            }
        }
    }

    fn say_hello(&mut self) {
        let hello = Hello { role: self.role, session: self.session };
        let Some(hop) = self.host.hop_mut(self.handle) else { return };
        if let Some(id) = hop.conn.streams().open(Dir::Bi) {
            self.hello_stream = Some(id);
            // Sixteen bytes fit into any peer's first flow-control window.
            let _ = hop.conn.send_stream(id).write(&hello.encode());
            let _ = hop.conn.send_stream(id).finish();
            hop.touch();
        }
    }

    fn read_welcome(&mut self, id: StreamId) {
        let Some(hop) = self.host.hop_mut(self.handle) else { return };
        let mut stream = hop.conn.recv_stream(id);
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(WELCOME_BYTES) {
                let room = WELCOME_BYTES.saturating_sub(self.welcome.len());
                self.welcome.extend_from_slice(&chunk.bytes[..chunk.bytes.len().min(room)]);
            }
            let _ = chunks.finalize();
        }
        hop.touch();
        if self.joined || self.welcome.len() < WELCOME_BYTES {
            return;
        }
        match Welcome::decode(self.welcome.clone().freeze()) {
            Ok(Welcome { status: WelcomeStatus::Joined }) => {
                self.joined = true;
                self.events.push_back(Event::Joined { role: self.role });
            }
            Ok(Welcome { status: WelcomeStatus::Refused }) | Err(_) => {
                self.events.push_back(Event::Left { role: self.role, reason: LeaveReason::Refused });
            }
        }
    }

    fn lost(&mut self, reason: &ConnectionError) {
        self.joined = false;
        self.events.push_back(Event::Left { role: self.role, reason: leave_reason(reason) });
    }
}

/// Why a connection ended, in the terms of [`Event::Left`].
pub(crate) fn leave_reason(reason: &ConnectionError) -> LeaveReason {
    match reason {
        ConnectionError::TimedOut => LeaveReason::TimedOut,
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::LocallyClosed
        | ConnectionError::Reset => LeaveReason::Closed,
        ConnectionError::VersionMismatch
        | ConnectionError::TransportError(_)
        | ConnectionError::CidsExhausted => LeaveReason::Refused,
    }
}
