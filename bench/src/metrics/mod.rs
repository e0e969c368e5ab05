//! Every metric of a cell, computed from timestamped events.
//!
//! A [`Recorder`] is told what happened, in time order, by whoever runs the cell: the simulator or
//! the real-mode driver. It keeps what the metrics need, hashes the trace, writes the events log
//! where asked, and in the end gives a [`CellResult`]. It decides nothing and asks nothing.
//!
//! The measured interval is the traffic: from the end of the warm-up for the cell's duration.
//! A frame that becomes complete in the drain after it counts as delivered.

mod cause;
mod commands;
mod connections;
mod flow;
mod frames;
mod freezes;
mod journey;
mod link;
mod log;
pub mod playout;
mod recorder;
mod seconds;
pub mod summary;
#[cfg(test)]
mod tests;
mod trace;
mod why;

pub use cause::{Cause, CauseCounts, CauseSummary, LATE_AFTER};
pub use frames::FrameRow;
pub use freezes::FreezeRow;
pub use recorder::Recorder;
pub use seconds::{CameraSecondRow, LinkSecondRow, RelaySecondRow, SecondRow};
pub use summary::{GateRow, Grid, ReferenceRow, Summary};

/// Version of what the metrics mean. It grows when the same events give another number under the same
/// name, so that results from before and after are not compared.
pub const VERSION: u32 = 1;

/// All that one cell came to.
#[derive(Debug)]
pub struct CellResult {
    /// The numbers.
    pub summary: Summary,
    /// What became of each frame: cameras in the workload's order, frames by number.
    pub frames: Vec<FrameRow>,
    /// The freezes: cameras in the workload's order, each camera's by time. At most 100,000; the summary
    /// counts all.
    pub freezes: Vec<FreezeRow>,
    /// From each hand movement to its command, in microseconds, in the order of the movements; those
    /// without a command left out.
    pub hand_to_command_us: Vec<u64>,
    /// What happened in each second.
    pub seconds: Vec<SecondRow>,
    /// What went wrong while writing the events log, if anything did.
    pub log_error: Option<std::io::Error>,
}
