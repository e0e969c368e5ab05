//! One run on disk: what was asked, who ran it, and each finished cell.
//!
//! ```text
//! runs/<id>/
//!   scenario.resolved.toml      what was asked, with every default; runnable
//!   manifest.json               who ran it
//!   lock                        locked by the process that is at work here
//!   cells/<cell id>/
//!     events.jsonl.zst          where asked
//!     frames.parquet            one row a frame
//!     freezes.parquet           one row a freeze
//!     seconds.parquet           one row a second
//!     camera_seconds.parquet    one row a second and camera
//!     delays.hlog               histograms of frame delay and of hand to command
//!     summary.json              written last: its presence means that the cell is done
//!     failed.json               instead, when it failed: why, in the form of a summary
//!   report.html                 the cells that had ended by then, for reading
//! ```
//!
//! Every file is written under a temporary name, brought to disk, and renamed, so that whatever has
//! its real name is whole. `docs/formats.md` has every file with every column. A run that was stopped
//! goes on with the cells that have no summary, or of which something is missing or damaged.

mod cell_folder;
mod delays;
mod events;
mod lock;
mod table;
mod tables;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::metrics::summary::Status;
use crate::metrics::{CellResult, Summary};
use crate::scenario::Scenario;

pub use cell_folder::CellFolder;
pub use events::EventsFile;
use lock::{LOCK, Lock};
pub use table::TableProblem;

/// Who ran it and with what; facts that the cells' results do not depend on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the run folder's format: [`FORMAT`](Self::FORMAT).
    pub format: u32,
    /// Names and versions of the program and what it is built from.
    pub versions: BTreeMap<String, String>,
    /// The source's commit, where known.
    pub commit: Option<String>,
    /// Facts about the machine by name.
    pub host: BTreeMap<String, String>,
    /// The seed that all cells share, as text.
    pub base_seed: String,
    /// When the run was created (RFC 3339).
    pub created: String,
    /// Version of what the metrics mean ([`crate::metrics::VERSION`]); folders from before there was
    /// this field have 1.
    #[serde(default = "first_version")]
    pub metrics: u32,
}

fn first_version() -> u32 {
    1
}

impl Manifest {
    /// The version that this build writes. 1 had JSON Lines in place of tables.
    pub const FORMAT: u32 = 2;
}

