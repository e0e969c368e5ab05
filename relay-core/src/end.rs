//! What robot and operator share: one connection at a time, dialled to the relay, and joining its session; and dialling again
//! when it is lost.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, ConnectionError, ConnectionHandle, ConnectionId, Dir, Endpoint, Event as QuinnEvent,
    StreamEvent, StreamId, TransportConfig, VarInt,
};
use units::{Span, Time};

use crate::access::Token;
use crate::clock::Clock;
use crate::config::{self, Dial, EndpointParams, SetupError};
use crate::congestion::Gate;
use crate::event::{Event, LeaveReason, Role};
use crate::hop::Hop;
use crate::host::{Host, Received};
use crate::machine::{Output, RoundTrip, Totals};
use crate::redial::Redial;
use crate::refusal::{Refusal, TurnedAway};
use crate::video::VideoQueue;
use crate::wire::{
    CLOSE_GOING, CLOSE_REPLACED, Hello, Malformed, Message, WELCOME_BYTES, Welcome, WelcomeStatus,
};

/// An end of a session, without what makes it a robot or an operator.
pub(crate) struct End {
    pub(crate) host: Host,
    handle: ConnectionHandle,
    role: Role,
    dial: Dial,
    first_cids: FirstCids,
    line: Box<dyn Fn() -> Line + Send>,
    params: EndpointParams,
    state: State,
    redial: Redial,
    /// Whether there is a new connection that whoever uses this has not been told of.
    redialled: bool,
    hello_stream: Option<StreamId>,
    welcome: BytesMut,
    pub(crate) events: VecDeque<Event>,
    /// Streams with something to read; only frames come on them.
    readable: VecDeque<Readable>,
}

/// What a connection begins with, new for each.
pub(crate) struct Line {
    pub(crate) gate: Gate,
    pub(crate) transport: TransportConfig,
    pub(crate) video: VideoQueue,
}

/// Where an end stands with its relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is connecting, or waits for the relay's welcome; at this time it gives up and tries anew.
    Dialling(Time),
    /// It is in its session.
    Joined,
    /// It lost the relay or was refused, and dials again at this time.
    Down(Time),
    /// It was closed from here.
    Closed,
}

