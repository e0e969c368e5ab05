//! A relay as a process: it has no inputs, and counts what passes.

use bench::relay_core::{Event, LeaveReason, Relay, Role};
use bench::units::{Span, Time};

use super::refusal::Refusals;
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

    /// Says it when it is due; whether it was.
    pub(super) fn act(&mut self, now: Time, summary: &mut ProcessSummary) -> bool {
        let due = now >= self.next_at;
        if due {
            self.next_at = now + self.every;
            summary.duration_s = seconds(now);
            (self.note)(&summary.line());
        }
        due
    }

    pub(super) fn say(&mut self, text: &str) {
        (self.note)(text);
    }
}

/// The relay's app.
pub(super) struct RelayProcess<'a> {
    notes: Notes<'a>,
    summary: ProcessSummary,
    refusals: Refusals,
}

impl<'a> RelayProcess<'a> {
    pub(super) fn new(every: Span, note: Note<'a>) -> Self {
        let summary = ProcessSummary::new(None);
        Self { notes: Notes::new(every, note), summary, refusals: Refusals::default() }
    }

    pub(super) fn finish(mut self, now: Time, relay: &Relay, report: &Report) -> ProcessSummary {
        self.summary.totals(relay.totals());
        self.summary.socket(report);
        self.summary.duration_s = seconds(now);
        self.summary
    }

    fn look(&mut self, relay: &Relay) {
        self.summary.totals(relay.totals());
        self.summary.round_trip(relay.round_trip());
    }
}

impl App<Relay> for RelayProcess<'_> {
    fn next_at(&self) -> Time {
        self.notes.next_at
    }

    fn act(&mut self, now: Time, relay: &mut Relay) -> Flow {
        self.look(relay);
        if self.notes.act(now, &mut self.summary)
            && let Some(line) = self.refusals.take_line()
        {
            self.notes.say(&line);
        }
        Flow::Continue
    }

    fn event(&mut self, _now: Time, event: &Event) {
        self.summary.event(event);
        match event {
            Event::Joined { role } => self.notes.say(&format!("relay: {} joined", name(*role))),
            Event::TurnedAway(away) => {
                if let Some(line) = self.refusals.note(away) {
                    self.notes.say(&line);
                }
            }
            Event::Left { role, reason } => {
                self.notes.say(&format!("relay: {} left ({})", name(*role), why(*reason)));
            }
            _ => {}
        }
    }

    fn close(&mut self, now: Time, relay: &mut Relay) {
        self.look(relay);
        if let Some(line) = self.refusals.take_line() {
            self.notes.say(&line);
        }
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
        LeaveReason::Replaced => "another took its place",
    }
}

pub(super) fn seconds(now: Time) -> f64 {
    (now.as_secs_f64() * 1e3).round() / 1e3
}

const NOTE_EVERY_MIN: Span = Span::from_millis(100);
