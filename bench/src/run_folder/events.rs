//! The events log of a cell on disk: lines of JSON, compressed while they are written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::RunFolderError;
use super::write;

/// A writer for [`Recorder`](crate::Recorder) that compresses what it is given.
///
/// Dropping it ends the log: only a log that was written and compressed to its end gets its real
/// name, and [`RunFolder::write`](super::RunFolder::write) refuses a cell whose log did not.
pub struct EventsFile {
    encoder: Option<zstd::Encoder<'static, File>>,
    path: PathBuf,
    failed: bool,
}

impl EventsFile {
    pub(super) fn create(path: &Path) -> Result<Self, RunFolderError> {
        write::remove_if_there(path)?;
        let unfinished = write::temporary(path);
        let encoder = File::create(&unfinished).and_then(|file| {
            let mut encoder = zstd::Encoder::new(file, LEVEL)?;
            encoder.include_checksum(true)?;
            Ok(encoder)
        });
        let encoder = encoder.map_err(write::failed("create", &unfinished))?;
        Ok(Self { encoder: Some(encoder), path: path.to_owned(), failed: false })
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.failed |= result.is_err();
        result
    }
}

impl Write for EventsFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(encoder) = &mut self.encoder else { return Ok(bytes.len()) };
        let result = encoder.write(bytes);
        self.note(result)
    }

    /// Does nothing: a flush in the middle would only compress worse, and the end is on drop.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for EventsFile {
    fn drop(&mut self) {
        let ended = self.encoder.take().map(|encoder| encoder.finish().and_then(|file| file.sync_all()));
        if !self.failed && matches!(ended, Some(Ok(()))) {
            // If this fails the unfinished name stays, which is how it is found out.
            let _ = fs::rename(write::temporary(&self.path), &self.path);
        }
    }
}

impl std::fmt::Debug for EventsFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventsFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Refuses a log that was begun and did not come to its end.
pub(super) fn check(path: &Path, error: Option<&io::Error>) -> Result<(), RunFolderError> {
    let log_failed = |source| Err(RunFolderError::EventsLog { path: path.to_owned(), source });
    if let Some(error) = error {
        return log_failed(io::Error::new(error.kind(), error.to_string()));
    }
    if write::temporary(path).exists() {
        return log_failed(io::Error::other("it was not written to its end"));
    }
    Ok(())
}

/// Fast, and the lines compress tenfold all the same.
const LEVEL: i32 = 3;
