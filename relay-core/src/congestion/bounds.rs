//! What every law must reach on a single bottleneck, and the tests that it does.
//!
//! A law that has no row of its own must keep [`DEFAULT`]. Run with `--nocapture` to see what each
//! one reaches.

use units::{Span, Time};

use super::bottleneck::{Bottleneck, PACKET_BYTES, Path, Run, Source};
use super::controller::Controller;
use super::properties::start;
use super::registry::{Build, tested};
use crate::settings::CongestionKind;

/// The bounds of one law.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Least percentage of the link that is used, alone on [`STEADY`].
    used_percent: u64,
    /// Longest median wait in the queue there, whose capacity is 300 ms.
    queued: Span,
    /// Least goodput on [`LOSSY`], in kbit/s.
    lossy_kbit: u64,
    /// Least goodput on [`JITTERY`], in kbit/s.
    jittery_kbit: u64,
    /// Most time until 70 % of the link is used again, after it has grown fivefold.
    rise: Span,
    /// Most time until the median wait of half a second is within `queued`, after the link has
    /// shrunk to a fifth.
    drain: Span,
    /// Most time until 50 % of the link is used again, after three seconds of outage.
    resume: Span,
    /// Most bytes of window for each byte in flight when the source is frames and the link is
    /// wide.
    pub(crate) idle_window_ratio: u64,
    /// Clean round trips after which four packets a round trip are delivered again, whatever went
    /// before.
    pub(crate) recovery_rtts: u64,
}

/// For laws without a row.
const DEFAULT: Bounds = Bounds {
    used_percent: 80,
    queued: Span::from_millis(60),
    lossy_kbit: 1_000,
    jittery_kbit: 1_000,
    rise: Span::from_secs(15),
    drain: Span::from_secs(5),
    resume: Span::from_secs(5),
    idle_window_ratio: 8,
    recovery_rtts: 200,
};

/// What is known to differ. A law that fills the queue has the queue's capacity as its bound, in
/// time that is five times as long once the link has shrunk.
const TABLE: &[(CongestionKind, Bounds)] = &[
    (
        CongestionKind::NewReno,
        Bounds {
            used_percent: 95,
            queued: Span::from_millis(300),
            lossy_kbit: 300,
            rise: Span::from_secs(30),
            ..DEFAULT
        },
    ),
    (
        CongestionKind::Cubic,
        Bounds { used_percent: 95, queued: Span::from_millis(300), lossy_kbit: 300, ..DEFAULT },
    ),
    (CongestionKind::Nada, Bounds { resume: Span::from_secs(10), ..DEFAULT }),
    // A backlog raises its target, and with it the queue.
    (CongestionKind::Scream, Bounds { queued: Span::from_millis(300), ..DEFAULT }),
    // It grows by 8 % a second, and by 5 % after heavy loss.
    (
        CongestionKind::Gcc,
        Bounds { rise: Span::from_secs(35), resume: Span::from_secs(30), recovery_rtts: 1_200, ..DEFAULT },
    ),
    // Feedback in reports makes its queue longer, and jitter is a queue to it.
    (
        CongestionKind::Copa,
        Bounds { queued: Span::from_millis(40), lossy_kbit: 16_000, jittery_kbit: 2_000, ..DEFAULT },
    ),
    // Cuts of a quarter follow each other at round trips that a long queue makes long.
    (
        CongestionKind::C4,
        Bounds {
            used_percent: 95,
            queued: Span::from_millis(20),
            lossy_kbit: 5_500,
            jittery_kbit: 18_000,
            drain: Span::from_secs(5),
            ..DEFAULT
        },
    ),
    // The greatest rate is forgotten after two probes, and a probe takes rounds of the long queue.
    (
        CongestionKind::Bbr3,
        Bounds {
            used_percent: 94,
            lossy_kbit: 10_000,
            jittery_kbit: 18_000,
            drain: Span::from_secs(20),
            ..DEFAULT
        },
    ),
];

pub(crate) fn bounds(kind: CongestionKind) -> Bounds {
    TABLE.iter().find(|(listed, _)| *listed == kind).map_or(DEFAULT, |(_, bounds)| *bounds)
}

/// 10 Mbit/s, 60 ms round trip, 300 ms of queue.
const STEADY: Path = Path::clear(10_000_000, Span::from_millis(60), 375_000);
/// 1.5 % random loss on 20 Mbit/s and 130 ms.
const LOSSY: Path =
    Path { bits_per_sec: 20_000_000, rtt: Span::from_millis(130), loss_per_mille: 15, ..STEADY };
/// Up to 30 ms of jitter on the same link without loss.
const JITTERY: Path = Path { loss_per_mille: 0, jitter: Span::from_millis(30), ..LOSSY };

fn law(build: Build) -> Box<dyn Controller> {
    build(&start())
}

fn kbit(run: &Run, length: Span) -> u64 {
    run.delivered_bytes * 8_000_000 / length.as_nanos().max(1)
}

