//! Sans-IO models of network links, the profile schema, and seeded random streams.
//!
//! A [`Profile`] states the conditions of a link in both directions, read from TOML. A [`Link`]
//! is one direction of it at work: packets go in with a time, and come out with a time, or do
//! not. A [`StreamKey`] is the root of one cell's randomness.
//!
//! The stages of a link, in the order a packet meets them, are: **outage and loss** (does the
//! packet enter at all), **queue at a rate** (the bottleneck), **delay with jitter** (or the loss and delay of
//! **kernel netem**, to the bit), and then **duplication and corruption** of what arrives. [`Link`] documents each.
//!
//! Nothing here reads a clock, a file, a socket or the machine's randomness: time is an argument,
//! and a trace file's text comes through a loader that the caller gives. The crate knows nothing
//! of transports, relays or scenarios.

mod aqm;
pub mod builtin;
mod counters;
mod delay;
pub mod document;
mod flight;
mod link;
mod loss;
mod netem;
mod normal;
mod phase;
pub mod profile;
mod queue;
mod random;
mod rate;
mod trace;

pub use units;

pub use aqm::QueueDrop;
pub use counters::{Count, LinkCounters};
pub use link::{Admission, Exit, Link, Verdict};
pub use normal::normal_quantile;
pub use profile::{DirectionProfile, Profile, ProfileFile, profile_schema};
pub use random::{Stream, StreamKey};
pub use trace::{Trace, TraceError};
