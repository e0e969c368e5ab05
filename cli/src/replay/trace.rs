//! `--trace`: the life of frames and poses in a window of time, in the Trace Event Format that Perfetto and
//! Chrome's tracing page read.
//!
//! Each camera, the hand and the counters are a process of their own. A frame is an asynchronous span
//! from its making to the screen, and in it follow its stages one after the other; each begins where the
//! one before it ended, so that they nest whatever overtakes what. Times are microseconds since the start
//! of the traffic.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bench::netmodel::Verdict;
use bench::relay_core::{Camera, Event, FrameId, PartKind, Role, VideoPart};
use bench::{Cause, Cell, CellResult, Direction, End, Hop, Input};
use serde_json::{Value, json};
use sim::tap::{Arrived, Dropped, Sample, Sent};
use units::Time;

use super::content::Cameras;
use super::packets::{QUEUE_DROPPED, link_index, verdict_name};
use super::spans::Window;
use super::under_way::UnderWay;

/// Collects what a trace of `window` shows.
pub(crate) struct TraceLog {
    start: Time,
    window: Window,
    cameras: Cameras,
    /// When the first packet with a part of each frame left towards the operator.
    first_sent: BTreeMap<FrameId, u64>,
    poses: BTreeMap<u32, Pose>,
    under_way: UnderWay,
    entries: Vec<Entry>,
    /// Packets lost and bytes sent on each link since the last sample.
    lost: [u64; 4],
    bytes: [u64; 4],
    last_sample_ns: u64,
    /// What there was no room for.
    left_out: u64,
}

/// When things happened to a pose, in nanoseconds since the start of the traffic.
#[derive(Debug, Clone, Copy, Default)]
struct Pose {
    moved: u64,
    taken: u64,
    at_relay: Option<u64>,
    executed: Option<u64>,
}

/// One event of the trace, kept in the order of its time.
struct Entry {
    at_ns: u64,
    json: Value,
}

impl TraceLog {
    pub(crate) fn new(start: Time, window: Window, cameras: Cameras) -> Self {
        Self {
            start,
            window,
            cameras,
            first_sent: BTreeMap::new(),
            poses: BTreeMap::new(),
            under_way: UnderWay::default(),
            entries: Vec::new(),
            lost: [0; 4],
            bytes: [0; 4],
            last_sample_ns: 0,
            left_out: 0,
        }
    }

    pub(crate) fn input(&mut self, now: Time, input: &Input) {
        if let Input::Pose { pose, moved_at, .. } = *input {
            let (moved_ns, taken_ns) = (self.relative(moved_at), self.relative(now));
            // One that is under way when the window begins belongs to it.
            if moved_ns < self.window.to_ns && taken_ns + POSE_LIFE_NS >= self.window.from_ns {
                self.poses.insert(pose, Pose { moved: moved_ns, taken: taken_ns, ..Pose::default() });
            }
        }
    }

    pub(crate) fn event(&mut self, now: Time, event: &Event) {
        let at_ns = self.relative(now);
        match *event {
            Event::PoseAtRelay { pose } => {
                if let Some(pose) = self.poses.get_mut(&pose) {
                    pose.at_relay.get_or_insert(at_ns);
                }
            }
            Event::CommandExecuted { pose } => {
                if let Some(pose) = self.poses.get_mut(&pose) {
                    pose.executed.get_or_insert(at_ns);
                }
            }
            Event::FrameSizeAsked { camera, share }
                if self.window.holds(at_ns) && usize::from(camera.0) < self.cameras.names().len() =>
            {
                let pid = CAMERA_PID + u64::from(camera.0);
                let percent = share.as_f64() * 100.0;
                self.push(
                    at_ns,
                    json!({"ph": "i", "s": "p", "pid": pid, "tid": 0, "cat": "resize",
                    "name": format!("frames of {percent:.0} % asked for")}),
                );
            }
            _ => {}
        }
    }

