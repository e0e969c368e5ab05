//! The shape that robot, relay and operator share, and what their driver can read off them.

use std::net::SocketAddr;

use bytes::BytesMut;
use units::{Span, Time};

use crate::carried::Carried;
use crate::event::Event;

/// One UDP datagram (or, with `segment_bytes`, several of equal size) to send.
///
/// Its bytes are the first `bytes` of the buffer that was given to [`Machine::poll_output`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Whom it is for.
    pub to: SocketAddr,
    /// How many bytes of the buffer it takes.
    pub bytes: usize,
    /// The two ECN bits of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// With generic segmentation offload, the size of each datagram but the last.
    pub segment_bytes: Option<usize>,
    /// What is in it; not a part of it.
    pub carries: Carried,
}

/// What a machine wants next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Send this; its bytes are in the buffer.
    Transmit(Transmit),
    /// Note this.
    Event(Event),
    /// Nothing until a datagram, an input, or this moment ([`Time::MAX`]: only an input). A moment that is
    /// not later than now asks for [`Machine::handle_timeout`] at once.
    Wait(Time),
}

/// A sans-IO machine: a robot end, a relay or an operator end.
///
/// After any call to a `handle_*` method (and after any input of the machine's own), the driver
/// calls [`poll_output`](Self::poll_output) until it answers [`Output::Wait`].
pub trait Machine {
    /// Takes one received UDP datagram. Malformed ones are counted and dropped.
    ///
    /// `ecn` is the two ECN bits as in [`Transmit::ecn`].
    fn handle_datagram(&mut self, now: Time, from: SocketAddr, ecn: u8, datagram: BytesMut);

    /// Lets time pass. Calling it early or late is harmless.
    fn handle_timeout(&mut self, now: Time);

    /// The next thing to do. `buffer` is cleared and filled for [`Output::Transmit`].
    fn poll_output(&mut self, now: Time, buffer: &mut Vec<u8>) -> Output;

    /// Cumulative counters of the hop towards `role`'s end: for the relay the hop to that peer;
    /// an end has one hop and ignores `role`.
    fn snapshot(&self, now: Time, role: crate::Role) -> Snapshot;
}

/// The state of one hop's sending side at one moment; what the per-second table samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Congestion window in bytes.
    pub window_bytes: u64,
    /// Bytes sent and neither acknowledged nor declared lost.
    pub in_flight_bytes: u64,
    /// Smoothed round-trip time.
    pub rtt_smoothed: Span,
    /// Least round-trip time seen.
    pub rtt_min: Span,
    /// Pacing rate in bits a second; `u64::MAX` when not paced.
    pub pacing_bits_per_sec: u64,
    /// Bytes of frames waiting to be handed to the transport.
    pub queue_bytes: u64,
    /// Frames waiting, whole or in part.
    pub queue_frames: u64,
    /// What was counted since the start.
    pub counters: Counters,
}

/// Round-trip times of one connection, once there was one to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrip {
    /// Smoothed.
    pub smoothed: Span,
    /// The least. `None` while all were longer than 333 ms, since QUIC's estimator begins there.
    pub min: Option<Span>,
}

/// Counts over all connections of a machine since it began, those that are gone included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// Packets that loss detection declared lost, rightly or not.
    pub packets_declared_lost: u64,
    /// Application datagrams that receivers' feedback reported as never arrived.
    pub app_packets_lost: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.packets_sent += other.packets_sent;
        self.packets_declared_lost += other.packets_declared_lost;
        self.app_packets_lost += other.app_packets_lost;
    }
}

/// Cumulative counts of one hop, as its sending side sees it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// UDP payload bytes sent.
    pub bytes_sent: u64,
    /// QUIC packets received.
    pub packets_received: u64,
    /// Packets that loss detection declared lost, rightly or not.
    pub packets_declared_lost: u64,
    /// Times the congestion controller was told of congestion.
    pub congestion_events: u64,
    /// Application datagrams the receiver's feedback reported as never arrived.
    pub app_packets_lost: u64,
    /// Application datagrams that feedback has judged, arrived or not.
    pub app_packets_judged: u64,
    /// Video packets that repair sent again.
    pub packets_sent_again: u64,
    /// At the operator's end: frames that parity made whole.
    pub frames_restored: u64,
    /// Received datagrams that were malformed and dropped.
    pub malformed: u64,
    /// Frames skipped because of measured loss.
    pub frames_skipped: u64,
    /// Frames given up at the frame deadline.
    pub frames_expired: u64,
    /// Times some bounded queue or table was full and something was discarded.
    pub limit_hits: u64,
}
