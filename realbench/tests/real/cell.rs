//! A whole cell through namespaces: what is asserted is what noise cannot change.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use bench::metrics::summary::Mode;
use bench::{Cell, netmodel};
use netmodel::Verdict;
use netmodel::units::{Span, Time};
use realbench::Clock;
use realbench::cell::{Namespaces, Options, run_cell};
use realbench::link::{LINKS, LinkPlan, NoLink, UserspaceLink};

use crate::possible;

fn cell(profile: &str) -> Cell {
    let builtin = |name| Arc::new(netmodel::builtin::profile(name).unwrap());
    Cell {
        profile: builtin(profile),
        robot_hop: builtin("robot-hop"),
        settings_name: "default".to_owned(),
        settings: Arc::default(),
        workload: Arc::default(),
        seed: 3,
        base_seed: 1,
        duration: Span::from_secs(3),
        warmup: Span::from_secs(1),
        offload: bench::Offload::default(),
        repeat: 1,
    }
}

/// The events of a cell, as lines.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text after `key` in a line of the events log, up to what ends a value.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let start = line.find(key).unwrap() + key.len();
    line[start..].split([',', '"', '}']).next().unwrap()
}

/// Number, size and fate of every packet towards the operator, and when it came to the link.
fn sent(log: &str, warmup: Span) -> Vec<(Time, u64, u32, String)> {
    let is = |line: &&str| line.contains(r#""packet":"sent","hop":"operator","direction":"down""#);
    let lines = log.lines().filter(is);
    let packet = |line: &str| {
        let us: f64 = field(line, r#""t_us":"#).parse().unwrap();
        let at = (us * 1e3).round() as i64 + warmup.as_nanos() as i64;
        let id = field(line, r#""id":"#).parse().unwrap();
        let bytes = field(line, r#""bytes":"#).parse().unwrap();
        (Time::from_nanos(at as u64), id, bytes, field(line, r#""verdict":""#).to_owned())
    };
    lines.map(packet).collect()
}

#[test]
fn a_cell_through_namespaces_meets_the_fates_of_the_simulator() {
    if !possible() {
        return;
    }
    let cell = cell("bad-india");
    let lines = Lines::default();
    let mut network = Namespaces::new(&cell, &UserspaceLink).unwrap();
    let options = Options { log: Some(Box::new(lines.clone())), ..Options::default() };
    let result = run_cell(&cell, &mut network, options).unwrap();
    let summary = result.summary;
    let host = summary.host.unwrap();
    println!("{host:?}\n{:?}", summary.tainted);
    assert_eq!((summary.mode, host.backend.as_str()), (Mode::Real, "userspace"));
    assert!(host.release_lag_us.is_some() && host.timer_lag_us.is_some(), "{host:?}");
    assert!(summary.all.delivered > 30, "{:?}", summary.all);

    let log = String::from_utf8(std::mem::take(&mut *lines.0.lock().unwrap())).unwrap();
    let packets = sent(&log, cell.warmup);
    // Every packet is told of once, in order; the simulator's link gives each of them the same fate.
    let mut link = LinkPlan::of_cell(&cell, Clock::start().epoch()).link::<()>(LINKS[3]);
    assert!(packets.len() > 200, "{}", packets.len());
    for (number, (at, id, bytes, verdict)) in packets.iter().enumerate() {
        assert_eq!(*id, number as u64);
        let admission = link.send(*at, *bytes, 0, ());
        assert_eq!(verdict == "accepted", admission.verdict == Verdict::Accepted, "packet {id}");
    }
    assert!(packets.iter().any(|(_, _, _, verdict)| verdict == "lost"));
    if host.facts_lost == 0 {
        // In the same second no packet of the warm-up is on this link's books.
        let down = &summary.link.down;
        let traffic = packets.iter().filter(|(at, ..)| *at >= Time::ZERO + cell.warmup).count() as u64;
        assert_eq!(down.offered, traffic, "{down:?}");
        assert!(down.delivered + down.lost + down.queue_dropped <= down.offered, "{down:?}");
        let known = log.lines().filter(|line| line.contains(r#""part":"fragment""#)).count();
        assert!(known > 100, "{known} packets are known by what they carry");
    }
    for (name, camera) in summary.cameras.iter() {
        assert_eq!((camera.causes.missing.in_transport, camera.causes.late.in_transport), (0, 0), "{name}");
    }
}

#[test]
fn a_backend_that_cannot_do_a_cell_says_so_and_nothing_hangs() {
    if !possible() {
        return;
    }
    let cell = cell("bad-india");
    let mut network = Namespaces::new(&cell, &NoLink).unwrap();
    let error = run_cell(&cell, &mut network, Options::default()).err().unwrap().to_string();
    assert!(error.contains("operator-hop/down: `loss` is not possible"), "{error}");
}
