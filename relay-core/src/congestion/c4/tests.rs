use super::*;
use crate::congestion::bottleneck::{Bottleneck, Path as Link, Source};
use crate::congestion::properties::{acked, start};
use crate::congestion::watch::Watch;

const LINK: Link = Link {
    bits_per_sec: 9_600_000,
    rtt: Span::from_millis(60),
    queue_bytes: 240_000,
    loss_per_mille: 0,
    jitter: Span::ZERO,
    outage: false,
    reports: false,
};
/// Bytes a second.
const LINK_RATE: f64 = 1_200_000.0;

fn watched() -> Watch<C4, State> {
    Watch::new(C4::new(&start()), |law| law.path.state)
}

#[test]
fn it_starts_recovers_cruises_and_probes_in_turn() {
    let mut law = watched();
    Bottleneck::new(Time::ZERO, &mut law, LINK, Source::Backlog, 1).run(Span::from_secs(10));
    let first: Vec<State> = law.seen.iter().map(|(_, state)| *state).take(3).collect();
    // The queue of the start looks like jitter, which restarts it, once.
    assert_eq!(first, [State::Initial, State::Recovery, State::Initial]);
    let starts = law.seen.iter().filter(|(_, state)| *state == State::Initial).count();
    assert!(starts <= 3, "{starts} starts");
    assert!(law.seen[1].0 < Time::ZERO + Span::from_secs(1), "{:?}", law.seen[1]);
    for (from, to) in law.steps() {
        let follows = match to {
            State::Initial => matches!(from, State::Recovery | State::Pushing),
            State::Recovery => true,
            State::Cruising | State::Pushing => *from == State::Recovery,
            State::Probing => *from == State::Cruising,
        };
        assert!(follows, "{from:?} then {to:?}");
    }
    assert!(law.steps().filter(|(_, to)| **to == State::Probing).count() > 10);
    assert!((law.law.path.rate / LINK_RATE - 1.0).abs() < 0.05, "{}", law.law.path.rate);
}

#[test]
fn new_room_is_pushed_into_and_a_shrunken_link_is_followed() {
    let mut law = watched();
    let mut link = Bottleneck::new(Time::ZERO, &mut law, LINK, Source::Backlog, 1);
    link.run(Span::from_secs(5));
    link.path.bits_per_sec = 4 * LINK.bits_per_sec;
    link.run(Span::from_secs(5));
    link.path.bits_per_sec = LINK.bits_per_sec;
    link.run(Span::from_secs(10));
    assert!(law.seen.iter().any(|(_, state)| *state == State::Pushing));
    assert!(law.law.path.rate < 1.2 * LINK_RATE, "{}", law.law.path.rate);
}

#[test]
fn a_measurement_raises_the_rate_and_never_lowers_it() {
    let frames = |packets| Source::Frames { packets, interval: Span::from_millis(100) };
    let mut law = C4::new(&start());
    let mut link = Bottleneck::new(Time::ZERO, &mut law, LINK, frames(10), 1);
    link.run(Span::from_secs(5));
    let rate = law.path.rate;
    assert!(rate > 0.0);
    let now = Time::ZERO + Span::from_secs(6);
    Bottleneck::new(now, &mut law, LINK, frames(1), 1).run(Span::from_secs(20));
    assert!(law.path.rate >= rate, "{} after {rate}", law.path.rate);
    let now = now + Span::from_secs(21);
    let mut link = Bottleneck::new(now, &mut law, LINK, Source::Backlog, 1);
    link.run(Span::from_secs(2));
    let delivered = link.run(Span::from_secs(1)).delivered_bytes;
    assert!(delivered > 1_000_000, "{delivered}");
}

#[test]
fn a_late_packet_cuts_while_cruising_and_only_then() {
    let ms = |ms| Time::ZERO + Span::from_millis(ms);
    let mut law = C4::new(&start());
    law.path.rate = 1e7;
    law.path.rtt = Span::from_millis(160);
    law.path.rtt_min = Span::from_millis(100);
    law.enter(ms(1_000), State::Probing);
    law.on_acked(ms(1_300), &acked(ms(900), ms(1_300)));
    assert_eq!(law.path.state, State::Recovery);
    assert!((law.path.rate - 1e7).abs() < 1.0);
    law.enter(ms(2_000), State::Cruising);
    law.on_acked(ms(2_300), &acked(ms(1_900), ms(2_300)));
    assert_eq!(law.path.state, State::Recovery);
    assert!((law.path.rate - 0.75e7).abs() < 1.0);
}