type FirstCids = Arc<dyn Fn() -> ConnectionId + Send + Sync>;

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
        line: Box<dyn Fn() -> Line + Send>,
    ) -> Result<Self, SetupError> {
        let endpoint = Endpoint::new(Arc::new(config::endpoint(params)), None, true, None);
        let mut host = Host::new(endpoint, Clock::new(params.epoch));
        let first_cids = config::first_cids(params);
        let handle = connect(now, &mut host, &dial, &first_cids, logged(params, &dial, line()))?;
        Ok(Self {
            host,
            handle,
            role,
            dial,
            first_cids,
            line,
            params: params.clone(),
            state: State::Dialling(now + DIAL_WITHIN),
            redial: Redial::new(config::redial_seed(params)),
            redialled: false,
            hello_stream: None,
            welcome: BytesMut::new(),
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
        self.state == State::Joined
    }

    /// Counts over all connections so far.
    pub(crate) fn totals(&self) -> Totals {
        self.host.totals()
    }

    /// Round-trip times to the relay, while the session is joined and once there is a measurement.
    pub(crate) fn round_trip(&self) -> Option<RoundTrip> {
        if self.is_joined() { self.hop()?.round_trip() } else { None }
    }

    /// Whether there is a new connection since the last call.
    pub(crate) fn take_redialled(&mut self) -> bool {
        std::mem::take(&mut self.redialled)
    }

    /// Closes the connection, telling the relay, and dials no more.
    pub(crate) fn close(&mut self, now: Time) {
        self.state = State::Closed;
        self.hang_up(now);
    }

    fn hang_up(&mut self, now: Time) {
        let instant = self.host.clock.instant(now);
        if let Some(hop) = self.hop_mut() {
            hop.video.queue.clear();
            hop.conn.close(instant, VarInt::from_u32(CLOSE_GOING), Bytes::new());
            hop.touch();
        }
    }

    pub(crate) fn handle_datagram(&mut self, now: Time, from: SocketAddr, ecn: u8, datagram: BytesMut) {
        match self.host.handle_datagram(now, from, ecn, datagram) {
            Received::Hop(_) => self.serve(now),
            Received::Incoming(incoming) => self.host.endpoint.ignore(*incoming),
            Received::Done => {}
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.host.handle_timeout(now);
        self.serve(now);
        match self.state {
            // quinn would wait twice as long before each packet of a handshake, and go on for half a minute.
            State::Dialling(until) if now >= until => {
                self.state = State::Down(self.redial.next(now));
                self.hang_up(now);
            }
            State::Down(at) if now >= at => self.dial_again(now),
            _ => {}
        }
    }

    fn dial_again(&mut self, now: Time) {
        let line = logged(&self.params, &self.dial, (self.line)());
        match connect(now, &mut self.host, &self.dial, &self.first_cids, line) {
            Ok(handle) => {
                self.handle = handle;
                self.hello_stream = None;
                self.welcome.clear();
                self.readable.clear();
                self.state = State::Dialling(now + DIAL_WITHIN);
                self.redialled = true;
            }
            // It worked the first time; it may again.
            Err(_) => self.state = State::Down(self.redial.next(now)),
        }
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
        if self.host.hops_mut().any(|hop| hop.is_touched())
            || self.hop().is_some_and(|hop| hop.video.queue.has_events())
        {
            return None;
        }
        let own = match self.state {
            State::Dialling(at) | State::Down(at) => at,
            State::Joined | State::Closed => Time::MAX,
        };
        Some(Output::Wait(self.host.timeout().min(own)))
    }

    /// Takes what quinn has to say about the connection.
    fn serve(&mut self, now: Time) {
        while let Some(event) = self.hop_mut().and_then(|hop| hop.conn.poll()) {
            match event {
                QuinnEvent::Connected => self.say_hello(),
                QuinnEvent::ConnectionLost { reason } => self.connection_lost(now, &reason),
                QuinnEvent::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    self.readable.push_back(Readable::Opened);
                }
                QuinnEvent::Stream(StreamEvent::Readable { id }) => {
                    if Some(id) == self.hello_stream {
                        self.read_welcome(now, id);
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
        let token = self.dial.token.as_ref().map(Token::bytes).unwrap_or_default();
        let hello = Hello { role: self.role, session: self.dial.session, token };
        let Some(hop) = self.host.hop_mut(self.handle) else { return };
        if let Some(id) = hop.conn.streams().open(Dir::Bi) {
            self.hello_stream = Some(id);
            // Eighty bytes at most fit into any peer's first flow-control window.
            let _ = hop.conn.send_stream(id).write(&hello.encode());
            let _ = hop.conn.send_stream(id).finish();
            hop.touch();
        }
    }

    fn read_welcome(&mut self, now: Time, id: StreamId) {
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
        if !matches!(self.state, State::Dialling(_)) {
            return;
        }
        let why = match Welcome::read(&self.welcome) {
            None => return,
            Some(Ok(Welcome { status: WelcomeStatus::Joined })) => {
                self.state = State::Joined;
                self.redial.succeeded();
                self.events.push_back(Event::Joined { role: self.role });
                return;
            }
            Some(Ok(Welcome { status: WelcomeStatus::Refused(why) })) => why,
            Some(Err(Malformed::Version)) => Refusal::Version,
            Some(Err(_)) => Refusal::Protocol,
        };
        self.refused(now, TurnedAway::new(Some(self.role), self.dial.relay, why));
        self.hang_up(now);
    }

    /// The connection is gone. With TLS 1.3 an end is connected before the relay has judged its certificate, so it may have
    /// said its hello already when it is turned away.
    fn connection_lost(&mut self, now: Time, reason: &ConnectionError) {
        let away = TurnedAway::of(Some(self.role), self.dial.relay, reason);
        match away.filter(|_| matches!(self.state, State::Dialling(_))) {
            Some(away) => self.refused(now, away),
            None => self.lost(now, leave_reason(reason)),
        }
    }

    fn refused(&mut self, now: Time, away: TurnedAway) {
        if matches!(self.state, State::Dialling(_) | State::Joined) {
            self.events.push_back(Event::TurnedAway(Box::new(away)));
            self.lost(now, LeaveReason::Refused);
        }
    }

    /// The relay is gone or will not have this end: tries again in a while.
    fn lost(&mut self, now: Time, reason: LeaveReason) {
        if !matches!(self.state, State::Dialling(_) | State::Joined) {
            return;
        }
        if let Some(hop) = self.hop_mut() {
            hop.video.queue.clear();
        }
        self.state = State::Down(match reason {
            LeaveReason::Replaced => self.redial.replaced(now),
            _ => self.redial.next(now),
        });
        self.events.push_back(Event::Left { role: self.role, reason });
    }
}

/// How long an end waits for its session before it dials anew. A handshake over the worst profile, with a packet of
/// each flight lost twice, takes less.
const DIAL_WITHIN: Span = Span::from_secs(5);

/// Has the connection logged, where that is asked for.
fn logged(params: &EndpointParams, dial: &Dial, mut line: Line) -> Line {
    params.log_quic(dial.relay, &mut line.transport);
    line
}

/// Opens a connection to the relay.
fn connect(
    now: Time,
    host: &mut Host,
    dial: &Dial,
    first_cids: &FirstCids,
    line: Line,
) -> Result<ConnectionHandle, SetupError> {
    let mut client = ClientConfig::new(Arc::clone(&dial.crypto));
    client.transport_config(Arc::new(line.transport));
    client.initial_dst_cid_provider(Arc::clone(first_cids));
    let instant = host.clock.instant(now);
    let (handle, conn) = host.endpoint.connect(instant, client, dial.relay, &dial.server_name)?;
    host.insert(Hop::new(now, handle, conn, line.gate, line.video));
    Ok(handle)
}

/// Why a connection ended, in the terms of [`Event::Left`].
pub(crate) fn leave_reason(reason: &ConnectionError) -> LeaveReason {
    match reason {
        ConnectionError::TimedOut => LeaveReason::TimedOut,
        ConnectionError::ApplicationClosed(close) if close.error_code == VarInt::from_u32(CLOSE_REPLACED) => {
            LeaveReason::Replaced
        }
        ConnectionError::ConnectionClosed(_)
        | ConnectionError::ApplicationClosed(_)
        | ConnectionError::LocallyClosed
        | ConnectionError::Reset => LeaveReason::Closed,
        ConnectionError::VersionMismatch
        | ConnectionError::TransportError(_)
        | ConnectionError::CidsExhausted => LeaveReason::Refused,
    }
}
