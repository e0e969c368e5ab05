//! `show --at`: what happened around one moment, packet by packet, by running the cell again.
//!
//! Packets to the operator are told in runs of one frame and one kind, losses in bursts as they fell,
//! and between them frames with their fate, freezes, and the state of queue, window and link.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bench::netmodel::Verdict;
use bench::relay_core::{Camera, Event, FrameId, PartKind, Role, VideoPart};
use bench::{Cause, Cell, CellResult, Direction, End, FrameRow, Hop, Input};
use sim::tap::{Arrived, Dropped, Sample, Sent};
use sim::{Options, Tap};
use units::{Share, Span, Time};

use super::content::{Cameras, part_name, sentence};
use super::spans::Window;
use super::under_way::UnderWay;
use super::{size, tapped};
use crate::failure::Failure;
use crate::kept_cell::KeptCell;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Nanoseconds since the start of the traffic.
    pub(crate) at_ns: u64,
    /// What kind of thing: `frame`, `sent`, `resend`, `lost`, `queue`, `freeze`, `skip`, `resize`, `hand`.
    pub(crate) what: &'static str,
    /// What happened.
    pub(crate) text: String,
}

/// The cell again, and what happened within `around` of `at`.
pub(crate) fn look(kept: &KeptCell, at: Span, around: Span) -> Result<(Window, Vec<Entry>), Failure> {
    let (at_ns, around_ns) = (at.as_nanos(), around.as_nanos());
    let end_ns = (kept.cell.duration + Cell::DRAIN).as_nanos();
    if at_ns >= end_ns {
        return Err(Failure::usage(format!("there is nothing at {} s", at.as_secs_f64()))
            .help(format!("the cell has {} of traffic", kept.cell.duration)));
    }
    let from_ns = at_ns.saturating_sub(around_ns);
    let to_ns = at_ns.saturating_add(around_ns).min(end_ns);
    let window = Window { from_ns, to_ns: to_ns.max(from_ns + 1) };
    let mut watch = Watch::new(Time::ZERO + kept.cell.warmup, window, Cameras::of(&kept.cell));
    let options = Options { crypto: kept.crypto.sim(), ..Options::default() };
    let result = tapped(kept, &mut watch, options)?;
    Ok((window, watch.finish(&result)))
}

struct Watch {
    start: Time,
    window: Window,
    cameras: Cameras,
    entries: Vec<Entry>,
    /// What was sent of each frame that was made in the window.
    frames: BTreeMap<FrameId, Parts>,
    run: Option<Run>,
    bursts: [Option<Burst>; 2],
    under_way: UnderWay,
    executed_ns: Option<u64>,
    /// The share of its size last asked of each camera.
    asked: BTreeMap<Camera, Share>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    fragments: u32,
    parity: u32,
    again: u32,
    lost: u32,
}

/// Packets in a row with parts of one frame and of one kind.
#[derive(Debug)]
struct Run {
    frame: FrameId,
    kind: PartKind,
    from_ns: u64,
    to_ns: u64,
    first: u64,
    last: u64,
    parts: Vec<u16>,
    count: u16,
    lost: Vec<u16>,
}

/// Packets in a row that the link did not take.
#[derive(Debug)]
struct Burst {
    verdict: Verdict,
    from_ns: u64,
    first: u64,
    last: u64,
    carried: Vec<String>,
}

impl Watch {
    fn new(start: Time, window: Window, cameras: Cameras) -> Self {
        Self {
            start,
            window,
            cameras,
            entries: Vec::new(),
            frames: BTreeMap::new(),
            run: None,
            bursts: [None, None],
            under_way: UnderWay::default(),
            executed_ns: None,
            asked: BTreeMap::new(),
        }
    }

    fn relative(&self, at: Time) -> u64 {
        at.since(self.start).as_nanos()
    }

    fn push(&mut self, at_ns: u64, what: &'static str, text: String) {
        self.entries.push(Entry { at_ns, what, text });
    }

