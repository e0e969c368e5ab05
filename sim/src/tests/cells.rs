//! Whole cells: that the same cell gives the same result however it is run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bench::{Cell, CellResult, Summary};
use netmodel::units::{Share, Span, Time};
use netmodel::{Profile, builtin};

use crate::{Crypto, Hooks, Options, Pool, SimError, run_cell};

fn cell(name: &str, seed: u64) -> Cell {
    let profile = |name| Arc::new(builtin::profile(name).expect("it is built in"));
    Cell {
        profile: profile(name),
        robot_hop: profile("robot-hop"),
        settings_name: "default".to_owned(),
        settings: Arc::default(),
        workload: Arc::default(),
        seed,
        base_seed: 1,
        duration: Span::from_secs(4),
        warmup: Span::from_secs(2),
        offload: bench::Offload::default(),
        repeat: 1,
    }
}

fn run(cell: &Cell, crypto: Crypto) -> CellResult {
    run_cell(cell, Options { crypto, ..Options::default() }).expect("the cell runs")
}

fn summaries(cells: &[Cell], jobs: usize) -> Vec<Summary> {
    let cancel = AtomicBool::new(false);
    let pool = Pool { jobs, crypto: Crypto::Null, cancel: &cancel, meter: || Duration::ZERO };
    let mut summaries = Vec::new();
    let delivered = pool.run(cells, Hooks::default(), |index, result| {
        assert_eq!(index, summaries.len());
        summaries.push(result.expect("the cell runs").summary);
    });
    assert_eq!(delivered, cells.len());
    summaries
}

#[test]
fn a_cell_gives_the_same_result_twice() {
    for profile in ["good-india", "bad-india-reorder", "thin-india"] {
        let cell = cell(profile, 1);
        let (first, second) = (run(&cell, Crypto::Null), run(&cell, Crypto::Null));
        assert!(first.summary.packets > 1_000, "{profile}: something happened");
        assert_eq!(first.summary, second.summary);
        assert_eq!(first.frames, second.frames);
        assert_eq!(first.seconds, second.seconds);
    }
}

/// Counts what it is told.
#[derive(Default)]
struct Counts {
    sent: u64,
    arrived: u64,
    samples: u64,
    quic: u64,
    reader: [crate::quic::Reader; 4],
}

impl crate::Tap for Counts {
    fn sent(&mut self, _now: Time, packet: &crate::tap::Sent<'_>) {
        let link = packet.id.hop as usize * 2 + packet.id.direction as usize;
        let packets = self.reader[link].read(packet.datagram);
        // Every byte is accounted for: nothing that QUIC sends is unknown to the reader.
        assert_eq!(packets.iter().map(|packet| packet.bytes).sum::<usize>(), packet.datagram.len());
        assert!(packets.iter().all(|packet| !packet.frames.is_empty()), "{packets:?}");
        self.sent += 1;
        self.quic += packets.len() as u64;
    }

    fn arrived(&mut self, _now: Time, _packet: &crate::tap::Arrived<'_>) {
        self.arrived += 1;
    }

    fn sample(&mut self, _now: Time, _sample: &crate::tap::Sample) {
        self.samples += 1;
    }

    fn sample_interval(&self) -> Option<Span> {
        Some(Span::from_millis(10))
    }
}

#[test]
fn who_listens_in_changes_nothing() {
    let cell = cell("bad-india-reorder", 2);
    let alone = run(&cell, Crypto::Null);
    let mut counts = Counts::default();
    let qlog: crate::tap::QlogSink = Arc::new(|_, _| Box::new(std::io::sink()));
    let options = Options { tap: Some(&mut counts), qlog: Some(qlog), ..Options::default() };
    let watched = run_cell(&cell, options).expect("the cell runs");
    assert_eq!(alone.summary, watched.summary);
    assert_eq!(alone.seconds, watched.seconds);
    assert_eq!(counts.sent, alone.summary.packets);
    assert!(counts.arrived < counts.sent && counts.quic >= counts.sent);
    assert_eq!(counts.samples, 701, "every 10 ms of four seconds and the drain of three, both ends included");
}

#[test]
fn seeds_give_different_results() {
    let hash = |seed| run(&cell("good-india", seed), Crypto::Null).summary.trace_hash;
    assert_ne!(hash(1), hash(2));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let cells: Vec<Cell> = ["good-india", "bad-india", "same-region"]
        .into_iter()
        .flat_map(|profile| (1..4).map(move |seed| cell(profile, seed)))
        .collect();
    assert_eq!(summaries(&cells, 1), summaries(&cells, 4));
}

