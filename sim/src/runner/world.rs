//! The actors of a cell and the loop that wakes them.

use bench::{Cell, CellResult, End, Input, Source};
use bytes::{Bytes, BytesMut};
use netmodel::units::{Span, Time};
use relay_core::{Machine, Role};

use super::Options;
use super::calendar::{Actor, LinkId};
use super::machines::Machines;
use super::network::Network;
use crate::error::SimError;

/// Everything there is in a cell.
pub(super) struct World {
    machines: Machines,
    network: Network,
    source: Source,
    filler: Filler,
    start: Time,
    end: Time,
}

impl World {
    pub(super) fn new(cell: &Cell, options: Options) -> Result<Self, SimError> {
        let start = Time::ZERO + cell.warmup;
        Ok(Self {
            machines: Machines::new(Time::ZERO, cell, options.crypto)?,
            network: Network::new(cell, options.log),
            source: Source::new(cell),
            filler: Filler::new(),
            start,
            end: start + cell.duration + Cell::DRAIN,
        })
    }

    /// Runs to the end of the drain.
    pub(super) fn run(&mut self) -> Result<(), SimError> {
        for end in [End::Robot, End::Relay, End::Operator] {
            self.drain(Time::ZERO, end)?;
        }
        self.network.calendar.set(Actor::Source, self.source.next_at());
        self.network.calendar.set(Actor::Sampler, self.start);
        loop {
            let (now, actor) = self.network.calendar.next();
            if now > self.end {
                return Ok(());
            }
            self.network.guard.step(now)?;
            match actor {
                Actor::Link(link) => self.arrive(now, link)?,
                Actor::Source => self.produce(now)?,
                Actor::Timer(end) => self.time_out(now, end)?,
                Actor::Sampler => self.sample(now),
            }
        }
    }

    pub(super) fn finish(mut self) -> CellResult {
        self.network.record_totals();
        self.network.recorder.finish(self.end)
    }

    fn arrive(&mut self, now: Time, link: LinkId) -> Result<(), SimError> {
        let Some(arrival) = self.network.arrival(now, link) else { return Ok(()) };
        let Machines { robot, relay, operator } = &mut self.machines;
        match arrival.to {
            End::Robot => robot.handle_datagram(now, arrival.from, arrival.ecn, arrival.datagram),
            End::Relay => relay.handle_datagram(now, arrival.from, arrival.ecn, arrival.datagram),
            End::Operator => operator.handle_datagram(now, arrival.from, arrival.ecn, arrival.datagram),
        }
        self.drain(now, arrival.to)?;
        for (camera, share) in self.network.sizes_asked.drain(..) {
            self.source.resize(camera, share);
        }
        Ok(())
    }

    fn produce(&mut self, now: Time) -> Result<(), SimError> {
        let input = self.source.pop();
        self.network.calendar.set(Actor::Source, self.source.next_at());
        self.network.recorder.input(now, &input);
        match input {
            Input::Frame { frame, bytes } => {
                self.machines.robot.handle_frame(now, frame, self.filler.bytes(bytes));
                self.drain(now, End::Robot)
            }
            Input::Pose { pose, bytes, .. } => {
                self.machines.operator.handle_pose(now, pose, self.filler.bytes(bytes));
                self.drain(now, End::Operator)
            }
        }
    }

    fn time_out(&mut self, now: Time, end: End) -> Result<(), SimError> {
        match end {
            End::Robot => self.machines.robot.handle_timeout(now),
            End::Relay => self.machines.relay.handle_timeout(now),
            End::Operator => self.machines.operator.handle_timeout(now),
        }
        self.drain(now, end)
    }

    fn drain(&mut self, now: Time, end: End) -> Result<(), SimError> {
        match end {
            End::Robot => self.network.drain(now, end, &mut self.machines.robot),
            End::Relay => self.network.drain(now, end, &mut self.machines.relay),
            End::Operator => self.network.drain(now, end, &mut self.machines.operator),
        }
    }

    /// Samples every sending side: once a second from the start of the traffic, and at the end.
    fn sample(&mut self, now: Time) {
        let Machines { robot, relay, operator } = &self.machines;
        let sides: [(End, Role, &dyn Machine); 4] = [
            (End::Relay, Role::Operator, relay),
            (End::Relay, Role::Robot, relay),
            (End::Robot, Role::Robot, robot),
            (End::Operator, Role::Operator, operator),
        ];
        for (end, role, machine) in sides {
            self.network.recorder.sample(now, end, role, &machine.snapshot(now, role));
        }
        let next = (now + SAMPLE_INTERVAL).min(self.end);
        let next = if next > now { next } else { Time::MAX };
        self.network.calendar.set(Actor::Sampler, next);
    }
}

/// The content of frames and poses, which nobody looks at: slices of one buffer.
struct Filler {
    buffer: Bytes,
}

impl Filler {
    fn new() -> Self {
        Self { buffer: BytesMut::zeroed(FILLER_BYTES).freeze() }
    }

    fn bytes(&mut self, length: u32) -> Bytes {
        let length = length as usize;
        if length > self.buffer.len() {
            self.buffer = BytesMut::zeroed(length.next_power_of_two()).freeze();
        }
        self.buffer.slice(..length)
    }
}

const SAMPLE_INTERVAL: Span = Span::from_secs(1);

/// Larger than nearly every frame; larger ones make it grow.
const FILLER_BYTES: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filler_grows_to_the_largest_frame() {
        let mut filler = Filler::new();
        for length in [0, 64, 20_000, 1_300_000, 64] {
            assert_eq!(filler.bytes(length).len(), length as usize);
        }
    }
}
