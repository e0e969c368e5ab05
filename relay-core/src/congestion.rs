//! Congestion control of a hop: laws that compute a window and a pacing rate, and the gate that
//! enforces them.
//!
//! quinn-proto, when its window is shut while data is queued, also withholds acknowledgements,
//! which starves the peer's sender. So for datagrams quinn is told that its window is always open,
//! and the gate keeps back what the true window does not admit.
//!
//! A law is one file here that implements [`Controller`], one variant of
//! [`CongestionKind`](crate::settings::CongestionKind) and one line in `registry.rs`. The gate, the
//! property tests and the bottleneck tests take every law from that list.
//!
//! What is public is what it takes to run a law without QUIC, for a sender that shares a link with
//! the relay: [`build`], the trait, and the token bucket that keeps its rate.

mod controller;
mod delivery;
mod gate;
mod registry;
mod windowed_min;

#[cfg(test)]
mod bottleneck;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod quinn_twin;
#[cfg(test)]
mod watch;

mod bbr3;
mod c4;
mod copa;
mod cubic;
mod delay;
mod gcc;
mod loss_window;
mod measures;
mod nada;
mod new_reno;
mod open;
mod scream;

pub use self::controller::{Acked, Controller, Lost, Sent, Start, TICK, WINDOW_BYTES_MAX};
pub use self::registry::{build, kinds};
pub use crate::pacer::{Pacer, PacingRate};

pub(crate) use gate::{Enforce, Gate, GateState, Held};