/// The same packets at the same times: null crypto stands in for TLS to the byte count.
#[test]
fn real_crypto_gives_the_same_trace() {
    for profile in ["same-region", "good-india", "bad-india"] {
        let cell = cell(profile, 1);
        let (null, real) = (run(&cell, Crypto::Null).summary, run(&cell, Crypto::Tls).summary);
        assert_eq!(null.packets, real.packets, "{profile}");
        assert_eq!(null, real, "{profile}");
    }
}

/// Damaged and doubled packets are refused by either crypto alike.
#[test]
fn real_crypto_refuses_the_same_packets() {
    let mut cell = cell("good-india", 1);
    let mut profile = Profile::clone(&cell.profile);
    for direction in [&mut profile.up, &mut profile.down] {
        direction.corrupt = Share::from_f64(0.05);
        direction.duplicate = Share::from_f64(0.05);
    }
    cell.profile = Arc::new(profile);
    let (null, real) = (run(&cell, Crypto::Null).summary, run(&cell, Crypto::Tls).summary);
    assert_eq!(null, real);
    assert!(null.loss.pre_repair_ratio.is_some_and(|share| share > 0.03), "damage is loss: {:?}", null.loss);
}

#[test]
fn a_clean_link_delivers_every_frame() {
    let summary = run(&cell("same-region", 1), Crypto::Null).summary;
    for (name, camera) in summary.cameras.iter() {
        assert_eq!(camera.delivered, camera.produced, "{name}");
    }
    assert_eq!(summary.stale_commands, 0);
}

#[test]
fn a_panic_is_the_failure_of_its_cell_alone() {
    let cells: Vec<Cell> = (1..5).map(|seed| cell("same-region", seed)).collect();
    let cancel = AtomicBool::new(false);
    let pool = Pool { jobs: 2, crypto: Crypto::Null, cancel: &cancel, meter: || Duration::ZERO };
    let log = |index: usize, _: &Cell| match index {
        1 => panic!("the disk is on fire"),
        2 => Err(std::io::Error::other("no room")),
        _ => Ok(None),
    };
    let finished = AtomicUsize::new(0);
    let progress = |_, _| {
        finished.fetch_add(1, Ordering::Relaxed);
    };
    let mut results = Vec::new();
    pool.run(&cells, Hooks { log: &log, progress: &progress }, |_, result| results.push(result));
    assert_eq!(finished.load(Ordering::Relaxed), 4);
    let [first, second, third, fourth] = &results[..] else { panic!("four results") };
    assert!(first.is_ok() && fourth.is_ok());
    assert!(matches!(second, Err(SimError::Panicked { message }) if message == "the disk is on fire"));
    assert!(matches!(third, Err(SimError::Log(_))));
}

#[test]
fn a_cancelled_pool_begins_nothing() {
    let cells = [cell("same-region", 1)];
    let cancel = AtomicBool::new(true);
    let pool = Pool { jobs: 2, crypto: Crypto::Null, cancel: &cancel, meter: || Duration::ZERO };
    assert_eq!(pool.run(&cells, Hooks::default(), |_, _| panic!("nothing is delivered")), 0);
}

#[test]
fn packets_of_an_active_queue_are_accounted_for() {
    let text = "rtt = '40 ms'\nrate = '2 Mbit/s'\nqueue = { kind = 'codel', time = '300 ms' }";
    let profile = Arc::new(Profile::parse("codel", text).unwrap());
    let mut cell = cell("thin-india", 1);
    cell.profile = profile;
    // A law that fills the queue, and no smaller frames that would empty it.
    let mut settings = relay_core::Settings::default();
    settings.congestion.kind = relay_core::settings::CongestionKind::Open;
    settings.resize.enabled = false;
    cell.settings = Arc::new(settings);
    let result = run(&cell, Crypto::Null);
    let down = &result.summary.link.down;
    assert!(down.queue_dropped > 10, "{down:?}");
    let known = down.delivered + down.lost + down.queue_dropped + down.outage_dropped;
    // What is under way when the cell ends is acknowledgements and reports at most.
    assert!((known..=known + 8).contains(&down.offered), "{down:?}");
    let overflowed: u64 = result.summary.cameras.iter().map(|(_, c)| c.causes.missing.queue_overflow).sum();
    assert!(overflowed > 0, "{:?}", result.summary.cameras);
    assert_eq!(result.summary.trace_hash, run(&cell, Crypto::Null).summary.trace_hash);
}
