//! Same cell, same bytes: on any number of threads, and from one version to the next unless a
//! change means to change them.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bench::Cell;
use bench::relay_core::Settings;
use bench::units::Span;
use sim::{Crypto, Hooks, Pool};
use tests::{cell, run};

fn short(profile: &str, seed: u64) -> Cell {
    cell(profile, Settings::default(), seed, Span::from_secs(4))
}

fn hashes(cells: &[Cell], jobs: usize, crypto: Crypto) -> Vec<String> {
    let cancel = AtomicBool::new(false);
    let pool = Pool { jobs, crypto, cancel: &cancel, meter: || Duration::ZERO };
    let mut hashes = Vec::new();
    pool.run(cells, Hooks::default(), |index, result| {
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", cells[index].id()));
        hashes.push(result.summary.trace_hash);
    });
    hashes
}

#[test]
fn one_thread_and_many_and_real_encryption_give_the_same_trace() {
    let cells: Vec<Cell> =
        ["same-region", "bad-india", "bad-india-reorder", "thin-india", "brazil", "good-india-reorder"]
            .into_iter()
            .flat_map(|profile| [short(profile, 1), short(profile, 2)])
            .collect();
    let alone = hashes(&cells, 1, Crypto::Null);
    assert_eq!(alone.len(), cells.len());
    assert_eq!(alone, hashes(&cells, 4, Crypto::Null));
    assert_eq!(alone, hashes(&cells, 2, Crypto::Tls));
    let distinct: std::collections::BTreeSet<&String> = alone.iter().collect();
    assert_eq!(distinct.len(), alone.len(), "different cells have different traces");
}

#[test]
fn golden_cells() {
    for (profile, seed) in [("good-india", 1), ("bad-india-reorder", 2), ("thin-india", 3)] {
        let summary = run(&short(profile, seed)).summary;
        let main = summary.cameras.get("main").expect("a main camera");
        let line = format!(
            "{} packets, main {} of {}, p50 {:?} ms, hand {:?} ms, trace {}",
            summary.packets,
            main.delivered,
            main.produced,
            main.delay_ms.p50,
            summary.hand_to_command_ms.p50,
            summary.trace_hash
        );
        insta::assert_snapshot!(format!("{profile}-{seed}"), line);
    }
}
