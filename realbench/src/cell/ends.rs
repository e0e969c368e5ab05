//! The three ends of a cell: each its share of the traffic, its samples, and its facts.
//!
//! Each end that has inputs draws the cell's whole traffic by itself and passes over what is not its own. The streams are
//! keyed by camera, so all draw the same.

use std::net::SocketAddr;

use bench::relay_core::{Camera, Event, Machine, Operator, Relay, Robot, Role, Transmit};
use bench::units::{Share, Span, Time};
use bench::{Cell, Direction, End, Hop, IP_UDP_OVERHEAD_BYTES, Input, Source};
use bytes::{Bytes, BytesMut};

use super::facts::{Fact, Facts};
use crate::driver::{App, Flow};

/// What an end's inputs came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Inputs {
    pub(crate) made: u64,
    pub(crate) late: u64,
}

/// The frames or the poses of a workload, at their times.
pub(crate) struct Traffic {
    source: Source,
    poses: bool,
    filler: Bytes,
    pub(crate) inputs: Inputs,
}

impl Traffic {
    /// The poses of `cell`, or else its frames.
    pub(crate) fn new(cell: &Cell, poses: bool) -> Self {
        let filler = BytesMut::zeroed(FILLER_BYTES).freeze();
        let mut traffic = Self { source: Source::new(cell), poses, filler, inputs: Inputs::default() };
        traffic.pass_over();
        traffic
    }

    pub(crate) fn next_at(&self) -> Time {
        self.source.next_at()
    }

    /// The next item, which is due.
    pub(crate) fn pop(&mut self, now: Time) -> Input {
        self.inputs.made += 1;
        self.inputs.late += u64::from(now.since(self.source.next_at()) > LATE);
        let input = self.source.pop();
        self.pass_over();
        input
    }

    pub(crate) fn resize(&mut self, camera: Camera, share: Share) {
        self.source.resize(camera, share);
    }

    /// The content of a frame or a pose, which nobody looks at.
    pub(crate) fn bytes(&mut self, length: u32) -> Bytes {
        let length = length as usize;
        if length > self.filler.len() {
            self.filler = BytesMut::zeroed(length.next_power_of_two()).freeze();
        }
        self.filler.slice(..length)
    }

    fn pass_over(&mut self) {
        while self.source.next_at() < Time::MAX && self.source.next_is_pose() != self.poses {
            self.source.pop();
        }
    }
}

/// What the apps of a cell have in common.
struct Part {
    facts: Facts,
    sample_at: Time,
    stop_at: Time,
}

impl Part {
    fn new(cell: &Cell, facts: Facts) -> Self {
        let start = Time::ZERO + cell.warmup;
        Self { facts, sample_at: start, stop_at: start + cell.duration + Cell::DRAIN }
    }

    fn next_at(&self) -> Time {
        self.sample_at.min(self.stop_at)
    }

    /// Tells what a datagram carries that is about to go on a link.
    fn transmit(&self, now: Time, hop: Hop, direction: Direction, transmit: &Transmit) {
        let ip_bytes = transmit.bytes as u32 + IP_UDP_OVERHEAD_BYTES;
        self.facts.note(now, Fact::Carries { hop, direction, ip_bytes, carries: transmit.carries });
    }

    /// Takes the samples that are due. Whether it is over.
    fn act(&mut self, now: Time, end: End, roles: &[Role], machine: &impl Machine) -> Flow {
        if now >= self.next_at() {
            for role in roles {
                let snapshot = Box::new(machine.snapshot(now, *role));
                self.facts.note(now, Fact::Sample(end, *role, snapshot));
            }
            self.sample_at += SAMPLE_INTERVAL;
        }
        if now >= self.stop_at { Flow::Stop } else { Flow::Continue }
    }
}

/// The robot's cameras.
pub(super) struct RobotApp {
    part: Part,
    pub(super) traffic: Traffic,
}

impl RobotApp {
    pub(super) fn new(cell: &Cell, facts: Facts) -> Self {
        Self { part: Part::new(cell, facts), traffic: Traffic::new(cell, false) }
    }
}

impl App<Robot> for RobotApp {
    fn next_at(&self) -> Time {
        self.traffic.next_at().min(self.part.next_at())
    }

    fn act(&mut self, now: Time, robot: &mut Robot) -> Flow {
        if self.traffic.next_at() <= now {
            let input = self.traffic.pop(now);
            self.part.facts.note(now, Fact::Input(input));
            if let Input::Frame { frame, bytes } = input {
                robot.handle_frame(now, frame, self.traffic.bytes(bytes));
            }
        }
        self.part.act(now, End::Robot, &[Role::Robot], robot)
    }

    fn event(&mut self, now: Time, event: &Event) {
        if let Event::FrameSizeAsked { camera, share } = *event {
            self.traffic.resize(camera, share);
        }
        self.part.facts.note(now, Fact::Event(End::Robot, event.clone()));
    }

    fn transmit(&mut self, now: Time, transmit: &Transmit) {
        self.part.transmit(now, Hop::Robot, Direction::Up, transmit);
    }
}

/// The relay, which has no inputs.
pub(super) struct RelayApp {
    part: Part,
    /// Where the robot is; who is elsewhere is the operator.
    robot: SocketAddr,
}

impl RelayApp {
    pub(super) fn new(cell: &Cell, facts: Facts, robot: SocketAddr) -> Self {
        Self { part: Part::new(cell, facts), robot }
    }
}

impl App<Relay> for RelayApp {
    fn next_at(&self) -> Time {
        self.part.next_at()
    }

    fn act(&mut self, now: Time, relay: &mut Relay) -> Flow {
        self.part.act(now, End::Relay, &[Role::Operator, Role::Robot], relay)
    }

    fn event(&mut self, now: Time, event: &Event) {
        self.part.facts.note(now, Fact::Event(End::Relay, event.clone()));
    }

    fn transmit(&mut self, now: Time, transmit: &Transmit) {
        let hop = if transmit.to == self.robot { Hop::Robot } else { Hop::Operator };
        self.part.transmit(now, hop, Direction::Down, transmit);
    }
}

/// The operator's headset.
pub(super) struct OperatorApp {
    part: Part,
    pub(super) traffic: Traffic,
}

impl OperatorApp {
    pub(super) fn new(cell: &Cell, facts: Facts) -> Self {
        Self { part: Part::new(cell, facts), traffic: Traffic::new(cell, true) }
    }
}

impl App<Operator> for OperatorApp {
    fn next_at(&self) -> Time {
        self.traffic.next_at().min(self.part.next_at())
    }

    fn act(&mut self, now: Time, operator: &mut Operator) -> Flow {
        if self.traffic.next_at() <= now {
            let input = self.traffic.pop(now);
            self.part.facts.note(now, Fact::Input(input));
            if let Input::Pose { pose, bytes, .. } = input {
                operator.handle_pose(now, pose, self.traffic.bytes(bytes));
            }
        }
        self.part.act(now, End::Operator, &[Role::Operator], operator)
    }

    fn event(&mut self, now: Time, event: &Event) {
        self.part.facts.note(now, Fact::Event(End::Operator, event.clone()));
    }

    fn transmit(&mut self, now: Time, transmit: &Transmit) {
        self.part.transmit(now, Hop::Operator, Direction::Up, transmit);
    }
}

/// How late an input may be and still count as made in time.
const LATE: Span = Span::from_millis(10);
const SAMPLE_INTERVAL: Span = Span::from_secs(1);
/// Larger than nearly every frame; larger ones make it grow.
const FILLER_BYTES: usize = 256 << 10;
