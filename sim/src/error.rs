//! Why a cell has no result.

use std::net::SocketAddr;

use netmodel::units::Time;

/// Reads after "failed to run the cell:".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// A machine could not be built from its settings.
    #[error("a machine could not be set up: {0}")]
    Setup(#[from] relay_core::SetupError),
    /// No certificate or TLS configuration could be made.
    #[error("TLS could not be set up: {0}")]
    Tls(String),
    /// The event log could not be opened.
    #[error("the event log could not be opened: {0}")]
    Log(#[source] std::io::Error),
    /// A machine sent a datagram to an address that is nobody's.
    #[error("a datagram was sent to {to}, which is nobody's address, at {at:?}")]
    Unroutable {
        /// Where it was sent.
        to: SocketAddr,
        /// When.
        at: Time,
    },
    /// The machines went on without time passing.
    #[error("no end of things to do at {at:?}: {steps} steps without time passing")]
    Runaway {
        /// When.
        at: Time,
        /// How many steps were taken at that moment.
        steps: u32,
    },
    /// More packets than any sensible cell sends.
    #[error("more than {limit} packets by {at:?}")]
    TooManyPackets {
        /// When the limit was passed.
        at: Time,
        /// The limit.
        limit: u64,
    },
    /// The simulator or a machine panicked, which is a defect.
    #[error("a panic, which is a defect: {message}")]
    Panicked {
        /// The panic's message.
        message: String,
    },
}
