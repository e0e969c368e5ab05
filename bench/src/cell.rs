//! One cell: a profile, settings, a workload and a seed, with its identity and its randomness.

use std::sync::Arc;

use netmodel::{Profile, StreamKey};
use relay_core::Settings;
use serde::Serialize;
use units::Span;

use crate::offload::Offload;
use crate::place::End;
use crate::workload::Workload;

/// Everything that decides what happens in one cell.
#[derive(Debug, Clone)]
pub struct Cell {
    /// The operator hop's conditions.
    pub profile: Arc<Profile>,
    /// The robot hop's conditions.
    pub robot_hop: Arc<Profile>,
    /// What the settings are called in the scenario.
    pub settings_name: String,
    /// The relay configuration.
    pub settings: Arc<Settings>,
    /// The traffic.
    pub workload: Arc<Workload>,
    /// Seed index, as the scenario lists it.
    pub seed: u64,
    /// The seed that all cells of a scenario share.
    pub base_seed: u64,
    /// How long there is traffic.
    pub duration: Span,
    /// Time before the traffic, for the connections to come up.
    pub warmup: Span,
    /// How the ends use their sockets. Only in real mode does it matter.
    pub offload: Offload,
    /// Which run of the same cell this is, from 1. Only in real mode do they differ.
    pub repeat: u32,
}

impl Cell {
    /// How long a cell goes on after its traffic has ended, so that late frames land.
    pub const DRAIN: Span = Span::from_secs(3);

    /// `<profile>--<settings>--s<seed>--<hash8>`, and `.r<repeat>` from the second repeat on.
    ///
    /// The hash covers everything that decides the cell's outcome, as resolved, and the version of
    /// the result format: cells with equal ids have equal results. It names the cell's folder.
    pub fn id(&self) -> String {
        let content = Content {
            format: FORMAT_VERSION,
            profile: self.profile.to_toml(),
            robot_hop: self.robot_hop.to_toml(),
            settings: &self.settings,
            workload: &self.workload,
            duration_ns: self.duration.as_nanos(),
            warmup_ns: self.warmup.as_nanos(),
            base_seed: self.base_seed,
            seed: self.seed,
            offload: self.offload,
        };
        let hash = blake3::hash(&canonical(&content)).to_hex();
        let repeat = if self.repeat > 1 { format!(".r{}", self.repeat) } else { String::new() };
        format!("{}--{}--s{}--{}{repeat}", self.profile.name, self.settings_name, self.seed, &hash[..8])
    }

    /// The root of the cell's randomness.
    ///
    /// From base seed, profile name, workload and seed index. Not from a second flow beside the workload,
    /// so that the cameras and each packet of a link, by its number, are the same with and without it (on
    /// the link they share, numbers and draws go to packets of both flows as they come). Not from the settings, so that two
    /// settings meet the same link and the same cameras; not from the duration, so that a short
    /// cell is the beginning of a long one; and by the profile's name rather than its numbers, so
    /// that a profile with one number changed is compared with the same draws.
    pub fn key(&self) -> StreamKey {
        StreamKey::new(self.root())
    }

    /// Seed of a machine's own randomness (connection ids, packet numbers skipped).
    pub fn machine_seed(&self, end: End) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_keyed(&self.root());
        hasher.update(b"machine/");
        hasher.update(end.name().as_bytes());
        *hasher.finalize().as_bytes()
    }

    fn root(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("arcbench cell randomness v1");
        hasher.update(&self.base_seed.to_le_bytes());
        hasher.update(&self.seed.to_le_bytes());
        hasher.update(&(self.profile.name.len() as u64).to_le_bytes());
        hasher.update(self.profile.name.as_bytes());
        hasher.update(&canonical(&Workload { cross_traffic: None, ..Workload::clone(&self.workload) }));
        *hasher.finalize().as_bytes()
    }
}

/// The one text of `content`: fields in their order, numbers in their shortest form.
fn canonical(content: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(content).expect("plain data with text keys becomes JSON")
}

/// What the hash of a cell's id is taken over, in this order.
#[derive(Serialize)]
struct Content<'a> {
    format: u32,
    profile: String,
    robot_hop: String,
    settings: &'a Settings,
    workload: &'a Workload,
    duration_ns: u64,
    warmup_ns: u64,
    base_seed: u64,
    seed: u64,
    /// Left out where it is the default, so that folders from before there was a choice go on.
    #[serde(skip_serializing_if = "Offload::is_default")]
    offload: Offload,
}

/// Version of the result format; part of every cell's id, so that old results are not taken for
/// new ones.
pub const FORMAT_VERSION: u32 = 1;

/// A two-minute cell on the default profile for the tests of this crate.
#[cfg(test)]
pub(crate) fn test_cell(seed: u64) -> Cell {
    let profile = |name| Arc::new(netmodel::builtin::profile(name).expect("it is built in"));
    Cell {
        profile: profile("good-india"),
        robot_hop: profile("robot-hop"),
        settings_name: "default".to_owned(),
        settings: Arc::default(),
        workload: Arc::default(),
        seed,
        base_seed: 1,
        duration: Span::from_secs(120),
        warmup: Span::from_secs(5),
        offload: Offload::default(),
        repeat: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_names_its_cell_and_changes_with_every_part() {
        let cell = test_cell(1);
        let id = cell.id();
        assert!(id.starts_with("good-india--default--s1--"), "{id}");
        assert_eq!(id.len(), "good-india--default--s1--".len() + 8);
        assert_eq!(id, cell.clone().id());
        assert_eq!(Cell { repeat: 2, ..cell.clone() }.id(), format!("{id}.r2"));
        let hash = |change: &dyn Fn(&mut Cell)| {
            let mut other = cell.clone();
            change(&mut other);
            other.id().rsplit("--").next().unwrap().to_owned()
        };
        let own = id.rsplit("--").next().unwrap();
        let mut settings = Settings::default();
        settings.skip.keep_one_in = 4;
        assert_ne!(hash(&|c| c.settings = Arc::new(settings.clone())), own);
        assert_ne!(hash(&|c| c.duration = Span::from_secs(60)), own);
        assert_ne!(hash(&|c| c.warmup = Span::from_secs(4)), own);
        assert_ne!(hash(&|c| c.base_seed = 2), own);
        assert_ne!(hash(&|c| c.seed = 2), own);
        assert_ne!(hash(&|c| c.robot_hop = Arc::clone(&c.profile)), own);
        assert_ne!(hash(&|c| c.offload.gro = false), own);
        let workload = Workload { gop: 2, ..Workload::default() };
        assert_ne!(hash(&|c| c.workload = Arc::new(workload.clone())), own);
    }

    #[test]
    fn randomness_is_paired_across_settings_and_durations() {
        let cell = test_cell(1);
        let root = |change: &dyn Fn(&mut Cell)| {
            let mut other = cell.clone();
            change(&mut other);
            other.root()
        };
        let mut settings = Settings::default();
        settings.skip.keep_one_in = 4;
        assert_eq!(root(&|c| c.settings = Arc::new(settings.clone())), cell.root());
        assert_eq!(root(&|c| c.duration = Span::from_secs(1)), cell.root());
        assert_eq!(root(&|c| c.offload.gso = false), cell.root());
        assert_ne!(root(&|c| c.seed = 2), cell.root());
        assert_ne!(root(&|c| c.base_seed = 2), cell.root());
        assert_ne!(root(&|c| c.profile = Arc::clone(&c.robot_hop)), cell.root());
        assert_ne!(cell.machine_seed(End::Robot), cell.machine_seed(End::Relay));
    }
}
