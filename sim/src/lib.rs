//! The virtual-time simulator: one cell, from its first handshake to its last late frame, on an
//! integer clock.
//!
//! [`run_cell`] drives a robot end, a relay and an operator end of `relay-core` over four modelled
//! links of `netmodel`, feeds them the workload of `bench` and everything they did to its recorder.
//! [`Pool`] does that for many cells on many threads and hands the results back in cell order. A
//! [`Tap`] listens in on one of them.
//!
//! Nothing here reads a clock, opens a socket or draws randomness from the operating system on the
//! way to a result: the same cell gives the same bytes in any process, on any number of threads.
//! By default packets are not encrypted ([`null_crypto`]); with [`Crypto::Tls`] they are, with the
//! same packet sizes, so that one can be checked against the other.

mod epoch;
mod error;
pub mod null_crypto;
mod pool;
pub mod quic;
mod runner;
pub mod tap;
#[cfg(test)]
mod tests;
mod tls;

pub use error::SimError;
pub use pool::{EventLog, Hooks, Pool};
pub use runner::{Crypto, Options, run_cell};
pub use tap::Tap;
