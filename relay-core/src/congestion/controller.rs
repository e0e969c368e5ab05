//! The project's own trait of a congestion controller.
//!
//! A law is written once against this trait and runs unchanged inside quinn-proto (through the
//! adapter of the gate, which has no receive times), over the application's own feedback (which
//! has), and alone under property tests. It reads no clock: every call says what time it is.

use units::{Span, Time};

use crate::pacer::PacingRate;
use crate::settings::Congestion;

/// A packet that was just sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Its UDP payload bytes.
    pub bytes: u64,
    /// Bytes in flight, this packet included.
    pub in_flight_bytes: u64,
    /// Whether nothing but lack of data has held the sender back since its queue was last empty,
    /// so that the window did not matter.
    pub app_limited: bool,
}

/// A packet that the peer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acked {
    /// Its UDP payload bytes.
    pub bytes: u64,
    /// When it was sent.
    pub sent_at: Time,
    /// When it arrived, on the receiver's clock, whose offset is unknown but steady. `None` where
    /// the feedback does not say.
    pub received_at: Option<Time>,
    /// From sending to this acknowledgement, the receiver's waiting included.
    pub rtt: Span,
    /// Bytes in flight after it was taken out.
    pub in_flight_bytes: u64,
    /// What [`Sent::app_limited`] said when it was sent.
    pub app_limited: bool,
    /// Whether the sender lacks data now. It is what quinn's own controllers go by; a law that is
    /// not to follow them asks for `app_limited`.
    pub app_limited_now: bool,
}

/// A packet that was declared lost, or, inside quinn, all that were declared lost at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// Their UDP payload bytes.
    pub bytes: u64,
    /// When the last of them was sent.
    pub sent_at: Time,
    /// Bytes in flight after they were taken out.
    pub in_flight_bytes: u64,
    /// Whether everything sent over a persistent-congestion period was lost (RFC 9002 §7.6).
    pub persistent: bool,
}

/// A congestion control law.
///
/// Whatever sequence of calls it meets, with times that do not go back and byte counts below
/// 2^40, acknowledgements and losses of packets that it was never told of among them (those of the
/// handshake): it does not panic, its window is between two packets and [`WINDOW_BYTES_MAX`], and its
/// pacing rate, if it has one, is above zero.
pub trait Controller: Send + std::fmt::Debug {
    /// A packet was sent. Nothing to most laws that go by acknowledgements alone.
    fn on_sent(&mut self, _now: Time, _sent: &Sent) {}
    /// A packet was acknowledged. Acknowledgements may come in any order.
    fn on_acked(&mut self, now: Time, acked: &Acked);
    /// A packet was declared lost; it may still be acknowledged later.
    fn on_lost(&mut self, now: Time, lost: &Lost);
    /// The network marked a packet sent at `sent_at` instead of dropping it (ECN).
    fn on_marked(&mut self, now: Time, sent_at: Time);
    /// Time passes; called about every [`TICK`] while there is traffic. Nothing to a law that packets drive.
    fn on_tick(&mut self, _now: Time) {}
    /// The path is a new one; what was learnt of the old one is void. The law is as new, at its
    /// initial window; packets of the old path may still be acknowledged or declared lost.
    fn on_path_change(&mut self, now: Time);
    /// The largest packet of the path is `packet_bytes` from now on; two of them are the least
    /// window.
    fn on_packet_size(&mut self, packet_bytes: u64);
    /// Bytes that may be in flight.
    fn window_bytes(&self) -> u64;
    /// How fast to send; `None` leaves it to a window a round trip.
    fn pacing(&self) -> Option<PacingRate>;
    /// Whether the link has shown a limit. Before it has, window and pacing say what was used so far, and
    /// not what there is.
    fn has_found_limit(&self) -> bool {
        true
    }
}

/// What a law starts from.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    /// The moment it starts.
    pub now: Time,
    /// Window before anything has been acknowledged; at least two packets.
    pub initial_window_bytes: u64,
    /// The largest packet of the path.
    pub packet_bytes: u64,
    /// Every setting of the group, for laws with parameters of their own.
    pub settings: &'a Congestion,
}

/// How often time is said to pass.
pub const TICK: Span = Span::from_millis(25);

/// No window is larger.
pub const WINDOW_BYTES_MAX: u64 = 1 << 30;
