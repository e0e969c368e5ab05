//! What makes a thread keep time: a real-time priority, and memory that is not paged out.

use std::io;

use nix::sys::mman::{MlockAllFlags, mlockall};

/// Asks for both for the calling thread; says what was not allowed.
pub(super) fn keep_time() -> Vec<String> {
    let mut notes = Vec::new();
    if let Err(error) = real_time() {
        notes.push(format!("no real-time priority for the link's thread: {error}"));
    }
    if let Err(errno) = mlockall(MlockAllFlags::MCL_CURRENT) {
        notes.push(format!("the link's memory is not locked: {}", io::Error::from(errno)));
    }
    notes
}

/// Gives the calling thread a real-time priority (`SCHED_FIFO`).
///
/// # Errors
///
/// If it is not allowed: it needs `CAP_SYS_NICE` outside any user namespace, or a limit `RLIMIT_RTPRIO`.
pub(crate) fn real_time() -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    #[expect(unsafe_code, reason = "no library here has a safe form of sched_setscheduler")]
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Above ordinary threads; below what the kernel runs for itself.
const PRIORITY: i32 = 10;
