//! What the links of a cell did, and how well they kept time.

use std::time::Duration;

use bench::{Direction, Hop};
use netmodel::LinkCounters;

use super::plan::LINKS;
use crate::lag::Lag;

/// The report of a cell's links.
#[derive(Debug, Clone, Default)]
pub struct LinkReport {
    /// The backend; empty where there is none.
    pub backend: &'static str,
    /// What the stages of each link did, in the order of [`LINKS`]; all zero where the backend does
    /// not know.
    pub links: [LinkCounters; 4],
    /// How much later than the model said packets left. It does not accumulate: the times of the model count
    /// from the kernel's stamps.
    pub release_lag: Lag,
    /// How long packets waited for the link's thread to take them in.
    pub arrival_lag: Lag,
    /// Frames that were not packets of the cell, and went nowhere.
    pub strays: u64,
    /// Packets that came without a stamp of the kernel's, or with one that cannot be.
    pub unstamped: u64,
    /// Frames that the kernel dropped because the link did not take them in time.
    pub socket_drops: u64,
    /// Packets that the kernel did not take at the exit.
    pub send_failures: u64,
    /// Packet events that nobody took.
    pub events_dropped: u64,
    /// Processor time of the link's thread.
    pub cpu: Duration,
    /// How long the links were there.
    pub wall: Duration,
    /// What the system did not allow, for people.
    pub notes: Vec<String>,
}

impl LinkReport {
    /// What each link's stages did, of those that carried anything and counted it.
    pub fn counted(&self) -> impl Iterator<Item = (Hop, Direction, &LinkCounters)> {
        let counted = LINKS.into_iter().zip(&self.links).filter(|(_, counters)| counters.offered.packets > 0);
        counted.map(|(place, counters)| (place.hop, place.direction, counters))
    }

    /// Packets that devices and sockets dropped although the model did not.
    pub fn dropped(&self) -> u64 {
        self.socket_drops + self.send_failures
    }
}
