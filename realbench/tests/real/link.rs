//! The userspace link gives packets the fates of the model, and tells of all of them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use bench::End;
use netmodel::units::{Span, Time};
use netmodel::{Profile, StreamKey, Verdict};
use realbench::link::{
    BACKENDS, ChannelSink, LINKS, LinkBackend, LinkPlan, LinkReport, NoLink, PacketEvent, Place,
    UserspaceLink,
};
use realbench::net::{EndAddress, Topology, TopologyOptions};

use crate::possible;

/// A cell's links with this profile on the operator's hop, from now on.
#[expect(clippy::disallowed_methods, reason = "the link runs by the real clock")]
fn plan(profile: &str) -> LinkPlan {
    let parse = |text| Arc::new(Profile::parse("test", text).unwrap());
    LinkPlan {
        robot_hop: parse("rtt = '1 ms'\nrate = '1 Gbit/s'"),
        operator_hop: parse(profile),
        key: StreamKey::new([7; 32]),
        epoch: Instant::now(),
        origin: Time::ZERO,
    }
}

/// Sends `count` numbered datagrams from relay to operator through the link; gives the link's events, the numbers
/// that came with their payloads' last bytes, and the report.
fn exchange(profile: &str, count: u32) -> (Vec<PacketEvent>, Vec<(u32, u8)>, LinkReport, LinkPlan) {
    let topology = Topology::new(&TopologyOptions { middle: UserspaceLink.middle() }).unwrap();
    let plan = plan(profile);
    let (sender, events) = sync_channel(1 << 16);
    let link = UserspaceLink.start(&topology, &plan, Box::new(ChannelSink::new(sender))).unwrap();
    let relay = topology.socket(End::Relay, 0).unwrap();
    let operator = topology.socket(End::Operator, 4000).unwrap();
    operator.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    let sending = std::thread::spawn(move || {
        for number in 0..count {
            let mut datagram = vec![0xaa; 200 + (number as usize * 37) % 900];
            datagram[..4].copy_from_slice(&number.to_le_bytes());
            relay.send_to(&datagram, End::Operator.socket_address(4000)).unwrap();
            pause(Duration::from_micros(500));
        }
    });
    let mut came = Vec::new();
    let mut buffer = [0; 2048];
    while let Ok(bytes) = operator.recv(&mut buffer) {
        came.push((u32::from_le_bytes(buffer[..4].try_into().unwrap()), buffer[bytes - 1]));
    }
    sending.join().unwrap();
    let report = link.stop().unwrap();
    (drained(&events), came, report, plan)
}

fn drained(events: &Receiver<PacketEvent>) -> Vec<PacketEvent> {
    events.try_iter().collect()
}

#[expect(clippy::disallowed_methods, reason = "datagrams are sent in real time")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn down() -> Place {
    LINKS[3]
}

/// Puts what the link says came to it through the model again; gives the verdicts and exits that must have been.
fn predicted(plan: &LinkPlan, events: &[PacketEvent]) -> (Vec<Verdict>, Vec<(u64, Time, bool)>) {
    let mut model = plan.link::<()>(down());
    let mut verdicts = Vec::new();
    for event in events {
        if let PacketEvent::Sent { at, place, ip_bytes, .. } = event
            && *place == down()
        {
            verdicts.push(model.send(*at, *ip_bytes, 0, ()).verdict);
        }
    }
    let mut exits = Vec::new();
    while let Some(exit) = model.poll_exit(Time::MAX - Span::from_nanos(1)) {
        exits.push((exit.id, exit.at, exit.duplicate));
    }
    (verdicts, exits)
}

fn check(profile: &str, in_order: bool) -> (Vec<(u32, u8)>, LinkReport) {
    let count = 400;
    let (events, came, report, plan) = exchange(profile, count);
    let (verdicts, mut exits) = predicted(&plan, &events);
    let sent: Vec<(u64, Verdict)> = events
        .iter()
        .filter_map(|event| match event {
            PacketEvent::Sent { place, id, verdict, .. } if *place == down() => Some((*id, *verdict)),
            _ => None,
        })
        .collect();
    assert_eq!(sent.len(), count as usize, "every datagram came to the link, and nothing else did");
    for (number, (id, verdict)) in sent.iter().enumerate() {
        assert_eq!((*id as usize, *verdict), (number, verdicts[number]));
    }
    let mut left: Vec<(u64, Time, bool)> = Vec::new();
    for event in &events {
        if let PacketEvent::Exit { at, released, place, id, duplicate, .. } = event {
            assert!(released >= at, "nothing leaves before its time");
            assert_eq!(*place, down());
            left.push((*id, *at, *duplicate));
        }
    }
    let numbers: Vec<u64> = came.iter().map(|(number, _)| u64::from(*number)).collect();
    assert_eq!(numbers, left.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), "what left is what came");
    // Where packets overtake each other, a late thread lets out in another order what is due already.
    if !in_order {
        left.sort_unstable();
        exits.sort_unstable();
    }
    assert_eq!(left, exits);
    let counters = &report.links[down().index()];
    assert_eq!(counters.offered.packets, u64::from(count));
    assert_eq!(report.release_lag.count(), left.len() as u64);
    assert_eq!((report.socket_drops, report.send_failures, report.events_dropped), (0, 0, 0), "{report:?}");
    println!(
        "{:?}\n{:?} cpu {:?} of {:?}\n{:?}",
        report.release_lag, report.arrival_lag, report.cpu, report.wall, report.notes
    );
    (came, report)
}

