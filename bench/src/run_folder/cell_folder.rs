//! The folder of one finished cell: writing its tables, and reading them back.

use std::path::{Path, PathBuf};

use super::table::{self, Part, TableProblem};
use super::tables::{self, Kind};
use super::{RunFolderError, SUMMARY, delays, write};
use crate::metrics::{CellResult, FrameRow, FreezeRow, SecondRow, Summary};

/// The folder of one cell in a run folder. Reading needs nothing else of the run, and locks nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellFolder {
    path: PathBuf,
}

impl CellFolder {
    /// The cell in the folder `path`, which need not be there yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The cell's summary.
    ///
    /// # Errors
    ///
    /// If it is not there, or is not a summary.
    pub fn summary(&self) -> Result<Summary, RunFolderError> {
        let path = self.path.join(SUMMARY);
        let text = std::fs::read(&path).map_err(write::failed("read", &path))?;
        serde_json::from_slice(&text).map_err(|error| write::failed("read", &path)(error.into()))
    }

    /// Its frames: cameras in the workload's order, frames by number.
    ///
    /// # Errors
    ///
    /// If the table is not there, is damaged or too large, or holds something that no cell makes.
    pub fn frames(&self) -> Result<Vec<FrameRow>, RunFolderError> {
        self.read(tables::FRAMES, tables::read_frames)
    }

    /// Its freezes: cameras in the workload's order, each camera's by time.
    ///
    /// # Errors
    ///
    /// As [`frames`](Self::frames).
    pub fn freezes(&self) -> Result<Vec<FreezeRow>, RunFolderError> {
        self.read(tables::FREEZES, tables::read_freezes)
    }

    /// Its seconds, in order.
    ///
    /// # Errors
    ///
    /// As [`frames`](Self::frames), of either of the two tables that it takes.
    pub fn seconds(&self) -> Result<Vec<SecondRow>, RunFolderError> {
        let mut seconds: Vec<SecondRow> = self.read(tables::SECONDS, tables::read_seconds)?;
        for (row, part) in
            self.read(tables::CAMERA_SECONDS, tables::read_camera_seconds)?.into_iter().enumerate()
        {
            let index = seconds.binary_search_by_key(&part.second, |second| second.second);
            let Ok(index) = index else {
                let problem = TableProblem::Value { column: "second", row };
                return Err(self.refused(tables::CAMERA_SECONDS, problem));
            };
            seconds[index].cameras.0.push((part.camera, part.row));
        }
        Ok(seconds)
    }

    /// Whether everything that a finished cell leaves is there and can be read: its tables from beginning to end, with a
    /// row for each frame that `summary` counts, and its histograms. An events log is not asked for, since a cell need not
    /// have one.
    ///
    /// Takes about a fiftieth of the time that the cell takes to run.
    ///
    /// # Errors
    ///
    /// The first that is missing or damaged, and why.
    pub fn check(&self, summary: &Summary) -> Result<(), RunFolderError> {
        let (found, wanted) = (self.frames()?.len() as u64, summary.all.produced);
        if found != wanted {
            return Err(self.refused(tables::FRAMES, TableProblem::Rows { found, wanted }));
        }
        self.freezes()?;
        self.seconds()?;
        let path = self.path.join(DELAYS);
        let failed = write::failed("read", &path);
        match std::fs::read(&path) {
            Ok(log) if delays::is_whole(&log, summary) => Ok(()),
            Ok(_) => Err(failed(std::io::Error::other("it is no whole histogram log"))),
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes the tables and histograms of `result`, each wholly or not at all.
    pub(super) fn write_tables(&self, result: &CellResult) -> Result<(), RunFolderError> {
        let tables = [
            (tables::FRAMES, tables::frames(&result.frames)),
            (tables::FREEZES, tables::freezes(&result.freezes)),
            (tables::SECONDS, tables::seconds(&result.seconds)),
            (tables::CAMERA_SECONDS, tables::camera_seconds(&result.seconds)),
        ];
        for (kind, columns) in tables {
            let path = self.path.join(kind.file);
            let failed = |error| write::failed("write", &path)(std::io::Error::other(error));
            write::whole_file(&path, &kind.encode(columns).map_err(failed)?)?;
        }
        let path = self.path.join(DELAYS);
        write::whole_file(&path, &delays::encode(result).map_err(write::failed("write", &path))?)
    }

    fn read<T>(
        &self,
        kind: Kind,
        rows: fn(&Part) -> Result<Vec<T>, TableProblem>,
    ) -> Result<Vec<T>, RunFolderError> {
        let parts = table::decode(&self.path.join(kind.file), kind.format, kind.version, rows);
        parts
            .map(|parts| parts.into_iter().flatten().collect())
            .map_err(|problem| self.refused(kind, problem))
    }

    fn refused(&self, kind: Kind, problem: TableProblem) -> RunFolderError {
        RunFolderError::Table { path: self.path.join(kind.file), problem }
    }
}

pub(super) const DELAYS: &str = "delays.hlog";
