//! Ctrl-C and the polite signals (SIGTERM, SIGHUP): the first asks a run to finish the cells at work
//! and stop, the second stops the process at once. Either way finished cells are kept, and files that
//! are not whole are removed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, place};

/// Set by the first signal.
static CANCEL: AtomicBool = AtomicBool::new(false);

/// Files, and folders made for them, that are removed when the process is stopped at once.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Has a file, or a folder if there is nothing in it, removed when the process is stopped at once. What was told last
/// goes first. To be called before it is made.
pub(crate) fn remove_when_stopped(path: &Path) {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
}

/// From now on, nothing is removed of what was told so far: it is whole.
pub(crate) fn keep_all() {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// Has the process stopped at the first signal, for verbs that write and take a moment.
pub(crate) fn stop_at_once() -> Result<(), Failure> {
    ctrlc::set_handler(|| {
        output::note("interrupted: nothing was written");
        remove_unfinished();
        std::process::exit(i32::from(Exit::Interrupted as u8));
    })
    .map_err(|error| Failure::unexpected(format!("listening for signals: {error}")))
}

/// Listens for signals from now on. The flag it returns is set by the first one.
pub(crate) fn listen() -> Result<&'static AtomicBool, Failure> {
    ctrlc::set_handler(on_signal)
        .map_err(|error| Failure::unexpected(format!("listening for signals: {error}")))?;
    Ok(&CANCEL)
}

/// Has `stop` called at the first signal, and the process ended at the second. For processes that end in order when they
/// are asked to.
pub(crate) fn on_first(stop: impl Fn() + Send + 'static) -> Result<(), Failure> {
    ctrlc::set_handler(move || {
        if CANCEL.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
        output::note("stopping");
        stop();
    })
    .map_err(|error| Failure::unexpected(format!("listening for signals: {error}")))
}

/// Called on a thread of its own, so it may lock and write.
fn on_signal() {
    if CANCEL.swap(true, Ordering::Relaxed) {
        output::note("stopped; finished cells are kept");
        remove_unfinished();
        std::process::exit(i32::from(Exit::Interrupted as u8));
    }
    output::note("interrupted: finishing the cells at work; once more stops at once");
}

fn remove_unfinished() {
    // Held until the process ends, so that nothing is begun meanwhile.
    let unfinished = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    let paths: Vec<PathBuf> = unfinished.iter().rev().cloned().collect();
    place::remove(&paths);
    std::mem::forget(unfinished);
}