    pub(crate) fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        let at_ns = self.relative(now);
        let (hop, direction) = (packet.id.hop, packet.id.direction);
        let link = link_index(hop, direction);
        self.bytes[link] += packet.datagram.len() as u64 + u64::from(bench::IP_UDP_OVERHEAD_BYTES);
        self.lost[link] += u64::from(packet.verdict != Verdict::Accepted);
        self.under_way.sent(now, packet);
        let Some(part) =
            packet.carries.video.filter(|_| (hop, direction) == (Hop::Operator, Direction::Down))
        else {
            return;
        };
        self.first_sent.entry(part.frame).or_insert(at_ns);
        let again = part.kind == PartKind::Again;
        if (packet.verdict == Verdict::Accepted && !again) || !self.window.holds(at_ns) || self.is_full() {
            return;
        }
        let fate = match packet.verdict {
            Verdict::Accepted => "",
            verdict => verdict_name(verdict),
        };
        self.mark(at_ns, &part, fate, packet.id.number);
    }

    pub(crate) fn arrived(&mut self, packet: &Arrived<'_>) {
        self.under_way.arrived(packet);
    }

    /// A packet that a link had taken was dropped in its queue.
    pub(crate) fn dropped(&mut self, now: Time, packet: &Dropped<'_>) {
        let at_ns = self.relative(now);
        let (hop, direction) = (packet.id.hop, packet.id.direction);
        self.lost[link_index(hop, direction)] += 1;
        let carried = self.under_way.dropped(now, packet);
        let video = (hop, direction) == (Hop::Operator, Direction::Down);
        let Some(part) = carried.and_then(|(_, carries)| carries.video).filter(|_| video) else { return };
        if self.window.holds(at_ns) && !self.is_full() {
            self.mark(at_ns, &part, QUEUE_DROPPED, packet.id.number);
        }
    }

    /// A mark for a packet with a part of a frame.
    fn mark(&mut self, at_ns: u64, part: &VideoPart, fate: &str, number: u64) {
        let what = match part.kind {
            PartKind::Fragment => "part",
            PartKind::Parity => "parity",
            PartKind::Again => "sent again: part",
        };
        let pid = CAMERA_PID + u64::from(part.frame.camera.0);
        let name = format!("{what} {} {fate}", part.index + 1);
        self.push(
            at_ns,
            json!({"ph": "i", "s": "p", "pid": pid, "tid": 0, "cat": "packet",
            "name": name.trim_end(), "args": {"frame": part.frame.number, "packet": number}}),
        );
    }

    pub(crate) fn sample(&mut self, now: Time, sample: &Sample) {
        let at_ns = self.relative(now);
        let (lost, bytes) = (std::mem::take(&mut self.lost), std::mem::take(&mut self.bytes));
        let passed_ns = at_ns - std::mem::replace(&mut self.last_sample_ns, at_ns);
        if !self.window.holds(at_ns) || passed_ns == 0 || self.is_full() {
            return;
        }
        let mut counter = |name: &str, args: Value| {
            self.push(at_ns, json!({"ph": "C", "pid": COUNTER_PID, "tid": 0, "name": name, "args": args}));
        };
        for (hop, direction) in [(Hop::Operator, Direction::Down), (Hop::Operator, Direction::Up)] {
            let index = link_index(hop, direction);
            let link = &sample.links[index];
            let name = direction.name();
            counter(&format!("{name}: queue, bytes"), json!({"queue": link.queue_bytes}));
            counter(&format!("{name}: lost packets"), json!({"lost": lost[index]}));
            let sent_kbit_s = bytes[index] * 8_000_000 / passed_ns;
            let mut rates = json!({"sent": sent_kbit_s});
            if let Some(rate) = link.rate {
                rates["link"] = json!(rate.as_bits_per_sec() / 1000);
            }
            counter(&format!("{name}: rate, kbit/s"), rates);
        }
        let relay = sample.sides.iter().find(|(end, role, _)| (*end, *role) == (End::Relay, Role::Operator));
        if let Some((_, _, state)) = relay {
            let mut window = json!({"in flight": state.in_flight_bytes});
            if state.window_bytes < 1 << 40 {
                window["window"] = json!(state.window_bytes);
            }
            counter("relay: window, bytes", window);
            counter("relay: frames waiting, bytes", json!({"waiting": state.queue_bytes}));
            counter("relay: round trip, ms", json!({"smoothed": state.rtt_smoothed.as_millis_f64()}));
        }
    }

    /// Writes the trace: how many events it has.
    pub(crate) fn finish(
        mut self,
        cell: &Cell,
        result: &CellResult,
        out: &mut impl Write,
    ) -> io::Result<u64> {
        self.frames(result);
        self.poses();
        for freeze in &result.freezes {
            let (from_ns, to_ns) = (freeze.from_us * 1000, freeze.to_us * 1000);
            if self.window.meets(from_ns, to_ns) && !self.is_full() {
                let camera = &freeze.camera;
                let (pid, id) = (self.pid(camera), format!("freeze {camera} {from_ns}"));
                let args = json!({"missing": freeze.missing, "late": freeze.late});
                let name = format!("freeze: {}", freeze.cause.map_or("no frame was made", Cause::name));
                self.span(pid, &id, "freeze", &name, from_ns, to_ns, &args);
            }
        }
        // Stable, so that what was pushed in its order stays in it.
        self.entries.sort_by_key(|entry| entry.at_ns);
        let names = self.names();
        let count = (names.len() + self.entries.len()) as u64;
        write!(out, r#"{{"displayTimeUnit":"ms","otherData":{},"traceEvents":["#, self.about(cell))?;
        let timed = self.entries.into_iter().map(|Entry { at_ns, mut json }| {
            json["ts"] = json!(at_ns as f64 / 1000.0);
            json
        });
        for (index, event) in names.into_iter().chain(timed).enumerate() {
            write!(out, "{}{event}", if index > 0 { ",\n" } else { "\n" })?;
        }
        out.write_all(b"\n]}\n")?;
        Ok(count)
    }

    fn about(&self, cell: &Cell) -> Value {
        json!({
            "cell": cell.id(),
            "from_s": self.window.from_ns as f64 / 1e9,
            "to_s": self.window.to_ns as f64 / 1e9,
            "left_out": self.left_out,
            "times": "microseconds since the start of the traffic",
        })
    }

    /// Names of the processes.
    fn names(&self) -> Vec<Value> {
        let cameras = self.cameras.names().iter().zip(CAMERA_PID..);
        let cameras = cameras.map(|(name, pid)| (pid, format!("camera {name}")));
        let others = [(HAND_PID, "hand".to_owned()), (COUNTER_PID, "operator hop".to_owned())];
        let all = cameras.chain(others);
        all.map(|(pid, name)| {
            json!({"ph": "M", "pid": pid, "tid": 0, "ts": 0.0, "name": "process_name", "args": {"name": name}})
        })
        .collect()
    }

    fn frames(&mut self, result: &CellResult) {
        for frame in &result.frames {
            let made = frame.produced_us * 1000;
            let nanos = |at: Option<u64>| at.map(|at| at * 1000);
            let camera = self.cameras.names().iter().position(|name| *name == frame.camera).unwrap_or(0);
            let id = FrameId { camera: Camera(camera as u8), number: frame.frame };
            let shown = nanos(frame.shown_us);
            let mut stages = vec![
                ("at the relay", nanos(frame.at_relay_us)),
                ("first byte sent", self.first_sent.get(&id).copied()),
                ("last byte sent", nanos(frame.forwarded_us)),
                ("complete", nanos(frame.delivered_us)),
                ("shown", shown),
            ];
            stages.retain(|(_, at)| at.is_some());
            stages.sort_by_key(|(_, at)| *at);
            let end = stages.last().and_then(|(_, at)| *at).unwrap_or(made).max(made);
            if !self.window.meets(made, end) || self.is_full() {
                continue;
            }
            let fate = match (&frame.dropped_why, shown) {
                (_, Some(_)) => "shown".to_owned(),
                (Some(why), None) => format!("{why} at {}", frame.dropped_at.as_deref().unwrap_or("?")),
                (None, None) if frame.delivered_us.is_some() => {
                    "complete, but a newer one was shown".to_owned()
                }
                (None, None) => "unknown".to_owned(),
            };
            let args = json!({"bytes": frame.bytes, "packets": frame.packets, "fate": fate});
            let pid = self.pid(&frame.camera);
            let track = format!("frame {} {}", frame.camera, frame.frame);
            let name = match shown {
                Some(_) => format!("frame {}", frame.frame),
                None => format!("frame {}: {fate}", frame.frame),
            };
            self.begin(pid, &track, "frame", &name, made, &args);
            let mut from = made;
            for (stage, at) in stages {
                let to = at.unwrap_or(from).max(from);
                self.span(pid, &track, "frame", &format!("to {stage}"), from, to, &json!({}));
                from = to;
            }
            self.end(pid, &track, "frame", &name, end);
        }
    }

    fn poses(&mut self) {
        for (number, pose) in std::mem::take(&mut self.poses) {
            let end = pose.executed.or(pose.at_relay).unwrap_or(pose.taken);
            if !self.window.meets(pose.moved, end) || self.is_full() {
                continue;
            }
            let track = format!("pose {number}");
            let name = if pose.executed.is_some() { track.clone() } else { format!("{track}: overtaken") };
            self.begin(HAND_PID, &track, "pose", &name, pose.moved, &json!({}));
            let stages = [
                ("pose sent", Some(pose.taken)),
                ("at the relay", pose.at_relay),
                ("command at the robot", pose.executed),
            ];
            let mut from = pose.moved;
            for (stage, at) in stages {
                let Some(to) = at else { continue };
                let to = to.max(from);
                self.span(HAND_PID, &track, "pose", &format!("to {stage}"), from, to, &json!({}));
                from = to;
            }
            self.end(HAND_PID, &track, "pose", &name, end.max(from));
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of two events of the format")]
    fn span(&mut self, pid: u64, id: &str, cat: &str, name: &str, from_ns: u64, to_ns: u64, args: &Value) {
        self.begin(pid, id, cat, name, from_ns, args);
        self.end(pid, id, cat, name, to_ns);
    }

    fn begin(&mut self, pid: u64, id: &str, cat: &str, name: &str, at_ns: u64, args: &Value) {
        let json = json!({"ph": "b", "pid": pid, "tid": 0, "cat": cat, "id": id, "name": name, "args": args});
        self.push(at_ns, json);
    }

    fn end(&mut self, pid: u64, id: &str, cat: &str, name: &str, at_ns: u64) {
        self.push(at_ns, json!({"ph": "e", "pid": pid, "tid": 0, "cat": cat, "id": id, "name": name}));
    }

    fn push(&mut self, at_ns: u64, json: Value) {
        self.entries.push(Entry { at_ns, json });
    }

    /// Whether there is no room for one more thing, which is then counted. Asked before its first event,
    /// so that nothing begins and does not end.
    fn is_full(&mut self) -> bool {
        let full = self.entries.len() >= ENTRIES_MAX;
        self.left_out += u64::from(full);
        full
    }

    fn pid(&self, camera: &str) -> u64 {
        self.cameras
            .names()
            .iter()
            .zip(CAMERA_PID..)
            .find(|(name, _)| *name == camera)
            .map_or(HAND_PID, |(_, pid)| pid)
    }

    fn relative(&self, at: Time) -> u64 {
        at.since(self.start).as_nanos()
    }
}

/// About how many bytes a trace of `window` takes, before anything is run.
pub(crate) fn estimated_bytes(cell: &Cell, window: Window) -> u64 {
    let frames: u64 = cell.workload.cameras.iter().map(|camera| u64::from(camera.frames_per_s)).sum();
    let poses = u64::from(cell.workload.poses_per_s);
    let per_s = frames * FRAME_BYTES + poses * POSE_BYTES + SAMPLES_PER_S * SAMPLE_BYTES;
    (window.seconds() * per_s as f64) as u64
}

/// Events a trace holds at most: some 20 minutes of the default workload.
const ENTRIES_MAX: usize = 4_000_000;
/// A pose that takes longer to its command began before the window and is not in it.
const POSE_LIFE_NS: u64 = 2_000_000_000;
/// Process numbers in the trace.
const HAND_PID: u64 = 1;
const COUNTER_PID: u64 = 2;
const CAMERA_PID: u64 = 10;
/// Bytes that things take, measured on the default workload.
const FRAME_BYTES: u64 = 1500;
const POSE_BYTES: u64 = 850;
const SAMPLES_PER_S: u64 = 50;
const SAMPLE_BYTES: u64 = 900;
