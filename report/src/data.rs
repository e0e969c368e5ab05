//! What a page is made of, as read from a run folder: the one place of this crate that knows which
//! files there are.
//!
//! Summaries are read whole, since every cell is shown. The tables of a cell are read only when they
//! are asked for, a cell at a time, and nothing of them is kept but what a chart needs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bench::metrics::summary::{Status, seed_label};
use bench::netmodel::profile::RateModel;
use bench::{CellFolder, FreezeRow, Manifest, RunFolderError, Scenario, SecondRow, Summary};
use serde_json::Value as Json;

use crate::delays::Delays;

/// What keeps a run from being read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused something.
    #[error("read `{path}`: {source}")]
    Io {
        /// What was read.
        path: PathBuf,
        /// Why it could not be.
        source: io::Error,
    },
    /// The resolved scenario is not one, or not of this version.
    #[error("read `{path}`: it is not a scenario ({reason})")]
    NotAScenario {
        /// The file.
        path: PathBuf,
        /// The first thing that is wrong with it.
        reason: String,
    },
    /// A table of a cell cannot be read, or is not what it should be.
    #[error(transparent)]
    Table(#[from] RunFolderError),
}

/// A run: what was asked and every cell's summary.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// The name of the run.
    pub id: String,
    /// What the scenario is for; may be empty.
    pub description: String,
    /// Facts about who ran it and with what, by name.
    pub facts: Vec<(String, String)>,
    /// Links, in the scenario's order.
    pub profiles: Vec<Link>,
    /// Relay configurations, in the scenario's order.
    pub settings: Vec<Configuration>,
    /// Seeds, in the scenario's order, each as often as its cells were repeated (`2`, `2.r2`).
    pub seeds: Vec<String>,
    /// How often cells were repeated.
    pub repeats: usize,
    /// Every cell that has ended, in the scenario's order.
    pub cells: Vec<Summary>,
    /// Cells whose summary is there and cannot be read.
    pub damaged: Vec<String>,
}

/// A link profile.
#[derive(Debug, Clone, Default)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it stands for; may be empty.
    pub description: String,
    /// The profile as a file.
    pub toml: String,
    /// Its rate towards the operator, if that is constant.
    pub rate_mbit_s: Option<f64>,
}

/// Relay settings, every default filled in.
#[derive(Debug, Clone, Default)]
pub struct Configuration {
    /// Their name.
    pub name: String,
    /// Each setting by its dotted key.
    pub values: Vec<(String, String)>,
}

/// One cell second by second.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    /// The cameras' names.
    pub cameras: Vec<String>,
    /// What happened in each second.
    pub seconds: Vec<Second>,
    /// Each time a picture stood, in the order in which they began.
    pub freezes: Vec<Freeze>,
}

/// One second of a cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Second {
    /// Frames that became complete at the operator, for each camera.
    pub delivered: Vec<u64>,
    /// IP bytes offered to the link towards the operator.
    pub sent_bytes: u64,
    /// Packets offered to it, and those of them that it dropped.
    pub packets: u64,
    /// See above.
    pub lost: u64,
    /// The longest wait in the link's queue.
    pub queue_ms: f64,
    /// The relay's congestion window, where it was sampled.
    pub window_bytes: Option<u64>,
}

/// A time in which a camera's picture stood.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Freeze {
    /// Which camera, by its place in the list.
    pub camera: usize,
    /// When it began and ended, in seconds since the start of the traffic.
    pub from_s: f64,
    /// See above.
    pub to_s: f64,
    /// What kept the missing frames away, where that is known.
    pub cause: Option<String>,
}

/// Where the tables of a run's cells come from.
pub trait Tables {
    /// Counts the delays of the main camera's frames.
    fn delays(&self, cell: &Summary, into: &mut Delays) -> Result<(), ReadError>;
    /// The cell second by second.
    fn timeline(&self, cell: &Summary) -> Result<Timeline, ReadError>;
}

/// The tables of a run folder.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    cameras: Vec<String>,
}

/// Reads the run in the folder `path`.
///
/// # Errors
///
/// If it has no readable `scenario.resolved.toml` or no folder of cells. A damaged summary is no
/// error: it is named in the result.
pub fn read(path: &Path) -> Result<(Run, Folder), ReadError> {
    let file = path.join("scenario.resolved.toml");
    let text = String::from_utf8_lossy(&whole(&file, FILE_BYTES_MAX)?).into_owned();
    let scenario = Scenario::parse("scenario.resolved.toml", &text, &|_| None)
        .map_err(|errors| ReadError::NotAScenario { path: file, reason: first_problem(&errors) })?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut run = Run {
        id: absolute.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned()),
        description: scenario.description().to_owned(),
        facts: facts(path, &scenario),
        profiles: scenario.profiles().iter().map(|profile| link(profile)).collect(),
        settings: configurations(&scenario),
        seeds: scenario.seeds().iter().map(u64::to_string).collect(),
        ..Run::default()
    };
    read_cells(&mut run, &path.join("cells"))?;
    let workload = scenario.cells().first().map(|cell| cell.workload.clone()).unwrap_or_default();
    let cameras = workload.cameras.iter().map(|camera| camera.name.clone()).collect();
    Ok((run, Folder { path: path.to_owned(), cameras }))
}

