//! A process that is killed at any moment leaves nothing behind.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use realbench::net::{Middle, Namespace, Topology, TopologyOptions};

use crate::possible;

#[test]
fn thirty_kills_leave_nothing_behind() {
    if !possible() {
        return;
    }
    let before = (interfaces(), mounts());
    let mut made = BTreeSet::new();
    for round in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "killed::a_child_that_is_killed"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.stdout.take().unwrap();
        // From before its first namespace to after its first whole topologies, in uneven steps.
        wait(Duration::from_micros(1_000 + round * round * 500));
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        made.extend(lines.filter_map(|line| line.strip_prefix("namespace ")?.parse::<u64>().ok()));
    }
    assert!(made.len() > KILLS as usize, "the children were killed before they made anything: {made:?}");
    // The system uses the numbers again, also for others' namespaces: what was left would stay.
    let mut left = made.clone();
    for _ in 0..LOOKS_MAX {
        left = namespaces_in_use().intersection(&left).copied().collect();
        if left.is_empty() {
            break;
        }
        wait(Duration::from_millis(100));
    }
    assert!(left.is_empty(), "{left:?} of {} namespaces are still in use", made.len());
    assert_eq!((interfaces(), mounts()), before);
}

#[test]
#[ignore = "a child of the test above, killed by it"]
fn a_child_that_is_killed() {
    for round in 0.. {
        let middle = if round % 2 == 0 { Middle::Cut } else { Middle::Bridged };
        // What is made before anything is known of it must go as well; what is known is looked for.
        say(&Namespace::new().unwrap());
        let topology = Topology::new(&TopologyOptions { middle }).unwrap();
        say(topology.middle());
        for end in [bench::End::Robot, bench::End::Relay, bench::End::Operator] {
            say(topology.namespace(end));
        }
        let _socket = topology.socket(bench::End::Relay, 0).unwrap();
    }
}

fn say(namespace: &Namespace) {
    let mut out = std::io::stdout();
    writeln!(out, "\nnamespace {}", namespace.inode().unwrap()).unwrap();
    out.flush().unwrap();
}

fn interfaces() -> BTreeSet<String> {
    let entries = fs::read_dir("/sys/class/net").unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Namespaces that are kept by a name are mounts.
fn mounts() -> Vec<String> {
    let all = fs::read_to_string("/proc/self/mountinfo").unwrap();
    all.lines().filter(|line| line.contains(" nsfs ")).map(str::to_owned).collect()
}

/// Every network namespace that a thread of another process is in, or that one has a descriptor for.
fn namespaces_in_use() -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let children = |path: String| fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    for process in children("/proc".to_owned()) {
        if process.file_name().to_string_lossy() == std::process::id().to_string() {
            continue;
        }
        let process = process.path().to_string_lossy().into_owned();
        let threads = children(format!("{process}/task")).map(|task| task.path().join("ns/net"));
        let files = children(format!("{process}/fd")).map(|file| file.path());
        for path in threads.chain(files) {
            let target = fs::read_link(path).unwrap_or_default();
            let inode: Option<u64> =
                target.to_str().and_then(|t| t.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok());
            found.extend(inode);
        }
    }
    found
}

#[expect(clippy::disallowed_methods, reason = "a test that kills at moments of real time")]
fn wait(time: Duration) {
    std::thread::sleep(time);
}

const KILLS: u64 = 30;
const LOOKS_MAX: u32 = 200;
