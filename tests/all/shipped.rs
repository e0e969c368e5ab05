//! What the shipped settings reach on the links that are built in, in cells of half a minute. The bounds have
//! room for a short cell's chance; `scenarios/best.toml` is the full measurement.

use bench::Summary;
use bench::relay_core::Settings;
use bench::units::Span;
use tests::{cell, run};

fn summary(profile: &str) -> Summary {
    run(&cell(profile, Settings::default(), 11, Span::from_secs(30))).summary
}

#[test]
fn frames_arrive_on_time_on_every_link() {
    // Least delivered, longest median and longest 99th percentile over all produced frames, most overhead.
    let bounds = [
        ("same-region", 1.0, 3.5, 5.0, 1.12),
        ("same-region-reorder", 1.0, 3.5, 5.0, 1.12),
        ("brazil", 0.99, 102.0, 125.0, 1.35),
        ("brazil-reorder", 0.99, 95.0, 120.0, 1.35),
        ("good-india", 0.99, 137.0, 155.0, 1.30),
        ("good-india-reorder", 0.99, 137.0, 155.0, 1.30),
        ("bad-india", 0.985, 170.0, 500.0, 1.80),
        ("bad-india-reorder", 0.985, 155.0, 500.0, 1.80),
    ];
    for (profile, delivered, p50, p99, overhead) in bounds {
        let summary = summary(profile);
        let main = summary.cameras.get("main").expect("a main camera");
        assert!(main.delivered_ratio.expect("frames") >= delivered, "{profile}: {main:?}");
        assert!(main.delay_ms.p50.expect("frames") <= p50, "{profile}: {main:?}");
        assert!(main.delay_all_ms.p99.expect("all but a few arrive") <= p99, "{profile}: {main:?}");
        assert!(
            summary.overhead_ratio.expect("frames") <= overhead,
            "{profile}: {:?}",
            summary.overhead_ratio
        );
        assert_eq!(summary.stale_commands, 0);
        assert_eq!(summary.transport.events_unexpected, 0);
    }
}

#[test]
fn a_thin_link_carries_smaller_frames_and_keeps_its_queue_short() {
    for profile in ["thin-india", "thin-india-reorder"] {
        let summary = summary(profile);
        let main = summary.cameras.get("main").expect("a main camera");
        assert!(main.delivered_ratio.expect("frames") >= 0.97, "{profile}: {main:?}");
        assert!(main.delay_ms.p50.expect("frames") <= 200.0, "{profile}: {main:?}");
        let rate = summary.all.goodput_mbit_s;
        assert!(rate.is_some_and(|rate| rate >= 1.6), "{profile}: {:?}", summary.all);
    }
}
