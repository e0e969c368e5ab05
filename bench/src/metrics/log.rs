//! The events log: one line of JSON for everything that happened, for a person or `jq` to read.
//!
//! `t_us` is microseconds since the start of the traffic, with the nanoseconds as decimals;
//! negative in the warm-up. The first line names format and version. Lines are written by hand: their shape is small and fixed, and the log
//! of a busy cell has half a million of them.

use std::fmt::{self, Write as _};
use std::io::{self, BufWriter, Write};

use netmodel::Verdict;
use relay_core::{
    Carried, DropPlace, DropReason, Event, FrameId, LeaveReason, PartKind, Role, Snapshot, VideoPart,
};
use units::{Span, Time};

use crate::place::{Direction, End, Hop};
use crate::workload::Input;

/// A writer of lines that remembers the first thing that went wrong and then stays silent.
pub(super) struct Log {
    out: BufWriter<Box<dyn Write + Send>>,
    start: Time,
    cameras: Vec<String>,
    error: Option<io::Error>,
}

impl Log {
    pub(super) fn new(out: Box<dyn Write + Send>, start: Time, cameras: Vec<String>) -> Self {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
        let error = writeln!(out, r#"{{"format":"{FORMAT}","version":{VERSION}}}"#).err();
        Self { out, start, cameras, error }
    }

    pub(super) fn input(&mut self, now: Time, input: &Input) {
        match *input {
            Input::Frame { frame, bytes } => {
                let camera = self.camera(frame);
                let number = frame.number;
                self.line(
                    now,
                    format_args!(
                        r#""at":"robot","input":"frame","camera":"{camera}","frame":{number},"bytes":{bytes}"#
                    ),
                );
            }
            Input::Pose { pose, moved_at, bytes } => {
                let moved = Micros::since(moved_at, self.start);
                self.line(
                    now,
                    format_args!(
                        r#""at":"operator","input":"pose","pose":{pose},"moved_us":{moved},"bytes":{bytes}"#
                    ),
                );
            }
        }
    }

    pub(super) fn event(&mut self, now: Time, end: End, event: &Event) {
        let at = end.name();
        match *event {
            Event::Joined { role } => {
                let role = role_name(role);
                self.line(now, format_args!(r#""at":"{at}","event":"joined","role":"{role}""#));
            }
            Event::Left { role, reason } => {
                let (role, reason) = (role_name(role), leave_name(reason));
                self.line(
                    now,
                    format_args!(r#""at":"{at}","event":"left","role":"{role}","reason":"{reason}""#),
                );
            }
            Event::TurnedAway(ref away) => {
                let (role, why) = (away.role.map_or("unknown", role_name), away.why.name());
                self.line(
                    now,
                    format_args!(r#""at":"{at}","event":"turned-away","role":"{role}","why":"{why}""#),
                );
            }
            Event::FrameAtRelay { frame } => self.frame(now, at, "frame-at-relay", frame, format_args!("")),
            Event::FrameForwarded { frame, packets, bytes } => {
                let rest = format_args!(r#","packets":{packets},"bytes":{bytes}"#);
                self.frame(now, at, "frame-forwarded", frame, rest);
            }
            Event::FrameDropped { frame, place, reason } => {
                let (place, reason) = (place_name(place), reason_name(reason));
                let rest = format_args!(r#","place":"{place}","reason":"{reason}""#);
                self.frame(now, at, "frame-dropped", frame, rest);
            }
            Event::FrameDelivered { frame, bytes } => {
                self.frame(now, at, "frame-delivered", frame, format_args!(r#","bytes":{bytes}"#));
            }
            Event::FrameSizeAsked { camera, share } => {
                let camera = self.camera(FrameId { camera, number: 0 });
                let percent = share.as_f64() * 100.0;
                self.line(
                    now,
                    format_args!(
                        r#""at":"{at}","event":"frame-size-asked","camera":"{camera}","percent":{percent:.1}"#
                    ),
                );
            }
            Event::PoseAtRelay { pose } => self.pose(now, at, "pose-at-relay", pose),
            Event::CommandExecuted { pose } => self.pose(now, at, "command-executed", pose),
            Event::CommandStale { pose } => self.pose(now, at, "command-stale", pose),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "as the recorder's, which it is called from")]
    pub(super) fn packet_sent(
        &mut self,
        now: Time,
        hop: Hop,
        direction: Direction,
        id: u64,
        ip_bytes: u32,
        verdict: Verdict,
        carries: &Carried,
    ) {
        let (hop, direction, verdict) = (hop.name(), direction.name(), verdict_name(verdict));
        let carries = self.carries(carries);
        self.line(now, format_args!(
            r#""packet":"sent","hop":"{hop}","direction":"{direction}","id":{id},"bytes":{ip_bytes},"verdict":"{verdict}"{carries}"#
        ));
    }

    /// What a packet carries, as the end of its line; nothing if it carries nothing of the application's.
    fn carries(&self, carries: &Carried) -> String {
        let mut out = String::new();
        if let Some(VideoPart { frame, kind, index, count }) = carries.video {
            let (camera, number, part) = (self.camera(frame), frame.number, part_name(kind));
            let _ = write!(
                out,
                r#","camera":"{camera}","frame":{number},"part":"{part}","index":{index},"count":{count}"#
            );
        }
        for (name, pose) in [("pose", carries.pose), ("command", carries.command)] {
            let _ = pose.map(|pose| write!(out, r#","{name}":{pose}"#));
        }
        for (name, carried) in [("feedback", carries.feedback), ("resize", carries.resize)] {
            if carried {
                let _ = write!(out, r#","{name}":true"#);
            }
        }
        out
    }

    pub(super) fn packet_exit(
        &mut self,
        now: Time,
        hop: Hop,
        direction: Direction,
        id: u64,
        exit: PacketExit,
    ) {
        let (hop, direction, queued) =
            (hop.name(), direction.name(), Micros(i128::from(exit.queued.as_nanos())));
        let PacketExit { ip_bytes, corrupted, duplicate, .. } = exit;
        self.line(now, format_args!(
            r#""packet":"exit","hop":"{hop}","direction":"{direction}","id":{id},"bytes":{ip_bytes},"queued_us":{queued},"corrupted":{corrupted},"duplicate":{duplicate}"#
        ));
    }

    pub(super) fn packet_dropped(
        &mut self,
        now: Time,
        hop: Hop,
        direction: Direction,
        id: u64,
        ip_bytes: u32,
    ) {
        let (hop, direction) = (hop.name(), direction.name());
        self.line(
            now,
            format_args!(
                r#""packet":"dropped","hop":"{hop}","direction":"{direction}","id":{id},"bytes":{ip_bytes}"#
            ),
        );
    }

    pub(super) fn sample(&mut self, now: Time, end: End, role: Role, snapshot: &Snapshot) {
        let (at, role) = (end.name(), role_name(role));
        let Snapshot { window_bytes, in_flight_bytes, queue_bytes, queue_frames, .. } = *snapshot;
        let rtt = Micros(i128::from(snapshot.rtt_smoothed.as_nanos()));
        let rtt_min = Micros(i128::from(snapshot.rtt_min.as_nanos()));
        let counters = &snapshot.counters;
        let (sent, lost) = (counters.packets_sent, counters.packets_declared_lost);
        let (app_lost, judged) = (counters.app_packets_lost, counters.app_packets_judged);
        let (skipped, expired) = (counters.frames_skipped, counters.frames_expired);
        let pacing = match snapshot.pacing_bits_per_sec {
            u64::MAX => "null".to_owned(),
            rate => rate.to_string(),
        };
        self.line(now, format_args!(
            r#""at":"{at}","sample":"{role}","window_bytes":{window_bytes},"in_flight_bytes":{in_flight_bytes},"rtt_us":{rtt},"rtt_min_us":{rtt_min},"pacing_bit_s":{pacing},"queue_bytes":{queue_bytes},"queue_frames":{queue_frames},"packets_sent":{sent},"packets_declared_lost":{lost},"app_packets_lost":{app_lost},"app_packets_judged":{judged},"frames_skipped":{skipped},"frames_expired":{expired}"#
        ));
    }

    /// Writes what is left; the first error of all.
    pub(super) fn finish(mut self) -> Option<io::Error> {
        let flushed = self.out.flush();
        self.error.or(flushed.err())
    }

    fn frame(&mut self, now: Time, at: &str, event: &str, frame: FrameId, rest: fmt::Arguments<'_>) {
        let (camera, number) = (self.camera(frame), frame.number);
        self.line(
            now,
            format_args!(r#""at":"{at}","event":"{event}","camera":"{camera}","frame":{number}{rest}"#),
        );
    }

    fn pose(&mut self, now: Time, at: &str, event: &str, pose: u32) {
        self.line(now, format_args!(r#""at":"{at}","event":"{event}","pose":{pose}"#));
    }

    fn camera(&self, frame: FrameId) -> String {
        let index = usize::from(frame.camera.0);
        self.cameras.get(index).cloned().unwrap_or_else(|| format!("camera-{index}"))
    }

    fn line(&mut self, now: Time, rest: fmt::Arguments<'_>) {
        if self.error.is_none() {
            let t_us = Micros::since(now, self.start);
            self.error = writeln!(self.out, r#"{{"t_us":{t_us},{rest}}}"#).err();
        }
    }
}

/// What is known of a packet that comes out of a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct PacketExit {
    pub(super) ip_bytes: u32,
    pub(super) queued: Span,
    pub(super) corrupted: bool,
    pub(super) duplicate: bool,
}

/// Nanoseconds that print as microseconds with three decimals.
struct Micros(i128);

impl Micros {
    fn since(at: Time, start: Time) -> Self {
        Self(i128::from(at.as_nanos()) - i128::from(start.as_nanos()))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let nanos = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:03}", nanos / 1000, nanos % 1000)
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Robot => "robot",
        Role::Operator => "operator",
    }
}

fn leave_name(reason: LeaveReason) -> &'static str {
    match reason {
        LeaveReason::Closed => "closed",
        LeaveReason::TimedOut => "timed-out",
        LeaveReason::Refused => "refused",
        LeaveReason::Replaced => "replaced",
    }
}

pub(super) fn place_name(place: DropPlace) -> &'static str {
    match place {
        DropPlace::Robot => "robot",
        DropPlace::Relay => "relay",
        DropPlace::Operator => "operator",
    }
}

pub(super) fn reason_name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Skipped => "skipped",
        DropReason::Expired => "expired",
        DropReason::Superseded => "superseded",
        DropReason::NoPeer => "no-peer",
        DropReason::Incomplete => "incomplete",
    }
}

fn part_name(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Fragment => "fragment",
        PartKind::Parity => "parity",
        PartKind::Again => "again",
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Accepted => "accepted",
        Verdict::Lost => "lost",
        Verdict::QueueFull => "queue-full",
        Verdict::Outage => "outage",
    }
}

/// What the first line calls the format.
const FORMAT: &str = "arcbench.events";
/// Fields may be added to a version; a change of meaning makes another.
const VERSION: u32 = 1;
const BUFFER_BYTES: usize = 64 * 1024;
