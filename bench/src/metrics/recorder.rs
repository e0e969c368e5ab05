//! Takes in everything that happens in a cell and turns it into the cell's result.

use std::io;

use netmodel::{LinkCounters, Verdict};
use relay_core::{Carried, DropPlace, DropReason, Event, FrameId, Role, Snapshot};
use units::{Span, Time};

use super::CellResult;
use super::commands::CommandRecord;
use super::connections::ConnectionRecord;
use super::flow::{FlowRecord, OwnPackets};
use super::frames::{CameraRecord, CameraResult, per_minute, relay_percentiles};
use super::freezes::FREEZES_MAX;
use super::journey::UnderWay;
use super::link::LinkRecord;
use super::log::{Log, PacketExit};
use super::playout::Playout;
use super::seconds::Seconds;
use super::summary::{AllSummary, LinkPair, LossSummary, Summary, TransportSummary};
use super::trace::Trace;
use super::why::Circumstances;
use crate::bulk::BulkEvent;
use crate::cell::Cell;
use crate::place::{Direction, End, Hop, LINKS, link_index};
use crate::statistics::{ratio, rounded};
use crate::workload::{CAMERAS_MAX, Input};

/// The one place where a cell's events become metrics.
///
/// Feed it in time order. Events about frames or poses that were never made, and frames out of
/// sequence, are counted in `transport.events_unexpected` and otherwise ignored.
pub struct Recorder {
    summary: Summary,
    /// When the link towards the operator is down, from and until.
    outages: Vec<(Time, Time)>,
    start: Time,
    duration: Span,
    connections: ConnectionRecord,
    cameras: Vec<CameraRecord>,
    commands: CommandRecord,
    links: [LinkRecord; LINKS],
    /// What is on the way from relay to operator.
    under_way: UnderWay,
    queue_bytes_max: [Option<u64>; LINKS],
    flow: Option<FlowRecord>,
    marked: [Option<u64>; LINKS],
    seconds: Seconds,
    trace: Trace,
    log: Option<Log>,
    /// The relay's side of the operator hop at the start of the traffic, and last.
    relay_first: Option<Snapshot>,
    relay_last: Snapshot,
    superseded_in_relay: u64,
    bytes_at_relay: u64,
    unexpected: u64,
}

impl Recorder {
    /// A recorder for `cell`. `log` is given every event, packet and sample as a line of JSON; it
    /// is flushed and dropped by [`finish`](Self::finish).
    pub fn new(cell: &Cell, log: Option<Box<dyn io::Write + Send>>) -> Self {
        let start = Time::ZERO + cell.warmup;
        let end = start + cell.duration;
        let workload = &cell.workload;
        let expected = |per_s: u32| expected_items(per_s, cell.duration);
        let cameras: Vec<CameraRecord> = workload
            .cameras
            .iter()
            .take(CAMERAS_MAX)
            .map(|spec| {
                let interval = Span::from_nanos(spec.interval_ns());
                let playout = Playout { start, end, interval, gop: workload.gop };
                CameraRecord::new(spec.name.clone(), playout, expected(spec.frames_per_s))
            })
            .collect();
        let names: Vec<String> = cameras.iter().map(|c| c.name.clone()).collect();
        let video_packets: u64 = workload
            .cameras
            .iter()
            .map(|c| u64::from(c.frames_per_s) * (c.frame_bytes.as_bytes() / 1000 + 1))
            .sum();
        let packets = expected(u32::try_from(video_packets).unwrap_or(u32::MAX));
        Self {
            summary: Summary::of(cell),
            outages: outages(cell, start),
            start,
            duration: cell.duration,
            connections: ConnectionRecord::new(start, end),
            cameras,
            commands: CommandRecord::new(start, end, expected(workload.poses_per_s)),
            links: std::array::from_fn(|_| LinkRecord::new(start, packets)),
            under_way: UnderWay::default(),
            queue_bytes_max: [None; LINKS],
            flow: FlowRecord::of(cell),
            marked: [None; LINKS],
            seconds: Seconds::new(start, cell.duration + Cell::DRAIN),
            trace: Trace::new(),
            log: log.map(|out| Log::new(out, start, names)),
            relay_first: None,
            relay_last: Snapshot::default(),
            superseded_in_relay: 0,
            bytes_at_relay: 0,
            unexpected: 0,
        }
    }

