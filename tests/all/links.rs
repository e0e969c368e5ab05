//! Every control law in the whole relay over generated links.
//!
//! The laws are those of the registry, so that a new one is in here by being listed there; a row in
//! [`TABLE`] says where one is known to differ from [`DEFAULT`]. By default a few cases with a fixed seed;
//! `PROPTEST_CASES=200` runs more, on links of its own each time (`PROPTEST_RNG_SEED` repeats them). A failure
//! shrinks, and prints a scenario that replays it.

use bench::metrics::summary::{CameraSummary, LinkSummary};
use bench::relay_core::Settings;
use bench::relay_core::congestion::kinds;
use bench::relay_core::settings::CongestionKind;
use bench::units::Span;
use bench::{Cell, CellResult, Scenario};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use tests::{cell_on, run};

/// What a law must reach on whatever link.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Least video goodput as a share of what link and workload allow, without loss.
    clean_share: f64,
    /// The same on a link that loses packets.
    lossy_share: f64,
    /// Longest median wait in the queue, above that of a frame that leaves at once.
    queue_ms: f64,
    /// Most seconds after an outage or a step until pictures come at half their pace again.
    recovery_s: u64,
}

/// For laws without a row. A cell is short: the start, the disturbance and the way back are half of it.
const DEFAULT: Bounds = Bounds { clean_share: 0.35, lossy_share: 0.25, queue_ms: 60.0, recovery_s: 3 };

/// What is known to differ; `bounds.rs` of the laws has why, on the bottleneck alone.
const TABLE: &[(CongestionKind, Bounds)] = &[
    // After an outage of less than a second on a thin link, frames grow back to full size in some five seconds,
    // which is most of what is left of the cell.
    (CongestionKind::Delay, Bounds { clean_share: 0.4, lossy_share: 0.4, ..DEFAULT }),
    // It yields to jitter, and to what leaves at once on a thin link; and takes either for a rival now and then,
    // beside whom it fills the queue. After a step down to under 1 Mbit/s with loss it may stay at so small a window that
    // pictures do not come at half their pace again within the cell (1.1 to 0.7 Mbit/s, 56 ms, 0.74 % loss).
    (CongestionKind::Copa, Bounds { clean_share: 0.25, lossy_share: 0.1, queue_ms: 300.0, recovery_s: 30 }),
    // After an outage of two to three seconds it climbs from its floor for longer than the cell lasts.
    (CongestionKind::C4, Bounds { recovery_s: 30, ..DEFAULT }),
    // They take loss for congestion, and fill queues.
    (
        CongestionKind::NewReno,
        Bounds { lossy_share: 0.05, queue_ms: f64::INFINITY, recovery_s: 10, ..DEFAULT },
    ),
    (CongestionKind::Cubic, Bounds { lossy_share: 0.1, queue_ms: f64::INFINITY, recovery_s: 6, ..DEFAULT }),
    // It heeds loss like delay, and aims at a queue that a short one does not hold.
    (CongestionKind::Nada, Bounds { clean_share: 0.2, lossy_share: 0.1, queue_ms: 200.0, recovery_s: 10 }),
    // It aims at a queue, and raises its aim up to 0.4 s (RFC 8298).
    (CongestionKind::Scream, Bounds { queue_ms: 400.0, ..DEFAULT }),
    // It grows by 8 % a second at most, so that half a short cell is the way back; after an outage of 1.5 s on 1 Mbit/s it
    // has got 0.19 of what there was by the end.
    (CongestionKind::Gcc, Bounds { clean_share: 0.15, lossy_share: 0.15, recovery_s: 30, ..DEFAULT }),
];

fn bounds(kind: CongestionKind) -> Bounds {
    TABLE.iter().find(|(listed, _)| *listed == kind).map_or(DEFAULT, |(_, bounds)| *bounds)
}

/// A link.
#[derive(Debug, Clone)]
struct Drawn {
    rtt_ms: u32,
    jitter_ms: u32,
    loss: Loss,
    /// With the rate, the queue.
    rate: Option<Limit>,
    event: Option<Disturbance>,
    seed: u64,
}

#[derive(Debug, Clone, Copy)]
struct Limit {
    kbit_s: u32,
    queue_ms: u32,
}

#[derive(Debug, Clone, Copy)]
enum Loss {
    None,
    /// Per ten thousand.
    Bernoulli(u32),
    /// Mean per ten thousand, and the mean burst.
    Bursts(u32, u32),
}

#[derive(Debug, Clone, Copy)]
enum Disturbance {
    Outage {
        ms: u32,
    },
    /// To this share of the rate, in percent; of nothing where there is no rate.
    Step {
        percent: u32,
    },
}

