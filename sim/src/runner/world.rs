//! The actors of a cell and the loop that wakes them.

use bench::bulk::{BulkFlow, BulkPacket};
use bench::{Cell, CellResult, End, Input, Source};
use bytes::{Bytes, BytesMut};
use netmodel::units::{Span, Time};
use relay_core::{Machine, Role, Snapshot};

use super::Options;
use super::calendar::{Actor, LinkId};
use super::machines::Machines;
use super::network::{Network, Out};
use crate::error::SimError;

/// Everything there is in a cell.
pub(super) struct World<'a> {
    machines: Machines,
    network: Network<'a>,
    source: Source,
    samples: Samples,
    /// What shares the operator hop with the relay, if anything does.
    flow: Option<BulkFlow>,
    filler: Filler,
    start: Time,
    end: Time,
}

impl<'a> World<'a> {
    pub(super) fn new(cell: &Cell, options: Options<'a>) -> Result<Self, SimError> {
        let start = Time::ZERO + cell.warmup;
        Ok(Self {
            machines: Machines::new(Time::ZERO, cell, &options)?,
            network: Network::new(cell, options.log, options.tap),
            source: Source::new(cell),
            samples: Samples::new(start),
            flow: BulkFlow::of(cell),
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
        if let Some(flow) = &self.flow {
            self.network.calendar.set(Actor::Flow, flow.next_at());
        }
        loop {
            let (now, actor) = self.network.calendar.next();
            if now > self.end {
                return Ok(());
            }
            self.network.guard.step(now)?;
            if let Some(tap) = &mut self.network.tap {
                tap.at(now);
            }
            match actor {
                Actor::Link(link) => self.arrive(now, link)?,
                Actor::Source => self.produce(now)?,
                Actor::Timer(end) => self.time_out(now, end)?,
                Actor::Flow => self.flow_time_out(now)?,
                Actor::Sampler => self.sample(now),
            }
        }
    }

    pub(super) fn finish(mut self) -> CellResult {
        self.network.record_totals();
        if let Some(flow) = &self.flow {
            self.network.recorder.flow_totals(flow.limit_hits());
        }
        self.network.recorder.finish(self.end)
    }

    fn arrive(&mut self, now: Time, link: LinkId) -> Result<(), SimError> {
        let arrival = match self.network.arrival(now, link) {
            Some(Out::Datagram(arrival)) => arrival,
            Some(Out::Flow(packet)) => return self.flow_packet(now, &packet),
            None => return Ok(()),
        };
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

    fn flow_packet(&mut self, now: Time, packet: &BulkPacket) -> Result<(), SimError> {
        let Some(flow) = &mut self.flow else { return Ok(()) };
        if let Some(event) = flow.handle_packet(now, packet) {
            self.network.recorder.flow_event(now, event);
        }
        self.network.drain_flow(now, flow)
    }

    fn flow_time_out(&mut self, now: Time) -> Result<(), SimError> {
        let Some(flow) = &mut self.flow else { return Ok(()) };
        flow.handle_timeout(now);
        self.network.drain_flow(now, flow)
    }

    fn produce(&mut self, now: Time) -> Result<(), SimError> {
        let input = self.source.pop();
        self.network.calendar.set(Actor::Source, self.source.next_at());
        self.network.recorder.input(now, &input);
        if let Some(tap) = &mut self.network.tap {
            tap.input(now, &input);
        }
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

    /// Samples every sending side: for the recorder once a second from the start of the traffic, and
    /// at the end; for a tap as often as it asks.
    fn sample(&mut self, now: Time) {
        let sides = self.sides(now);
        if now >= self.samples.recorded_next {
            self.samples.recorded_next = self.limited(now, SAMPLE_INTERVAL);
            for (end, role, snapshot) in &sides {
                self.network.recorder.sample(now, *end, *role, snapshot);
            }
        }
        if now >= self.samples.tapped_next {
            let interval = self.network.tap.as_ref().and_then(|tap| tap.sample_interval());
            self.samples.tapped_next = interval.map_or(Time::MAX, |interval| self.limited(now, interval));
            if interval.is_some() {
                self.network.tap_sample(now, &sides);
            }
        }
        let next = self.samples.recorded_next.min(self.samples.tapped_next);
        self.network.calendar.set(Actor::Sampler, next);
    }

    fn sides(&self, now: Time) -> [(End, Role, Snapshot); 4] {
        let Machines { robot, relay, operator } = &self.machines;
        let sides: [(End, Role, &dyn Machine); 4] = [
            (End::Relay, Role::Operator, relay),
            (End::Relay, Role::Robot, relay),
            (End::Robot, Role::Robot, robot),
            (End::Operator, Role::Operator, operator),
        ];
        sides.map(|(end, role, machine)| (end, role, machine.snapshot(now, role)))
    }

    /// The moment after `now` by `interval`, at the latest the end; never, if that is now.
    fn limited(&self, now: Time, interval: Span) -> Time {
        let next = (now + interval.max(Span::from_nanos(1))).min(self.end);
        if next > now { next } else { Time::MAX }
    }
}

/// When samples are due next.
struct Samples {
    recorded_next: Time,
    tapped_next: Time,
}

impl Samples {
    fn new(start: Time) -> Self {
        Self { recorded_next: start, tapped_next: start }
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
