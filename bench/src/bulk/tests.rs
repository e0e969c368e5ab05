//! The flow alone over a modelled link.

use std::sync::Arc;

use netmodel::{Link, Profile, StreamKey, Verdict};
use relay_core::settings::CongestionKind;

use super::*;
use crate::cell::test_cell;
use crate::workload::{CrossTrafficKind, Workload};

/// What a run came to.
#[derive(Debug, Default)]
struct Run {
    delivered_bytes: u64,
    sent: u64,
    dropped: u64,
    round_trips: Vec<Span>,
}

fn cell(congestion: CongestionKind, profile: &str, duration: Span) -> Cell {
    let flow = CrossTraffic {
        kind: CrossTrafficKind::Bulk,
        congestion,
        direction: Direction::Down,
        start: Span::from_secs(1),
        stop: None,
    };
    let workload = Workload { cross_traffic: Some(flow), ..Workload::default() };
    let profile = Profile::parse("test", profile).unwrap();
    Cell { workload: Arc::new(workload), profile: Arc::new(profile), duration, ..test_cell(1) }
}

fn run(cell: &Cell) -> Run {
    let mut flow = BulkFlow::of(cell).expect("it has one");
    let key = StreamKey::new([7; 32]);
    let mut down = Link::new(&cell.profile.down, &key, "down", Time::ZERO);
    let mut up = Link::new(&cell.profile.up, &key, "up", Time::ZERO);
    let end = Time::ZERO + cell.warmup + cell.duration;
    let mut run = Run::default();
    loop {
        let now = flow.next_at().min(down.next_exit()).min(up.next_exit());
        if now > end {
            return run;
        }
        let exit = down.poll_exit(now).or_else(|| up.poll_exit(now));
        match exit {
            Some(exit) if exit.corrupted => {}
            Some(exit) => match flow.handle_packet(now, &exit.payload) {
                Some(BulkEvent::Delivered(bytes)) => run.delivered_bytes += bytes,
                Some(BulkEvent::RoundTrip(rtt)) => run.round_trips.push(rtt),
                None => {}
            },
            None => flow.handle_timeout(now),
        }
        while let Some((direction, packet)) = flow.poll_transmit(now) {
            let bytes = packet.ip_bytes();
            let admission = match direction {
                Direction::Down => down.send(now, bytes, 0, packet),
                Direction::Up => up.send(now, bytes, 0, packet),
            };
            run.sent += u64::from(direction == Direction::Down);
            run.dropped += u64::from(direction == Direction::Down && admission.verdict != Verdict::Accepted);
        }
    }
}

const THIN: &str = "rtt = \"100 ms\"\nrate = \"10 Mbit/s\"\nqueue = { time = \"100 ms\" }\n";

#[test]
fn cubic_fills_a_link_and_its_queue() {
    let run = run(&cell(CongestionKind::Cubic, THIN, Span::from_secs(31)));
    let mbit = run.delivered_bytes as f64 * 8.0 / 30e6;
    // 1472 of 1500 bytes are data.
    assert!((8.5..=9.82).contains(&mbit), "{mbit}");
    assert!(run.dropped > 0 && run.dropped * 50 < run.sent, "{} of {}", run.dropped, run.sent);
    assert!(run.round_trips.iter().all(|rtt| (100..=230).contains(&(rtt.as_micros() / 1000))));
}

#[test]
fn every_law_carries_data_and_stops_when_it_is_to() {
    for kind in congestion_kinds() {
        let cell = cell(kind, THIN, Span::from_secs(11));
        let run = run(&cell);
        assert!(run.delivered_bytes * 8 > 10_000_000, "{kind:?}: {}", run.delivered_bytes);
        assert!(run.delivered_bytes * 8 <= 10_200_000 * 10, "{kind:?}: {}", run.delivered_bytes);
    }
}

#[test]
fn it_comes_back_after_an_outage() {
    let text = format!("{THIN}[[schedule]]\nat = \"10 s\"\noutage = \"4 s\"\n");
    let text = text.replace("[[schedule]]", "[[down.schedule]]");
    let run = run(&cell(CongestionKind::Cubic, &text, Span::from_secs(41)));
    let mbit = run.delivered_bytes as f64 * 8.0 / 40e6;
    assert!(mbit > 6.5, "{mbit}");
}

#[test]
fn lost_doubled_and_damaged_acknowledgements_are_survived_and_nothing_counts_twice() {
    let text = format!(
        "{THIN}loss = {{ kind = \"bernoulli\", p = \"10 %\" }}\nduplicate = \"20 %\"\ncorrupt = \"2 %\"\n"
    );
    let run = run(&cell(CongestionKind::Bbr3, &text, Span::from_secs(21)));
    assert!(run.delivered_bytes <= (run.sent - run.dropped) * DATA_BYTES);
    assert!(run.delivered_bytes * 8 > 20 * 500_000, "{}", run.delivered_bytes);
}

#[test]
fn a_link_without_a_rate_does_not_run_away() {
    let run = run(&cell(CongestionKind::Open, "rtt = \"2 ms\"\n", Span::from_secs(2)));
    assert!(run.sent <= INTERFACE_PACKETS_PER_S, "{}", run.sent);
}

/// What the machine's interface lets through in a second, and a burst.
const INTERFACE_PACKETS_PER_S: u64 = 62_500_000 / DATA_BYTES + 300;

fn congestion_kinds() -> impl Iterator<Item = CongestionKind> {
    relay_core::congestion::kinds()
}
