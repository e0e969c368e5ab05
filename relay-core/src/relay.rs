//! The relay: pairs robots with operators, forwards frames one way and poses the other.

mod admission;
mod join;
mod poses;
mod session;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ConnectionHandle, Dir, Endpoint, Event as QuinnEvent, Incoming, ServerConfig, StreamEvent, VarInt,
};
use units::{Span, Time};

use crate::carried::Carried;
use crate::clock::Clock;
use crate::config::{self, EndpointParams, Listen};
use crate::congestion::{Enforce, Gate};
use crate::event::{DropPlace, DropReason, Event, LeaveReason, Role};
use crate::hop::Hop;
use crate::host::{Host, Received};
use crate::machine::{Machine, Output, RoundTrip, Snapshot, Totals};
use crate::refusal::{Refusal, TurnedAway};
use crate::settings::{DeliveryKind, LossMeasure, Settings};
use crate::streams::StreamSender;
use crate::video::{FrameBuffer, Limits, Progress, VideoQueue};
use crate::wire::{CLOSE_GOING, CLOSE_NOT_JOINED, Malformed, Message, PoseBatch, ResizeRequest, VideoHeader};

use self::join::Joining;
use self::session::Session;

/// The relay.
pub struct Relay {
    host: Host,
    params: EndpointParams,
    listen: Listen,
    settings: Settings,
    peers: BTreeMap<usize, Peer>,
    sessions: BTreeMap<u64, Session>,
    events: VecDeque<Event>,
}

/// What the relay knows of a connection.
struct Peer {
    stage: Stage,
    /// When it connected.
    since: Time,
    streams: Option<StreamSender>,
}

enum Stage {
    /// Connected, but its hello has not been read.
    Joining(Joining),
    /// In a session.
    Member { session: u64, role: Role },
    /// Turned away; closed when the peer does not do it.
    Leaving,
    /// Closed, and not drained yet.
    Closed,
}

impl Peer {
    /// When its connection is closed unless it has joined a session.
    fn join_by(&self) -> Option<Time> {
        matches!(self.stage, Stage::Joining(_) | Stage::Leaving).then(|| self.since + JOIN_WITHIN)
    }
}

impl Relay {
    /// Makes a relay that waits for its peers.
    pub fn new(params: &EndpointParams, listen: Listen, settings: &Settings) -> Self {
        let server = ServerConfig::new(Arc::clone(&listen.crypto), Arc::clone(&listen.token_key));
        let endpoint = Endpoint::new(Arc::new(config::endpoint(params)), Some(Arc::new(server)), true, None);
        Self {
            host: Host::new(endpoint, Clock::new(params.epoch)),
            params: params.clone(),
            listen,
            settings: settings.clone(),
            peers: BTreeMap::new(),
            sessions: BTreeMap::new(),
            events: VecDeque::new(),
        }
    }

    fn accept(&mut self, now: Time, incoming: Incoming) {
        let (mut answer, peer) = (Vec::new(), incoming.remote_address());
        if self.peers.len() >= PEERS_MAX {
            self.note_turned_away(TurnedAway::new(None, peer, Refusal::ConnectionsFull));
            let transmit = self.host.endpoint.refuse(incoming, &mut answer);
            self.host.answer(transmit, &answer);
            return;
        }
        let stream = self.settings.delivery.kind == DeliveryKind::Stream;
        let enforce = if stream { Enforce::Quinn } else { Enforce::Gate };
        let gate = Gate::new(&self.settings.congestion, enforce, self.host.clock);
        // Which role the peer has is not known yet, and need not be: towards the robot only
        // commands go, which wait for no window.
        let mut server =
            ServerConfig::new(Arc::clone(&self.listen.crypto), Arc::clone(&self.listen.token_key));
        let mut transport = config::operator_hop(&self.settings, gate.factory());
        self.params.log_quic(peer, &mut transport);
        server.transport_config(Arc::new(transport));
        server.time_source(Arc::new(config::NoCalendar));
        let instant = self.host.clock.instant(now);
        match self.host.endpoint.accept(incoming, instant, &mut answer, Some(Arc::new(server))) {
            Ok((handle, conn)) => {
                let limits =
                    Limits::new(self.settings.deadline.frame, &self.settings.priority, DropPlace::Relay);
                let mut hop = Hop::new(now, handle, conn, gate, VideoQueue::new(limits));
                hop.protect(&self.settings);
                if stream {
                    hop.leave_video_to_streams();
                }
                self.host.insert(hop);
                let streams = stream.then(|| StreamSender::new(self.settings.deadline.frame));
                let stage = Stage::Joining(Joining::default());
                self.peers.insert(handle.0, Peer { stage, since: now, streams });
            }
            Err(error) => {
                self.handshake_failed(peer, &error.cause);
                if let Some(transmit) = error.response {
                    self.host.answer(transmit, &answer);
                }
            }
        }
    }

