//! `arcbench list`: what a scenario would run, without running it.

use std::fmt::Write as _;

use bench::relay_core::settings::{Fec, FecAmount, FecKind, Settings};
use bench::{Cell, Workload};
use report::{Align, Sheet};

use crate::args::{Format, List};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::{self, Loaded};
use crate::output;
use crate::records::{self, ListRecord, ListedCell};

/// Loads the scenario and prints its cells.
pub(crate) fn run(arguments: &List) -> Result<Exit, Failure> {
    let loaded = input::load(&arguments.selection)?;
    match arguments.format {
        Format::Human => output::data(&human(&loaded))?,
        Format::Json => output::data(&records::line(&record(&loaded))?)?,
        Format::Markdown => output::data(&sheet(&loaded).markdown())?,
        Format::Csv => output::data(&sheet(&loaded).csv())?,
    }
    Ok(Exit::Ok)
}

fn human(loaded: &Loaded) -> String {
    let cells = &loaded.cells;
    let profiles = distinct(cells, |cell| cell.profile.name.clone());
    let settings = distinct(cells, |cell| cell.settings_name.clone());
    let seeds = distinct(cells, |cell| cell.seed.to_string());
    let durations = distinct(cells, |cell| cell.duration.to_string());
    let packets: u64 = cells.iter().map(packets_estimated).sum();
    let mut out = format!("{}: {} cells of {}\n", loaded.name, cells.len(), durations.join(", "));
    let _ = writeln!(
        out,
        "  about {:.1} million packets on both hops together where nothing is lost or left out",
        packets as f64 / 1e6
    );
    for (label, names) in [("profiles", profiles), ("settings", settings), ("seeds", seeds)] {
        let _ = writeln!(out, "  {label} ({}): {}", names.len(), names.join(", "));
    }
    let _ = writeln!(out, "cells, each in a folder of this name:");
    for cell in cells {
        let _ = writeln!(out, "  {}", cell.id());
    }
    out
}

/// A row for each cell.
fn sheet(loaded: &Loaded) -> Sheet {
    let (left, right) = (Align::Left, Align::Right);
    let mut sheet = Sheet::new([
        ("cell", left),
        ("profile", left),
        ("settings", left),
        ("seed", right),
        ("duration_s", right),
        ("packets_estimated", right),
    ]);
    for cell in &loaded.cells {
        sheet.row([
            cell.id(),
            cell.profile.name.clone(),
            cell.settings_name.clone(),
            cell.seed.to_string(),
            cell.duration.as_secs_f64().to_string(),
            packets_estimated(cell).to_string(),
        ]);
    }
    sheet
}

fn record(loaded: &Loaded) -> ListRecord {
    let cell = |cell: &Cell| ListedCell {
        cell: cell.id(),
        profile: cell.profile.name.clone(),
        settings: cell.settings_name.clone(),
        seed: cell.seed.to_string(),
        duration_s: cell.duration.as_secs_f64(),
        packets_estimated: packets_estimated(cell),
    };
    ListRecord {
        schema: "arcbench.list",
        version: records::VERSION,
        scenario: loaded.name.clone(),
        cells: loaded.cells.iter().map(cell).collect(),
    }
}

/// What differs between cells, in the order of the cells.
pub(crate) fn distinct(cells: &[Cell], of: impl Fn(&Cell) -> String) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in cells.iter().map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Roughly how many packets a cell sends on both hops, were nothing lost, skipped or held back.
///
/// Each datagram crosses two hops. The other side acknowledges every second one (RFC 9000 §13.2.2),
/// on the operator hop as seldom as the settings say, and reports on the video at the settings'
/// interval.
fn packets_estimated(cell: &Cell) -> u64 {
    (packets_per_s(&cell.workload, &cell.settings) * cell.duration.as_secs_f64()) as u64
}

fn packets_per_s(workload: &Workload, settings: &Settings) -> f64 {
    let datagram_bytes = if settings.mtu.discovery {
        DATAGRAM_BYTES
    } else {
        settings.mtu.initial.as_bytes().saturating_sub(DATAGRAM_OVERHEAD_BYTES).max(1)
    };
    let (mut video, mut parity) = (0.0, 0.0);
    for camera in &workload.cameras {
        let parts = camera.frame_bytes.as_bytes().div_ceil(datagram_bytes) as f64;
        video += f64::from(camera.frames_per_s) * parts;
        parity += f64::from(camera.frames_per_s) * parity_packets(&settings.fec, parts);
    }
    let poses = f64::from(workload.poses_per_s);
    let reports = 1.0 / settings.feedback.interval.as_secs_f64();
    let robot_hop = (video + poses) * (1.0 + ACKS_PER_PACKET);
    let acks = ACKS_PER_PACKET.min(1.0 / f64::from(settings.feedback.ack_packets));
    robot_hop + (video + parity + poses + reports) * (1.0 + acks)
}

/// Parity packets for a frame of so many; of parity that adapts, what a clean link has.
fn parity_packets(fec: &Fec, parts: f64) -> f64 {
    match (fec.kind, fec.amount) {
        (FecKind::None, _) => 0.0,
        (FecKind::Block | FecKind::Window, FecAmount::Fixed) => (parts * fec.ratio.as_f64()).ceil(),
        (FecKind::Block | FecKind::Window, FecAmount::Adaptive) => 1.0,
    }
}

/// Frame bytes that a datagram carries once discovery has found that 1500-byte packets pass.
const DATAGRAM_BYTES: u64 = 1390;
/// What QUIC and the header of a frame's part take of a datagram.
const DATAGRAM_OVERHEAD_BYTES: u64 = 60;
/// QUIC acknowledges every second packet.
const ACKS_PER_PACKET: f64 = 0.5;
