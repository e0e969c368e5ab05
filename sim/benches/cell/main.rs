//! How many packets a second the simulator handles: whole two-hop cells, and one hop of nothing but
//! quinn-proto under null crypto for comparison.
//!
//! Items are packets sent, of both directions and all hops.

mod one_hop;

use std::sync::Arc;

use bench::Cell;
use divan::Bencher;
use divan::counter::ItemsCount;
use netmodel::builtin;
use netmodel::units::Span;
use sim::{Crypto, Options, run_cell};

fn main() {
    divan::main();
}

#[divan::bench(args = ["same-region", "good-india", "bad-india", "thin-india"], sample_count = 10)]
fn two_hop_cell(bencher: Bencher<'_, '_>, profile: &str) {
    measure(bencher, &cell(profile), Crypto::Null);
}

#[divan::bench(sample_count = 5)]
fn two_hop_cell_tls(bencher: Bencher<'_, '_>) {
    measure(bencher, &cell("good-india"), Crypto::Tls);
}

#[divan::bench(sample_count = 10)]
fn one_hop_quinn_null_crypto(bencher: Bencher<'_, '_>) {
    let packets = one_hop::run(SECONDS);
    bencher.counter(ItemsCount::new(packets)).bench(|| one_hop::run(SECONDS));
}

fn measure(bencher: Bencher<'_, '_>, cell: &Cell, crypto: Crypto) {
    let run = || run_cell(cell, Options { crypto, ..Options::default() }).expect("the cell runs");
    let packets = run().summary.packets;
    bencher.counter(ItemsCount::new(packets)).bench(run);
}

fn cell(name: &str) -> Cell {
    let profile = |name| Arc::new(builtin::profile(name).expect("it is built in"));
    Cell {
        profile: profile(name),
        robot_hop: profile("robot-hop"),
        settings_name: "default".to_owned(),
        settings: Arc::default(),
        workload: Arc::default(),
        seed: 1,
        base_seed: 1,
        duration: Span::from_secs(SECONDS),
        warmup: Span::from_secs(5),
        offload: bench::Offload::default(),
        repeat: 1,
    }
}

/// Traffic in a cell.
const SECONDS: u64 = 20;
