//! A robot or an operator as a process: the default workload's cameras or hand poses, from joining on.

use std::sync::Arc;
use std::time::SystemTime;

use bench::relay_core::{
    Dial, EndpointParams, Event, FrameId, LeaveReason, Machine, Operator, Robot, Role, RoundTrip, Settings,
    SetupError, Totals, TurnedAway,
};
use bench::units::{Span, Time};
use bench::{Cell, Input, netmodel};
use bytes::Bytes;

use super::app::{Notes, name, seconds, why};
use super::refusal::NotJoined;
use super::{Joining, Note, ProcessSummary};
use crate::cell::Traffic;
use crate::driver::{App, Flow, Report};
use crate::error::RealError;
use crate::tls::random;

/// How an end is made.
pub(super) type Make<M> = fn(Time, &EndpointParams, Dial, &Settings) -> Result<M, SetupError>;

/// A robot or an operator.
pub(super) trait Peer: Machine {
    /// Takes an input of its own.
    fn feed(&mut self, now: Time, input: Input, numbers_from: u32, bytes: Bytes);
    fn is_joined(&self) -> bool;
    fn totals(&self) -> Totals;
    fn round_trip(&self) -> Option<RoundTrip>;
    fn hang_up(&mut self, now: Time);
}

impl Peer for Robot {
    fn feed(&mut self, now: Time, input: Input, numbers_from: u32, bytes: Bytes) {
        if let Input::Frame { frame, .. } = input {
            let number = frame.number.wrapping_add(numbers_from);
            self.handle_frame(now, FrameId { number, ..frame }, bytes);
        }
    }

    fn is_joined(&self) -> bool {
        self.is_joined()
    }

    fn totals(&self) -> Totals {
        self.totals()
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        self.round_trip()
    }

    fn hang_up(&mut self, now: Time) {
        self.close(now);
    }
}

impl Peer for Operator {
    fn feed(&mut self, now: Time, input: Input, _numbers_from: u32, bytes: Bytes) {
        if let Input::Pose { pose, .. } = input {
            self.handle_pose(now, pose, bytes);
        }
    }

    fn is_joined(&self) -> bool {
        self.is_joined()
    }

    fn totals(&self) -> Totals {
        self.totals()
    }

    fn round_trip(&self) -> Option<RoundTrip> {
        self.round_trip()
    }

    fn hang_up(&mut self, now: Time) {
        self.close(now);
    }
}

/// The app of a robot or an operator.
pub(super) struct EndProcess<'a> {
    role: Role,
    traffic: Traffic,
    /// When the traffic began: when the session was joined for the first time.
    began: Option<Time>,
    duration: Option<Span>,
    join_by: Time,
    /// What there is to say if it never joins.
    not_joined: NotJoined,
    /// Whether it was turned away, before it ever joined, for something that waiting does not mend.
    hopeless: bool,
    numbers_from: u32,
    notes: Notes<'a>,
    summary: ProcessSummary,
}

impl<'a> EndProcess<'a> {
    pub(super) fn new(
        now: Time,
        role: Role,
        joining: &Joining,
        every: Span,
        note: Note<'a>,
    ) -> Result<Self, RealError> {
        let rate = joining.workload.cameras.iter().map(|camera| camera.frames_per_s).max().unwrap_or(1);
        Ok(Self {
            role,
            traffic: Traffic::new(&cell(joining)?, role == Role::Operator),
            began: None,
            duration: joining.duration,
            join_by: now + joining.join_within,
            not_joined: NotJoined {
                relay: joining.relay,
                role,
                session: joining.session,
                with_token: joining.token.is_some(),
                heard: false,
                unsent: None,
                away: None,
            },
            hopeless: false,
            numbers_from: numbers_from(rate),
            notes: Notes::new(every, note),
            summary: ProcessSummary::new(Some(role)),
        })
    }

    pub(super) fn finish(
        mut self,
        now: Time,
        machine: &impl Peer,
        report: &Report,
    ) -> Result<ProcessSummary, RealError> {
        self.summary.totals(machine.totals());
        self.summary.socket(report);
        self.summary.duration_s = seconds(now);
        if self.summary.joined == 0 && (self.hopeless || now >= self.join_by) {
            self.not_joined.heard = report.datagrams_received > 0;
            self.not_joined.unsent.clone_from(&report.send_error);
            return Err(RealError::NeverJoined(Box::new(self.not_joined)));
        }
        Ok(self.summary)
    }

    fn look(&mut self, machine: &impl Peer) {
        self.summary.totals(machine.totals());
        self.summary.round_trip(machine.round_trip());
    }

    fn turned_away(&mut self, away: &TurnedAway) {
        self.hopeless |= self.began.is_none() && away.why.is_lasting();
        // The same answer again is no news, and the next line of statistics has it; the last answer is the error.
        let news = self.not_joined.why() != Some(away.why) && !self.hopeless;
        self.not_joined.away = Some(away.clone());
        if news {
            self.notes.say(&format!("{}: not let in: {}", name(self.role), self.not_joined));
        }
    }