    /// Takes what quinn has to say about one connection.
    fn serve(&mut self, now: Time, handle: ConnectionHandle) {
        while let Some(event) = self.host.hop_mut(handle).and_then(|hop| hop.conn.poll()) {
            match event {
                QuinnEvent::ConnectionLost { reason } => self.connection_lost(handle, &reason),
                QuinnEvent::Stream(StreamEvent::Opened { dir: Dir::Bi } | StreamEvent::Readable { .. }) => {
                    self.read_hello(now, handle);
                }
                QuinnEvent::Stream(StreamEvent::Finished { id } | StreamEvent::Stopped { id, .. }) => {
                    if let Some(streams) = self.peers.get_mut(&handle.0).and_then(|p| p.streams.as_mut()) {
                        streams.on_finished(id);
                    }
                }
                QuinnEvent::Connected
                | QuinnEvent::HandshakeDataReady
                | QuinnEvent::Stream(_)
                | QuinnEvent::DatagramReceived
                | QuinnEvent::DatagramsUnblocked => {}
            }
        }
        while let Some(datagram) = self.host.hop_mut(handle).and_then(|hop| hop.conn.datagrams().recv()) {
            self.take_datagram(now, handle, datagram);
        }
        self.pump_streams(now, handle);
    }

    fn take_datagram(&mut self, now: Time, handle: ConnectionHandle, datagram: Bytes) {
        let Some(Peer { stage: Stage::Member { session, role }, .. }) = self.peers.get(&handle.0) else {
            return self.malformed(handle);
        };
        let (session, role) = (*session, *role);
        match (role, Message::decode(datagram)) {
            (Role::Robot, Ok(Message::Video(header, payload))) => {
                self.take_video(now, handle, session, &header, payload);
            }
            (Role::Operator, Ok(Message::Poses(batch))) => self.take_poses(now, handle, session, batch),
            (Role::Operator, Ok(Message::Feedback(feedback))) => {
                if let Some(hop) = self.host.hop_mut(handle) {
                    hop.handle_feedback(now, &feedback);
                }
            }
            _ => self.malformed(handle),
        }
    }

