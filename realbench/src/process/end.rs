//! A robot or an operator as a process: the default workload's cameras or hand poses, from joining on.

use std::sync::Arc;
use std::time::SystemTime;

use bench::relay_core::{
    Dial, EndpointParams, Event, FrameId, Machine, Operator, Robot, Role, Settings, SetupError,
};
use bench::units::{Span, Time};
use bench::{Cell, Input, netmodel};
use bytes::Bytes;

use super::app::{Notes, name, seconds, why};
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
            numbers_from: numbers_from(rate),
            notes: Notes::new(every, note),
            summary: ProcessSummary::new(Some(role)),
        })
    }

    pub(super) fn finish(
        mut self,
        now: Time,
        machine: &impl Machine,
        report: &Report,
    ) -> Result<ProcessSummary, RealError> {
        self.summary.snapshot(&machine.snapshot(now, self.role));
        self.summary.socket(report);
        self.summary.duration_s = seconds(now);
        if self.summary.joined == 0 && now >= self.join_by {
            return Err(RealError::NeverJoined { refused: self.summary.refused });
        }
        Ok(self.summary)
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
        if self.input_at() <= now {
            let due_in = now.since(self.began.unwrap_or(now));
            let input = self.traffic.pop(Time::ZERO + due_in);
            let (Input::Frame { bytes, .. } | Input::Pose { bytes, .. }) = input;
            let made = match input {
                Input::Frame { .. } => &mut self.summary.frames_made,
                Input::Pose { .. } => &mut self.summary.poses_made,
            };
            *made.get_or_insert(0) += 1;
            machine.feed(now, input, self.numbers_from, self.traffic.bytes(bytes));
        }
        if now >= self.notes.next_at {
            self.summary.snapshot(&machine.snapshot(now, self.role));
            if !machine.is_joined() {
                self.notes.say(&format!("{}: not in a session; dialling", name(self.role)));
            }
            self.notes.act(now, &mut self.summary);
        }
        if now < self.over_at() {
            return Flow::Continue;
        }
        self.summary.snapshot(&machine.snapshot(now, self.role));
        machine.hang_up(now);
        Flow::Stop
    }

    fn event(&mut self, now: Time, event: &Event) {
        self.summary.event(event);
        match *event {
            Event::Joined { .. } => {
                self.began.get_or_insert(now);
                self.notes.say(&format!("{}: joined", name(self.role)));
            }
            Event::Left { reason, .. } => {
                self.notes.say(&format!("{}: lost the relay ({})", name(self.role), why(reason)));
            }
            Event::FrameSizeAsked { camera, share } => self.traffic.resize(camera, share),
            _ => {}
        }
    }

    fn close(&mut self, now: Time, machine: &mut M) {
        self.summary.snapshot(&machine.snapshot(now, self.role));
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
/// How long an end stays after its traffic, so that what is under way arrives.
const LINGER: Span = Span::from_millis(500);
const DURATION_MAX: Span = Span::from_secs(365 * 86_400);
