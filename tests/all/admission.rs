//! Who gets into a session, who takes whose place, and what those hear who do not.

use bench::End;
use bench::relay_core::{Access, Camera, Event, FrameId, LeaveReason, Refusal, Role, Settings, Token};
use bench::units::Span;
use tests::trio::{Fate, SESSION, Trio};

const SECOND: Span = Span::from_secs(1);

#[test]
fn the_right_token_joins_and_a_wrong_one_never_gets_media_through() {
    let token = |byte: u8| Token::new(vec![byte; 16]).unwrap();
    let hashes = [Role::Robot, Role::Operator].map(|role| ((7, role), token(1).hash()));
    let access = Access::Tokens(hashes.into_iter().collect());
    let mut right = Trio::guarded(&Settings::default(), access.clone(), Some(&token(1)));
    right.run_for(SECOND);
    assert!(right.robot.is_joined() && right.operator.is_joined());
    for wrong in [Some(token(2)), None] {
        let mut trio = Trio::guarded(&Settings::default(), access.clone(), wrong.as_ref());
        for number in 0..60 {
            trio.frame(0, number, 20_000);
            trio.run_for(SECOND);
        }
        let events = trio.take_events();
        assert!(!events.iter().any(|(_, e)| matches!(e, Event::Joined { .. } | Event::FrameAtRelay { .. })));
        let refused = Event::Left { role: Role::Robot, reason: LeaveReason::Refused };
        let times = events.iter().filter(|event| **event == (End::Robot, refused.clone())).count();
        assert!((8..=25).contains(&times), "it tries again, but not all the time: {times}");
        // Both sides say why, as often; nobody else was turned away.
        for end in [End::Robot, End::Relay] {
            let why = turned_away(&events, end);
            let own = why.iter().filter(|(role, _)| *role == Some(Role::Robot)).count();
            assert_eq!(own, times, "{end:?}");
            assert!(why.iter().all(|(_, why)| *why == Refusal::Token), "{why:?}");
        }
    }
}

