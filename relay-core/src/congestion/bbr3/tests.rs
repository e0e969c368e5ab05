use super::*;
use crate::congestion::bottleneck::{Bottleneck, Path as Link, Source};
use crate::congestion::properties::start;
use crate::congestion::watch::Watch;

const LINK: Link = Link::clear(9_600_000, Span::from_millis(60), 240_000);
/// Bytes a second.
const LINK_RATE: f64 = 1_200_000.0;

fn run(link: Link, source: Source, seconds: u64) -> Watch<Bbr3, State> {
    let mut law = Watch::new(Bbr3::new(&start()), |law| law.path.state);
    Bottleneck::new(Time::ZERO, &mut law, link, source, 1).run(Span::from_secs(seconds));
    law
}

#[test]
fn it_starts_drains_and_then_takes_turns() {
    let law = run(LINK, Source::Backlog, 20);
    let first: Vec<State> = law.seen.iter().map(|(_, state)| *state).take(6).collect();
    // What is drained needs no more slowing down: that is over within an acknowledgement.
    assert_eq!(first, [State::Startup, State::Drain, State::Cruise, State::Refill, State::Up, State::Down]);
    assert!(law.seen[1].0 < Time::ZERO + Span::from_secs(1), "{:?}", law.seen[1]);
    for (from, to) in law.steps().skip(2) {
        let follows = match to {
            State::Down => *from == State::Up,
            State::Cruise => matches!(from, State::Down | State::ProbeRtt),
            State::Refill => matches!(from, State::Down | State::Cruise),
            State::Up => *from == State::Refill,
            State::ProbeRtt => true,
            State::Startup | State::Drain => false,
        };
        assert!(follows, "{from:?} then {to:?}");
    }
    let probes = law.steps().filter(|(_, to)| **to == State::ProbeRtt).count();
    assert!((2..=4).contains(&probes), "{probes} probes of the round trip in 20 s");
    let model = &law.law.path.model;
    assert!((model.rate / LINK_RATE - 1.0).abs() < 0.02, "{}", model.rate);
    assert!(model.rtt_min.unwrap() < Span::from_millis(63), "{:?}", model.rtt_min);
}

#[test]
fn a_short_queue_bounds_what_is_in_flight_and_leaves_headroom() {
    let law = run(Link { queue_bytes: 20_000, ..LINK }, Source::Backlog, 10);
    let bound = law.law.path.model.inflight_long_bytes;
    // The product is 72 kB.
    assert!((60_000..120_000).contains(&bound), "{bound}");
    assert!(law.law.with_headroom() <= bound * 85 / 100 + 1);
}

#[test]
fn random_loss_below_the_threshold_hardly_slows_it() {
    let law = run(Link { loss_per_mille: 10, ..LINK }, Source::Backlog, 20);
    assert!(law.law.path.model.rate > 0.8 * LINK_RATE, "{}", law.law.path.model.rate);
}

#[test]
fn lack_of_data_neither_inflates_the_window_nor_leaves_a_low_rate_behind() {
    let frames = Source::Frames { packets: 5, interval: Span::from_millis(100) };
    let mut law = run(LINK, frames, 30).law;
    assert!(law.window_bytes() < 40_000, "{}", law.window_bytes());
    let now = Time::ZERO + Span::from_secs(31);
    let mut link = Bottleneck::new(now, &mut law, LINK, Source::Backlog, 2);
    link.run(Span::from_secs(2));
    let delivered = link.run(Span::from_secs(1)).delivered_bytes;
    assert!(delivered > 1_000_000, "{delivered}");
}

#[test]
fn a_late_probe_is_the_same_in_every_run_and_within_its_bounds() {
    let wait = |now: u64| {
        let mut law = Bbr3::new(&start());
        law.path.model.full_rate.reached = true;
        law.start_down(Time::ZERO + Span::from_millis(now));
        let drawn = format!("{:?}", law.path.probe);
        let wait = drawn.split("wait: ").nth(1).and_then(|rest| rest.split(',').next());
        wait.expect("a field").to_owned()
    };
    assert_eq!(wait(1_000), wait(1_000));
    assert_ne!(wait(1_000), wait(1_001));
}

#[test]
fn outside_a_probe_a_round_with_loss_cuts_by_three_tenths_at_most() {
    let mut law = run(LINK, Source::Backlog, 4).law;
    law.path.state = State::Cruise;
    law.path.model.reset_short_term();
    law.path.model.rate_latest = 100_000.0;
    law.path.model.inflight_latest_bytes = 1_000;
    let (rate, window) = (law.path.model.rate, law.path.window_bytes);
    law.note_loss();
    law.adapt_lower_bounds();
    law.path.model.bound_rate();
    assert!((law.path.model.rate / rate - 0.7).abs() < 1e-9);
    assert_eq!(law.path.model.inflight_short_bytes, (window as f64 * 0.7) as u64);
    // In a round without one nothing happens.
    law.adapt_lower_bounds();
    law.path.model.bound_rate();
    assert!((law.path.model.rate / rate - 0.7).abs() < 1e-9);
}
