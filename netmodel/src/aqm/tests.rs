use units::{Span, Time};

use super::*;
use crate::link::Link;
use crate::profile::Profile;
use crate::random::StreamKey;

fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// What came of a steady flow: waits of the packets that came out, in order, with their ECN bits.
struct Outcome {
    exits: Vec<(Time, Span, u8)>,
    drops: Vec<QueueDrop<u64>>,
    offered: usize,
    link: Link<u64>,
}

/// Sends packets of 1250 bytes for `seconds` over 10 Mbit/s, of which one takes a millisecond; `ecn` by number.
fn flow(queue: &str, gap: Span, seconds: u64, ecn: impl Fn(u64) -> u8) -> Outcome {
    let text = format!("rate = \"10 Mbit/s\"\nqueue = {queue}\n");
    let profile = Profile::parse("aqm", &text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut link = Link::new(&profile.down, &StreamKey::new([3; 32]), "hop/down", Time::ZERO);
    let (mut exits, mut drops) = (Vec::new(), Vec::new());
    let mut drain = |link: &mut Link<u64>, now: Time| {
        while link.next_exit() <= now {
            let due = link.next_exit();
            while let Some(exit) = link.poll_exit(due) {
                assert_eq!(exit.at, due);
                exits.push((exit.at, exit.queued, exit.ecn));
            }
            while let Some(drop) = link.poll_drop() {
                assert!(drop.at <= due);
                assert_eq!(drop.payload, drop.id, "each comes back with what it carries");
                drops.push(drop);
            }
        }
    };
    let count = Span::from_secs(seconds).as_nanos() / gap.as_nanos();
    for n in 0..count {
        let now = Time::ZERO + gap * n;
        drain(&mut link, now);
        link.send(now, 1250, ecn(n), n);
    }
    drain(&mut link, Time::MAX - Span::from_nanos(1));
    Outcome { exits, drops, offered: count as usize, link }
}

impl Outcome {
    fn mean_wait_ms(&self) -> f64 {
        let sum: f64 = self.exits.iter().map(|(_, wait, _)| wait.as_secs_f64() * 1e3).sum();
        sum / self.exits.len() as f64
    }

    fn after(mut self, from: Time) -> Self {
        self.exits.retain(|(at, ..)| *at >= from);
        self
    }

    fn conserved(&self) {
        let counters = self.link.counters();
        let gone = counters.queue_dropped.packets + counters.aqm_dropped.packets;
        assert_eq!(counters.delivered.packets + gone, self.offered as u64, "{counters:#?}");
        assert_eq!(counters.aqm_dropped.packets, self.drops.len() as u64);
        assert_eq!(self.link.in_flight(), 0);
        assert_eq!(self.link.queue_bytes(Time::MAX), 0);
    }
}

#[test]
fn below_the_rate_no_queue_interferes() {
    for queue in [
        r#"{ kind = "codel", packets = 1000 }"#,
        r#"{ kind = "dualpi2", packets = 1000 }"#,
        r#"{ kind = "drop-tail", packets = 1000 }"#,
    ] {
        let outcome = flow(queue, ms(2), 5, |n| (n % 4) as u8);
        assert!(outcome.drops.is_empty(), "{queue}");
        assert!(outcome.exits.iter().all(|(_, wait, _)| wait.is_zero()), "{queue}");
        assert!(
            outcome.exits.iter().zip(0_u64..).all(|((.., ecn), n)| u64::from(*ecn) == n % 4),
            "{queue}: no marks"
        );
        outcome.conserved();
    }
}

#[test]
fn an_active_queue_that_never_acts_is_drop_tail() {
    // CoDel whose target is out of reach against the list of departures of drop-tail: two codes, one law.
    let lazy =
        flow(r#"{ kind = "codel", packets = 40, target = "100 s" }"#, Span::from_micros(900), 3, |_| 0);
    let plain = flow(r#"{ kind = "drop-tail", packets = 40 }"#, Span::from_micros(900), 3, |_| 0);
    assert_eq!(lazy.exits, plain.exits);
    assert_eq!(lazy.link.counters(), plain.link.counters());
    for limit in [r#"time = "30 ms""#, r#"bytes = "50 kB""#] {
        let lazy = format!("{{ kind = \"codel\", {limit}, target = \"100 s\" }}");
        let plain = format!("{{ kind = \"drop-tail\", {limit} }}");
        let [lazy, plain] = [lazy, plain].map(|queue| flow(&queue, Span::from_micros(900), 3, |_| 0));
        assert_eq!(lazy.exits, plain.exits, "{limit}");
        lazy.conserved();
    }
}

#[test]
fn codel_waits_an_interval_and_then_drops_ever_faster() {
    // 10 % too much: the queue passes 5 ms at about 55 ms, is judged at 155 ms, and the drops after the first
    // are interval / sqrt(count) apart (RFC 8289 §3.3).
    let outcome = flow(r#"{ kind = "codel", packets = 10000 }"#, Span::from_nanos(909_090), 4, |_| 0);
    outcome.conserved();
    let first = outcome.drops[0].at.since(Time::ZERO);
    assert!((ms(150)..ms(165)).contains(&first), "{first}");
    let gaps: Vec<f64> =
        outcome.drops.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_secs_f64() * 1e3).collect();
    for (n, gap) in gaps.iter().take(20).enumerate() {
        let expected = 100.0 / ((n + 1) as f64).sqrt();
        assert!((gap - expected).abs() < 2.1, "gap {n} is {gap} ms, not {expected}");
    }
}

#[test]
fn codel_marks_where_it_may_and_drops_where_it_must() {
    let queue = r#"{ kind = "codel", packets = 10000, ecn = true }"#;
    let capable = flow(queue, Span::from_nanos(909_090), 4, |_| 0b10);
    assert!(capable.drops.is_empty());
    let marked = capable.exits.iter().filter(|(.., ecn)| *ecn == 0b11).count();
    assert!(marked > 20, "{marked}");
    assert_eq!(capable.link.counters().marked.packets, marked as u64);
    capable.conserved();
    let incapable = flow(queue, Span::from_nanos(909_090), 4, |_| 0);
    assert!(incapable.drops.len() > 20);
    assert_eq!(incapable.link.counters().marked.packets, 0);
}

#[test]
fn dualpi2_holds_a_classic_overload_at_its_target() {
    // 5 % too much, and nobody slows down: p settles where p'² takes away the excess.
    let queue = r#"{ kind = "dualpi2", packets = 10000 }"#;
    let outcome = flow(queue, Span::from_nanos(952_380), 30, |_| 0);
    outcome.conserved();
    let share = outcome.drops.len() as f64 / outcome.offered as f64;
    assert!((share - 0.0476).abs() < 0.01, "{share}");
    let settled = outcome.after(Time::ZERO + Span::from_secs(15));
    let mean = settled.mean_wait_ms();
    assert!((mean - 15.0).abs() < 2.0, "{mean} ms");
}

#[test]
fn dualpi2_keeps_low_latency_apart_and_couples_its_marks() {
    // Half of the packets are L4S; together 5 % too much.
    let queue = r#"{ kind = "dualpi2", packets = 10000 }"#;
    let outcome = flow(queue, Span::from_nanos(952_380), 30, |n| (n % 2) as u8);
    outcome.conserved();
    let settled = outcome.after(Time::ZERO + Span::from_secs(15));
    let waits = |low: bool| {
        let of: Vec<f64> = settled
            .exits
            .iter()
            .filter(|(.., ecn)| (*ecn != 0) == low)
            .map(|(_, wait, _)| wait.as_secs_f64() * 1e3)
            .collect();
        of.iter().sum::<f64>() / of.len() as f64
    };
    assert!(waits(true) < 1.0, "low latency waits {} ms", waits(true));
    assert!(waits(false) > 10.0, "classic waits {} ms", waits(false));
    // p_C = p'² is what takes the excess away from the classic half; p_CL = 2 p' marks the other.
    let classic = settled.drops.iter().filter(|d| d.at >= Time::ZERO + Span::from_secs(15)).count() as f64;
    let classic_share = classic / (15.0 / 952.380e-6 / 2.0);
    let low: Vec<bool> =
        settled.exits.iter().map(|(.., ecn)| *ecn).filter(|ecn| *ecn != 0).map(|ecn| ecn == 0b11).collect();
    let marked_share = low.iter().filter(|marked| **marked).count() as f64 / low.len() as f64;
    let expected = 2.0 * classic_share.sqrt();
    assert!((marked_share - expected).abs() < 0.05, "{marked_share} against 2·√{classic_share}");
}

#[test]
fn a_schedule_may_change_the_kind_of_queue() {
    let text = r#"
        rate = "10 Mbit/s"
        queue = { kind = "drop-tail", time = "300 ms" }
        [[schedule]]
        at = "1 s"
        queue = { kind = "codel", time = "300 ms" }
        [[schedule]]
        at = "2 s"
        queue = { kind = "dualpi2", time = "300 ms" }
        [[schedule]]
        at = "3 s"
        queue = { kind = "drop-tail", time = "300 ms" }
    "#;
    let profile = Profile::parse("aqm", text).unwrap_or_else(|problems| panic!("{problems:#?}"));
    let mut link = Link::new(&profile.down, &StreamKey::new([3; 32]), "hop/down", Time::ZERO);
    let mut out = 0;
    let mut drops = 0;
    for n in 0..5000_u64 {
        let now = Time::ZERO + Span::from_micros(800) * n;
        while link.next_exit() <= now {
            let due = link.next_exit();
            out += u64::from(link.poll_exit(due).is_some());
        }
        link.send(now, 1250, (n % 4) as u8, ());
    }
    while link.next_exit() < Time::MAX {
        let due = link.next_exit();
        out += u64::from(link.poll_exit(due).is_some());
    }
    while link.poll_drop().is_some() {
        drops += 1;
    }
    let counters = link.counters();
    assert!(drops > 0 && counters.marked.packets > 0);
    assert_eq!(out + drops + counters.queue_dropped.packets, 5000);
}

#[test]
fn a_file_says_what_does_not_belong() {
    let wrong = |queue: &str| {
        let text = format!("rate = \"10 Mbit/s\"\nqueue = {queue}\n");
        Profile::parse("aqm", &text).expect_err("it is wrong").remove(0).message
    };
    assert_eq!(
        wrong(r#"{ kind = "drop-tail", packets = 10, target = "5 ms" }"#),
        "`target` does not belong to `drop-tail`"
    );
    assert_eq!(
        wrong(r#"{ kind = "dualpi2", packets = 10, ecn = true }"#),
        "`ecn` does not belong to `dualpi2`"
    );
    assert!(wrong(r#"{ kind = "codel", packets = 10, target = "0 ms" }"#).contains("zero"));
}