/// What can go wrong with a run folder; each names the path.
#[derive(Debug, thiserror::Error)]
pub enum RunFolderError {
    /// The operating system refused something.
    #[error("{action} `{path}`: {source}")]
    Io {
        /// What was tried: "create", "write", "read", …
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it did not work.
        source: io::Error,
    },
    /// The folder holds a run of something else.
    #[error("resume `{path}`: it holds a run of another scenario (its {what}); use another folder")]
    OtherScenario {
        /// The folder.
        path: PathBuf,
        /// What differs first.
        what: String,
    },
    /// The folder is there, is not empty, and is no run folder.
    #[error("use `{path}`: it is not empty and not a run folder")]
    NotARunFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Another process runs cells in the folder.
    #[error("use `{path}`: another arcbench is at work in {path}")]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds finished cells and no readable manifest, so they may come from another build
    /// or another crypto.
    #[error(
        "resume `{path}`: its {MANIFEST} is missing or damaged, so its finished cells may be of another run; \
         run them again with --fresh, or use another folder"
    )]
    NoManifest {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds finished cells in a form that this build does not go on with.
    #[error(
        "resume `{path}`: its finished cells are in version {found} of the run folder's format, and this build \
         writes version {}; run them again with --fresh, or use another folder",
        Manifest::FORMAT
    )]
    OtherFormat {
        /// The folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// A table of a cell is not what it should be.
    #[error("read `{path}`: {problem}")]
    Table {
        /// The table.
        path: PathBuf,
        /// What is wrong with it.
        problem: TableProblem,
    },
    /// The events log of a cell could not be written to its end.
    #[error("write the events log `{path}`: {source}")]
    EventsLog {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl RunFolderError {
    /// Whether the disk is full (or a quota is used up): trying other cells is no use.
    pub fn is_disk_full(&self) -> bool {
        let kind = match self {
            Self::Io { source, .. } | Self::EventsLog { source, .. } => source.kind(),
            _ => return false,
        };
        matches!(kind, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }
}

/// A run folder that is ready for cells.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    resumed: bool,
    /// Held for as long as cells may be written.
    _lock: Lock,
}

impl RunFolder {
    /// Opens the run at `path`, or begins one there, and keeps other processes out of it until it is
    /// dropped.
    ///
    /// # Errors
    ///
    /// If the folder cannot be made or written, another process is at work in it, it holds something
    /// else, a run of a scenario that does not resolve to the same text, or finished cells of which
    /// no manifest says what they were run with. Nothing was written then.
    pub fn open_or_create(
        path: &Path,
        scenario: &Scenario,
        manifest: &Manifest,
    ) -> Result<Self, RunFolderError> {
        Self::open(path, scenario, manifest, false)
    }

    /// Like [`open_or_create`](Self::open_or_create), but forgets the cells of `scenario` and the
    /// manifest that the folder may have. Anything else in the folder stays.
    ///
    /// # Errors
    ///
    /// As there, except that a manifest is not needed.
    pub fn open_fresh(path: &Path, scenario: &Scenario, manifest: &Manifest) -> Result<Self, RunFolderError> {
        Self::open(path, scenario, manifest, true)
    }

    fn open(
        path: &Path,
        scenario: &Scenario,
        manifest: &Manifest,
        fresh: bool,
    ) -> Result<Self, RunFolderError> {
        let resolved = scenario.to_toml();
        // Before the lock, since nothing may be written into a folder of something else, and after
        // it, since another process may just have begun.
        look(path, &resolved)?;
        write::create_dir_all(path)?;
        let lock = Lock::take(path)?;
        let found = look(path, &resolved)?;
        let mut resumed = found == Found::ThisRun;
        if fresh {
            if resumed {
                discard(path, scenario)?;
            }
            resumed = false;
        } else if resumed && let Some(error) = not_resumable(path) {
            if anything_done(path) {
                return Err(error);
            }
            // There is nothing yet that it would be about.
            resumed = false;
        }
        let cells = path.join(CELLS);
        write::create_dir_all(&cells)?;
        if lock.is_first() {
            write::sweep(path);
            cell_folders(path).for_each(|cell| write::sweep(&cell));
        }
        if !resumed {
            write::json(&path.join(MANIFEST), manifest)?;
            // Last, since its presence makes the folder a run.
            write::whole_file(&path.join(SCENARIO), resolved.as_bytes())?;
            write::sync_dir(path)?;
        }
        write::probe(&cells)?;
        Ok(Self { path: path.to_owned(), resumed, _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id: the folder's name.
    pub fn id(&self) -> String {
        let absolute = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        absolute.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// Whether the folder held this run before.
    pub fn resumed(&self) -> bool {
        self.resumed
    }

    /// The manifest of the run's beginning; `None` if it cannot be read.
    pub fn manifest(&self) -> Option<Manifest> {
        read_manifest(&self.path)
    }

    /// The folder of one cell, for reading what is in it.
    pub fn cell_folder(&self, cell: &Cell) -> CellFolder {
        CellFolder::at(self.cell_path(cell))
    }

    /// The folder of one cell.
    pub fn cell_path(&self, cell: &Cell) -> PathBuf {
        self.path.join(CELLS).join(cell.id())
    }

    /// What there is of a cell that need not be run again: its summary, if that is [`done`](Self::done) and the tables
    /// beside it are whole too; `None` if the cell never came to its end.
    ///
    /// # Errors
    ///
    /// If it is called done and is not: what of it is missing or damaged.
    pub fn kept(&self, cell: &Cell) -> Result<Option<Summary>, RunFolderError> {
        let folder = self.cell_folder(cell);
        let path = folder.path().join(SUMMARY);
        if !path.exists() {
            return Ok(None);
        }
        let summary = folder.summary()?;
        if summary.cell != cell.id() {
            let other = format!("it is of the cell `{}`", summary.cell);
            return Err(write::failed("read", &path)(io::Error::other(other)));
        }
        if summary.status != Status::Ok {
            return Ok(None);
        }
        folder.check(&summary)?;
        Ok(Some(summary))
    }

    /// The summary of a cell that is called done: there, whole, of this very cell and not failed. What is beside it is not
    /// looked at.
    pub fn done(&self, cell: &Cell) -> Option<Summary> {
        let text = std::fs::read(self.cell_path(cell).join(SUMMARY)).ok()?;
        let summary: Summary = serde_json::from_slice(&text).ok()?;
        (summary.cell == cell.id() && summary.status == Status::Ok).then_some(summary)
    }

    /// The name that the events log of a cell has while this process writes it, for whoever ends the process in the middle.
    pub fn events_unfinished(&self, cell: &Cell) -> PathBuf {
        write::temporary(&self.cell_path(cell).join(EVENTS))
    }

    /// A file for the events log of a cell that is about to run, compressed.
    ///
    /// # Errors
    ///
    /// If it cannot be created.
    pub fn events_file(&self, cell: &Cell) -> Result<EventsFile, RunFolderError> {
        let folder = self.cell_path(cell);
        write::create_dir_all(&folder)?;
        EventsFile::create(&folder.join(EVENTS))
    }

    /// Keeps the result of a finished cell.
    ///
    /// # Errors
    ///
    /// If something cannot be written, or the events log could not be; the cell then does not
    /// count as done.
    pub fn write(&self, cell: &Cell, result: &CellResult) -> Result<(), RunFolderError> {
        let folder = self.cell_path(cell);
        write::create_dir_all(&folder)?;
        events::check(&folder.join(EVENTS), result.log_error.as_ref())?;
        self.cell_folder(cell).write_tables(result)?;
        write::remove_if_there(&folder.join(FAILED))?;
        self.write_summary(&folder.join(SUMMARY), &result.summary)
    }

    /// Keeps the summary of a cell that failed, as `failed.json`; it is run again on resume. A cell
    /// that is done stays done, if its tables are whole.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write_failed(&self, cell: &Cell, summary: &Summary) -> Result<(), RunFolderError> {
        if matches!(self.kept(cell), Ok(Some(_))) {
            return Ok(());
        }
        let folder = self.cell_path(cell);
        write::create_dir_all(&folder)?;
        // A log that did not come to its end is of no use, and may be what fills the disk.
        let _ = write::remove_if_there(&self.events_unfinished(cell));
        // What is there is damaged or of another cell, and must not be taken for done by its name.
        write::remove_if_there(&folder.join(SUMMARY))?;
        self.write_summary(&folder.join(FAILED), summary)
    }

    fn write_summary(&self, path: &Path, summary: &Summary) -> Result<(), RunFolderError> {
        write::json(path, summary)?;
        write::sync_dir(path.parent().unwrap_or(&self.path))
    }
}

/// Why finished cells in the folder cannot be gone on with, if they cannot.
fn not_resumable(path: &Path) -> Option<RunFolderError> {
    match read_manifest(path) {
        None => Some(RunFolderError::NoManifest { path: path.to_owned() }),
        Some(Manifest { format, .. }) if format != Manifest::FORMAT => {
            Some(RunFolderError::OtherFormat { path: path.to_owned(), found: format })
        }
        Some(_) => None,
    }
}

/// What a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Nothing, or the beginnings of a run.
    Nothing,
    /// A run of the same scenario.
    ThisRun,
}

/// Looks into a folder and refuses it if it holds anything but a run of the scenario that resolves
/// to `resolved`.
fn look(path: &Path, resolved: &str) -> Result<Found, RunFolderError> {
    let scenario_path = path.join(SCENARIO);
    match std::fs::read_to_string(&scenario_path) {
        Ok(existing) if existing == resolved => Ok(Found::ThisRun),
        Ok(existing) => {
            let what = first_difference(&existing, resolved);
            Err(RunFolderError::OtherScenario { path: path.to_owned(), what })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            refuse_foreign(path).map(|()| Found::Nothing)
        }
        Err(source) => Err(RunFolderError::Io { action: "read", path: scenario_path, source }),
    }
}

fn read_manifest(path: &Path) -> Option<Manifest> {
    serde_json::from_slice(&std::fs::read(path.join(MANIFEST)).ok()?).ok()
}

/// The folders of cells, this scenario's or not.
fn cell_folders(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(path.join(CELLS)).into_iter().flatten();
    entries.flatten().map(|entry| entry.path())
}

/// Whether any cell is called done.
fn anything_done(path: &Path) -> bool {
    cell_folders(path).any(|cell| cell.join(SUMMARY).exists())
}

/// Forgets a scenario's cells and what says that the folder is a run.
fn discard(path: &Path, scenario: &Scenario) -> Result<(), RunFolderError> {
    let ids: BTreeSet<String> = scenario.cells().iter().map(Cell::id).collect();
    let ours = |folder: &PathBuf| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        // Repeats go with what they repeat.
        ids.contains(name.rsplit_once(".r").map_or(&*name, |(id, _)| id)) || ids.contains(&*name)
    };
    let folders: Vec<PathBuf> = cell_folders(path).filter(ours).collect();
    // The summaries go first: what is half gone must not be taken for done.
    for folder in &folders {
        write::remove_if_there(&folder.join(SUMMARY))?;
    }
    for folder in &folders {
        write::remove_dir_if_there(folder)?;
    }
    for name in [REPORT, MANIFEST, SCENARIO] {
        write::remove_if_there(&path.join(name))?;
    }
    Ok(())
}

/// Refuses a folder that holds anything but the beginnings of a run.
fn refuse_foreign(path: &Path) -> Result<(), RunFolderError> {
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(RunFolderError::Io { action: "read", path: path.to_owned(), source }),
    };
    let ours =
        |name: &str| [CELLS, MANIFEST, LOCK, REPORT].contains(&name) || name.ends_with(write::TEMPORARY);
    let foreign = entries.flatten().any(|entry| !ours(&entry.file_name().to_string_lossy()));
    if foreign { Err(RunFolderError::NotARunFolder { path: path.to_owned() }) } else { Ok(()) }
}

/// The first line in which two texts differ, with its number, for a message.
fn first_difference(old: &str, new: &str) -> String {
    let (mut old, mut new) = (old.lines(), new.lines());
    for number in 1.. {
        match (old.next(), new.next()) {
            (Some(a), Some(b)) if a == b => {}
            (Some(a), _) => return format!("{SCENARIO} has `{a}` in line {number}"),
            (None, Some(b)) => return format!("{SCENARIO} lacks `{b}` in line {number}"),
            (None, None) => break,
        }
    }
    format!("{SCENARIO} differs")
}

const SCENARIO: &str = "scenario.resolved.toml";
const MANIFEST: &str = "manifest.json";
const CELLS: &str = "cells";
const SUMMARY: &str = "summary.json";
const FAILED: &str = "failed.json";
const EVENTS: &str = "events.jsonl.zst";
/// A page about the whole run, which a reader of the folder may write at any time.
pub const REPORT: &str = "report.html";

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
