//! Files that are whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::RunFolderError;

/// Ending of a name that is not final yet.
pub(super) const TEMPORARY: &str = ".tmp";

pub(super) fn create_dir_all(path: &Path) -> Result<(), RunFolderError> {
    fs::create_dir_all(path).map_err(failed("create", path))
}

/// Writes `content` to `path`, wholly or not at all.
pub(super) fn whole_file(path: &Path, content: &[u8]) -> Result<(), RunFolderError> {
    with_file(path, |out| out.write_all(content))
}

/// Writes `content` to `path` as JSON for people too, wholly or not at all.
pub(super) fn json(path: &Path, content: &impl Serialize) -> Result<(), RunFolderError> {
    with_file(path, |out| {
        serde_json::to_writer_pretty(&mut *out, content)?;
        out.write_all(b"\n")
    })
}

pub(super) fn remove_if_there(path: &Path) -> Result<(), RunFolderError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("replace", path)(error)),
        _ => Ok(()),
    }
}

/// Brings the names in a folder to disk. Platforms on which a folder cannot be opened do without.
pub(super) fn sync_dir(path: &Path) -> Result<(), RunFolderError> {
    match File::open(path) {
        Ok(folder) => folder.sync_all().or_else(unsupported).map_err(failed("sync", path)),
        Err(_) => Ok(()),
    }
}

/// Finds out before a long run whether a folder can be written.
pub(super) fn probe(folder: &Path) -> Result<(), RunFolderError> {
    let path = temporary(&folder.join("probe"));
    File::create(&path).map_err(failed("write in", folder))?;
    fs::remove_file(&path).map_err(failed("write in", folder))
}

/// Moves `from` to its final name.
pub(super) fn rename(from: &Path, to: &Path) -> Result<(), RunFolderError> {
    fs::rename(from, to).map_err(failed("rename", from))
}

/// `path` with the ending of a name that is not final yet, and of this process alone.
pub(super) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}{TEMPORARY}", std::process::id()));
    name.into()
}

/// Removes what an earlier process left half-written in a folder, where it can be.
pub(super) fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().as_encoded_bytes().ends_with(TEMPORARY.as_bytes()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Removes a folder and all in it, if it is there.
pub(super) fn remove_dir_if_there(path: &Path) -> Result<(), RunFolderError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("discard", path)(error)),
        _ => Ok(()),
    }
}

/// An error of the operating system with what was tried.
pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RunFolderError + use<> {
    let path = path.to_owned();
    move |source| RunFolderError::Io { action, path, source }
}

fn with_file(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RunFolderError> {
    let unfinished = temporary(path);
    let written = File::create(&unfinished).and_then(|file| {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, file);
        content(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    });
    if let Err(error) = written {
        // It is of no use half-written; that it cannot be removed either changes nothing.
        let _ = fs::remove_file(&unfinished);
        return Err(failed("write", path)(error));
    }
    rename(&unfinished, path)
}

fn unsupported(error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput | io::ErrorKind::PermissionDenied => Ok(()),
        _ => Err(error),
    }
}

const BUFFER_BYTES: usize = 256 * 1024;
