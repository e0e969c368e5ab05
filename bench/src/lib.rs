//! What the bench measures and how its runs are named, kept and described.
//!
//! This crate turns a scenario file into [`Cell`]s ([`Scenario`]), makes the traffic of a cell
//! ([`workload::Source`]), computes every metric from timestamped events ([`Recorder`]) and keeps
//! the results of a run on disk ([`RunFolder`]). The simulator and the real-mode driver feed the
//! same [`Recorder`], so a metric has one definition and one piece of code.
//!
//! It runs nothing itself: it knows no clock, no socket, no QUIC and no link beyond what they
//! count.

#![cfg_attr(test, expect(clippy::float_cmp, reason = "results are rounded, and tests compare them exactly"))]

pub use {netmodel, relay_core, units};

pub mod builtin;
pub mod bulk;
pub mod cell;
pub mod metrics;
mod named;
mod offload;
mod place;
pub mod run_folder;
pub mod scenario;
pub mod schema;
pub mod statistics;
pub mod workload;

pub use builtin::{builtin_scenario, builtin_scenario_names};
pub use cell::Cell;
pub use metrics::{Cause, CellResult, FrameRow, FreezeRow, Grid, Recorder, SecondRow, Summary};
pub use named::Named;
pub use offload::Offload;
pub use place::{Direction, End, Hop};
pub use run_folder::{CellFolder, Manifest, RunFolder, RunFolderError};
pub use scenario::{ErrorKind, Overrides, Scenario, ScenarioErrors};
pub use schema::{grid_schema, scenario_schema, settings_schema};
pub use workload::{Input, Source, Workload};

/// What IPv4 (20 bytes) and UDP (8 bytes) add to a UDP payload on the link.
pub const IP_UDP_OVERHEAD_BYTES: u32 = 28;
