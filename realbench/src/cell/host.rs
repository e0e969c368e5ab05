//! How steady the machine was while a cell ran, and whether that was steady enough.

use std::fs;

use bench::Offload;
use bench::metrics::summary::{HostSummary, LagSummary};

use super::ends::Inputs;
use crate::driver::Report;
use crate::lag::Lag;
use crate::link::LinkReport;

/// The processors' time so far, in ticks, from `/proc/stat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Processors {
    all: u64,
    idle: u64,
    stolen: u64,
}

impl Processors {
    /// `None` where the system does not say.
    pub(super) fn read() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The first line has user, nice, system, idle, iowait, irq, softirq, steal, and guest times that user has already
    /// (proc(5)).
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split_ascii_whitespace();
        if words.next()? != "cpu" {
            return None;
        }
        let ticks: Vec<u64> = words.take(8).map_while(|word| word.parse().ok()).collect();
        let [_, _, _, idle, iowait, _, _, stolen] = *ticks.as_slice() else { return None };
        Some(Self { all: ticks.iter().sum(), idle: idle + iowait, stolen })
    }

    /// Shares of the time since `before` that were stolen and used.
    fn since(self, before: Self) -> Option<(f64, f64)> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)? as f64;
        let share = |ticks: u64| (ticks as f64 / all * 1e4).round() / 1e4;
        let idle = self.idle.saturating_sub(before.idle);
        Some((
            share(self.stolen.saturating_sub(before.stolen)),
            share((self.all - before.all).saturating_sub(idle)),
        ))
    }
}

/// What the parts of a cell reported about the machine.
pub(super) struct Noise<'a> {
    pub(super) backend: &'a str,
    pub(super) offload: Offload,
    pub(super) reports: &'a [Report],
    pub(super) inputs: Inputs,
    pub(super) inputs_asked: u64,
    pub(super) link: &'a LinkReport,
    pub(super) facts_lost: u64,
    pub(super) processors: Option<(Processors, Processors)>,
}

impl Noise<'_> {
    pub(super) fn summary(&self) -> HostSummary {
        let (mut timer, mut receive) = (Lag::default(), Lag::default());
        for report in self.reports {
            timer.add(&report.timer_lag);
            receive.add(&report.receive_lag);
        }
        let sum = |of: fn(&Report) -> u64| self.reports.iter().map(of).sum::<u64>();
        let shares = self.processors.and_then(|(before, after)| after.since(before));
        HostSummary {
            backend: self.backend.to_owned(),
            release_lag_us: self.link.release_lag.summary(),
            timer_lag_us: timer.summary(),
            receive_lag_us: receive.summary(),
            steal_ratio: shares.map(|(stolen, _)| stolen),
            busy_ratio: shares.map(|(_, busy)| busy),
            inputs_asked: self.inputs_asked,
            inputs_made: self.inputs.made,
            inputs_late: self.inputs.late,
            dropped_at_sockets: self.reports.iter().map(|report| report.dropped_at_socket).sum(),
            dropped_in_link: self.link.dropped(),
            send_errors: sum(|report| report.send_errors),
            gso: Some(self.offload.gso),
            gro: Some(self.offload.gro),
            datagrams_sent: sum(|report| report.datagrams_sent),
            send_calls: sum(|report| report.send_calls),
            datagrams_received: sum(|report| report.datagrams_received),
            pieces_received: sum(|report| report.pieces_received),
            facts_lost: self.facts_lost,
        }
    }

    /// Why the numbers are not to be trusted, if there is a reason.
    pub(super) fn taint(&self, host: &HostSummary) -> Option<String> {
        let over = |lag: Option<LagSummary>, us: f64| lag.filter(|lag| lag.p99 > us).map(|lag| lag.p99 / 1e3);
        let mut reasons = Vec::new();
        if let Some(dropped) = host.dropped_at_sockets.filter(|dropped| *dropped > 0) {
            reasons.push(format!(
                "{dropped} datagrams found an end's socket full, or waited in it for over a second"
            ));
        }
        if self.link.unstamped > 0 {
            reasons.push(format!(
                "{} packets came to the link without a time of the kernel's",
                self.link.unstamped
            ));
        }
        if host.dropped_in_link > 0 {
            reasons.push(format!(
                "{} packets were dropped by devices, and not by the link",
                host.dropped_in_link
            ));
        }
        if host.facts_lost > 0 {
            reasons.push(format!("{} facts were lost or came too late to be put in order", host.facts_lost));
        }
        if host.inputs_made < host.inputs_asked || host.inputs_late * 100 > host.inputs_asked {
            reasons.push(format!(
                "{} of {} frames and poses were not made, {} over 10 ms late",
                host.inputs_asked.saturating_sub(host.inputs_made),
                host.inputs_asked,
                host.inputs_late
            ));
        }
        if let Some(ms) = over(host.release_lag_us, RELEASE_LAG_US_MAX) {
            reasons.push(format!("one packet in a hundred was released over {ms:.1} ms late"));
        }
        if let Some(ms) = over(host.timer_lag_us, TIMER_LAG_US_MAX) {
            reasons.push(format!("one timeout in a hundred came over {ms:.1} ms late"));
        }
        if let Some(steal) = host.steal_ratio.filter(|steal| *steal > STEAL_MAX) {
            reasons.push(format!("{:.1} % of the processors' time was stolen", steal * 100.0));
        }
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }
}

/// A tenth of the tolerance for the median frame delay that real cells are compared under.
const RELEASE_LAG_US_MAX: f64 = 2_000.0;
/// Half the time to the next pose; later, and one in a hundred commands is off by more than the tolerance.
const TIMER_LAG_US_MAX: f64 = 5_000.0;
/// More than this and another machine decides the figures.
const STEAL_MAX: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_line_is_read_and_shares_are_taken_of_it() {
        let before = Processors::parse("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2\n").unwrap();
        assert_eq!(before, Processors { all: 1000, idle: 850, stolen: 0 });
        let after = Processors::parse("cpu  200 0 100 1600 50 0 0 50 0 0\n").unwrap();
        assert_eq!(after.since(before), Some((0.05, 0.2)));
        assert_eq!(before.since(before), None);
        assert_eq!(Processors::parse("intr 1 2 3"), None);
        assert_eq!(Processors::parse("cpu 1 2 x"), None);
    }

    #[test]
    fn a_quiet_machine_taints_nothing_and_each_fault_is_named() {
        let quiet = LinkReport::default();
        let mut noise = Noise {
            backend: "none",
            offload: Offload::default(),
            reports: &[],
            inputs: Inputs { made: 100, late: 1 },
            inputs_asked: 100,
            link: &quiet,
            facts_lost: 0,
            processors: None,
        };
        assert_eq!(noise.taint(&noise.summary()), None);
        let dropped = LinkReport { socket_drops: 2, send_failures: 1, ..LinkReport::default() };
        (noise.link, noise.facts_lost, noise.inputs.late) = (&dropped, 2, 5);
        let mut host = noise.summary();
        host.timer_lag_us = Some(LagSummary { p50: 1.0, p99: 6_000.0, max: 7_000.0 });
        let text = noise.taint(&host).unwrap();
        for part in ["3 packets", "2 facts", "5 over 10 ms late", "over 6.0 ms late"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
