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

#[test]
fn ends_dial_again_after_an_outage_and_no_old_command_is_executed() {
    let mut trio = Trio::joined(&Settings::default());
    let pose = |trio: &mut Trio, number: u32| {
        trio.pose(number);
        trio.run_for(Span::from_millis(14));
    };
    for number in 0..100 {
        pose(&mut trio, number);
    }
    trio.wire(|_, _, _| Fate::Lose);
    for number in 100..3_000 {
        pose(&mut trio, number);
    }
    assert!(!trio.robot.is_joined() && !trio.operator.is_joined(), "40 s are over the idle timeout");
    let before = trio.executed().len();
    assert_eq!(before, 100);
    trio.wire(|_, _, _| Fate::Arrive);
    for number in 3_000..4_000 {
        pose(&mut trio, number);
    }
    assert!(trio.robot.is_joined() && trio.operator.is_joined());
    let executed = trio.executed();
    assert!(executed.len() > before + 300, "{}", executed.len());
    assert!(executed[before] >= 3_000, "of the outage nothing is executed: {}", executed[before]);
    trio.take_events();
    for number in 0..10 {
        trio.frame(0, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    trio.run_for(SECOND);
    assert_eq!(trio.delivered(0), (0..10).collect::<Vec<u32>>());
}

#[test]
fn a_relay_that_went_and_came_back_finds_its_ends_again() {
    let mut trio = Trio::joined(&Settings::default());
    trio.take_events();
    let now = trio.now;
    trio.relay.close(now);
    trio.pose(0);
    trio.run_for(SECOND * 10);
    let joined = |events: &[(End, Event)], end| {
        events.iter().filter(|(at, e)| *at == end && matches!(e, Event::Joined { .. })).count()
    };
    let events = trio.take_events();
    assert_eq!((joined(&events, End::Robot), joined(&events, End::Operator)), (1, 1), "{events:?}");
    trio.run_for(SECOND * 60);
    assert_eq!(trio.take_events(), [], "the second connection is as good as the first");
}

#[test]
fn an_end_that_closes_does_not_come_back() {
    let mut trio = Trio::joined(&Settings::default());
    trio.take_events();
    let now = trio.now;
    trio.operator.close(now);
    trio.pose(0);
    trio.run_for(SECOND * 20);
    let left = Event::Left { role: Role::Operator, reason: LeaveReason::Closed };
    assert_eq!(trio.take_events(), [(End::Relay, left)]);
}

#[test]
fn counts_go_on_over_a_reconnect_and_round_trips_begin_anew() {
    let mut trio = Trio::new(&Settings::default());
    assert_eq!((trio.robot.round_trip(), trio.relay.round_trip()), (None, None), "nothing was measured yet");
    trio.run_for(SECOND);
    let round_trip = trio.robot.round_trip().expect("it is connected").smoothed;
    assert!(round_trip < Span::from_millis(60), "{round_trip:?}");
    for number in 0..30 {
        trio.frame(0, number, 20_000);
        trio.run_for(Span::from_millis(66));
    }
    let now = trio.now;
    let (robot, relay) = (trio.robot.totals(), trio.relay.totals());
    assert_eq!(robot.packets_sent, trio.robot.snapshot(now, Role::Robot).counters.packets_sent);
    trio.relay.close(now);
    trio.pose(0);
    trio.run_for(SECOND / 10);
    assert_eq!((trio.robot.round_trip(), trio.relay.round_trip()), (None, None), "there is no connection");
    trio.run_for(SECOND * 5);
    assert!(trio.robot.is_joined());
    let second = trio.robot.snapshot(trio.now, Role::Robot).counters.packets_sent;
    assert!(second < robot.packets_sent, "a hop counts from its beginning");
    assert!(trio.robot.totals().packets_sent >= robot.packets_sent + second);
    assert!(trio.relay.totals().packets_sent > relay.packets_sent);
    assert!(trio.relay.round_trip().is_some());
}