    /// A part of a frame from the robot: on to the operator, unless its frame is skipped.
    fn take_video(
        &mut self,
        now: Time,
        from: ConnectionHandle,
        id: u64,
        header: &VideoHeader,
        payload: Bytes,
    ) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        while session.assembly.poll_forgotten(now).is_some() {}
        let (first, complete) = match session.assembly.insert(now, header) {
            Progress::New { first, complete } => (first, complete),
            Progress::Useless => return,
            Progress::Contradiction => return self.malformed(from),
        };
        let frame = header.frame;
        if complete {
            self.events.push_back(Event::FrameAtRelay { frame });
        }
        if first && !self.begin_frame(now, id, header) {
            return;
        }
        let operator = self.sessions.get(&id).and_then(|session| session.operator);
        let Some(hop) = operator.and_then(|operator| self.host.hop_mut(operator)) else { return };
        hop.video.queue.extend(frame, header.index, payload);
        hop.touch();
        if complete && let Some(operator) = operator {
            self.pump_streams(now, operator);
        }
    }

    /// The first part of a frame is here: decides whether the frame goes on, and says whether.
    fn begin_frame(&mut self, now: Time, id: u64, header: &VideoHeader) -> bool {
        let (frame, place) = (header.frame, DropPlace::Relay);
        let Some(session) = self.sessions.get_mut(&id) else { return false };
        let Some(hop) = session.operator.and_then(|operator| self.host.hop_mut(operator)) else {
            self.events.push_back(Event::FrameDropped { frame, place, reason: DropReason::NoPeer });
            return false;
        };
        let (packets, lost) = match self.settings.skip.measured {
            LossMeasure::Transport => hop.transport_loss(),
            LossMeasure::App => hop.app_loss(),
        };
        session.skip.measure(now, packets, lost);
        session.resize.on_frame(frame, header.shape.frame_bytes);
        let short = hop.video.queue.queued_frames() > FRAMES_WAITING;
        let allowed = hop.allowed_per_sec();
        session.resize.update(now, allowed, hop.video.overhead(), short);
        hop.video.set_spare(session.resize.spare(allowed));
        let keeps = session.skip.keeps(frame);
        if keeps {
            hop.video.queue.push(now, frame, FrameBuffer::new(header.shape));
        } else {
            self.events.push_back(Event::FrameDropped { frame, place, reason: DropReason::Skipped });
        }
        self.ask_for_sizes(now, id);
        keeps
    }

    /// Tells the robot which sizes of frames are wanted, when there is news of that.
    fn ask_for_sizes(&mut self, now: Time, id: u64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let Some(shares) = session.resize.poll_request(now) else { return };
        let Some(hop) = session.robot.and_then(|robot| self.host.hop_mut(robot)) else { return };
        let Some(bytes_max) = hop.datagram_bytes_max() else { return };
        let request = ResizeRequest { shares };
        let datagram = self.host.arena.build(bytes_max, |out| request.encode(out));
        if let Some(hop) = session.robot.and_then(|robot| self.host.hop_mut(robot)) {
            hop.send_urgent(datagram, Carried { resize: true, ..Carried::default() });
        }
    }

    /// Poses from the operator: what is new becomes commands for the robot.
    fn take_poses(&mut self, now: Time, from: ConnectionHandle, id: u64, batch: PoseBatch) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let transit = self.host.hop(from).map_or(Span::ZERO, Hop::one_way);
        let commands = session.poses.take(now, transit, batch, &mut self.events);
        let Some(commands) = commands else { return };
        let Some(robot) = session.robot else { return };
        let Some(bytes_max) = self.host.hop_mut(robot).and_then(Hop::datagram_bytes_max) else { return };
        let datagram = self.host.arena.build(bytes_max, |out| commands.encode(true, bytes_max, out));
        if let Some(hop) = self.host.hop_mut(robot) {
            let newest = commands.entries.first().map(|entry| entry.pose);
            hop.send_urgent(datagram, Carried { command: newest, ..Carried::default() });
        }
    }

    fn pump_streams(&mut self, now: Time, handle: ConnectionHandle) {
        let Some(streams) = self.peers.get_mut(&handle.0).and_then(|peer| peer.streams.as_mut()) else {
            return;
        };
        let Some(hop) = self.host.hop_mut(handle) else { return };
        if streams.pump(now, &mut hop.conn, &mut hop.video.queue, &mut self.events) {
            hop.touch();
        }
    }

    fn read_hello(&mut self, now: Time, handle: ConnectionHandle) {
        let Some(peer) = self.peers.get_mut(&handle.0) else { return };
        let Stage::Joining(joining) = &mut peer.stage else { return };
        let Some(hop) = self.host.hop_mut(handle) else { return };
        hop.touch();
        let Some(read) = joining.read(&mut hop.conn) else { return };
        match read {
            Ok(hello) => self.admit(now, handle, hello),
            Err(error) => {
                self.malformed(handle);
                let why = if error == Malformed::Version { Refusal::Version } else { Refusal::Hello };
                self.turn_away(handle, None, why);
            }
        }
    }

    fn leave(&mut self, handle: ConnectionHandle, reason: LeaveReason) {
        let Some(peer) = self.peers.get_mut(&handle.0) else { return };
        let Stage::Member { session, role } = peer.stage else { return };
        peer.stage = Stage::Closed;
        self.events.push_back(Event::Left { role, reason });
        if let Some(hop) = self.host.hop_mut(handle) {
            hop.video.queue.clear();
        }
        if self.sessions.get_mut(&session).is_some_and(|entry| entry.leave(role, handle)) {
            self.sessions.remove(&session);
        }
    }

    /// Closes connections that have been there for a while and are in no session, so that nobody takes up room for
    /// nothing.
    fn close_idlers(&mut self, now: Time) {
        let instant = self.host.clock.instant(now);
        for (handle, peer) in &mut self.peers {
            if peer.join_by().is_some_and(|by| now >= by)
                && let Some(hop) = self.host.hop_mut(ConnectionHandle(*handle))
            {
                if matches!(peer.stage, Stage::Joining(_)) {
                    let away = TurnedAway::new(None, hop.conn.remote_address(), Refusal::NoHello);
                    self.events.push_back(Event::TurnedAway(Box::new(away)));
                }
                peer.stage = Stage::Closed;
                hop.conn.close(instant, VarInt::from_u32(CLOSE_NOT_JOINED), Bytes::new());
                hop.touch();
            }
        }
    }

    fn malformed(&mut self, handle: ConnectionHandle) {
        if let Some(hop) = self.host.hop_mut(handle) {
            hop.malformed += 1;
        }
    }

    /// Lets endpoint and connections exchange their events, and forgets connections that are gone.
    fn settle(&mut self) {
        while let Some(handle) = self.host.settle() {
            self.leave(handle, LeaveReason::Closed);
            self.peers.remove(&handle.0);
        }
    }

    fn timeout(&self) -> Time {
        let streams = self.peers.values().filter_map(|peer| peer.streams.as_ref());
        let streams = streams.map(StreamSender::timeout).min().unwrap_or(Time::MAX);
        let joining = self.peers.values().filter_map(Peer::join_by).min().unwrap_or(Time::MAX);
        streams.min(joining).min(self.host.timeout())
    }
}

