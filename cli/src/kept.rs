//! A run that was kept: its scenario and what its cells came to, read from its folder.
//!
//! Nothing is locked and nothing is written: a run that is still at work can be looked at.

use std::fs;
use std::path::{Path, PathBuf};

use bench::metrics::summary::seed_label;
use bench::{Cell, Manifest, Scenario, Summary};
use report::{Known, Shape};

use crate::args::{Crypto, Format};
use crate::failure::Failure;
use crate::{diagnostics, output, place, real, show, text_file};

/// What a run folder holds.
pub(crate) struct Kept {
    /// The folder.
    pub(crate) path: PathBuf,
    /// Whether nobody named it, and it was taken as the newest in ./runs.
    pub(crate) newest: bool,
    /// The run's id: the folder's name.
    pub(crate) id: String,
    /// What was asked.
    pub(crate) scenario: Scenario,
    /// The cells that it names, in its order; never empty.
    pub(crate) cells: Vec<Cell>,
    /// What has ended of them, in the same order.
    pub(crate) summaries: Vec<Summary>,
    /// Version of what the metrics mean.
    pub(crate) metrics: u32,
    /// What protected the packets, where the manifest says so.
    pub(crate) crypto: Option<String>,
    /// What carried the packets of real cells; `None` of simulated ones.
    pub(crate) backend: Option<String>,
}

impl Kept {
    /// Reads the run in `folder`, or in the newest folder of ./runs.
    pub(crate) fn find(folder: Option<&Path>) -> Result<Self, Failure> {
        let newest = || {
            show::newest(Path::new(place::RUNS)).ok_or_else(|| {
                Failure::usage(format!("there is no run in ./{}", place::RUNS))
                    .help("name a run folder, or begin one with `arcbench run`")
            })
        };
        let mut kept = Self::read(&folder.map_or_else(newest, |folder| Ok(folder.to_owned()))?)?;
        kept.newest = folder.is_none();
        Ok(kept)
    }

    /// Reads the run in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, Failure> {
        let file = folder.join(SCENARIO);
        let shown = file.display().to_string();
        let text = text_file::read(&file).map_err(|reason| {
            Failure::usage(format!("`{}` is no run folder: {reason}", folder.display()))
                .help("a run folder is what `arcbench run` leaves, in ./runs where it is not told otherwise")
        })?;
        let scenario = Scenario::parse(&shown, &text, &|_| None)
            .map_err(|errors| diagnostics::failure(&errors.sources))?;
        let manifest = manifest(folder);
        refuse_later(folder, manifest.as_ref())?;
        let found = ended(&folder.join(CELLS))?;
        let repeats = found.iter().map(|cell| cell.repeat).filter(|repeat| *repeat <= REPEATS_MAX).max();
        let cells = real::repeated(&scenario.cells(), repeats.unwrap_or(1).max(1));
        let summary = |cell: &Cell| {
            let (id, seed) = (cell.id(), cell.seed.to_string());
            let same = |found: &&Summary| {
                let names = (found.profile.as_str(), found.settings.as_str(), found.seed.as_str());
                names == (cell.profile.name.as_str(), cell.settings_name.as_str(), seed.as_str())
                    && found.repeat.max(1) == cell.repeat
            };
            // A cell of an older build can have another hash for the same resolved scenario.
            found.iter().find(|found| found.cell == id).or_else(|| found.iter().find(same)).cloned()
        };
        let summaries = cells.iter().filter_map(summary).collect();
        let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let id =
            absolute.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
        Ok(Self {
            path: folder.to_owned(),
            newest: false,
            id,
            scenario,
            cells,
            summaries,
            metrics: manifest.as_ref().map_or(1, |manifest| manifest.metrics),
            crypto: manifest.as_ref().and_then(|manifest| manifest.versions.get(CRYPTO).cloned()),
            backend: manifest.and_then(|manifest| manifest.versions.get(BACKEND).cloned()),
        })
    }

    /// Says on stderr which run was read, beside what is printed of it in `format`; JSON has it as a field.
    pub(crate) fn tell(&self, format: Format) {
        tell("run folder", &self.path, self.newest, format);
    }

    /// Room for every cell of the scenario.
    pub(crate) fn shape(&self) -> Shape {
        shape(&self.cells)
    }

    /// The command that runs a cell of this run again.
    pub(crate) fn replay(&self, profile: &str, settings: &str, seed: &str) -> String {
        let crypto = self.crypto.as_deref().unwrap_or(Crypto::Null.name());
        crate::replay::from_folder(&self.path, crypto, self.backend.as_deref(), (profile, settings, seed))
    }
}

