//! One QUIC connection as its sender uses it: what goes next, and whether it may go now.
//!
//! Poses, commands and feedback are small and go at once, whatever the window says; video waits
//! until window and pacer admit a packet, and only then is a datagram handed to quinn, one at a
//! time. quinn's own datagram queue stays empty.

use std::time::Duration;

use bytes::Bytes;
use quinn_proto::{Connection, ConnectionHandle, Transmit as QuinnTransmit};
use units::{Span, Time};

use crate::arena::Arena;
use crate::carried::{Carried, Handed};
use crate::clock::Clock;
use crate::congestion::{Gate, GateState, Held, TICK};
use crate::machine::{Counters, RoundTrip, Snapshot, Totals};
use crate::pacer::{Pacer, PacingRate};
use crate::settings::Settings;
use crate::video::{VideoQueue, VideoSender};
use crate::wire::Feedback;

/// A connection and everything that waits to be sent on it.
pub(crate) struct Hop {
    pub(crate) handle: ConnectionHandle,
    pub(crate) conn: Connection,
    gate: Gate,
    pacer: Pacer,
    urgent: std::collections::VecDeque<(Bytes, Carried)>,
    handed: Handed,
    /// Room in quinn's datagram queue when it is empty.
    datagram_room: usize,
    pub(crate) video: VideoSender,
    /// Whether video leaves as datagrams, and not as streams that somebody else opens.
    video_as_datagrams: bool,
    /// Whether something happened since quinn had nothing more to send.
    touched: bool,
    /// When quinn wants to be woken.
    quinn_timeout: Time,
    /// When the pacer admits what is waiting.
    paced_until: Time,
    /// When the control law is next told that time passes; never while nothing happens.
    tick_at: Time,
    pub(crate) malformed: u64,
    limit_hits: u64,
    packets_received: u64,
}

impl Hop {
    pub(crate) fn new(
        now: Time,
        handle: ConnectionHandle,
        mut conn: Connection,
        gate: Gate,
        video: VideoQueue,
    ) -> Self {
        let mtu = u64::from(conn.current_mtu());
        let rate = PacingRate::from_window(gate.state().window_bytes, conn.rtt().into(), mtu);
        let datagram_room = conn.datagrams().send_buffer_space();
        Self {
            handle,
            conn,
            gate,
            pacer: Pacer::new(now, rate),
            urgent: std::collections::VecDeque::new(),
            handed: Handed::default(),
            datagram_room,
            video: VideoSender::new(video),
            video_as_datagrams: true,
            touched: true,
            quinn_timeout: Time::ZERO,
            paced_until: Time::MAX,
            tick_at: Time::MAX,
            malformed: 0,
            limit_hits: 0,
            packets_received: 0,
        }
    }

    /// Protects video with repair and parity, as the settings say.
    pub(crate) fn protect(&mut self, settings: &Settings) {
        self.video.protect(settings);
    }

    /// Leaves the video queue to whoever sends frames as streams.
    pub(crate) fn leave_video_to_streams(&mut self) {
        self.video_as_datagrams = false;
    }

    /// Says that quinn or a queue changed, so that the next poll looks again.
    pub(crate) fn touch(&mut self) {
        self.touched = true;
    }

    pub(crate) fn is_touched(&self) -> bool {
        self.touched
    }

    pub(crate) fn on_received(&mut self) {
        self.packets_received += 1;
        self.touched = true;
    }

    /// Queues a small datagram that goes before any video and whatever the window says.
    pub(crate) fn send_urgent(&mut self, datagram: Bytes, carries: Carried) {
        if self.urgent.len() >= URGENT_MAX {
            self.limit_hits += 1;
            self.urgent.pop_front();
        }
        self.urgent.push_back((datagram, carries));
        self.touched = true;
    }

    /// Largest datagram that can go now; `None` before the handshake allows any.
    pub(crate) fn datagram_bytes_max(&mut self) -> Option<usize> {
        self.conn.datagrams().max_size()
    }

    /// From now on the receiver's reports drive the control law for video, and not quinn.
    pub(crate) fn drive_by_app(&mut self, now: Time) {
        self.video.sent_log.track_flight();
        self.gate.drive_by_app(now);
    }