    fn left(&mut self, reason: LeaveReason) {
        let role = name(self.role);
        match reason {
            // Why was said before.
            LeaveReason::Refused => {}
            LeaveReason::Replaced => {
                self.notes.say(&format!("{role}: another took its place; it dials again in half a minute"));
            }
            _ if self.summary.in_session => {
                self.notes.say(&format!("{role}: lost the relay ({})", why(reason)));
            }
            _ => self.notes.say(&format!("{role}: could not join ({})", why(reason))),
        }
    }

    /// When the next frame or pose is due.
    fn input_at(&self) -> Time {
        let Some(began) = self.began else { return Time::MAX };
        let at = self.traffic.next_at();
        if at == Time::MAX { at } else { began + at.since(Time::ZERO) }
    }

    /// When the process is over.
    fn over_at(&self) -> Time {
        match (self.began, self.duration) {
            (None, _) if self.hopeless => Time::ZERO,
            (None, _) => self.join_by,
            (Some(began), Some(duration)) => began + duration + LINGER,
            (Some(_), None) => Time::MAX,
        }
    }
}

impl<M: Peer> App<M> for EndProcess<'_> {
    fn next_at(&self) -> Time {
        self.input_at().min(self.over_at()).min(self.notes.next_at)
    }

    fn act(&mut self, now: Time, machine: &mut M) -> Flow {
        let due_at = self.input_at();
        if due_at <= now {
            let due_in = now.since(self.began.unwrap_or(now));
            let input = self.traffic.pop(Time::ZERO + due_in);
            if now.since(due_at) > MISSED_AFTER {
                // While the process did not run nobody looked at the cameras, and the hand went on.
                self.summary.inputs_missed += 1;
                return Flow::Continue;
            }
            let (Input::Frame { bytes, .. } | Input::Pose { bytes, .. }) = input;
            let made = match input {
                Input::Frame { .. } => &mut self.summary.frames_made,
                Input::Pose { .. } => &mut self.summary.poses_made,
            };
            *made.get_or_insert(0) += 1;
            machine.feed(now, input, self.numbers_from, self.traffic.bytes(bytes));
        }
        if now >= self.notes.next_at {
            self.look(machine);
            if !machine.is_joined() {
                let why =
                    self.not_joined.away.as_ref().map(|_| format!(" (not let in: {})", self.not_joined));
                let role = name(self.role);
                self.notes.say(&format!("{role}: not in a session; dialling{}", why.unwrap_or_default()));
            }
            self.notes.act(now, &mut self.summary);
        }
        if now < self.over_at() {
            return Flow::Continue;
        }
        self.look(machine);
        machine.hang_up(now);
        Flow::Stop
    }

    fn event(&mut self, now: Time, event: &Event) {
        if let Event::Left { reason, .. } = *event {
            self.left(reason);
        }
        self.summary.event(event);
        match *event {
            Event::Joined { .. } => {
                self.began.get_or_insert(now);
                self.not_joined.away = None;
                self.notes.say(&format!("{}: joined", name(self.role)));
            }
            Event::TurnedAway(ref away) => self.turned_away(away),
            Event::FrameSizeAsked { camera, share } => self.traffic.resize(camera, share),
            _ => {}
        }
    }

    fn close(&mut self, now: Time, machine: &mut M) {
        self.look(machine);
        machine.hang_up(now);
    }
}

/// A cell whose traffic this process makes. Of its link nothing is used.
fn cell(joining: &Joining) -> Result<Cell, RealError> {
    let profile = Arc::new(netmodel::builtin::profile("same-region").expect("it is built in"));
    let seed = random()?.into_iter().take(8).fold(0, |seed, byte| seed << 8 | u64::from(byte));
    Ok(Cell {
        robot_hop: Arc::clone(&profile),
        profile,
        settings_name: "process".to_owned(),
        settings: Arc::default(),
        workload: Arc::new(joining.workload.clone()),
        seed,
        base_seed: 0,
        duration: joining.duration.unwrap_or(DURATION_MAX).min(DURATION_MAX),
        warmup: Span::ZERO,
        offload: bench::Offload::default(),
        repeat: 1,
    })
}

/// The number of the first frame. An operator takes frames for old whose numbers are below those it has seen, so a robot
/// that is started anew goes on above those of its earlier life: as many as it could have made since 2026 began. The numbers
/// of a camera of 15 frames a second last nine years.
#[expect(clippy::disallowed_methods, reason = "frame numbers must grow over restarts of the process")]
fn numbers_from(per_s: u32) -> u32 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (since.as_secs().saturating_sub(START_OF_2026_S) as u32).wrapping_mul(per_s)
}

const START_OF_2026_S: u64 = 1_767_225_600;
/// A frame or a pose that is so late was never made: the process had been stopped.
const MISSED_AFTER: Span = Span::from_millis(250);
/// How long an end stays after its traffic, so that what is under way arrives.
const LINGER: Span = Span::from_millis(500);
const DURATION_MAX: Span = Span::from_secs(365 * 86_400);
