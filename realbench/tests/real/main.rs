//! Real mode on this machine: prints why it is skipped where it cannot run.
//!
//! What is asserted here is what noise cannot change: fates, counts, order, and that nothing is left behind.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test binary: it fails by panics, and says what it skips and measures"
)]

mod cell;
mod killed;
mod link;
mod net;
mod netem;

use realbench::net::{Capabilities, Namespace};

/// Whether namespaces can be made here; if not, says why.
fn possible() -> bool {
    let capable = Capabilities::of_this_thread().is_ok_and(Capabilities::all);
    match Namespace::new() {
        Ok(_) if capable => true,
        Ok(_) => {
            eprintln!("skipped: CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW are needed");
            false
        }
        Err(error) => {
            eprintln!("skipped: failed to {error}");
            false
        }
    }
}