/// Every cell that has ended and that the scenario has, in the scenario's order.
fn read_cells(run: &mut Run, folder: &Path) -> Result<(), ReadError> {
    let io = |source| ReadError::Io { path: folder.to_owned(), source };
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder).map_err(io)?.take(CELLS_MAX) {
        names.extend(entry.map_err(io)?.file_name().into_string());
    }
    names.sort_unstable();
    let mut ended: Vec<Summary> = Vec::new();
    for name in names {
        match summary(&folder.join(&name)) {
            // The tables are looked for by the id, which therefore has to be the folder's name.
            Ok(Some(cell)) if cell.cell == name && cell.repeat <= REPEATS_MAX => ended.push(cell),
            Ok(None) => {}
            Ok(Some(_)) | Err(()) => run.damaged.push(name),
        }
    }
    let repeats = ended.iter().map(|cell| cell.repeat).max().unwrap_or(1).max(1);
    let labels = |seed: &String| (1..=repeats).map(|repeat| seed_label(seed, repeat)).collect::<Vec<_>>();
    (run.seeds, run.repeats) = (run.seeds.iter().flat_map(labels).collect(), repeats as usize);
    let mut found: Vec<(usize, Summary)> =
        ended.into_iter().filter_map(|cell| Some((run.place(&cell)?, cell))).collect();
    found.sort_by_key(|(place, _)| *place);
    // Of two cells in one place one is of another version of the format: nothing tells which.
    found.dedup_by_key(|(place, _)| *place);
    run.cells = found.into_iter().map(|(_, cell)| cell).collect();
    Ok(())
}

/// The summary of the cell in `folder`, finished or failed; nothing if it has not ended.
fn summary(folder: &Path) -> Result<Option<Summary>, ()> {
    for name in ["summary.json", "failed.json"] {
        match whole(&folder.join(name), FILE_BYTES_MAX) {
            Ok(text) => return serde_json::from_slice(&text).map(Some).map_err(|_| ()),
            Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return Err(()),
        }
    }
    Ok(None)
}

impl Run {
    /// Where a cell belongs in the scenario's order; nothing if the scenario does not have it.
    fn place(&self, cell: &Summary) -> Option<usize> {
        let (profile, settings, seed) = self.indices(cell)?;
        Some((profile * self.settings.len() + settings) * self.seeds.len() + seed)
    }

    /// Which profile, settings and seed a cell is of.
    pub(crate) fn indices(&self, cell: &Summary) -> Option<(usize, usize, usize)> {
        Some((
            self.profiles.iter().position(|profile| profile.name == cell.profile)?,
            self.settings.iter().position(|settings| settings.name == cell.settings)?,
            self.seeds.iter().position(|label| *label == cell.seed_label())?,
        ))
    }

    /// How many cells the scenario has.
    pub(crate) fn planned(&self) -> usize {
        self.profiles.len() * self.settings.len() * self.seeds.len()
    }

    /// Cells that ran to their end.
    pub(crate) fn finished(&self) -> impl Iterator<Item = &Summary> {
        self.cells.iter().filter(|cell| cell.status == Status::Ok)
    }
}

impl Folder {
    fn cell(&self, cell: &Summary) -> CellFolder {
        CellFolder::at(self.path.join("cells").join(&cell.cell))
    }

    /// A freeze of a camera that the workload has.
    fn freeze(&self, row: &FreezeRow) -> Option<Freeze> {
        Some(Freeze {
            camera: self.cameras.iter().position(|name| *name == row.camera)?,
            from_s: row.from_us as f64 / 1e6,
            to_s: row.to_us as f64 / 1e6,
            cause: row.cause.map(|cause| cause.name().to_owned()),
        })
    }
}

impl Tables for Folder {
    fn delays(&self, cell: &Summary, into: &mut Delays) -> Result<(), ReadError> {
        let Some(main) = self.cameras.first() else { return Ok(()) };
        for frame in self.cell(cell).frames()?.iter().filter(|frame| frame.camera == *main) {
            into.add(frame.delay_us());
        }
        Ok(())
    }

