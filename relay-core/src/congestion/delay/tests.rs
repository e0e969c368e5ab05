//! The law alone, over hand-made acknowledgements.

use units::Size;

use super::*;
use crate::settings::Congestion;

fn law() -> Delay {
    let settings = Congestion { initial_window: Size::from_bytes(64_000), ..Congestion::default() };
    let start =
        Start { now: Time::ZERO, initial_window_bytes: 64_000, packet_bytes: 1200, settings: &settings };
    Delay::new(&start)
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// A packet every ten milliseconds, acknowledged `delay_ms` later; returns the delivered rate.
fn drive(law: &mut Delay, from_ms: u64, to_ms: u64, app_limited: bool, delay_ms: impl Fn(u64) -> u64) {
    for ms in (from_ms..to_ms).step_by(10) {
        law.on_sent(at(ms), &Sent { bytes: 1200, in_flight_bytes: 12_000, app_limited });
        let delay = delay_ms(ms);
        let acked = Acked {
            bytes: 1200,
            sent_at: at(ms.saturating_sub(100)),
            received_at: Some(at(ms.saturating_sub(100) + delay)),
            rtt: Span::from_millis(100),
            in_flight_bytes: 12_000,
            app_limited,
            app_limited_now: app_limited,
        };
        law.on_acked(at(ms), &acked);
        law.on_tick(at(ms));
    }
}

#[test]
fn a_queue_that_stays_limits_it_to_what_arrives() {
    let mut law = law();
    drive(&mut law, 0, 2_000, false, |_| 50);
    assert!(matches!(law.mode, Mode::Free { .. }));
    drive(&mut law, 2_000, 2_500, false, |ms| 50 + (ms - 2_000) / 5);
    let Mode::Limited { bytes_per_sec, .. } = law.mode else { panic!("{:?}", law.mode) };
    // 1200 bytes each 10 ms.
    assert!((60_000.0..120_000.0).contains(&bytes_per_sec), "{bytes_per_sec}");
}

#[test]
fn jitter_is_no_queue() {
    let mut law = law();
    drive(&mut law, 0, 60_000, false, |ms| 50 + ms * 7919 % 90);
    assert!(matches!(law.mode, Mode::Free { .. }), "{:?}", law.mode);
}

#[test]
fn a_single_spike_is_no_queue() {
    let mut law = law();
    drive(&mut law, 0, 20_000, false, |ms| if (5_000..5_150).contains(&ms) { 150 } else { 50 });
    assert!(matches!(law.mode, Mode::Free { .. }), "{:?}", law.mode);
}

#[test]
fn app_limited_time_changes_nothing() {
    let mut law = law();
    let before = law.window_bytes();
    drive(&mut law, 0, 60_000, true, |_| 50);
    assert_eq!(law.window_bytes(), before);
}

#[test]
fn isolated_loss_changes_nothing() {
    let mut law = law();
    for round in 0..100 {
        drive(&mut law, round * 200, (round + 1) * 200, true, |_| 50);
        let lost = Lost { bytes: 1200, sent_at: at(round * 200), in_flight_bytes: 0, persistent: false };
        law.on_lost(at((round + 1) * 200), &lost);
    }
    assert!(matches!(law.mode, Mode::Free { .. }), "{:?}", law.mode);
}

#[test]
fn a_path_that_became_longer_is_accepted() {
    let mut law = law();
    drive(&mut law, 0, 5_000, false, |_| 50);
    drive(&mut law, 5_000, 30_000, false, |_| 150);
    let Mode::Limited { bytes_per_sec, .. } = law.mode else { return };
    assert!(bytes_per_sec > 100_000.0, "it grows again: {bytes_per_sec}");
}

#[test]
fn an_outage_leaves_it_where_it_was() {
    let outage = |law: &mut Delay| {
        for (sent, persistent) in [(2_050, false), (3_100, true), (4_200, true), (4_800, false)] {
            let lost = Lost { bytes: 60_000, sent_at: at(sent), in_flight_bytes: 0, persistent };
            law.on_lost(at(sent + 1_000), &lost);
        }
    };
    let mut free = law();
    drive(&mut free, 0, 2_000, false, |_| 50);
    outage(&mut free);
    drive(&mut free, 5_000, 8_000, false, |_| 50);
    assert!(matches!(free.mode, Mode::Free { .. }), "{:?}", free.mode);
    let mut limited = law();
    drive(&mut limited, 0, 1_500, false, |_| 50);
    drive(&mut limited, 1_500, 2_000, false, |ms| 50 + (ms - 1_500) / 5);
    let Mode::Limited { bytes_per_sec: before, .. } = limited.mode else { panic!("{:?}", limited.mode) };
    outage(&mut limited);
    let Mode::Limited { bytes_per_sec, .. } = limited.mode else { panic!("{:?}", limited.mode) };
    assert!((bytes_per_sec - before / 2.0).abs() < 1.0, "twice a long silence: {bytes_per_sec} {before}");
    drive(&mut limited, 5_000, 6_000, false, |_| 50);
    let Mode::Limited { bytes_per_sec, .. } = limited.mode else { panic!("{:?}", limited.mode) };
    assert!(bytes_per_sec > before, "{bytes_per_sec} {before}");
}

#[test]
fn into_a_silence_that_goes_on_less_and_less_is_sent() {
    let mut law = law();
    drive(&mut law, 0, 2_000, false, |_| 50);
    for second in 3..20 {
        let lost = Lost { bytes: 1_200, sent_at: at(second * 1_000), in_flight_bytes: 0, persistent: true };
        law.on_lost(at(second * 1_000 + 1_000), &lost);
    }
    assert_eq!(law.window_bytes(), law.floor());
    drive(&mut law, 21_000, 21_020, false, |_| 50);
    assert!(law.window_bytes() >= 64_000, "{}", law.window_bytes());
}