impl Machine for Relay {
    fn handle_datagram(&mut self, now: Time, from: SocketAddr, ecn: u8, datagram: BytesMut) {
        match self.host.handle_datagram(now, from, ecn, datagram) {
            Received::Hop(handle) => self.serve(now, handle),
            Received::Incoming(incoming) => self.accept(now, *incoming),
            Received::Done => {}
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.host.handle_timeout(now);
        for handle in self.host.handles() {
            self.serve(now, handle);
        }
        self.close_idlers(now);
    }

    fn poll_output(&mut self, now: Time, buffer: &mut Vec<u8>) -> Output {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Output::Event(event);
            }
            if let Some(event) = self.host.hops_mut().find_map(|hop| hop.video.queue.poll_event()) {
                return Output::Event(event);
            }
            if let Some(transmit) = self.host.poll_transmit(now, buffer) {
                return Output::Transmit(transmit);
            }
            self.settle();
            let busy = !self.events.is_empty()
                || self.host.hops_mut().any(|hop| hop.is_touched() || hop.video.queue.has_events());
            if !busy {
                return Output::Wait(self.timeout());
            }
        }
    }

    fn snapshot(&self, _now: Time, role: Role) -> Snapshot {
        let found = self.peers.iter().find_map(|(handle, peer)| match peer.stage {
            Stage::Member { session, role: is } if is == role => Some((*handle, session, peer)),
            _ => None,
        });
        let Some((handle, id, peer)) = found else { return Snapshot::default() };
        let Some(hop) = self.host.hop(ConnectionHandle(handle)) else { return Snapshot::default() };
        let skipped = match role {
            Role::Operator => self.sessions.get(&id).map_or(0, |session| session.skip.skipped()),
            Role::Robot => 0,
        };
        let mut snapshot = hop.snapshot(skipped);
        snapshot.counters.frames_expired += peer.streams.as_ref().map_or(0, StreamSender::expired);
        snapshot
    }
}

impl Relay {
    /// Counts over all connections so far, those of robots and those in no session too.
    pub fn totals(&self) -> Totals {
        self.host.totals()
    }

    /// Round-trip times to the operator whose are the longest, of those that are in a session and have been measured.
    pub fn round_trip(&self) -> Option<RoundTrip> {
        let operators = self.sessions.values().filter_map(|session| session.operator);
        let measured = operators.filter_map(|operator| self.host.hop(operator)?.round_trip());
        measured.max_by_key(|round_trip| round_trip.smoothed)
    }

    /// Closes every connection, telling the peers.
    pub fn close(&mut self, now: Time) {
        let instant = self.host.clock.instant(now);
        for hop in self.host.hops_mut() {
            hop.conn.close(instant, VarInt::from_u32(CLOSE_GOING), Bytes::new());
            hop.touch();
        }
    }
}

/// How long a connection may be there without being in a session.
const JOIN_WITHIN: Span = Span::from_secs(10);
/// Connections at once; more are refused.
const PEERS_MAX: usize = 256;
/// With more frames waiting than this, frames do not grow.
const FRAMES_WAITING: u64 = 3;
