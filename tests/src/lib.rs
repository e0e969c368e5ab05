//! What the integration tests share: cells made by name.

use std::sync::Arc;

use bench::netmodel::{Profile, builtin};
use bench::relay_core::Settings;
use bench::relay_core::settings::FecKind;
use bench::units::Span;
use bench::{Cell, CellResult, Workload};

/// A cell on a built-in profile with the default workload.
///
/// # Panics
/// If the profile does not exist.
pub fn cell(profile: &str, settings: Settings, seed: u64, duration: Span) -> Cell {
    let built_in = |name: &str| builtin::profile(name).unwrap_or_else(|| panic!("no profile `{name}`"));
    cell_on(built_in(profile), settings, seed, duration)
}

/// A cell on a profile of the test's own.
///
/// # Panics
/// If the robot hop's profile is not built in.
pub fn cell_on(profile: Profile, settings: Settings, seed: u64, duration: Span) -> Cell {
    Cell {
        profile: Arc::new(profile),
        robot_hop: Arc::new(builtin::profile("robot-hop").expect("the robot hop is built in")),
        settings_name: "test".to_owned(),
        settings: Arc::new(settings),
        workload: Arc::new(Workload::default()),
        seed,
        base_seed: 0,
        duration,
        warmup: Span::from_secs(5),
        offload: bench::Offload::default(),
        repeat: 1,
    }
}

/// The shipped settings without anything that repairs loss.
pub fn unprotected() -> Settings {
    let mut settings = Settings::default();
    settings.repair.enabled = false;
    settings.fec.kind = FecKind::None;
    settings
}

/// A profile from its text.
///
/// # Panics
/// If the text is not a profile.
pub fn profile(text: &str) -> Profile {
    Profile::parse("test", text).unwrap_or_else(|problems| panic!("{problems:?}"))
}

/// Runs a cell in the simulator.
///
/// # Panics
/// If it fails, with the cell's id.
pub fn run(cell: &Cell) -> CellResult {
    sim::run_cell(cell, sim::Options::default()).unwrap_or_else(|error| panic!("{}: {error}", cell.id()))
}

pub mod trio;
