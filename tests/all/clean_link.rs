//! On a link with room and nothing wrong, the numbers follow from arithmetic.

use bench::relay_core::Settings;
use bench::units::{Size, Span};
use tests::{cell, cell_on, profile, run, unprotected};

const TWO_MINUTES: Span = Span::from_secs(120);

#[test]
fn every_frame_arrives_and_none_faster_than_the_link() {
    let link = "rtt = \"200 ms\"\nrate = \"100 Mbit/s\"\n";
    let mut settings = Settings::default();
    // Room from the first frame on.
    settings.congestion.initial_window = Size::from_bytes(1_000_000);
    let result = run(&cell_on(profile(link), settings, 1, TWO_MINUTES));
    let main = result.summary.cameras.get("main").expect("a main camera");
    assert_eq!((main.produced, main.delivered), (1800, 1800));
    assert!(main.frozen_s_per_min < f64::EPSILON);
    for frame in &result.frames {
        let delivered_us = frame.delivered_us.expect("every frame of every camera arrives");
        // Half a millisecond to the relay and 100 ms from there, and the frame's own bits at 100 Mbit/s
        // on the way to the operator. (The robot hop's serialisation overlaps with that, as the
        // relay sends on what it has.)
        let least_us = 100_500 + u64::from(frame.bytes) * 8 / 100;
        let delay_us = delivered_us - frame.produced_us;
        assert!(delay_us >= least_us, "{frame:?} took {delay_us} us, less than {least_us} us");
    }
}

#[test]
fn hand_to_command_on_good_india_is_the_link_and_the_wait_for_a_pose() {
    let hand =
        |seed| run(&cell("good-india", Settings::default(), seed, TWO_MINUTES)).summary.hand_to_command_ms;
    let hands = [hand(1), hand(2), hand(3)];
    let p50 = hands.iter().map(|hand| hand.p50.expect("commands were executed")).sum::<f64>() / 3.0;
    let p99 = hands.iter().map(|hand| hand.p99.expect("nearly all of them")).sum::<f64>() / 3.0;
    assert!((132.5..=134.0).contains(&p50), "p50 {p50} ms");
    assert!((146.0..=150.0).contains(&p99), "p99 {p99} ms");
}

#[test]
fn same_region_is_as_fast_as_it_gets() {
    let summary = run(&cell("same-region", Settings::default(), 1, TWO_MINUTES)).summary;
    let main = summary.cameras.get("main").expect("a main camera");
    assert_eq!(main.delivered, 1800);
    // The source's tuned relay has 19 ms here.
    let p99 = main.delay_all_ms.p99.expect("every frame arrives");
    assert!(p99 < 5.0, "p99 {p99} ms");
    assert_eq!(summary.stale_commands, 0);
    assert_eq!(summary.transport.events_unexpected, 0);
}

#[test]
fn a_schedule_counts_from_the_start_of_traffic() {
    let link = "rtt = \"20 ms\"\n\
                schedule = [{ at = \"2 s\", outage = \"1 s\" }]\n";
    // What is sent again may cross it.
    let result = run(&cell_on(profile(link), unprotected(), 1, Span::from_secs(6)));
    let main: Vec<_> = result.frames.iter().filter(|frame| frame.camera == "main").collect();
    assert_eq!(main.len(), 90);
    for frame in main {
        let arrived = frame.delivered_us.is_some();
        if frame.forwarded_us.is_some_and(|at| (2_000_000..3_000_000).contains(&at)) {
            assert!(!arrived, "{frame:?} crossed the outage");
        }
        // After it, the relay's controller and the queue need a moment.
        if frame.produced_us < 1_900_000 || frame.produced_us > 4_500_000 {
            assert!(arrived, "{frame:?} was lost outside the outage");
        }
    }
}
