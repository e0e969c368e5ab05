//! The relay before it was tuned, on the link that shows why it had to be.

use bench::Summary;
use bench::relay_core::Settings;
use bench::relay_core::settings::{Congestion, CongestionFeedback, CongestionKind, LossDetection};
use bench::units::{Size, Span};
use tests::{cell, run, unprotected};

/// Quinn's default loss detection and no skipping.
fn untuned(kind: CongestionKind) -> Settings {
    let mut settings = unprotected();
    settings.congestion = Congestion {
        kind,
        initial_window: Size::from_bytes(12_000),
        feedback: CongestionFeedback::Transport,
        burst: Size::from_bytes(400_000),
    };
    settings.loss_detection = LossDetection { packet_threshold: 3, time_threshold: 1.125 };
    settings.feedback.ack_packets = 1;
    settings.resize.enabled = false;
    settings.mtu.discovery = false;
    settings
}

fn summary(profile: &str, kind: CongestionKind) -> Summary {
    run(&cell(profile, untuned(kind), 1, Span::from_secs(120))).summary
}

#[test]
fn reordering_taken_for_loss_freezes_the_picture() {
    for kind in [CongestionKind::NewReno, CongestionKind::Cubic] {
        let summary = summary("bad-india-reorder", kind);
        let main = summary.cameras.get("main").expect("a main camera");
        let delivered = main.delivered_ratio.expect("frames were produced");
        assert!(delivered < 0.15, "{kind:?} delivered {delivered}");
        let median = main.delay_ms.p50.expect("some frames arrive");
        assert!((700.0..1300.0).contains(&median), "{kind:?}: median {median} ms");
        // Why: most of what QUIC declared lost was only late.
        let transport = &summary.transport;
        assert!(
            transport.packets_declared_lost > 3 * transport.packets_really_lost,
            "declared {}, really {}",
            transport.packets_declared_lost,
            transport.packets_really_lost
        );
    }
}

#[test]
fn without_reordering_what_quinn_declares_lost_is_lost() {
    let summary = summary("bad-india", CongestionKind::Cubic);
    let transport = &summary.transport;
    assert_eq!(transport.packets_declared_lost, transport.packets_really_lost);
    let delivered = summary.cameras.get("main").and_then(|main| main.delivered_ratio);
    let delivered = delivered.expect("frames were produced");
    assert!((0.2..0.5).contains(&delivered), "delivered {delivered}");
}