    fn lost(&mut self, at_ns: u64, packet: &Sent<'_>) {
        let direction = packet.id.direction;
        let index = direction as usize;
        let (number, verdict) = (packet.id.number, packet.verdict);
        let follows =
            self.bursts[index].as_ref().is_some_and(|b| b.last + 1 == number && b.verdict == verdict);
        if !follows {
            self.end_burst(direction);
        }
        if verdict == Verdict::Accepted {
            return;
        }
        let carried = sentence(&self.cameras, &packet.carries);
        let burst = self.bursts[index].get_or_insert_with(|| Burst {
            verdict,
            from_ns: at_ns,
            first: number,
            last: number,
            carried: Vec::new(),
        });
        burst.last = number;
        burst.carried.push(carried);
    }

    fn end_burst(&mut self, direction: Direction) {
        let Some(burst) = self.bursts[direction as usize].take() else { return };
        let count = burst.carried.len();
        let more = count.saturating_sub(CARRIED_SHOWN);
        let mut carried = burst.carried;
        carried.truncate(CARRIED_SHOWN);
        let carried = carried.join("; ");
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let why = match burst.verdict {
            Verdict::Accepted | Verdict::Lost => "by the link",
            Verdict::QueueFull => "by a full queue",
            Verdict::Outage => "in an outage",
        };
        let (direction, numbers) = (direction.name(), numbers(burst.first, burst.last));
        let in_a_row = if count == 1 { "1 packet".to_owned() } else { format!("{count} packets in a row") };
        self.push(
            burst.from_ns,
            "lost",
            format!("{direction}: {in_a_row} lost {why} ({numbers}): {carried}{more}"),
        );
    }

    fn parts(&mut self, at_ns: u64, packet: &Sent<'_>) {
        let Some(part) = packet.carries.video else { return };
        let lost = packet.verdict != Verdict::Accepted;
        if let Some(parts) = self.frames.get_mut(&part.frame) {
            match part.kind {
                PartKind::Fragment => parts.fragments += 1,
                PartKind::Parity => parts.parity += 1,
                PartKind::Again => parts.again += 1,
            }
            parts.lost += u32::from(lost);
        }
        let follows = self.run.as_ref().is_some_and(|run| run.frame == part.frame && run.kind == part.kind);
        if !follows {
            self.end_run();
        }
        if !self.window.holds(at_ns) {
            return;
        }
        let number = packet.id.number;
        let run = self.run.get_or_insert_with(|| Run {
            frame: part.frame,
            kind: part.kind,
            from_ns: at_ns,
            to_ns: at_ns,
            first: number,
            last: number,
            parts: Vec::new(),
            count: part.count,
            lost: Vec::new(),
        });
        run.to_ns = at_ns;
        run.last = number;
        let index = part_number(&part);
        run.parts.push(index);
        if lost {
            run.lost.push(index);
        }
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        let name = self.cameras.name(run.frame).to_owned();
        let number = run.frame.number;
        let what = if run.kind == PartKind::Again { "resend" } else { "sent" };
        let kind = part_name(run.kind);
        let of = if run.kind == PartKind::Parity { String::new() } else { format!(" of {}", run.count) };
        let took_ms = (run.to_ns - run.from_ns) as f64 / 1e6;
        let lost = if run.lost.is_empty() { String::new() } else { format!("; lost {}", list(&run.lost)) };
        let text = format!(
            "{name} frame {number}: {kind} {}{of} in {took_ms:.1} ms ({}){lost}",
            list(&run.parts),
            numbers(run.first, run.last)
        );
        self.push(run.from_ns, what, text);
    }