    /// A camera made a frame, or a pose was taken.
    pub fn input(&mut self, now: Time, input: &Input) {
        self.trace.input(now, input);
        if let Some(log) = &mut self.log {
            log.input(now, input);
        }
        let follows = match *input {
            Input::Frame { frame, bytes } => {
                let index = usize::from(frame.camera.0);
                let follows =
                    self.cameras.get_mut(index).is_some_and(|c| c.produced(now, frame.number, bytes));
                if let Some(second) = self.seconds.at(now).filter(|_| follows) {
                    second.cameras[index].produced += 1;
                }
                follows
            }
            Input::Pose { pose, moved_at, .. } => self.commands.pose(pose, moved_at),
        };
        self.unexpected += u64::from(!follows);
    }

    /// The machine at `end` did or saw something.
    pub fn event(&mut self, now: Time, end: End, event: &Event) {
        self.trace.event(now, end as u8, event);
        if let Some(log) = &mut self.log {
            log.event(now, end, event);
        }
        let expected = match *event {
            Event::Joined { .. } | Event::Left { .. } => {
                self.connections.event(now, end, event);
                true
            }
            Event::FrameSizeAsked { .. } | Event::TurnedAway(_) => true,
            Event::FrameAtRelay { frame } => self.frame_at_relay(now, frame),
            Event::FrameForwarded { frame, packets, .. } => {
                self.camera(frame).is_some_and(|c| c.forwarded(now, frame, packets))
            }
            Event::FrameDropped { frame, place, reason } => self.frame_dropped(now, frame, place, reason),
            Event::FrameDelivered { frame, bytes } => self.frame_delivered(now, frame, bytes),
            Event::PoseAtRelay { .. } => {
                self.commands.at_relay();
                true
            }
            Event::CommandExecuted { pose } => self.command_executed(now, pose),
            Event::CommandStale { .. } => {
                self.commands.refused();
                true
            }
        };
        self.unexpected += u64::from(!expected);
    }

