//! Loss as the application sees it: what the receiver got, by sequence number, and what the sender
//! makes of that.
//!
//! QUIC's own loss detection takes a packet that merely came late for lost. Here a datagram counts
//! as lost only when it has not arrived although it had ample time to.

mod flight;
mod receiver;
mod sent_log;
mod window;

pub(crate) use receiver::ReceiverLog;
pub(crate) use sent_log::{News, Outcome, Piece, SentLog};
pub(crate) use window::LossWindow;

/// When nothing arrives that was sent within so long, the link was gone: that is three frames of a camera and more,
/// and longer than any burst of loss that parity could repair. Loss without a gap, such as a policer's, always lets
/// something through in that time.
pub(crate) const OUTAGE_MIN: units::Span = units::Span::from_millis(200);
