//! What an outage leaves behind: nothing. A link that was gone for a while has said nothing about its rate, nor about the loss
//! that parity must repair.

use std::ops::Range;

use bench::CellResult;
use bench::relay_core::Settings;
use bench::units::Span;
use tests::{cell_on, profile, run};

/// An operator hop of 140 ms that is gone in a direction from the eighth second on.
fn gone_for(ms: u64, direction: &str, more: &str) -> CellResult {
    let link = format!(
        "rtt = \"140 ms\"\njitter = {{ sigma = \"3 ms\" }}\n{more}\n\
         [[{direction}.schedule]]\nat = \"8 s\"\noutage = \"{ms} ms\"\n"
    );
    run(&cell_on(profile(&link), Settings::default(), 1, Span::from_secs(20)))
}

/// Bytes of frames that came, and the share of parity among packets sent, of frames made within so many seconds.
fn within(result: &CellResult, seconds: Range<u64>) -> (f64, f64) {
    let window = seconds.start * 1_000_000..seconds.end * 1_000_000;
    let frames = result.frames.iter().filter(|frame| window.contains(&frame.produced_us));
    let (mut bytes, mut sent, mut parity) = (0, 0, 0);
    for frame in frames {
        bytes += if frame.delivered_us.is_some() { frame.bytes } else { 0 };
        sent += frame.packets_sent;
        parity += frame.packets_parity;
    }
    (f64::from(bytes), f64::from(parity) / f64::from(sent.max(1)))
}

#[test]
fn a_second_and_a_half_after_it_the_pictures_are_what_they_were() {
    for (more, least) in [("", 0.97), (THIN, 0.9)] {
        for ms in [250, 1_000, 2_500] {
            let result = gone_for(ms, "down", more);
            let main = result.summary.cameras.get("main").expect("a main camera");
            let longest = main.freeze_ms_max;
            // The sender goes on, so that the first pictures after it need no round trip.
            assert!(longest < ms as f64 + 230.0, "{ms} ms, {more}: frozen for {longest} ms");
            let after = 8 + (ms + 1_500).div_ceil(1_000);
            let ((bytes, parity), (bytes_after, parity_after)) =
                (within(&result, 3..7), within(&result, after..after + 4));
            assert!(bytes_after > least * bytes, "{ms} ms, {more}: {bytes} B, then {bytes_after} B");
            assert!(parity_after < parity + 0.03, "{ms} ms, {more}: parity {parity}, then {parity_after}");
        }
    }
}

#[test]
fn reports_that_do_not_come_are_no_lost_pictures() {
    for (more, least) in [("", 0.97), (THIN, 0.85)] {
        for ms in [400, 1_500] {
            let result = gone_for(ms, "up", more);
            let ((bytes, parity), (bytes_after, parity_after)) =
                (within(&result, 3..7), within(&result, 13..17));
            assert!(bytes_after > least * bytes, "{ms} ms, {more}: {bytes} B, then {bytes_after} B");
            assert!(parity_after < parity + 0.03, "{ms} ms, {more}: parity {parity}, then {parity_after}");
        }
    }
}

const THIN: &str = "rate = \"2500 kbit/s\"\nqueue = { kind = \"drop-tail\", time = \"300 ms\" }";
