//! Joining, leaving, and what happens to frames and poses when somebody is missing.

use bench::End;
use bench::relay_core::{DropPlace, DropReason, Event, LeaveReason, Machine, Role, Settings};
use bench::units::Span;
use tests::trio::{Fate, Trio};

const SECOND: Span = Span::from_secs(1);

#[test]
fn both_ends_join_and_the_relay_says_so() {
    let mut trio = Trio::joined(&Settings::default());
    let events = trio.take_events();
    for role in [Role::Robot, Role::Operator] {
        let joined = Event::Joined { role };
        assert_eq!(events.iter().filter(|(end, event)| *end == End::Relay && *event == joined).count(), 1);
    }
    assert!(trio.robot.is_joined() && trio.operator.is_joined());
    trio.run_for(SECOND * 60);
    assert_eq!(trio.take_events(), [], "an idle session stays up and says nothing");
}

#[test]
fn frames_go_through_and_poses_come_back() {
    let mut trio = Trio::joined(&Settings::default());
    for number in 0..30 {
        trio.frame(0, number, 20_000);
        trio.frame(1, number, 5_500);
        trio.pose(number);
        trio.run_for(Span::from_millis(66));
    }
    trio.run_for(SECOND);
    let all: Vec<u32> = (0..30).collect();
    assert_eq!(trio.delivered(0), all);
    assert_eq!(trio.delivered(1), all);
    assert_eq!(trio.executed(), all);
    let snapshot = trio.relay.snapshot(trio.now, Role::Operator);
    assert_eq!(snapshot.queue_bytes, 0);
    assert_eq!(snapshot.counters.malformed, 0);
    assert_eq!(snapshot.counters.app_packets_lost, 0);
    assert!(snapshot.counters.app_packets_judged > 300, "{snapshot:?}");
}

#[test]
fn without_an_operator_frames_are_given_up_one_by_one() {
    let mut trio = Trio::new(&Settings::default());
    trio.wire(|from, to, _| if [from, to].contains(&End::Operator) { Fate::Lose } else { Fate::Arrive });
    trio.run_for(SECOND);
    trio.take_events();
    trio.frame(0, 0, 20_000);
    trio.run_for(SECOND);
    let events = trio.take_events();
    let dropped = |event: &Event| {
        matches!(event, Event::FrameDropped { place: DropPlace::Relay, reason: DropReason::NoPeer, .. })
    };
    assert_eq!(events.iter().filter(|(_, event)| dropped(event)).count(), 1, "{events:?}");
}

#[test]
fn an_end_that_falls_silent_is_missed_after_the_idle_timeout() {
    let mut trio = Trio::joined(&Settings::default());
    trio.take_events();
    trio.wire(|from, to, _| if [from, to].contains(&End::Robot) { Fate::Lose } else { Fate::Arrive });
    trio.run_for(SECOND * 40);
    let left = Event::Left { role: Role::Robot, reason: LeaveReason::TimedOut };
    let events = trio.take_events();
    assert!(events.contains(&(End::Relay, left.clone())), "{events:?}");
    assert!(events.contains(&(End::Robot, left)), "{events:?}");
    assert!(!events.iter().any(|(_, e)| matches!(e, Event::Left { role: Role::Operator, .. })));
    // Poses for a robot that is gone go nowhere, and nothing breaks.
    trio.pose(0);
    trio.run_for(SECOND);
    assert!(trio.executed().is_empty());
}

#[test]
fn a_relay_that_closes_tells_both_ends() {
    let mut trio = Trio::joined(&Settings::default());
    trio.take_events();
    let now = trio.now;
    trio.relay.close(now);
    // Anything that makes the driver ask the relay for output.
    trio.pose(0);
    trio.run_for(SECOND);
    let events = trio.take_events();
    for (end, role) in [(End::Robot, Role::Robot), (End::Operator, Role::Operator)] {
        let left = Event::Left { role, reason: LeaveReason::Closed };
        assert!(events.contains(&(end, left)), "{events:?}");
    }
}