fn links() -> impl Strategy<Value = Drawn> {
    let loss = prop_oneof![
        2 => Just(Loss::None),
        1 => (1u32..=300).prop_map(Loss::Bernoulli),
        1 => (1u32..=300, 1u32..=6).prop_map(|(mean, burst)| Loss::Bursts(mean, burst)),
    ];
    let rate = (1_000u32..=50_000, 50u32..=500).prop_map(|(kbit_s, queue_ms)| Limit { kbit_s, queue_ms });
    let event = prop_oneof![
        (200u32..=3_000).prop_map(|ms| Disturbance::Outage { ms }),
        (40u32..=200).prop_map(|percent| Disturbance::Step { percent }),
    ];
    let parts = (
        10u32..=400,
        0u32..=20,
        loss,
        prop::option::weighted(0.75, rate),
        prop::option::of(event),
        1u64..1000,
    );
    parts.prop_map(|(rtt_ms, jitter_ms, loss, rate, event, seed)| {
        // Three deviations are no more than the delay.
        let jitter_ms = jitter_ms.min(rtt_ms / 6);
        Drawn { rtt_ms, jitter_ms, loss, rate, event, seed }
    })
}

impl Drawn {
    /// The profile's text, of which every line is one of a profile file or, with `table` before it, of a scenario.
    fn text(&self, table: &str) -> String {
        let mut lines = vec![format!("rtt = \"{} ms\"", self.rtt_ms)];
        if self.jitter_ms > 0 {
            lines.push(format!("jitter = {{ sigma = \"{} ms\" }}", self.jitter_ms));
        }
        let percent = |per_10_000: u32| format!("{}.{:02} %", per_10_000 / 100, per_10_000 % 100);
        match self.loss {
            Loss::None => {}
            Loss::Bernoulli(p) => {
                lines.push(format!("loss = {{ kind = \"bernoulli\", p = \"{}\" }}", percent(p)));
            }
            Loss::Bursts(mean, burst) => lines.push(format!(
                "loss = {{ kind = \"gilbert-elliott\", mean = \"{}\", burst = {burst} }}",
                percent(mean)
            )),
        }
        if let Some(Limit { kbit_s, queue_ms }) = self.rate {
            lines.push(format!("rate = \"{kbit_s} kbit/s\""));
            lines.push(format!("queue = {{ kind = \"drop-tail\", time = \"{queue_ms} ms\" }}"));
        }
        let change = match (self.event, self.rate) {
            (Some(Disturbance::Outage { ms }), _) => Some(format!("outage = \"{ms} ms\"")),
            (Some(Disturbance::Step { .. }), Some(_)) => {
                Some(format!("rate = \"{} kbit/s\"", self.kbit_s_after().unwrap_or_default()))
            }
            _ => None,
        };
        if let Some(change) = change {
            let place = if table.is_empty() { String::new() } else { format!("{table}.") };
            lines.push(format!("[[{place}down.schedule]]\nat = \"{EVENT_S} s\"\n{change}"));
        }
        lines.join("\n") + "\n"
    }

    fn kbit_s_after(&self) -> Option<u32> {
        let Limit { kbit_s, .. } = self.rate?;
        match self.event {
            Some(Disturbance::Step { percent }) => Some((kbit_s * percent / 100).max(600)),
            _ => Some(kbit_s),
        }
    }

    fn settings(kind: CongestionKind) -> Settings {
        let mut settings = Settings::default();
        settings.congestion.kind = kind;
        settings
    }

    fn cell(&self, kind: CongestionKind) -> Cell {
        let profile = tests::profile(&self.text(""));
        Cell {
            base_seed: 1,
            ..cell_on(profile, Self::settings(kind), self.seed, Span::from_secs(DURATION_S))
        }
    }

    /// A scenario of that one cell, and how to run it.
    fn replay(&self, kind: CongestionKind) -> String {
        let name = serde_json::to_string(&kind).expect("a name");
        format!(
            "duration = \"{DURATION_S} s\"\nseeds = \"{}\"\nprofiles = [\"test\"]\n\n[settings.test]\ncongestion = {{ kind = {name} \
             }}\n\n[profile.test]\n{}",
            self.seed,
            self.text("profile.test")
        )
    }