    pub(crate) fn handle_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.video.handle_feedback(now, feedback);
        self.touched = true;
        self.take_outcomes(now);
    }

    fn take_outcomes(&mut self, now: Time) {
        while let Some(outcome) = self.video.sent_log.poll_outcome() {
            self.gate.on_outcome(now, outcome);
            self.touched = true;
        }
    }

    /// Tells the law that time passes, while there is traffic.
    fn tick(&mut self, now: Time) {
        if now < self.tick_at {
            return;
        }
        self.video.sent_log.expire(now);
        self.take_outcomes(now);
        if let Some(bytes) = self.video.sent_log.flight_bytes() {
            self.gate.set_in_flight(bytes);
        }
        self.gate.tick(now);
        let waits = self.gate.state().in_flight_bytes > 0 || self.video.sent_log.has_open();
        let traffic = waits || self.video.queue.queued_bytes() > 0;
        self.tick_at = if traffic { now + TICK } else { Time::MAX };
    }

    /// Packets and losses as the receiver's feedback has them.
    pub(crate) fn app_loss(&self) -> (u64, u64) {
        self.video.sent_log.judged()
    }

    /// Packets sent and declared lost, as quinn has them.
    pub(crate) fn transport_loss(&self) -> (u64, u64) {
        let path = self.conn.stats().path;
        (path.sent_packets, path.lost_packets)
    }

    pub(crate) fn timeout(&self) -> Time {
        self.quinn_timeout.min(self.paced_until).min(self.tick_at)
    }

    pub(crate) fn handle_timeout(&mut self, now: Time, clock: Clock) {
        if now >= self.quinn_timeout {
            self.conn.handle_timeout(clock.instant(now));
            self.touched = true;
        }
        if now >= self.paced_until {
            self.touched = true;
        }
        if now >= self.tick_at {
            let before = self.gate.state();
            self.tick(now);
            // Only what a tick changed may let something go that was held back.
            self.touched |= self.gate.state() != before;
        }
    }

    /// The next packet to send, written to `buffer`. When there is none, works out when to wake.
    pub(crate) fn poll_transmit(
        &mut self,
        now: Time,
        clock: Clock,
        arena: &mut Arena,
        buffer: &mut Vec<u8>,
    ) -> Option<(QuinnTransmit, Carried)> {
        if !self.touched {
            return None;
        }
        self.tick(now);
        // What still lay in quinn's queue and is gone without a packet did not fit a smaller one.
        self.take_left();
        let video_packet = self.feed(now, arena);
        buffer.clear();
        let transmit = self.conn.poll_transmit(clock.instant(now), 1, buffer);
        if let Some(transmit) = &transmit {
            let bytes = transmit.size as u64;
            if video_packet {
                self.pacer.on_sent(bytes);
                self.left(now, bytes);
            }
            self.tick_at = self.tick_at.min(now + TICK);
        }
        if transmit.is_none() {
            self.touched = false;
            self.quinn_timeout = self.conn.poll_timeout().map_or(Time::MAX, |at| clock.time(at));
        }
        transmit.map(|transmit| (transmit, self.take_left()))
    }

    /// What has left quinn's datagram queue since the last time.
    fn take_left(&mut self) -> Carried {
        if self.handed.is_empty() {
            return Carried::default();
        }
        let used = self.datagram_room.saturating_sub(self.conn.datagrams().send_buffer_space());
        self.handed.take_left(used)
    }

    /// Notes that the video datagram handed over last has left.
    fn left(&mut self, now: Time, bytes: u64) {
        if self.video.sent_log.tracks_flight()
            && let Some(sent) = self.video.sent_log.on_left(bytes, self.gate.is_app_limited())
        {
            self.gate.on_sent(now, &sent);
        }
    }

    /// How fast video may go, by the law or, where it leaves it open, by its window.
    fn pacing(&self, state: &GateState) -> PacingRate {
        let packet_bytes = u64::from(self.conn.current_mtu());
        let rate = state.pacing.unwrap_or_else(|| {
            PacingRate::from_window(state.window_bytes, self.conn.rtt().into(), packet_bytes)
        });
        PacingRate { burst_bytes: rate.burst_bytes.min(self.gate.burst_bytes_max()), ..rate }
    }

    /// Hands quinn the next datagram if one may go. Says whether it was video.
    fn feed(&mut self, now: Time, arena: &mut Arena) -> bool {
        self.paced_until = Time::MAX;
        let Some(bytes_max) = self.datagram_bytes_max() else { return false };
        if !self.urgent.is_empty() {
            // All at once: quinn puts into one packet what fits.
            while let Some((datagram, carries)) = self.urgent.pop_front() {
                self.hand_over(datagram, carries);
            }
            return false;
        }
        let payload_max = bytes_max.saturating_sub(self.video.head_bytes());
        let one_way = self.one_way();
        if !self.video_as_datagrams || !self.video.is_ready(now, one_way, payload_max) {
            self.gate.set_held(Held::Data);
            return false;
        }
        let packet_bytes = u64::from(self.conn.current_mtu());
        let state = self.gate.state();
        if !state.admits(packet_bytes) {
            self.gate.set_held(Held::Window);
            return false;
        }
        self.pacer.set_rate(now, self.pacing(&state));
        let at = self.pacer.admits_at(now, packet_bytes);
        if at > now {
            let fits = state.pacing.is_none() && state.admits(self.video.queue.queued_bytes());
            self.gate.set_held(Held::Pacer { fits });
            self.paced_until = at;
            return false;
        }
        let datagram = self.video.pop(now, one_way, payload_max, arena);
        let Some((datagram, part)) = datagram else { return false };
        self.hand_over(datagram, Carried::video(part));
        true
    }

    fn hand_over(&mut self, datagram: Bytes, carries: Carried) {
        self.gate.expect_eliciting();
        let mut queue = self.conn.datagrams();
        let room = queue.send_buffer_space();
        if queue.send(datagram, false).is_ok() {
            let used = room.saturating_sub(queue.send_buffer_space());
            self.handed.push(used, carries);
        } else {
            // The path's packet size fell between cutting and sending; the datagram is lost as on
            // the link.
            self.limit_hits += 1;
        }
    }

    pub(crate) fn snapshot(&self, skipped: u64) -> Snapshot {
        let stats = self.conn.stats();
        let GateState { window_bytes, in_flight_bytes, congestion_events, .. } = self.gate.state();
        let (packets_sent_again, repair_limit_hits) = self.video.repair_counts();
        let (app_packets_judged, app_packets_lost) = self.video.sent_log.judged();
        Snapshot {
            window_bytes,
            in_flight_bytes,
            rtt_smoothed: self.conn.rtt().into(),
            rtt_min: self.conn.min_rtt().into(),
            pacing_bits_per_sec: self.pacer.rate().bytes_per_sec.saturating_mul(8),
            queue_bytes: self.video.queue.queued_bytes(),
            queue_frames: self.video.queue.queued_frames(),
            counters: Counters {
                packets_sent: stats.path.sent_packets,
                bytes_sent: stats.udp_tx.bytes,
                packets_received: self.packets_received,
                packets_declared_lost: stats.path.lost_packets,
                congestion_events,
                app_packets_lost,
                app_packets_judged,
                packets_sent_again,
                frames_restored: 0,
                malformed: self.malformed,
                frames_skipped: skipped,
                frames_expired: self.video.queue.frames_expired(),
                limit_hits: repair_limit_hits
                    + self.limit_hits
                    + self.video.queue.limit_hits()
                    + self.video.sent_log.limit_hits(),
            },
        }
    }

    /// What this connection adds to its machine's counts.
    pub(crate) fn totals(&self) -> Totals {
        let path = self.conn.stats().path;
        let (_, app_packets_lost) = self.video.sent_log.judged();
        Totals { packets_sent: path.sent_packets, packets_declared_lost: path.lost_packets, app_packets_lost }
    }

    /// Round-trip times, if one was measured.
    pub(crate) fn round_trip(&self) -> Option<RoundTrip> {
        let measured = self.conn.stats().frame_rx.acks > 0;
        let min = self.conn.min_rtt();
        measured.then(|| RoundTrip {
            smoothed: self.conn.rtt().into(),
            min: (min < FIRST_RTT).then(|| min.into()),
        })
    }

    /// A number that grows with what the peer says, and with nothing else: only what it could encrypt counts.
    pub(crate) fn heard(&self) -> u64 {
        let frames = self.conn.stats().frame_rx;
        frames.acks + frames.ping + frames.datagram + frames.stream
    }

    /// Has the peer show that it is there.
    pub(crate) fn ping(&mut self) {
        self.conn.ping();
        self.touch();
    }

    /// Bytes of UDP payload a second that the control law allows.
    pub(crate) fn allowed_per_sec(&self) -> Option<f64> {
        let state = self.gate.state();
        if !state.limit_found {
            return None;
        }
        let by_window = state.window_bytes as f64 / self.conn.rtt().as_secs_f64().max(1e-3);
        Some(state.pacing.map_or(by_window, |pacing| by_window.min(pacing.bytes_per_sec as f64)))
    }

    /// How long a packet takes to the peer, by half the smoothed round trip.
    pub(crate) fn one_way(&self) -> Span {
        Span::from(self.conn.rtt()) / 2
    }
}

/// What quinn takes for the round trip before it has measured one (RFC 9002 §6.2.2).
const FIRST_RTT: Duration = Duration::from_millis(333);
/// Most small datagrams waiting; they wait only before the handshake is done.
const URGENT_MAX: usize = 64;