/// Whom `end` said was turned away, and why.
fn turned_away(events: &[(End, Event)], end: End) -> Vec<(Option<Role>, Refusal)> {
    let of = |(at, event): &(End, Event)| match event {
        Event::TurnedAway(away) if *at == end => Some((away.role, away.why)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// Why the rival was turned away, each time.
fn rival_refused(trio: &Trio, rival: usize) -> Vec<Refusal> {
    let of = |(_, event): &(_, Event)| match event {
        Event::TurnedAway(away) => Some(away.why),
        _ => None,
    };
    trio.rivals[rival].events.iter().filter_map(of).collect()
}

#[test]
fn who_has_no_token_learns_nothing_of_the_session() {
    let token = |byte: u8| Token::new(vec![byte; 16]).unwrap();
    let roles = [Role::Robot, Role::Operator];
    let mut hashes: Vec<_> = roles.map(|role| ((SESSION, role), token(1).hash())).into();
    hashes.push(((8, Role::Robot), token(8).hash()));
    let access = Access::Tokens(hashes.into_iter().collect());
    let mut trio = Trio::guarded(&Settings::default(), access, Some(&token(1)));
    trio.run_for(SECOND);
    // The role is taken, and so nobody hears who is not to know it.
    for (session, shown, why) in [
        (SESSION, Some(token(2)), Refusal::Token),
        (SESSION, None, Refusal::Token),
        (9, Some(token(2)), Refusal::Token),
        (SESSION, Some(token(8)), Refusal::OtherToken),
        (SESSION, Some(token(1)), Refusal::RoleTaken),
    ] {
        let rival = trio.add_rival(session, shown.as_ref());
        trio.run_for(SECOND / 10);
        assert_eq!(rival_refused(&trio, rival), [why], "{session} {shown:?}");
        assert!(!trio.rivals[rival].robot.is_joined());
        let now = trio.now;
        trio.rivals[rival].robot.close(now);
    }
    trio.run_for(SECOND);
    assert!(trio.robot.is_joined() && trio.relay.totals().packets_sent > 0);
}

#[test]
fn nobody_takes_the_place_of_a_robot_that_answers() {
    let token = Token::new(vec![1; 16]).unwrap();
    let hashes = [Role::Robot, Role::Operator].map(|role| ((SESSION, role), token.hash()));
    let with_tokens = Access::Tokens(hashes.into_iter().collect());
    for (access, token) in [(Access::Anybody, None), (with_tokens, Some(&token))] {
        let mut trio = Trio::guarded(&Settings::default(), access, token);
        trio.run_for(SECOND);
        // An idle robot, which says something every few seconds at most, over a link of 600 ms.
        trio.wire(|_, _, _| Fate::Late(Span::from_millis(300)));
        trio.take_events();
        let rival = trio.add_rival(SESSION, token);
        trio.run_for(SECOND * 60);
        assert!(trio.robot.is_joined() && !trio.rivals[rival].robot.is_joined());
        let refused = rival_refused(&trio, rival);
        assert!(refused.len() > 8 && refused.iter().all(|why| *why == Refusal::RoleTaken), "{refused:?}");
        let events = trio.take_events();
        assert_eq!(turned_away(&events, End::Relay).len(), refused.len());
        assert!(!events.iter().any(|(_, event)| matches!(event, Event::Left { .. })), "{events:?}");
    }
}

#[test]
fn a_robot_that_was_killed_and_started_again_has_its_place_within_seconds() {
    let mut trio = Trio::joined(&Settings::default());
    // Frames until the end, so that it was heard just now.
    trio.frame(0, 0, 20_000);
    trio.run_for(SECOND / 10);
    trio.wire(|from, to, _| if [from, to].contains(&End::Robot) { Fate::Lose } else { Fate::Arrive });
    trio.take_events();
    let (rival, from) = (trio.add_rival(SESSION, None), trio.now);
    trio.run_for(SECOND * 8);
    let joined = trio.rivals[rival].events.iter().find(|(_, event)| matches!(event, Event::Joined { .. }));
    let after = joined.expect("it joins").0.since(from);
    assert!(after >= SECOND * 3 && after <= SECOND * 7, "{after:?}");
    let events = trio.take_events();
    let left = Event::Left { role: Role::Robot, reason: LeaveReason::Replaced };
    let at_relay = events.iter().filter(|(end, _)| *end == End::Relay);
    let at_relay: Vec<&Event> =
        at_relay.map(|(_, event)| event).filter(|event| !matches!(event, Event::TurnedAway(_))).collect();
    assert_eq!(at_relay, [&left, &Event::Joined { role: Role::Robot }]);
    // The operator stays and gets the new one's frames, and the new one the operator's poses.
    let now = trio.now;
    trio.rivals[rival].robot.handle_frame(
        now,
        FrameId { camera: Camera(0), number: 5 },
        vec![1; 20_000].into(),
    );
    trio.pose(0);
    trio.run_for(SECOND);
    assert_eq!(trio.delivered(0), [5]);
    let executed = |(_, event): &(_, Event)| matches!(event, Event::CommandExecuted { pose: 0 });
    assert!(trio.rivals[rival].events.iter().any(executed));
}

#[test]
fn a_robot_that_lost_its_place_hears_it_and_lets_the_other_be() {
    let mut trio = Trio::joined(&Settings::default());
    // Its packets arrive nowhere; what the relay sends it does.
    trio.wire(|from, _, _| if from == End::Robot { Fate::Lose } else { Fate::Arrive });
    let rival = trio.add_rival(SESSION, None);
    trio.take_events();
    let mut joined_at = None;
    for _ in 0..80 {
        trio.run_for(SECOND / 10);
        if trio.rivals[rival].robot.is_joined() {
            joined_at = Some(trio.now);
            break;
        }
    }
    let joined_at = joined_at.expect("it joins");
    trio.wire(|_, _, _| Fate::Arrive);
    trio.run_for(SECOND * 20);
    let left = Event::Left { role: Role::Robot, reason: LeaveReason::Replaced };
    let events = trio.take_events();
    assert!(events.contains(&(End::Robot, left)), "{events:?}");
    assert_eq!(turned_away(&events, End::Robot), [], "it does not ask again for a while");
    trio.run_for(SECOND * 60);
    let asked = turned_away(&trio.take_events(), End::Robot);
    assert!(!asked.is_empty() && asked.iter().all(|(_, why)| *why == Refusal::RoleTaken), "{asked:?}");
    assert!(trio.rivals[rival].robot.is_joined() && !trio.robot.is_joined());
    // When the other goes, it has its place again.
    let now = trio.now;
    assert!(now > joined_at);
    trio.rivals[rival].robot.close(now);
    trio.rivals[rival].robot.handle_frame(now, FrameId { camera: Camera(0), number: 0 }, vec![1; 10].into());
    trio.run_for(SECOND * 40);
    assert!(trio.robot.is_joined());
}

#[test]
fn a_relay_that_is_full_says_of_what() {
    let mut trio = Trio::joined(&Settings::default());
    for session in 0..127 {
        trio.add_rival(100 + session, None);
    }
    trio.run_for(SECOND);
    assert!(trio.rivals.iter().all(|rival| rival.robot.is_joined()));
    trio.take_events();
    let rival = trio.add_rival(1000, None);
    trio.run_for(SECOND / 10);
    assert_eq!(rival_refused(&trio, rival), [Refusal::SessionsFull]);
    assert_eq!(turned_away(&trio.take_events(), End::Relay), [(Some(Role::Robot), Refusal::SessionsFull)]);
    // Each that is refused stays a connection for as long as it takes to close it, so with enough at once there is no
    // room for a handshake.
    let first = trio.rivals.len();
    for _ in 0..160 {
        trio.add_rival(2000, None);
    }
    trio.run_for(SECOND / 10);
    let full =
        (first..first + 160).filter(|rival| rival_refused(&trio, *rival)[0] == Refusal::ConnectionsFull);
    let full = full.count();
    assert!(full > 0, "256 connections are the most");
    let events = turned_away(&trio.take_events(), End::Relay);
    assert_eq!(events.iter().filter(|(_, why)| *why == Refusal::ConnectionsFull).count(), full);
    assert!(trio.robot.is_joined() && trio.operator.is_joined());
}

/// What is done to the bytes of a message.
type Change = fn(&mut [u8]);

/// A wire on which `change` is made to what `from` says of robot's joining: its hello, or the relay's welcome.
fn changed(from: End, change: impl Fn(&mut [u8]) + 'static) -> impl FnMut(End, End, &[u8]) -> Fate {
    move |sender, receiver, bytes| {
        let ours = sender == from && [sender, receiver].contains(&End::Robot);
        let at = bytes.windows(4).position(|window| window == b"arcb");
        let (true, Some(at)) = (ours, at) else { return Fate::Arrive };
        let mut bytes = bytes.to_vec();
        change(&mut bytes[at..]);
        Fate::Replace(bytes)
    }
}

#[test]
fn a_hello_that_does_not_fit_is_answered_with_why() {
    let cases: [(Change, Refusal); 3] = [
        (|hello| hello[4] = 9, Refusal::Version),
        (|hello| hello[0] = b'x', Refusal::Hello),
        (|hello| hello[5] = 3, Refusal::Hello),
    ];
    for (change, why) in cases {
        let mut trio = Trio::new(&Settings::default());
        trio.wire(changed(End::Robot, change));
        trio.run_for(SECOND / 10);
        let events = trio.take_events();
        assert_eq!(turned_away(&events, End::Relay), [(None, why)]);
        assert_eq!(turned_away(&events, End::Robot), [(Some(Role::Robot), why)], "the welcome has it");
        assert!(trio.operator.is_joined());
    }
}

#[test]
fn a_relay_of_another_version_is_known_by_its_welcome() {
    let cases: [(Change, Refusal); 3] = [
        (|welcome| welcome[4] = 9, Refusal::Version),
        (|welcome| welcome[0] = b'x', Refusal::Protocol),
        (|welcome| welcome[5] = 99, Refusal::Unsaid),
    ];
    for (change, why) in cases {
        let mut trio = Trio::new(&Settings::default());
        trio.wire(changed(End::Relay, change));
        trio.run_for(SECOND / 10);
        assert_eq!(turned_away(&trio.take_events(), End::Robot), [(Some(Role::Robot), why)]);
        assert!(trio.operator.is_joined() && !trio.robot.is_joined());
    }
}

#[test]
fn who_connects_and_says_nothing_is_told_of_once() {
    let mut trio = Trio::new(&Settings::default());
    let mut silent = false;
    trio.wire(move |from, _, bytes| {
        silent |= from == End::Robot && bytes.windows(4).any(|window| window == b"arcb");
        if silent && from == End::Robot { Fate::Lose } else { Fate::Arrive }
    });
    trio.run_for(SECOND * 9);
    assert_eq!(turned_away(&trio.take_events(), End::Relay), []);
    trio.run_for(SECOND * 20);
    assert_eq!(turned_away(&trio.take_events(), End::Relay), [(None, Refusal::NoHello)]);
    // One that goes by itself was not turned away.
    let rival = trio.add_rival(SESSION, None);
    let now = trio.now;
    trio.rivals[rival].robot.close(now);
    trio.run_for(SECOND * 20);
    assert_eq!(turned_away(&trio.take_events(), End::Relay), []);
}