    /// Mbit/s that link and workload allow, on average over the traffic.
    fn allowed_mbit_s(&self) -> f64 {
        let share = |kbit_s: Option<u32>| {
            kbit_s.map_or(WORKLOAD_MBIT_S, |rate| f64::from(rate) / 1e3).min(WORKLOAD_MBIT_S)
        };
        let (before, after) = (share(self.rate.map(|rate| rate.kbit_s)), share(self.kbit_s_after()));
        let (event, total) = (EVENT_S as f64, DURATION_S as f64);
        let dark = match self.event {
            Some(Disturbance::Outage { ms }) => f64::from(ms) / 1e3,
            _ => 0.0,
        };
        (before * event + after * (total - event - dark)) / total
    }

    /// The second from which pictures are waited for after the disturbance.
    fn over_at_s(&self) -> Option<u64> {
        match self.event? {
            Disturbance::Outage { ms } => Some(EVENT_S + u64::from(ms).div_ceil(1000)),
            Disturbance::Step { .. } => Some(EVENT_S),
        }
    }
}

/// What a law reached on a link.
#[derive(Debug, Clone, Copy)]
struct Reached {
    /// Video goodput as a share of what there is.
    share: f64,
    /// Median wait in the queue above that of a frame that leaves at once; 0 without a queue.
    queue_ms: f64,
    /// Seconds after the disturbance until pictures came again; `None` if they did not, or there was none.
    back_s: Option<u64>,
}

fn measure(link: &Drawn, result: &CellResult) -> Reached {
    let summary = &result.summary;
    let narrowest = link.rate.and_then(|rate| Some(rate.kbit_s.min(link.kbit_s_after()?)));
    let queue = narrowest.map(|kbit_s| {
        // A main frame and its parity that leave at once wait for each other.
        summary.link.down.queue_ms.p50.unwrap_or_default() - FRAME_BITS / f64::from(kbit_s)
    });
    let over = link.over_at_s().unwrap_or(u64::MAX);
    let back = result.seconds.iter().filter(|row| row.second >= over).find(|row| {
        let main = row.cameras.get("main").map_or(0, |main| main.delivered);
        main * 2 >= MAIN_FRAMES_PER_S
    });
    Reached {
        share: summary.all.goodput_mbit_s.unwrap_or_default() / link.allowed_mbit_s(),
        queue_ms: queue.unwrap_or_default().max(0.0),
        back_s: back.map(|row| row.second - over),
    }
}

fn complaints(link: &Drawn, kind: CongestionKind, result: &CellResult) -> Vec<String> {
    let mut found = accounts(result);
    if kind == CongestionKind::Open {
        return found;
    }
    let (bounds, reached) = (bounds(kind), measure(link, result));
    let least = if matches!(link.loss, Loss::None) { bounds.clean_share } else { bounds.lossy_share };
    // A queue that does not hold a frame loses some of each, under any law that lets packets leave in bursts.
    let shallow = link.rate.is_some_and(|rate| {
        f64::from(rate.kbit_s.min(link.kbit_s_after().unwrap_or(u32::MAX))) * f64::from(rate.queue_ms)
            < FRAME_BITS
    });
    if reached.share < least && !shallow {
        found.push(format!("gets {:.3} of what there is, less than {least}", reached.share));
    }
    if reached.queue_ms > bounds.queue_ms {
        found.push(format!(
            "keeps a queue of {:.0} ms more than a frame, over {}",
            reached.queue_ms, bounds.queue_ms
        ));
    }
    // What there is no time to see is not judged.
    let seen = !shallow && link.over_at_s().is_some_and(|over| over + bounds.recovery_s < DURATION_S);
    if seen && reached.back_s.is_none_or(|back| back > bounds.recovery_s) {
        found.push(format!(
            "is back {:?} s after the disturbance, later than {}",
            reached.back_s, bounds.recovery_s
        ));
    }
    found
}