/// Refuses a run folder whose format a later build wrote.
pub(crate) fn refuse_later(folder: &Path, manifest: Option<&Manifest>) -> Result<(), Failure> {
    let Some(format) = manifest.map(|read| read.format).filter(|format| *format > Manifest::FORMAT) else {
        return Ok(());
    };
    let (shown, own) = (folder.display(), Manifest::FORMAT);
    let message = format!(
        "`{shown}` is in version {format} of the run folder's format, and this build reads up to {own}"
    );
    Err(Failure::usage(message).help("read it with the build that wrote it, or a newer one"))
}

/// The manifest of a run folder, if there is one that can be read.
pub(crate) fn manifest(folder: &Path) -> Option<Manifest> {
    let text = text_file::read(&folder.join(MANIFEST)).ok()?;
    serde_json::from_str(&text).ok()
}

/// Says on stderr which folder was read as `what`, unless `format` is JSON, which has it as a field.
pub(crate) fn tell(what: &str, folder: &Path, newest: bool, format: Format) {
    if format != Format::Json {
        let newest = if newest { ", the newest in ./runs" } else { "" };
        output::note(&format!("{what}: {}{newest}", folder.display()));
    }
}

/// Room for exactly these cells.
pub(crate) fn shape(cells: &[Cell]) -> Shape {
    let mut shape = Shape::default();
    for cell in cells {
        shape.add(&cell.profile.name, &cell.settings_name, &seed_label(&cell.seed.to_string(), cell.repeat));
    }
    shape
}

/// What there is to gate in these cells.
pub(crate) fn known(cells: &[Cell]) -> Known {
    let mut known = Known::default();
    for cell in cells {
        for (list, name) in
            [(&mut known.profiles, &cell.profile.name), (&mut known.settings, &cell.settings_name)]
        {
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
    }
    let cameras = cells.first().into_iter().flat_map(|cell| &cell.workload.cameras);
    known.cameras = cameras.map(|camera| camera.name.clone()).collect();
    known
}

/// The summaries of all cells in `folder` that have ended, well or not, by their folders' names.
fn ended(folder: &Path) -> Result<Vec<Summary>, Failure> {
    let shown = folder.display().to_string();
    let entries =
        fs::read_dir(folder).map_err(|error| diagnostics::unreadable("the run folder", &shown, &error))?;
    let mut cells: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    cells.sort_unstable();
    let mut found = Vec::new();
    for cell in cells {
        let files = [cell.join(show::SUMMARY), cell.join(FAILED)];
        let Some(file) = files.into_iter().find(|file| file.is_file()) else { continue };
        let shown = file.display();
        let text = text_file::read(&file)
            .map_err(|reason| Failure::usage(format!("cannot read the summary `{shown}`: {reason}")))?;
        let summary = serde_json::from_str(&text)
            .map_err(|error| Failure::usage(format!("`{shown}` is not a cell's summary: {error}")))?;
        found.push(summary);
    }
    Ok(found)
}

/// What a run folder has of its own.
pub(crate) const SCENARIO: &str = "scenario.resolved.toml";
const MANIFEST: &str = "manifest.json";
const CELLS: &str = "cells";
const FAILED: &str = "failed.json";
/// Under which name the manifest keeps what protected the packets.
const CRYPTO: &str = "crypto";
/// Under which name it keeps what carried the packets of real cells.
const BACKEND: &str = "backend";
/// As often as a cell can be asked to be repeated.
const REPEATS_MAX: u32 = 100;