    fn finish(mut self, result: &CellResult) -> Vec<Entry> {
        self.end_run();
        self.end_burst(Direction::Up);
        self.end_burst(Direction::Down);
        for frame in &result.frames {
            let made_ns = frame.produced_us * 1000;
            if self.window.holds(made_ns) {
                let text = self.fate(frame);
                self.push(made_ns, "frame", text);
            }
        }
        for freeze in &result.freezes {
            let (from_ns, to_ns) = (freeze.from_us * 1000, freeze.to_us * 1000);
            let length = (to_ns - from_ns) as f64 / 1e9;
            let (camera, why) = (&freeze.camera, freeze.cause.map_or("no frame was made", Cause::name));
            if self.window.holds(from_ns) {
                let text = format!("{camera} stands still from here, for {length:.3} s: {why}");
                self.push(from_ns, "freeze", text);
            } else if self.window.meets(from_ns, to_ns) {
                let since = (self.window.from_ns - from_ns) as f64 / 1e9;
                let text = format!("{camera} has stood still for {since:.3} s: {why}");
                self.push(self.window.from_ns, "freeze", text);
            }
            if self.window.holds(to_ns) {
                self.push(to_ns, "freeze", format!("{camera} moves again after {length:.3} s"));
            }
        }
        let window = self.window;
        self.entries.retain(|entry| window.holds(entry.at_ns));
        self.entries.sort_by_key(|entry| entry.at_ns);
        self.entries
    }

    fn fate(&self, frame: &FrameRow) -> String {
        let camera = self.cameras.names().iter().position(|name| *name == frame.camera).unwrap_or(0);
        let id = FrameId { camera: Camera(camera as u8), number: frame.frame };
        let parts = self.frames.get(&id).copied().unwrap_or_default();
        let after = |at_us: u64| (at_us.saturating_sub(frame.produced_us)) as f64 / 1000.0;
        let fate = match (frame.delivered_us, &frame.dropped_why) {
            (Some(at), _) if frame.shown_us.is_some() => format!("shown after {:.1} ms", after(at)),
            (Some(at), _) => format!("complete after {:.1} ms, and not shown", after(at)),
            (None, Some(why)) => {
                format!("never complete: {why} at {}", frame.dropped_at.as_deref().unwrap_or("?"))
            }
            (None, None) => "never complete".to_owned(),
        };
        let Parts { fragments, parity, again, lost } = parts;
        let (camera, number, bytes) = (&frame.camera, frame.frame, size(u64::from(frame.bytes)));
        format!(
            "{camera} frame {number}, {bytes}: {fate}; sent {fragments} parts, {parity} parity, {again} again; \
             {lost} lost"
        )
    }
}

impl Tap for Watch {
    fn input(&mut self, now: Time, input: &Input) {
        if let Input::Frame { frame, .. } = *input
            && self.window.holds(self.relative(now))
        {
            self.frames.insert(frame, Parts::default());
        }
    }

    fn event(&mut self, now: Time, end: End, event: &Event) {
        let at_ns = self.relative(now);
        let executed = matches!(event, Event::CommandExecuted { .. });
        let gap = self.executed_ns.filter(|_| executed).map(|before| at_ns - before);
        if executed {
            self.executed_ns = Some(at_ns);
        }
        if !self.window.holds(at_ns) {
            return;
        }
        match *event {
            Event::FrameDropped { frame, place, reason } => {
                let name = self.cameras.name(frame);
                let text = format!("{name} frame {} given up at the {place:?}: {reason:?}", frame.number);
                self.push(at_ns, "skip", text.to_lowercase());
            }
            Event::FrameSizeAsked { camera, share } => {
                // The relay asks for all the cameras that there could be, and says it again and again.
                let known = usize::from(camera.0) < self.cameras.names().len();
                if !known || self.asked.insert(camera, share) == Some(share) {
                    return;
                }
                let name = self.cameras.name(FrameId { camera, number: 0 });
                let text = format!("frames of {:.0} % of their size asked of {name}", share.as_f64() * 100.0);
                self.push(at_ns, "resize", text);
            }
            Event::CommandExecuted { pose } => {
                if let Some(gap) = gap.filter(|gap| *gap > COMMAND_GAP_NS) {
                    let ms = gap as f64 / 1e6;
                    self.push(at_ns, "hand", format!("command {pose}, {ms:.1} ms after the one before it"));
                }
            }
            Event::CommandStale { pose } => {
                self.push(at_ns, "hand", format!("command {pose} came too late and was not carried out"));
            }
            Event::TurnedAway(ref away) => {
                let who = away.role.map_or("somebody".to_owned(), |role| format!("{role:?}").to_lowercase());
                let text = format!("at the {}: {who} turned away: {}", end.name(), away.why.name());
                self.push(at_ns, "session", text);
            }
            Event::Joined { .. } | Event::Left { .. } => {
                self.push(at_ns, "session", format!("at the {}: {event:?}", end.name()).to_lowercase());
            }
            _ => {}
        }
    }

    fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        if packet.id.hop != Hop::Operator {
            return;
        }
        self.under_way.sent(now, packet);
        let at_ns = self.relative(now);
        if self.window.holds(at_ns) {
            self.lost(at_ns, packet);
        }
        if packet.id.direction == Direction::Down {
            self.parts(at_ns, packet);
        }
    }

    fn arrived(&mut self, _now: Time, packet: &Arrived<'_>) {
        self.under_way.arrived(packet);
    }

    fn dropped(&mut self, now: Time, packet: &Dropped<'_>) {
        let Some((waited, carries)) = self.under_way.dropped(now, packet) else { return };
        let direction = packet.id.direction;
        let part = carries.video.filter(|_| direction == Direction::Down);
        if let Some(parts) = part.and_then(|part| self.frames.get_mut(&part.frame)) {
            parts.lost += 1;
        }
        let at_ns = self.relative(now);
        if self.window.holds(at_ns) {
            let (number, waited_ms) = (packet.id.number, waited.as_millis_f64());
            let (direction, what) = (direction.name(), sentence(&self.cameras, &carries));
            let text = format!(
                "{direction}: 1 packet dropped in the queue after {waited_ms:.1} ms (#{number}): {what}"
            );
            self.push(at_ns, "lost", text);
        }
    }

    fn sample(&mut self, now: Time, sample: &Sample) {
        let at_ns = self.relative(now);
        if !self.window.holds(at_ns) {
            return;
        }
        let relay = sample.sides.iter().find(|(end, role, _)| (*end, *role) == (End::Relay, Role::Operator));
        let Some((_, _, state)) = relay else { return };
        let down = &sample.links[super::packets::link_index(Hop::Operator, Direction::Down)];
        let window = if state.window_bytes < 1 << 40 { size(state.window_bytes) } else { "open".to_owned() };
        let mut text = format!(
            "link queue {}, window {window}, in flight {}, {} frames wait in the relay ({}), round trip {:.0} ms",
            size(down.queue_bytes),
            size(state.in_flight_bytes),
            state.queue_frames,
            size(state.queue_bytes),
            state.rtt_smoothed.as_millis_f64()
        );
        if let Some(rate) = down.rate {
            let _ = write!(text, ", link {rate}");
        }
        self.push(at_ns, "queue", text);
    }

    fn sample_interval(&self) -> Option<Span> {
        Some(SAMPLE_INTERVAL)
    }
}

/// The number of a part among its like, from 1.
fn part_number(part: &VideoPart) -> u16 {
    match part.kind {
        PartKind::Parity => (part.index + 1).saturating_sub(part.count),
        PartKind::Fragment | PartKind::Again => part.index + 1,
    }
}

fn numbers(first: u64, last: u64) -> String {
    if first == last { format!("#{first}") } else { format!("#{first} to #{last}") }
}

/// Numbers with runs of them drawn together: `1-17, 19`.
fn list(numbers: &[u16]) -> String {
    let mut parts: Vec<(u16, u16)> = Vec::new();
    for &number in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => parts.push((number, number)),
        }
    }
    let part = |(first, last): &(u16, u16)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// Of a burst so many packets are named.
const CARRIED_SHOWN: usize = 6;
/// A gap between commands that is worth telling: three intervals of the default workload and a half.
const COMMAND_GAP_NS: u64 = 50_000_000;
const SAMPLE_INTERVAL: Span = Span::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_row_are_drawn_together() {
        assert_eq!(list(&[1, 2, 3, 5, 7, 8]), "1-3, 5, 7-8");
        assert_eq!(list(&[]), "");
        assert_eq!((numbers(4, 4), numbers(4, 9)), ("#4".to_owned(), "#4 to #9".to_owned()));
    }
}
