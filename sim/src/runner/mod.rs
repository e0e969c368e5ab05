//! One cell from start to end in virtual time.
//!
//! Time is an integer and jumps from one thing to do to the next; see [`calendar`] for what comes
//! first at the same moment. Each step wakes one actor: a link with a packet to deliver, the
//! traffic, a machine whose timer is due, or the sampler. A machine that was woken is asked for
//! outputs until it has none, and what it sends goes to the links at once. Nothing that was not
//! woken is asked anything.

mod arena;
mod calendar;
mod guard;
mod machines;
mod network;
mod world;

use bench::{Cell, CellResult};

use crate::error::SimError;
use crate::pool::EventLog;
use crate::tap::{KeyLogSink, QlogSink, Tap};

/// What protects the packets of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Crypto {
    /// Nothing: see [`crate::null_crypto`]. Fast, and deterministic to the last byte.
    #[default]
    Null,
    /// TLS 1.3 by rustls with an Ed25519 certificate. The same packet sizes, other bytes in every
    /// process, and about one and a half times the processor time.
    Tls,
}

/// How to run a cell.
#[derive(Default)]
pub struct Options<'a> {
    /// What protects its packets. Default nothing.
    pub crypto: Crypto,
    /// Where its events go, one JSON object a line. Default nowhere.
    pub log: Option<EventLog>,
    /// Who listens in. Default nobody.
    pub tap: Option<&'a mut dyn Tap>,
    /// Where QUIC's own qlog goes. Default nowhere.
    pub qlog: Option<QlogSink>,
    /// Where the secrets of [`Crypto::Tls`] go. Default nowhere.
    pub key_log: Option<KeyLogSink>,
}

/// Runs one cell. The result is a function of the cell alone; `cpu_s` is left to whoever has a
/// clock.
pub fn run_cell(cell: &Cell, options: Options<'_>) -> Result<CellResult, SimError> {
    let mut world = world::World::new(cell, options)?;
    world.run()?;
    Ok(world.finish())
}