    fn timeline(&self, cell: &Summary) -> Result<Timeline, ReadError> {
        let folder = self.cell(cell);
        let mut freezes: Vec<Freeze> = folder.freezes()?.iter().filter_map(|row| self.freeze(row)).collect();
        freezes.sort_by(|a, b| a.from_s.total_cmp(&b.from_s).then(a.camera.cmp(&b.camera)));
        let seconds = folder.seconds()?.iter().map(second).collect();
        Ok(Timeline { cameras: self.cameras.clone(), seconds, freezes })
    }
}

fn second(row: &SecondRow) -> Second {
    Second {
        delivered: row.cameras.iter().map(|(_, camera)| camera.delivered).collect(),
        sent_bytes: row.down.bytes,
        packets: row.down.packets,
        lost: row.down.lost,
        queue_ms: row.down.queue_ms_max,
        window_bytes: row.relay.map(|relay| relay.window_bytes),
    }
}

/// A whole file of at most `bytes`.
fn whole(path: &Path, bytes: u64) -> Result<Vec<u8>, ReadError> {
    let io = |source| ReadError::Io { path: path.to_owned(), source };
    let mut text = Vec::new();
    let read = File::open(path).map_err(io)?.take(bytes + 1).read_to_end(&mut text).map_err(io)?;
    if read as u64 > bytes {
        return Err(io(io::Error::other(format!("it has more than {bytes} bytes"))));
    }
    Ok(text)
}

fn link(profile: &bench::netmodel::Profile) -> Link {
    let rate_mbit_s = match &profile.down.rate {
        RateModel::Constant(rate) => Some(rate.as_bits_per_sec() as f64 / 1e6),
        _ => None,
    };
    let (name, description) = (profile.name.clone(), profile.description.clone());
    Link { name, description, toml: profile.to_toml(), rate_mbit_s }
}

/// The settings, and what of real cells is not the same for all or not as it is by default.
fn configurations(scenario: &Scenario) -> Vec<Configuration> {
    let cells = scenario.cells();
    let offload = |name: &str| cells.iter().find(|cell| cell.settings_name == name).map(|cell| cell.offload);
    let told = cells.iter().any(|cell| cell.offload != bench::Offload::default());
    let one = |(name, values): &(String, std::sync::Arc<bench::relay_core::Settings>)| {
        let mut one = configuration(name, values);
        if let Some(bench::Offload { gso, gro }) = offload(name).filter(|_| told) {
            let own = [("real.gso", gso), ("real.gro", gro)];
            one.values.extend(own.map(|(key, on)| (key.to_owned(), on.to_string())));
        }
        one
    };
    scenario.settings().iter().map(one).collect()
}

fn configuration(name: &str, values: &bench::relay_core::Settings) -> Configuration {
    let json = serde_json::to_value(values).unwrap_or(Json::Null);
    let mut list = Vec::new();
    flatten("", &json, &mut |key, value| {
        let text = match value {
            Json::String(text) => text.clone(),
            other => other.to_string(),
        };
        list.push((key.to_owned(), text));
    });
    Configuration { name: name.to_owned(), values: list }
}

/// Every value of a tree of objects with its dotted key. The depth is that of the types that are
/// written, never that of a file.
pub(crate) fn flatten(prefix: &str, value: &Json, take: &mut dyn FnMut(&str, &Json)) {
    let Json::Object(fields) = value else { return take(prefix, value) };
    for (name, field) in fields {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        flatten(&key, field, take);
    }
}

fn facts(path: &Path, scenario: &Scenario) -> Vec<(String, String)> {
    let manifest = whole(&path.join("manifest.json"), FILE_BYTES_MAX).ok();
    let manifest: Manifest = manifest.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let mut facts = vec![
        ("traffic of a cell".to_owned(), scenario.duration().to_string()),
        ("base seed".to_owned(), scenario.base_seed().to_string()),
    ];
    let created = (!manifest.created.is_empty()).then_some(manifest.created);
    facts.extend(created.map(|created| ("begun".to_owned(), created)));
    facts.extend(manifest.commit.map(|commit| ("commit".to_owned(), commit)));
    facts.extend(manifest.versions);
    facts.extend(manifest.host);
    facts
}

fn first_problem(errors: &bench::ScenarioErrors) -> String {
    let mut problems = errors.sources.iter().flat_map(|source| &source.problems);
    problems.next().map_or_else(|| errors.to_string(), |problem| problem.message.clone())
}

/// A scenario or a summary is a few kilobytes; more than this is something else.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// As often as a cell can be asked to be repeated.
const REPEATS_MAX: u32 = 100;
/// Folders of cells that are looked at.
const CELLS_MAX: usize = 1_000_000;
