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
