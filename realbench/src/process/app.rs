//! A relay as a process: it has no inputs, and counts what passes.

use bench::relay_core::{Event, LeaveReason, Machine, Relay, Role};
use bench::units::{Span, Time};

use super::{Note, ProcessSummary};
use crate::driver::{App, Flow, Report};

/// Says now and then what a process has done.
pub(super) struct Notes<'a> {
    note: Note<'a>,
    every: Span,
    pub(super) next_at: Time,
}

impl<'a> Notes<'a> {
    pub(super) fn new(every: Span, note: Note<'a>) -> Self {
        let every = every.max(NOTE_EVERY_MIN);
        Self { note, every, next_at: Time::ZERO + every }
    }

    /// Says it when it is due.
    pub(super) fn act(&mut self, now: Time, summary: &mut ProcessSummary) {
        if now >= self.next_at {
            self.next_at = now + self.every;
            summary.duration_s = seconds(now);
            (self.note)(&summary.line());
        }
    }

    pub(super) fn say(&mut self, text: &str) {
        (self.note)(text);
    }
}

/// The relay's app.
pub(super) struct RelayProcess<'a> {
    notes: Notes<'a>,
    summary: ProcessSummary,
}

impl<'a> RelayProcess<'a> {
    pub(super) fn new(every: Span, note: Note<'a>) -> Self {
        Self { notes: Notes::new(every, note), summary: ProcessSummary::new(None) }
    }

    pub(super) fn finish(mut self, now: Time, relay: &Relay, report: &Report) -> ProcessSummary {
        self.summary.snapshot(&relay.snapshot(now, Role::Operator));
        self.summary.socket(report);
        self.summary.duration_s = seconds(now);
        self.summary
    }
}

impl App<Relay> for RelayProcess<'_> {
    fn next_at(&self) -> Time {
        self.notes.next_at
    }

    fn act(&mut self, now: Time, relay: &mut Relay) -> Flow {
        self.summary.snapshot(&relay.snapshot(now, Role::Operator));
        self.notes.act(now, &mut self.summary);
        Flow::Continue
    }

    fn event(&mut self, _now: Time, event: &Event) {
        self.summary.event(event);
        match event {
            Event::Joined { role } => self.notes.say(&format!("relay: {} joined", name(*role))),
            Event::Left { role, reason } => {
                self.notes.say(&format!("relay: {} left ({})", name(*role), why(*reason)));
            }
            _ => {}
        }
    }

    fn close(&mut self, now: Time, relay: &mut Relay) {
        self.summary.snapshot(&relay.snapshot(now, Role::Operator));
        relay.close(now);
    }
}

pub(super) fn name(role: Role) -> &'static str {
    match role {
        Role::Robot => "robot",
        Role::Operator => "operator",
    }
}

pub(super) fn why(reason: LeaveReason) -> &'static str {
    match reason {
        LeaveReason::Closed => "closed",
        LeaveReason::TimedOut => "timed out",
        LeaveReason::Refused => "refused",
    }
}

pub(super) fn seconds(now: Time) -> f64 {
    (now.as_secs_f64() * 1e3).round() / 1e3
}

const NOTE_EVERY_MIN: Span = Span::from_millis(100);
