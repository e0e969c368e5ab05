//! One process at a time in a run folder.
//!
//! The lock is the operating system's, on a file that stays where it is: it ends with the process,
//! however that ends, and leaves nothing that a later run would have to judge.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::RunFolderError;
use super::write::failed;

/// Holds a folder for this process until the last of its clones is dropped.
#[derive(Debug, Clone)]
pub(super) struct Lock {
    _file: Arc<File>,
    first: bool,
}

impl Lock {
    /// Takes the folder, which must be there. What this process holds already it holds once more.
    pub(super) fn take(folder: &Path) -> Result<Self, RunFolderError> {
        let key = folder.canonicalize().map_err(failed("open", folder))?;
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|_, file| file.strong_count() > 0);
        if let Some(file) = held.get(&key).and_then(Weak::upgrade) {
            return Ok(Self { _file: file, first: false });
        }
        let path = folder.join(LOCK);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(failed("lock", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RunFolderError::Busy { path: folder.to_owned() }),
            // Some network file systems have no locks; better a run without than none.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        let file = Arc::new(file);
        held.insert(key, Arc::downgrade(&file));
        Ok(Self { _file: file, first: true })
    }

    /// Whether the process did not hold the folder before.
    pub(super) fn is_first(&self) -> bool {
        self.first
    }
}

/// Name of the file that is locked.
pub(super) const LOCK: &str = "lock";

/// What this process holds: two handles of one file would shut each other out.
static HELD: Mutex<BTreeMap<PathBuf, Weak<File>>> = Mutex::new(BTreeMap::new());
