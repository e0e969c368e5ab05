//! How frames and commands fare on a wire that loses, delays and repeats: step lists, with what must
//! not happen.

use bench::End;
use bench::relay_core::settings::{CongestionKind, DeliveryKind, FecAmount, FecKind};
use bench::relay_core::{DropReason, Event, Machine, Role, Settings};
use bench::units::{Share, Span};
use tests::trio::{Fate, Trio};
use tests::unprotected;

const SECOND: Span = Span::from_secs(1);

fn streams() -> Settings {
    let mut settings = Settings::default();
    settings.delivery.kind = DeliveryKind::Stream;
    settings
}

/// Loses the nth, 2nth, … datagram from the relay to the operator.
fn lose_every(trio: &mut Trio, nth: u32) {
    let mut count = 0;
    trio.wire(move |from, to, _| {
        if (from, to) != (End::Relay, End::Operator) {
            return Fate::Arrive;
        }
        count += 1;
        if count % nth == 0 { Fate::Lose } else { Fate::Arrive }
    });
}

#[test]
fn a_lost_datagram_costs_its_frame_and_the_feedback_says_so() {
    let mut trio = Trio::joined(&unprotected());
    trio.take_events();
    // A prime, so that it is not always an acknowledgement.
    lose_every(&mut trio, 41);
    for number in 0..60 {
        trio.frame(0, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    trio.wire(|_, _, _| Fate::Arrive);
    for number in 60..64 {
        trio.frame(0, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    trio.run_for(SECOND * 3);
    let snapshot = trio.relay.snapshot(trio.now, Role::Operator);
    let lost = snapshot.counters.app_packets_lost;
    assert!((12..40).contains(&lost), "{snapshot:?}");
    let missing = 64 - trio.delivered(0).len() as u64;
    assert!((1..=lost).contains(&missing));
    let incomplete =
        |event: &Event| matches!(event, Event::FrameDropped { reason: DropReason::Incomplete, .. });
    let given_up = trio.events.iter().filter(|(_, _, event)| incomplete(event)).count() as u64;
    assert_eq!(given_up, missing, "each missing frame is given up once");
}

#[test]
fn streams_repair_what_datagrams_lose() {
    let mut trio = Trio::joined(&streams());
    lose_every(&mut trio, 20);
    for number in 0..60 {
        trio.frame(0, number, 20_000);
        trio.frame(1, number, 5_500);
        trio.run_for(Span::from_millis(66));
    }
    trio.run_for(SECOND * 2);
    let mut delivered = trio.delivered(0);
    delivered.sort_unstable();
    assert_eq!(delivered, (0..60).collect::<Vec<u32>>());
    assert_eq!(trio.delivered(1).len(), 60);
    assert_eq!(trio.operator.snapshot(trio.now, Role::Operator).counters.malformed, 0);
}

#[test]
fn a_stream_that_cannot_finish_is_reset_at_its_deadline_and_later_frames_go() {
    let mut settings = streams();
    settings.deadline.frame = Span::from_millis(300);
    let mut trio = Trio::joined(&settings);
    trio.wire(|from, to, bytes| {
        let video = (from, to) == (End::Relay, End::Operator) && bytes.len() > 600;
        if video { Fate::Lose } else { Fate::Arrive }
    });
    trio.frame(0, 0, 200_000);
    trio.run_for(SECOND * 2);
    trio.wire(|_, _, _| Fate::Arrive);
    trio.frame(0, 1, 20_000);
    trio.run_for(SECOND * 2);
    assert_eq!(trio.delivered(0), [1]);
}

#[test]
fn commands_are_executed_once_and_never_out_of_order() {
    let mut trio = Trio::joined(&Settings::default());
    let mut count = 0u64;
    trio.wire(move |from, to, _| {
        count += 1;
        match (from, to) {
            // Poses and commands overtake each other and some are lost.
            (End::Operator, End::Relay) | (End::Relay, End::Robot) if count.is_multiple_of(7) => Fate::Lose,
            (End::Operator, End::Relay) | (End::Relay, End::Robot) => {
                Fate::Late(Span::from_millis(1 + count * 37 % 60))
            }
            _ => Fate::Arrive,
        }
    });
    for pose in 0..500 {
        trio.pose(pose);
        trio.run_for(Span::from_millis(14));
    }
    trio.run_for(SECOND);
    let executed = trio.executed();
    assert!(executed.windows(2).all(|pair| pair[0] < pair[1]), "{executed:?}");
    assert!(executed.len() > 250, "{}", executed.len());
}

#[test]
fn a_command_over_the_age_limit_is_not_executed() {
    let mut settings = Settings::default();
    settings.pose.age_max = Span::from_millis(100);
    settings.pose.repeat = 12;
    let mut trio = Trio::joined(&settings);
    trio.take_events();
    // Nothing gets through for a while; then one datagram brings thirteen poses, most of them old.
    trio.wire(|from, _, _| if from == End::Operator { Fate::Lose } else { Fate::Arrive });
    for pose in 0..20 {
        trio.pose(pose);
        trio.run_for(Span::from_millis(14));
    }
    trio.wire(|_, _, _| Fate::Arrive);
    trio.pose(20);
    trio.run_for(SECOND);
    let executed = trio.executed();
    assert_eq!(executed.last(), Some(&20));
    // 100 ms reach back seven poses of 14 ms.
    assert!(executed.iter().all(|pose| *pose >= 13), "{executed:?}");
    let stale = |event: &Event| matches!(event, Event::CommandStale { .. });
    assert!(trio.events.iter().any(|(_, _, event)| stale(event)));
}

#[test]
fn poses_do_not_wait_behind_video_when_the_window_is_shut() {
    let mut trio = Trio::joined(&Settings::default());
    // The operator acknowledges nothing any more, so the relay's window shuts.
    trio.wire(
        |from, to, _| {
            if (from, to) == (End::Relay, End::Operator) { Fate::Lose } else { Fate::Arrive }
        },
    );
    for number in 0..40 {
        trio.frame(0, number, 20_000);
        trio.pose(number);
        trio.run_for(Span::from_millis(14));
    }
    let snapshot = trio.relay.snapshot(trio.now, Role::Operator);
    assert!(snapshot.queue_bytes > 0, "video waits: {snapshot:?}");
    assert!(trio.executed().len() >= 39, "{:?}", trio.executed());
}

/// Main frames for two seconds, of which every 41st datagram is lost.
fn two_lossy_seconds(settings: &Settings) -> Trio {
    let mut trio = Trio::joined(settings);
    trio.take_events();
    lose_every(&mut trio, 41);
    for number in 0..30 {
        trio.frame(0, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    trio.wire(|_, _, _| Fate::Arrive);
    for number in 30..34 {
        trio.frame(0, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    trio.run_for(SECOND);
    trio
}

#[test]
fn what_is_lost_is_sent_again_and_nothing_else() {
    let mut settings = unprotected();
    settings.repair.enabled = true;
    let trio = two_lossy_seconds(&settings);
    assert_eq!(trio.delivered(0).len(), 34);
    let counters = trio.relay.snapshot(trio.now, Role::Operator).counters;
    assert!((8..=24).contains(&counters.packets_sent_again), "{counters:?}");
    assert_eq!(trio.operator.snapshot(trio.now, Role::Operator).counters.frames_restored, 0);
}

#[test]
fn parity_makes_frames_whole_without_sending_again() {
    let mut settings = unprotected();
    settings.fec.kind = FecKind::Block;
    settings.fec.amount = FecAmount::Fixed;
    let mut trio = two_lossy_seconds(&settings);
    assert_eq!(trio.delivered(0).len(), 34);
    assert_eq!(trio.relay.snapshot(trio.now, Role::Operator).counters.packets_sent_again, 0);
    assert!(trio.operator.snapshot(trio.now, Role::Operator).counters.frames_restored > 3);
    let frames: Vec<_> = std::iter::from_fn(|| trio.operator.take_frame()).collect();
    assert_eq!(frames.len(), 8, "the last eight wait to be taken");
    assert!(frames.iter().all(|(_, data)| data.len() == 20_000 && data.iter().all(|byte| *byte == 0)));
}

#[test]
fn nothing_is_sent_again_that_cannot_arrive_in_time() {
    let mut settings = unprotected();
    settings.repair.enabled = true;
    settings.repair.deadline = Span::from_millis(10);
    let trio = two_lossy_seconds(&settings);
    assert!(trio.delivered(0).len() < 30);
    assert_eq!(trio.relay.snapshot(trio.now, Role::Operator).counters.packets_sent_again, 0);
}

/// Wrist frames every 66 ms with a quarter of parity, on a wire of 150 ms each way that kills the first six
/// packets of frame 10; repair is on. When frame 10 was there, after it was handed over.
fn a_burst_in_frame_ten(kind: FecKind) -> (Trio, Option<Span>) {
    let mut settings = Settings::default();
    settings.congestion.kind = CongestionKind::Open;
    settings.fec.kind = kind;
    settings.fec.amount = FecAmount::Fixed;
    settings.fec.ratio = Share::from_f64(0.25);
    let mut trio = Trio::joined(&settings);
    let far = |from, to| from != End::Robot && to != End::Robot;
    let late = move |from, to| if far(from, to) { Fate::Late(Span::from_millis(150)) } else { Fate::Arrive };
    let mut begun = trio.now;
    for number in 0..17 {
        let mut to_kill = if number == 10 { 6 } else { 0 };
        trio.wire(move |from, to, bytes| {
            if (from, to) == (End::Relay, End::Operator) && bytes.len() > 600 && to_kill > 0 {
                to_kill -= 1;
                return Fate::Lose;
            }
            late(from, to)
        });
        if number == 10 {
            begun = trio.now;
        }
        trio.frame(1, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    trio.run_for(SECOND);
    let ten = |event: &Event| matches!(event, Event::FrameDelivered { frame, .. } if frame.number == 10);
    let at = trio.events.iter().find(|(_, _, event)| ten(event)).map(|(at, ..)| at.since(begun));
    (trio, at)
}

#[test]
fn the_next_frame_s_parity_recovers_a_burst_that_the_frame_s_own_cannot() {
    let (mut trio, after) = a_burst_in_frame_ten(FecKind::Window);
    // One way, and the time to the next frame: long before anything could have been sent again.
    let after = after.expect("it is recovered");
    assert!(after > Span::from_millis(66 + 150) && after < Span::from_millis(66 + 150 + 20), "{after}");
    assert_eq!(trio.delivered(1).len(), 17);
    let counters = trio.relay.snapshot(trio.now, Role::Operator).counters;
    assert_eq!(counters.packets_sent_again, 0, "nothing is sent again that parity under way recovers");
    assert!(counters.app_packets_lost >= 6, "{counters:?}");
    let end = trio.operator.snapshot(trio.now, Role::Operator).counters;
    assert_eq!((end.frames_restored, end.malformed, end.limit_hits), (1, 0, 0));
    let frames: Vec<_> = std::iter::from_fn(|| trio.operator.take_frame()).collect();
    assert!(frames.iter().any(|(frame, _)| frame.number == 10));
    assert!(frames.iter().all(|(_, data)| data.len() == 20_000 && data.iter().all(|byte| *byte == 1)));

    // The same with parity within frames waits for a round trip.
    let (trio, after) = a_burst_in_frame_ten(FecKind::Block);
    assert!(after.expect("it is repaired") > Span::from_millis(450), "{after:?}");
    assert!(trio.relay.snapshot(trio.now, Role::Operator).counters.packets_sent_again >= 2);
}

#[test]
fn repair_sends_again_only_what_the_window_s_parity_leaves() {
    let mut settings = Settings::default();
    settings.fec.kind = FecKind::Window;
    settings.fec.amount = FecAmount::Fixed;
    settings.fec.ratio = Share::from_f64(0.05);
    let trio = two_lossy_seconds(&settings);
    assert_eq!(trio.delivered(0).len(), 34);
    let counters = trio.relay.snapshot(trio.now, Role::Operator).counters;
    assert!(counters.app_packets_lost >= 8, "{counters:?}");
    assert_eq!(counters.packets_sent_again, 0, "single losses are within one parity packet a frame");
    assert_eq!(trio.operator.snapshot(trio.now, Role::Operator).counters.malformed, 0);
}