#[test]
fn losses_and_delays_are_the_models() {
    if !possible() {
        return;
    }
    let (came, report) = check(
        "rtt = '40 ms'\njitter = '3 ms'\nrate = '20 Mbit/s'\nqueue = { packets = 20 }\n\
         loss = { kind = 'gilbert-elliott', mean = '10 %', burst = 3 }",
        true,
    );
    assert!(report.links[3].lost.packets > 0 && !came.is_empty());
    assert!(came.windows(2).all(|pair| pair[0].0 < pair[1].0), "in order");
}

#[test]
fn packets_overtake_and_come_twice_and_damaged_as_the_model_says() {
    if !possible() {
        return;
    }
    let (came, report) = check(
        "rtt = '20 ms'\njitter = { sigma = '3 ms', order = 'reorder' }\nduplicate = '10 %'\ncorrupt = '10 %'",
        false,
    );
    let counters = &report.links[3];
    assert_eq!(came.len() as u64, 400 + counters.duplicated.packets);
    let damaged = came.iter().filter(|(_, last)| *last == 0xab).count() as u64;
    assert_eq!(damaged, counters.corrupted.packets);
    assert!(damaged > 0 && counters.overtaken > 0);
}

#[test]
fn netem_is_the_models() {
    if !possible() {
        return;
    }
    let (_, report) = check(
        "[netem]\nseed = 77\ndelay = '20 ms'\njitter = '5 ms'\n\
         loss = { kind = 'gilbert-elliott', p = '5 %', r = '30 %' }",
        false,
    );
    assert!(report.links[3].lost.packets > 30);
}

/// When an active queue drops depends on when the thread looks, so that what it drops cannot be said beforehand.
#[test]
fn each_packet_of_an_active_queue_leaves_it_or_is_told_to_be_dropped() {
    if !possible() {
        return;
    }
    // Twice as much as the rate takes, on a machine on which sending takes four times as long as it should.
    let profile = "rtt = '10 ms'\nrate = '1 Mbit/s'\nqueue = { kind = 'codel', packets = 500 }";
    let (events, came, report, _) = exchange(profile, 400);
    let of =
        |pick: &dyn Fn(&PacketEvent) -> Option<u64>| events.iter().filter_map(pick).collect::<Vec<u64>>();
    let accepted = of(&|event| match event {
        PacketEvent::Sent { id, verdict: Verdict::Accepted, place, .. } => (*place == down()).then_some(*id),
        _ => None,
    });
    let dropped = of(&|event| match event {
        PacketEvent::Dropped { id, place, .. } => (*place == down()).then_some(*id),
        _ => None,
    });
    let left = of(&|event| match event {
        PacketEvent::Exit { id, place, .. } => (*place == down()).then_some(*id),
        _ => None,
    });
    assert_eq!(came.iter().map(|(number, _)| u64::from(*number)).collect::<Vec<_>>(), left);
    let mut ended = [&dropped[..], &left[..]].concat();
    ended.sort_unstable();
    assert_eq!(ended, accepted, "each in one way, and once");
    assert!(!dropped.is_empty());
    assert_eq!(report.links[down().index()].aqm_dropped.packets, dropped.len() as u64);
}

#[test]
fn a_backend_refuses_by_name_what_it_cannot_do() {
    let plan = plan("rtt = '20 ms'\nloss = { kind = 'bernoulli', p = '1 %' }");
    let refused: Vec<String> = NoLink.refusals(&plan).iter().map(ToString::to_string).collect();
    assert!(refused.contains(&"operator-hop/down: `loss` is not possible: there is no link".to_owned()));
    assert!(refused.contains(&"robot-hop/up: `rate` is not possible: there is no link".to_owned()));
    assert!(UserspaceLink.refusals(&plan).is_empty());
    for backend in BACKENDS {
        assert_eq!(realbench::link::backend(backend.name()).unwrap().name(), backend.name());
    }
}

#[test]
fn a_link_that_is_dropped_ends() {
    if !possible() {
        return;
    }
    let topology = Topology::new(&TopologyOptions::default()).unwrap();
    for _ in 0..3 {
        let link = UserspaceLink.start(&topology, &plan("rtt = '20 ms'"), Box::new(())).unwrap();
        drop(link);
    }
    let link = UserspaceLink.start(&topology, &plan("rtt = '20 ms'"), Box::new(())).unwrap();
    assert_eq!(link.stop().unwrap().links[0].offered.packets, 0);
}
