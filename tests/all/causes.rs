//! Each missing or late frame has one cause, and the cause is the one that was put into the cell.

use bench::metrics::summary::CameraSummary;
use bench::metrics::{Cause, LATE_AFTER};
use bench::relay_core::Settings;
use bench::relay_core::settings::{CongestionFeedback, CongestionKind, DeliveryKind};
use bench::units::{Share, Span};
use bench::{CellResult, FrameRow};
use tests::{cell, cell_on, profile, run, unprotected};

/// QUIC's defaults, as a relay without tuning has them.
fn before() -> Settings {
    let mut settings = unprotected();
    settings.congestion.kind = CongestionKind::NewReno;
    settings.congestion.feedback = CongestionFeedback::Transport;
    settings.skip.threshold = Share::from_f64(0.01);
    settings.resize.enabled = false;
    settings
}

fn streams() -> Settings {
    let mut settings = before();
    settings.delivery.kind = DeliveryKind::Stream;
    settings
}

fn is_late(frame: &FrameRow) -> bool {
    frame.delivered_us.is_some_and(|at| at - frame.produced_us > LATE_AFTER.as_micros())
}

/// That a cell's causes are complete and agree in all places that have them.
fn check(name: &str, result: &CellResult) {
    for (camera, summary) in result.summary.cameras.iter() {
        let CameraSummary { produced, delivered, causes, .. } = summary;
        assert_eq!(causes.missing.total(), produced - delivered, "{name} {camera}: missing");
        let rows = || result.frames.iter().filter(|frame| frame.camera == camera);
        let within = summary.on_time_ratio.within_300_ms.unwrap_or(0.0) * *produced as f64;
        assert_eq!(causes.late.total(), delivered - within.round() as u64, "{name} {camera}: late");
        for cause in Cause::ALL {
            let of = |missing: bool| {
                let same = |frame: &&FrameRow| frame.cause == Some(cause);
                rows().filter(same).filter(|frame| frame.delivered_us.is_none() == missing).count() as u64
            };
            assert_eq!((of(true), of(false)), (causes.missing.of(cause), causes.late.of(cause)), "{name}");
        }
        let freezes: Vec<_> = result.freezes.iter().filter(|freeze| freeze.camera == camera).collect();
        assert_eq!(freezes.len() as u64, summary.freezes, "{name} {camera}: freezes");
        assert!(freezes.iter().all(|freeze| freeze.cause.is_some()), "{name} {camera}: {freezes:?}");
    }
    for frame in &result.frames {
        // Whole microseconds of both ends of a delay may differ by one from those of the delay.
        let borderline = frame
            .delivered_us
            .is_some_and(|at| (at - frame.produced_us).abs_diff(LATE_AFTER.as_micros()) <= 1);
        let caused = frame.delivered_us.is_none() || is_late(frame);
        assert!(borderline || frame.cause.is_some() == caused, "{name}: {frame:?}");
    }
}

#[test]
fn every_missing_or_late_frame_of_every_profile_has_one_cause() {
    let profiles = ["same-region", "brazil", "good-india", "bad-india", "thin-india"];
    let settings = [
        ("shipped", Settings::default()),
        ("bare", unprotected()),
        ("before", before()),
        ("streams", streams()),
    ];
    let mut caused = 0;
    for (index, base) in profiles.into_iter().enumerate() {
        for name in [base.to_owned(), format!("{base}-reorder")] {
            for (label, settings) in &settings {
                let result = run(&cell(&name, settings.clone(), 1 + index as u64, Span::from_secs(5)));
                check(&format!("{name} {label}"), &result);
                caused += result.frames.iter().filter(|frame| frame.cause.is_some()).count();
            }
        }
    }
    assert!(caused > 1000, "there was something to find: {caused}");
}

/// The causes of all missing frames of the cell, and of the late ones.
fn causes(text: &str, settings: Settings) -> (Vec<Cause>, Vec<Cause>) {
    let result = run(&cell_on(profile(text), settings, 1, Span::from_secs(6)));
    check(text, &result);
    let of = |missing: bool| {
        let frames = result.frames.iter().filter(|frame| frame.delivered_us.is_none() == missing);
        let mut causes: Vec<Cause> = frames.filter_map(|frame| frame.cause).collect();
        causes.sort_unstable();
        causes
    };
    (of(true), of(false))
}

#[test]
fn what_was_put_into_the_link_is_what_is_found() {
    let lossy = "rtt = \"100 ms\"\nloss = { kind = \"bernoulli\", p = \"2 %\" }\n";
    let (missing, late) = causes(lossy, unprotected());
    assert!(!missing.is_empty() && missing.iter().all(|cause| *cause == Cause::Lost), "{missing:?}");
    assert_eq!(late, []);

    let far = "rtt = \"700 ms\"\n";
    let (missing, late) = causes(far, unprotected());
    assert_eq!(missing, []);
    assert!(late.len() > 100 && late.iter().all(|cause| *cause == Cause::LinkDelay), "{late:?}");

    let mut open = unprotected();
    open.congestion.kind = CongestionKind::Open;
    open.resize.enabled = false;
    let shallow =
        "rtt = \"100 ms\"\n[down]\nrate = \"2 Mbit/s\"\nqueue = { kind = \"drop-tail\", time = \"60 ms\" }\n";
    let (missing, late) = causes(shallow, open.clone());
    assert!(missing.len() > 50 && missing.iter().all(|cause| *cause == Cause::QueueOverflow), "{missing:?}");
    assert_eq!(late, []);

    let deep =
        "rtt = \"100 ms\"\n[down]\nrate = \"2 Mbit/s\"\nqueue = { kind = \"drop-tail\", time = \"8 s\" }\n";
    let (_, late) = causes(deep, open);
    assert!(late.len() > 100 && late.iter().all(|cause| *cause == Cause::LinkQueue), "{late:?}");

    let dark = "rtt = \"100 ms\"\n[[down.schedule]]\nat = \"2 s\"\noutage = \"1 s\"\n";
    let (missing, _) = causes(dark, unprotected());
    assert!(missing.contains(&Cause::Outage), "{missing:?}");
}