    /// A packet was handed to a link: `id` is its number in that direction, `carries` what its sender said
    /// is in it. Without that, a frame's packets are not known, and neither is what became of them.
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "one plain call for every packet; a struct would only be unpacked again"
    )]
    pub fn packet_sent(
        &mut self,
        now: Time,
        hop: Hop,
        direction: Direction,
        id: u64,
        ip_bytes: u32,
        verdict: Verdict,
        carries: &Carried,
    ) {
        let link = link_index(hop, direction);
        self.trace.packet_sent(now, link, id, ip_bytes, verdict as u8);
        self.links[link].sent(now, id, ip_bytes, verdict);
        if hop == Hop::Operator
            && let Some(second) = self.seconds.at(now)
        {
            let side = if direction == Direction::Down { &mut second.down } else { &mut second.up };
            side.sent(ip_bytes, verdict);
        }
        if (hop, direction) == (Hop::Operator, Direction::Down) {
            self.under_way.sent(now, id, carries.video, verdict);
            if let Some(part) = &carries.video
                && let Some(camera) = self.camera(part.frame)
            {
                camera.packet_sent(part, verdict);
            }
        }
        if let Some(log) = &mut self.log {
            log.packet_sent(now, hop, direction, id, ip_bytes, verdict, carries);
        }
    }

    /// A packet came out of a link, after `queued` in its bottleneck queue.
    #[inline]
    #[expect(
        clippy::too_many_arguments,
        reason = "one plain call for every packet; a struct would only be unpacked again"
    )]
    pub fn packet_exit(
        &mut self,
        now: Time,
        hop: Hop,
        direction: Direction,
        id: u64,
        ip_bytes: u32,
        queued: Span,
        corrupted: bool,
        duplicate: bool,
    ) {
        let link = link_index(hop, direction);
        self.trace.packet_exit(now, link, id, queued, u8::from(corrupted) | u8::from(duplicate) << 1);
        let exit = PacketExit { ip_bytes, queued, corrupted, duplicate };
        self.links[link].exit(id, exit);
        if hop == Hop::Operator
            && let Some(second) = self.seconds.at(now)
        {
            let side = if direction == Direction::Down { &mut second.down } else { &mut second.up };
            side.exit(queued);
        }
        if (hop, direction) == (Hop::Operator, Direction::Down)
            && !duplicate
            && let Some(out) = self.under_way.out(now, id, queued, corrupted)
            && let Some(camera) = self.camera(out.frame)
        {
            camera.packet_out(now, &out);
        }
        if let Some(log) = &mut self.log {
            log.packet_exit(now, hop, direction, id, exit);
        }
    }

    /// The packet that was just handed to the operator hop is one of the second flow, which
    /// [`packet_sent`](Self::packet_sent) was told of as of any other.
    pub fn flow_packet_sent(&mut self, direction: Direction, ip_bytes: u32, verdict: Verdict) {
        // What goes before the traffic is in no count of a link, and a flow starts with it at the earliest.
        if let Some(flow) = &mut self.flow {
            flow.sent(direction, ip_bytes, verdict);
        }
    }

    /// A packet of the second flow came out of the operator hop damaged; not to be told of a second copy.
    pub fn flow_packet_damaged(&mut self, direction: Direction) {
        if let Some(flow) = &mut self.flow {
            flow.lost_under_way(direction);
        }
    }

    /// A packet of the second flow was dropped in the operator hop's queue, which
    /// [`packet_dropped`](Self::packet_dropped) was told of as of any other.
    pub fn flow_packet_dropped(&mut self, direction: Direction) {
        if let Some(flow) = &mut self.flow {
            flow.lost_under_way(direction);
        }
    }

    /// The second flow got somewhere.
    pub fn flow_event(&mut self, now: Time, event: BulkEvent) {
        if let Some(flow) = &mut self.flow {
            flow.event(now, event);
        }
    }

    /// How often the second flow met a limit of its own, at the end.
    pub fn flow_totals(&mut self, limit_hits: u64) {
        if let Some(flow) = &mut self.flow {
            flow.limited(limit_hits);
        }
    }

    /// A link dropped a packet in its queue that it had accepted: what active queues do.
    pub fn packet_dropped(&mut self, now: Time, hop: Hop, direction: Direction, id: u64, ip_bytes: u32) {
        let link = link_index(hop, direction);
        self.trace.packet_dropped(now, link, id, ip_bytes);
        self.links[link].dropped(id);
        if hop == Hop::Operator
            && let Some(second) = self.seconds.at(now)
        {
            let side = if direction == Direction::Down { &mut second.down } else { &mut second.up };
            side.dropped();
        }
        if (hop, direction) == (Hop::Operator, Direction::Down)
            && let Some(frame) = self.under_way.dropped(id)
            && let Some(camera) = self.camera(frame)
        {
            camera.packet_dropped(frame);
        }
        if let Some(log) = &mut self.log {
            log.packet_dropped(now, hop, direction, id, ip_bytes);
        }
    }

    /// The state of the machine at `end` towards `role`: once a second from the start of the
    /// traffic, and at the very end.
    pub fn sample(&mut self, now: Time, end: End, role: Role, snapshot: &Snapshot) {
        if let Some(log) = &mut self.log {
            log.sample(now, end, role, snapshot);
        }
        if (end, role) != (End::Relay, Role::Operator) || now < self.start {
            return;
        }
        self.relay_first.get_or_insert(*snapshot);
        self.relay_last = *snapshot;
        if let Some(second) = self.seconds.at(now) {
            second.sample.get_or_insert(*snapshot);
        }
    }

    /// A link's own counters, at the end. Only what no event tells is taken from them.
    pub fn link_totals(&mut self, hop: Hop, direction: Direction, counters: &LinkCounters) {
        let link = link_index(hop, direction);
        self.queue_bytes_max[link] = Some(counters.queue_bytes_max);
        self.marked[link] = Some(counters.marked.packets).filter(|packets| *packets > 0);
    }

    /// The cell's result. The events log is complete when this returns.
    pub fn finish(mut self, now: Time) -> CellResult {
        let results: Vec<CameraResult> = self.cameras.iter().map(CameraRecord::finish).collect();
        let mut summary = std::mem::take(&mut self.summary);
        let outages = std::mem::take(&mut self.outages);
        let circumstances = Circumstances {
            operator_lost: self.connections.relay_lost_operator(),
            transit_min: self.under_way.transit_min(),
            outages: &outages,
        };
        (summary.connection, summary.warnings) = self.connections.finish();
        for (index, (camera, result)) in self.cameras.iter().zip(&results).enumerate() {
            summary.cameras.0.push((camera.name.clone(), camera.summary(result, circumstances)));
            self.seconds.add_freezes(index, &result.seen);
        }
        summary.all = self.all(&summary, &results);
        (summary.hand_to_command_ms, summary.commands) = self.commands.finish();
        summary.stale_commands = self.commands.stale;
        self.finish_links(&mut summary, &results);
        let mut relay_ns: Vec<u64> = results.iter().flat_map(|r| r.relay_ns.iter().copied()).collect();
        relay_ns.sort_unstable();
        summary.relay_ms = relay_percentiles(&relay_ns);
        self.trace.end(now);
        summary.trace_hash = self.trace.finish();
        let names: Vec<String> = self.cameras.iter().map(|c| c.name.clone()).collect();
        let hand_to_command_us = self.commands.delays_us();
        let cameras = || self.cameras.iter().zip(&results);
        CellResult {
            frames: cameras().flat_map(|(c, r)| c.rows(&r.seen, circumstances)).collect(),
            freezes: cameras()
                .flat_map(|(c, r)| c.freezes(&r.seen, circumstances))
                .take(FREEZES_MAX)
                .collect(),
            hand_to_command_us,
            seconds: self.seconds.rows(&names),
            log_error: self.log.and_then(Log::finish),
            summary,
        }
    }

    fn all(&self, summary: &Summary, results: &[CameraResult]) -> AllSummary {
        let sum = |of: &dyn Fn(&CameraResult) -> u64| results.iter().map(of).sum::<u64>();
        let produced = summary.cameras.iter().map(|(_, c)| c.produced).sum();
        let delivered = summary.cameras.iter().map(|(_, c)| c.delivered).sum();
        let mean_frozen = |of: &dyn Fn(&CameraResult) -> u64| {
            let total = per_minute(Span::from_nanos(sum(of)), self.duration);
            Some(rounded(total / results.len().max(1) as f64, 3))
        };
        let bits = 8.0 * sum(&|r| r.delivered_bytes) as f64;
        let traffic_s = self.duration.as_secs_f64();
        AllSummary {
            produced,
            delivered,
            delivered_ratio: ratio(delivered, produced),
            frozen_s_per_min: mean_frozen(&|r| r.frozen.as_nanos()),
            frozen_w3c_s_per_min: mean_frozen(&|r| r.frozen_w3c.as_nanos()),
            goodput_mbit_s: (traffic_s > 0.0).then(|| rounded(bits / traffic_s / 1e6, 6)),
        }
    }

    fn finish_links(&mut self, summary: &mut Summary, results: &[CameraResult]) {
        let sum = |of: &dyn Fn(&CameraResult) -> u64| results.iter().map(of).sum::<u64>();
        summary.packets = self.links.iter().map(|link| link.packets_all).sum();
        let mut pair = |hop| {
            let mut side = |direction| {
                let index = link_index(hop, direction);
                let mut link = self.links[index].summary();
                (link.queue_bytes_max, link.marked) = (self.queue_bytes_max[index], self.marked[index]);
                link
            };
            LinkPair { down: side(Direction::Down), up: side(Direction::Up) }
        };
        (summary.link, summary.robot_link) = (pair(Hop::Operator), pair(Hop::Robot));
        let down = &self.links[link_index(Hop::Operator, Direction::Down)];
        let all = OwnPackets { offered: down.offered, bytes: down.bytes, lost: down.really_lost() };
        let own = FlowRecord::without(self.flow.as_ref(), Direction::Down, all);
        let really_lost = own.lost;
        summary.cross_traffic = self.flow.as_ref().map(FlowRecord::summary);
        summary.overhead_ratio = ratio(own.bytes, sum(&|r| r.delivered_bytes));
        summary.loss = LossSummary {
            pre_repair_ratio: ratio(really_lost, own.offered),
            post_repair_ratio: ratio(sum(&|r| r.forwarded_lost), sum(&|r| r.forwarded)),
        };
        let first = self.relay_first.unwrap_or_default().counters;
        let last = self.relay_last.counters;
        let declared = last.packets_declared_lost.saturating_sub(first.packets_declared_lost);
        summary.transport = TransportSummary {
            packets_sent: last.packets_sent.saturating_sub(first.packets_sent),
            packets_declared_lost: declared,
            packets_really_lost: really_lost,
            packets_spuriously_lost_min: declared.saturating_sub(really_lost),
            congestion_events: last.congestion_events.saturating_sub(first.congestion_events),
            app_packets_lost: last.app_packets_lost.saturating_sub(first.app_packets_lost),
            app_packets_judged: last.app_packets_judged.saturating_sub(first.app_packets_judged),
            frames_skipped: last.frames_skipped.saturating_sub(first.frames_skipped),
            frames_expired: last.frames_expired.saturating_sub(first.frames_expired),
            frames_superseded: self.superseded_in_relay,
            limit_hits: last.limit_hits.saturating_sub(first.limit_hits),
            malformed: last.malformed.saturating_sub(first.malformed),
            robot_hop_overhead_ratio: ratio(
                self.links[link_index(Hop::Robot, Direction::Up)].bytes,
                self.bytes_at_relay,
            ),
            operator_hop_overhead_ratio: summary.overhead_ratio,
            events_unexpected: self.unexpected,
        };
    }

    fn camera(&mut self, frame: FrameId) -> Option<&mut CameraRecord> {
        self.cameras.get_mut(usize::from(frame.camera.0))
    }

    fn frame_at_relay(&mut self, now: Time, frame: FrameId) -> bool {
        let bytes = self.camera(frame).and_then(|c| c.at_relay(now, frame));
        self.bytes_at_relay += u64::from(bytes.unwrap_or(0));
        bytes.is_some()
    }

    fn frame_dropped(&mut self, now: Time, frame: FrameId, place: DropPlace, reason: DropReason) -> bool {
        match self.camera(frame).and_then(|c| c.dropped(frame, place, reason)) {
            Some(true) => {}
            other => return other.is_some(),
        }
        if (place, reason) == (DropPlace::Relay, DropReason::Superseded) {
            self.superseded_in_relay += 1;
        }
        if let Some(second) = self.seconds.at(now) {
            let row = &mut second.cameras[usize::from(frame.camera.0)];
            *if reason == DropReason::Skipped { &mut row.skipped } else { &mut row.dropped } += 1;
        }
        true
    }

    fn frame_delivered(&mut self, now: Time, frame: FrameId, bytes: u32) -> bool {
        let news = self.camera(frame).is_some_and(|c| c.delivered(now, frame, bytes));
        if news && let Some(flow) = &mut self.flow {
            flow.video(now, bytes);
        }
        if news && let Some(second) = self.seconds.at(now) {
            second.cameras[usize::from(frame.camera.0)].delivered += 1;
        }
        news
    }

    fn command_executed(&mut self, now: Time, pose: u32) -> bool {
        let known = self.commands.executed(now, pose);
        if known && let Some(second) = self.seconds.at(now) {
            second.commands += 1;
        }
        known
    }
}

/// How many items of a tick of `per_s` there are in `duration`, for reserving memory; at most a
/// million.
fn expected_items(per_s: u32, duration: Span) -> usize {
    let items = u128::from(per_s) * u128::from(duration.as_nanos()) / 1_000_000_000;
    usize::try_from(items + 1).unwrap_or(usize::MAX).min(1_000_000)
}

/// When the link towards the operator is down, by its profile.
fn outages(cell: &Cell, start: Time) -> Vec<(Time, Time)> {
    let changes = cell.profile.down.schedule.iter();
    changes.filter_map(|change| Some((start + change.at, start + change.at + change.outage?))).collect()
}
