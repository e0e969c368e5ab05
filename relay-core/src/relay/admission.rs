//! Whom the relay lets into which session, and what it says of those whom it turns away.
//!
//! The order of the questions is part of what it keeps to itself: who does not have the token learns nothing of the session,
//! not even whether anybody is in it.

use std::net::SocketAddr;

use bytes::Bytes;
use quinn_proto::{ConnectionError, ConnectionHandle, VarInt};
use units::{Span, Time};

use super::session::{Asked, Session};
use super::{Peer, Relay, Stage};
use crate::end::leave_reason;
use crate::event::{Event, LeaveReason, Role};
use crate::refusal::{Refusal, TurnedAway};
use crate::settings::{CongestionFeedback, DeliveryKind};
use crate::wire::{CLOSE_REPLACED, Hello, Welcome, WelcomeStatus};

impl Relay {
    /// Puts a peer into its session, or turns it away.
    pub(super) fn admit(&mut self, now: Time, handle: ConnectionHandle, hello: Hello) {
        let Hello { role, session: id, token } = hello;
        let free =
            self.listen.access.judge(id, role, &token).and_then(|()| self.ask_for_place(now, id, role));
        if let Err(why) = free {
            return self.turn_away(handle, Some(role), why);
        }
        if let Some(holder) = self.sessions.get(&id).and_then(|session| session.holder(role)) {
            self.replace(now, holder);
        }
        self.sessions.entry(id).or_insert_with(|| Session::new(&self.settings)).join(role, handle);
        self.answer_hello(handle, WelcomeStatus::Joined);
        if let Some(peer) = self.peers.get_mut(&handle.0) {
            peer.stage = Stage::Member { session: id, role };
        }
        let congestion = &self.settings.congestion;
        let datagrams = self.settings.delivery.kind == DeliveryKind::Datagram;
        if role == Role::Operator
            && datagrams
            && congestion.feedback == CongestionFeedback::App
            && let Some(hop) = self.host.hop_mut(handle)
        {
            hop.drive_by_app(now);
        }
        if role == Role::Robot {
            // A robot that comes again counts its frames from the start.
            self.sessions.get_mut(&id).expect("just joined").restart(&self.settings);
        }
        self.events.push_back(Event::Joined { role });
    }

    /// Whether there is a place for `role` in the session. One that is taken is taken from nobody who answers: its holder is
    /// asked to show that it is there, and only after it has been silent for a while does the place go to who asks then. An
    /// end that was killed and started again asks several times in that while.
    fn ask_for_place(&mut self, now: Time, id: u64, role: Role) -> Result<(), Refusal> {
        let full = self.sessions.len() >= SESSIONS_MAX;
        let Some(session) = self.sessions.get_mut(&id) else {
            return if full { Err(Refusal::SessionsFull) } else { Ok(()) };
        };
        let Some(holder) = session.holder(role) else { return Ok(()) };
        let Some(hop) = self.host.hop_mut(holder) else { return Ok(()) };
        let heard = hop.heard();
        match session.asked(role) {
            Some(asked) if asked.heard == heard => {
                if now.since(asked.since) >= SILENT_FOR {
                    Ok(())
                } else {
                    Err(Refusal::RoleTaken)
                }
            }
            asked => {
                *asked = Some(Asked { since: now, heard });
                hop.ping();
                Err(Refusal::RoleTaken)
            }
        }
    }

    /// Closes a connection whose place goes to another.
    fn replace(&mut self, now: Time, holder: ConnectionHandle) {
        let instant = self.host.clock.instant(now);
        self.leave(holder, LeaveReason::Replaced);
        if let Some(hop) = self.host.hop_mut(holder) {
            hop.conn.close(instant, VarInt::from_u32(CLOSE_REPLACED), Bytes::new());
            hop.touch();
        }
    }

    pub(super) fn turn_away(&mut self, handle: ConnectionHandle, role: Option<Role>, why: Refusal) {
        self.answer_hello(handle, WelcomeStatus::Refused(why));
        if let Some(peer) = self.peers.get_mut(&handle.0) {
            peer.stage = Stage::Leaving;
        }
        if let Some(hop) = self.host.hop(handle) {
            self.note_turned_away(TurnedAway::new(role, hop.conn.remote_address(), why));
        }
    }

    /// A connection is gone that nobody closed from here.
    pub(super) fn connection_lost(&mut self, handle: ConnectionHandle, reason: &ConnectionError) {
        if matches!(self.peers.get(&handle.0), Some(Peer { stage: Stage::Joining(_), .. }))
            && let Some(peer) = self.host.hop(handle).map(|hop| hop.conn.remote_address())
        {
            self.handshake_failed(peer, reason);
            if let Some(peer) = self.peers.get_mut(&handle.0) {
                peer.stage = Stage::Closed;
            }
        }
        self.leave(handle, leave_reason(reason));
    }

    /// Says so if a peer did not get through the handshake, in contrast to one that went by itself.
    pub(super) fn handshake_failed(&mut self, peer: SocketAddr, reason: &ConnectionError) {
        let by_peer_itself = matches!(reason, ConnectionError::ApplicationClosed(_));
        if let Some(away) = TurnedAway::of(None, peer, reason).filter(|_| !by_peer_itself) {
            self.note_turned_away(away);
        }
    }

    pub(super) fn note_turned_away(&mut self, away: TurnedAway) {
        self.events.push_back(Event::TurnedAway(Box::new(away)));
    }

    fn answer_hello(&mut self, handle: ConnectionHandle, status: WelcomeStatus) {
        let Some(Peer { stage: Stage::Joining(joining), .. }) = self.peers.get(&handle.0) else { return };
        let (Some(stream), Some(hop)) = (joining.stream(), self.host.hop_mut(handle)) else { return };
        let _ = hop.conn.send_stream(stream).write(&Welcome { status }.encode());
        let _ = hop.conn.send_stream(stream).finish();
        hop.touch();
    }
}

/// Sessions at once; hellos for more are refused.
const SESSIONS_MAX: usize = 128;
/// A holder that has not answered for this long has lost its place to whoever asks. A ping that is lost is sent again
/// within it several times over the worst profile, so nobody loses its place who is there.
const SILENT_FOR: Span = Span::from_secs(3);
