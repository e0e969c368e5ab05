//! Real mode without root: a child of this program gives up its user and enters a user namespace.
//!
//! Not under the usual test harness, which has a second thread before a test begins.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test binary: it fails by panics, and says what it skips"
)]

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use bench::End;
use realbench::net::{EndAddress, Middle, Topology, TopologyOptions, enter_user_namespace};

fn main() {
    if std::env::args().any(|argument| argument == CHILD) {
        return child();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(CHILD);
    if std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0) {
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.output() {
        Err(error) => eprintln!("skipped: another user cannot run the test: {error}"),
        Ok(ended) => {
            let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
            let fine = ended.status.success() && (out.contains(CROSSED) || err.contains("skipped:"));
            assert!(fine, "{out}\n{err}");
            print!("{out}");
            eprint!("{err}");
        }
    }
}

fn child() {
    if let Err(error) = enter_user_namespace() {
        eprintln!("skipped: failed to {error}");
        return;
    }
    let topology = Topology::new(&TopologyOptions { middle: Middle::Direct }).unwrap();
    let receiver = topology.socket(End::Relay, 4433).unwrap();
    receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let sender = topology.socket(End::Robot, 0).unwrap();
    sender.send_to(b"hello", End::Relay.socket_address(4433)).unwrap();
    let mut buffer = [0; 64];
    assert_eq!(receiver.recv(&mut buffer).unwrap(), 5);
    println!("{CROSSED}");
}

const CHILD: &str = "--child";
const CROSSED: &str = "crossed without root";
const NOBODY: u32 = 65534;