/// How long until `done` says so of a stretch of half a second.
fn time_until(link: &mut Bottleneck<'_>, done: impl Fn(&Run, u64) -> bool) -> Span {
    let stretch = Span::from_millis(500);
    let mut passed = Span::ZERO;
    while passed < Span::from_secs(60) {
        let run = link.run(stretch);
        passed += stretch;
        if done(&run, kbit(&run, stretch)) {
            break;
        }
    }
    passed
}

/// What a law reached.
#[derive(Debug, Clone, Copy)]
struct Reached {
    used_percent: u64,
    queued: Span,
    lossy_kbit: u64,
    jittery_kbit: u64,
    rise: Span,
    drain: Span,
    resume: Span,
}

fn goodput(build: Build, path: Path, seed: u64) -> (u64, Run) {
    let mut law = law(build);
    let mut link = Bottleneck::new(Time::ZERO, law.as_mut(), path, Source::Backlog, seed);
    link.run(Span::from_secs(10));
    let length = Span::from_secs(30);
    let run = link.run(length);
    (kbit(&run, length), run)
}

fn measure(build: Build, bounds: &Bounds, reports: bool) -> Reached {
    let path = |path: Path| Path { reports, ..path };
    let (steady_kbit, steady) = goodput(build, path(STEADY), 1);
    let mut stepped = law(build);
    let mut link = Bottleneck::new(Time::ZERO, stepped.as_mut(), path(STEADY), Source::Backlog, 2);
    link.run(Span::from_secs(20));
    link.path.bits_per_sec = STEADY.bits_per_sec / 5;
    let queued = bounds.queued;
    // A full queue takes five times as long on the shrunken link.
    let allowed = if queued >= Span::from_millis(300) { queued * 5 } else { queued };
    let drain = time_until(&mut link, |run, _| run.queued_percentile(50) <= allowed);
    link.run(Span::from_secs(20));
    link.path.bits_per_sec = STEADY.bits_per_sec;
    let rise = time_until(&mut link, |_, kbit| kbit >= 7_000);
    link.run(Span::from_secs(10));
    link.path.outage = true;
    link.run(Span::from_secs(3));
    link.path.outage = false;
    let resume = time_until(&mut link, |_, kbit| kbit >= 5_000);
    Reached {
        used_percent: steady_kbit * 100_000 / STEADY.bits_per_sec,
        queued: steady.queued_percentile(50),
        lossy_kbit: goodput(build, path(LOSSY), 3).0,
        jittery_kbit: goodput(build, path(JITTERY), 4).0,
        rise,
        drain,
        resume,
    }
}

fn complaints(bounds: &Bounds, reached: &Reached) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |kept: bool, what: &str| {
        if !kept {
            found.push(what.to_owned());
        }
    };
    check(reached.used_percent >= bounds.used_percent, "uses too little of the link");
    check(reached.queued <= bounds.queued, "keeps too long a queue");
    check(reached.lossy_kbit >= bounds.lossy_kbit, "is too slow at 1.5 % loss");
    check(reached.jittery_kbit >= bounds.jittery_kbit, "is too slow with jitter");
    check(reached.rise <= bounds.rise, "finds new room too late");
    check(reached.drain <= bounds.drain, "drains the queue of a shrunken link too late");
    check(reached.resume <= bounds.resume, "is back too late after an outage");
    found
}

#[test]
fn every_law_keeps_its_bounds() {
    let mut broken = Vec::new();
    for (kind, build) in tested().into_iter().filter(|(kind, _)| *kind != CongestionKind::Open) {
        let bounds = bounds(kind);
        for reports in [false, true] {
            let reached = measure(build, &bounds, reports);
            println!("{kind:?}, reports {reports}: {reached:?}");
            for complaint in complaints(&bounds, &reached) {
                broken.push(format!(
                    "{kind:?} (reports: {reports}) {complaint}: {reached:?} against {bounds:?}"
                ));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{}\nreplay: cargo test -p relay-core every_law_keeps_its_bounds -- --nocapture",
        broken.join("\n")
    );
}

#[test]
fn frames_on_a_wide_link_do_not_inflate_any_window() {
    let path = Path { bits_per_sec: 1_000_000_000, rtt: Span::from_millis(100), ..STEADY };
    let source = Source::Frames { packets: 17, interval: Span::from_millis(66) };
    for (kind, build) in tested().into_iter().filter(|(kind, _)| *kind != CongestionKind::Open) {
        for reports in [false, true] {
            let path = Path { reports, ..path };
            let mut law = law(build);
            let run = Bottleneck::new(Time::ZERO, law.as_mut(), path, source, 5).run(Span::from_secs(120));
            let most = run.in_flight_bytes_max.max(10 * PACKET_BYTES) * bounds(kind).idle_window_ratio;
            println!("{kind:?}, reports {reports}: {} of {most}", run.window_bytes_max);
            assert!(
                run.window_bytes_max <= most,
                "{kind:?} (reports: {reports}) has a window of {} for {} in flight\nreplay: cargo test -p \
                 relay-core frames_on_a_wide_link -- --nocapture",
                run.window_bytes_max,
                run.in_flight_bytes_max
            );
        }
    }
}
