//! What can be chosen about a driver, and what it tells in the end.

use bench::units::Span;

use crate::lag::Lag;

/// How a driver uses its socket and its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether datagrams of one size to one address that come one after the other go to the kernel in one call (generic
    /// segmentation offload). Default true. Saves processor time; a link that takes the whole for one packet loses ten
    /// datagrams at once.
    pub gso: bool,
    /// Whether the kernel may hand over several datagrams of one flow at once (generic receive offload). Default true.
    pub gro: bool,
    /// How long before a deadline the driver stops sleeping and spins. Default 0, at most 100 µs. Each end that spins takes a
    /// processor while it does; with fewer processors than ends it makes all of them late.
    pub spin: Span,
}

impl Default for Options {
    fn default() -> Self {
        Self { gso: true, gro: true, spin: Span::ZERO }
    }
}

/// What a driver counted.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// How long after its deadline each timeout and each input was dealt with.
    pub timer_lag: Lag,
    /// How long each received datagram waited between the kernel and the machine, where the kernel says.
    pub receive_lag: Lag,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Calls that sent them.
    pub send_calls: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Pieces in which the kernel handed them over: one each without receive offload.
    pub pieces_received: u64,
    /// Calls that received at least one.
    pub receive_calls: u64,
    /// Datagrams that the kernel would not send: no route, no permission, no buffer. They are lost as on a link.
    pub send_errors: u64,
    /// What the kernel said the last time that it would not.
    pub send_error: Option<String>,
    /// Probes of the path's packet size that were too large for the local device; no error.
    pub probes_too_large: u64,
    /// Times that sending had to wait for room in the socket.
    pub sends_blocked: u64,
    /// Datagrams that the socket's receive buffer had no room for, or that waited in it for over a second; `None` where the kernel does not say.
    pub dropped_at_socket: Option<u64>,
}