/// Not a check: prints the worst that every law reaches on `PROPTEST_CASES` links, to set bounds by.
#[test]
#[ignore = "prints what the bounds are set by"]
fn what_every_law_reaches() {
    let mut runner =
        TestRunner::new(ProptestConfig { rng_seed: RngSeed::Fixed(2), ..ProptestConfig::default() });
    let drawn = (0..runner.config().cases).map(|_| links().new_tree(&mut runner).expect("a link").current());
    let drawn: Vec<Drawn> = drawn.collect();
    for kind in kinds() {
        let cells = drawn.iter().map(|link| (link, run(&link.cell(kind))));
        let reached: Vec<(&Drawn, Reached)> =
            cells.map(|(link, result)| (link, measure(link, &result))).collect();
        let lowest = |lossless: bool| {
            let of = reached.iter().filter(|(link, _)| matches!(link.loss, Loss::None) == lossless);
            let mut shares: Vec<(f64, &Drawn)> = of.map(|(link, reached)| (reached.share, *link)).collect();
            shares.sort_by(|a, b| a.0.total_cmp(&b.0));
            shares.into_iter().take(3).collect::<Vec<_>>()
        };
        let mut queues: Vec<(f64, &Drawn)> = reached.iter().map(|(link, r)| (r.queue_ms, *link)).collect();
        queues.sort_by(|a, b| b.0.total_cmp(&a.0));
        let late = reached.iter().filter(|(link, r)| link.event.is_some() && r.back_s.is_none_or(|s| s > 2));
        let mut late: Vec<(u64, &Drawn)> =
            late.map(|(link, r)| (r.back_s.unwrap_or(u64::MAX), *link)).collect();
        late.sort_by_key(|(back, _)| std::cmp::Reverse(*back));
        println!("{kind:?}\n  clean {:?}\n  lossy {:?}", lowest(true), lowest(false));
        println!(
            "  queue {:?}\n  late {} {:?}",
            &queues[..3.min(queues.len())],
            late.len(),
            late.iter().take(3).collect::<Vec<_>>()
        );
    }
}

/// Everything offered has a fate, and every frame.
fn accounts(result: &CellResult) -> Vec<String> {
    let mut found = Vec::new();
    let summary = &result.summary;
    let last: Vec<_> = result.seconds.iter().rev().take(2).collect();
    let recent =
        [last.iter().map(|row| row.down.packets).sum(), last.iter().map(|row| row.up.packets).sum::<u64>()];
    for (name, link, recent) in [("down", &summary.link.down, recent[0]), ("up", &summary.link.up, recent[1])]
    {
        let LinkSummary { offered, lost, queue_dropped, outage_dropped, delivered, .. } = *link;
        let fates = lost + queue_dropped + outage_dropped + delivered;
        if fates > offered || offered - fates > recent {
            found.push(format!("{name}: {offered} packets have {fates} fates, {recent} of them recent"));
        }
    }
    for (name, camera) in summary.cameras.iter() {
        let CameraSummary { produced, delivered, dropped, .. } = camera;
        let given_up = dropped.skipped
            + dropped.expired
            + dropped.superseded
            + dropped.no_peer
            + dropped.incomplete
            + dropped.lost_on_link
            + dropped.unaccounted;
        if *produced != delivered + given_up || dropped.unaccounted > 0 {
            found.push(format!("{name}: {produced} frames, {delivered} delivered, {dropped:?}"));
        }
    }
    if summary.transport.events_unexpected + summary.stale_commands + summary.commands.repeated > 0 {
        found.push(format!("impossible events: {:?} {:?}", summary.transport, summary.commands));
    }
    found
}

#[test]
fn every_law_keeps_its_bounds_on_generated_links() {
    #[expect(clippy::disallowed_methods, reason = "how a person asks for more cases")]
    let asked = std::env::var("PROPTEST_CASES").is_ok();
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if !asked {
        (config.cases, config.rng_seed) = (CASES, RngSeed::Fixed(1));
    }
    let outcome = TestRunner::new(config).run(&links(), |link| {
        for kind in kinds() {
            let found = complaints(&link, kind, &run(&link.cell(kind)));
            if !found.is_empty() {
                let replay = link.replay(kind);
                let message = format!(
                    "{kind:?} {}\nreplay: save the following as link.toml, then `arcbench run \
                     link.toml`\n\n{replay}",
                    found.join("\n")
                );
                return Err(TestCaseError::fail(message));
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_printed_for_replay_is_the_same_cell(link in links(), law in 0usize..8) {
        let kind = kinds().nth(law).expect("there are more");
        let scenario = Scenario::parse("link.toml", &link.replay(kind), &|_| None);
        let scenario = scenario.unwrap_or_else(|errors| panic!("{errors}\n{}", link.replay(kind)));
        let cells = scenario.cells();
        prop_assert_eq!(cells.len(), 1);
        prop_assert_eq!(&cells[0].profile, &link.cell(kind).profile);
        prop_assert_eq!(cells[0].id(), link.cell(kind).id());
    }
}

/// Cases when nobody asks for more; each is a cell with every law.
const CASES: u32 = 6;
const DURATION_S: u64 = 14;
/// When the link changes, if it does.
const EVENT_S: u64 = 7;
/// The default workload.
const WORKLOAD_MBIT_S: f64 = 3.1;
/// A main frame with its parity.
const FRAME_BITS: f64 = 200_000.0;
const MAIN_FRAMES_PER_S: u64 = 15;
