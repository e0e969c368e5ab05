//! What a process can know of what it did.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bench::metrics::summary::LagSummary;
use bench::relay_core::{DropPlace, DropReason, Event, LeaveReason, Role, RoundTrip, Totals};
use bench::units::Span;
use serde::Serialize;

use crate::driver::Report;

/// What a relay, robot or operator did, as one JSON object. What a role cannot know is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ProcessSummary {
    /// Always `"arcbench.process"`.
    pub schema: &'static str,
    /// Version of this format: 2. In 1, packets were those of the last connection, the round trip was there before it was
    /// measured, and `lost` counted connections that had not joined.
    pub version: u32,
    /// `"relay"`, `"robot"` or `"operator"`.
    pub role: &'static str,
    /// How long the process ran, in seconds.
    pub duration_s: f64,
    /// Times that this end joined its session; at a relay, that any end joined one.
    pub joined: u64,
    /// Times that a connection was lost that had joined its session, the orderly end of one too.
    pub lost: u64,
    /// Of these, times that another end took the place.
    pub replaced: u64,
    /// Times that this end was not let into its session; at a relay, that anybody was turned away before it joined one.
    pub refused: u64,
    /// How many of these for which reason, by the names of `Refusal`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub refused_for: BTreeMap<&'static str, u64>,
    /// Frames that the cameras made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_made: Option<u64>,
    /// Frames complete at the relay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_at_relay: Option<u64>,
    /// Frames wholly handed to the operator's transport.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_forwarded: Option<u64>,
    /// Frames complete at the operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_delivered: Option<u64>,
    /// Frames of which a part never came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames_incomplete: Option<u64>,
    /// Frames given up here: skipped, too old, pushed out, or nobody there.
    pub frames_dropped: u64,
    /// Poses taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poses_made: Option<u64>,
    /// Frames or poses that were never made, since the process did not run when they were due.
    #[serde(skip_serializing_if = "is_zero")]
    pub inputs_missed: u64,
    /// Poses that became commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_forwarded: Option<u64>,
    /// Commands executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_executed: Option<u64>,
    /// Commands refused, because they came too late or after a newer one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands_refused: Option<u64>,
    /// Smoothed round-trip time in milliseconds of the connection that there is, or was when the process was stopped: to the
    /// relay, or from the relay to the operator that is furthest away. Not there before it was measured or without a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// The least that was seen on that connection; not there while all were over 333 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_min_ms: Option<f64>,
    /// QUIC packets sent, over all connections of the process.
    pub packets_sent: u64,
    /// Of these, declared lost.
    pub packets_declared_lost: u64,
    /// Video packets that operators reported as never arrived, over all connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video_packets_lost: Option<u64>,
    /// What the socket saw.
    pub socket: SocketSummary,
    /// Whether this end is in its session.
    #[serde(skip)]
    pub(super) in_session: bool,
}

/// What a process's socket saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct SocketSummary {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Datagrams that the kernel would not send.
    pub send_errors: u64,
    /// Datagrams that the receive buffer had no room for, or that waited in it for over a second while the process was
    /// stopped or the machine asleep; `null` where the kernel does not say.
    pub dropped: Option<u64>,
    /// How late timeouts and inputs were dealt with, in microseconds.
    pub timer_lag_us: Option<LagSummary>,
}

impl ProcessSummary {
    pub(super) fn new(role: Option<Role>) -> Self {
        let zero = |here: bool| here.then_some(0);
        let (robot, operator) = (role == Some(Role::Robot), role == Some(Role::Operator));
        let relay = role.is_none();
        Self {
            schema: "arcbench.process",
            version: 2,
            role: match role {
                None => "relay",
                Some(Role::Robot) => "robot",
                Some(Role::Operator) => "operator",
            },
            frames_made: zero(robot),
            frames_at_relay: zero(relay),
            frames_forwarded: zero(relay),
            frames_delivered: zero(operator),
            frames_incomplete: zero(operator),
            poses_made: zero(operator),
            commands_forwarded: zero(relay),
            commands_executed: zero(robot),
            commands_refused: zero(robot),
            video_packets_lost: zero(relay),
            ..Self::default()
        }
    }

    pub(super) fn event(&mut self, event: &Event) {
        let count = |field: &mut Option<u64>| *field.get_or_insert(0) += 1;
        match event {
            Event::Joined { .. } => {
                self.joined += 1;
                self.in_session = true;
            }
            Event::TurnedAway(away) => {
                self.refused += 1;
                *self.refused_for.entry(away.why.name()).or_insert(0) += 1;
            }
            Event::Left { reason, .. } if self.in_session || self.is_relay() => {
                self.lost += 1;
                self.replaced += u64::from(*reason == LeaveReason::Replaced);
                self.in_session = false;
            }
            Event::FrameAtRelay { .. } => count(&mut self.frames_at_relay),
            Event::FrameForwarded { .. } => count(&mut self.frames_forwarded),
            Event::FrameDelivered { .. } => count(&mut self.frames_delivered),
            Event::FrameDropped { place: DropPlace::Operator, reason: DropReason::Incomplete, .. } => {
                count(&mut self.frames_incomplete);
            }
            Event::FrameDropped { .. } => self.frames_dropped += 1,
            Event::PoseAtRelay { .. } => count(&mut self.commands_forwarded),
            Event::CommandExecuted { .. } => count(&mut self.commands_executed),
            Event::CommandStale { .. } => count(&mut self.commands_refused),
            // An end may also have lost a connection that had not joined.
            Event::Left { .. } | Event::FrameSizeAsked { .. } => {}
        }
    }

    /// Notes what all connections so far have counted.
    pub(super) fn totals(&mut self, totals: Totals) {
        self.packets_sent = totals.packets_sent;
        self.packets_declared_lost = totals.packets_declared_lost;
        if let Some(lost) = &mut self.video_packets_lost {
            *lost = totals.app_packets_lost;
        }
    }

    /// Notes the round trip of the connection that there is.
    pub(super) fn round_trip(&mut self, round_trip: Option<RoundTrip>) {
        let ms = |span: Span| (span.as_millis_f64() * 1e3).round() / 1e3;
        self.rtt_ms = round_trip.map(|round_trip| ms(round_trip.smoothed));
        self.rtt_min_ms = round_trip.and_then(|round_trip| round_trip.min).map(ms);
    }

    fn is_relay(&self) -> bool {
        self.frames_at_relay.is_some()
    }

    pub(super) fn socket(&mut self, report: &Report) {
        self.socket = SocketSummary {
            sent: report.datagrams_sent,
            received: report.datagrams_received,
            send_errors: report.send_errors,
            dropped: report.dropped_at_socket,
            timer_lag_us: report.timer_lag.summary(),
        };
    }

    /// One line for a person.
    pub(super) fn line(&self) -> String {
        let mut line = format!("{} {:.0} s:", self.role, self.duration_s);
        let mut part = |name: &str, value: Option<u64>| {
            if let Some(value) = value {
                let _ = write!(line, " {name} {value},");
            }
        };
        part("joined", Some(self.joined));
        part("lost", Some(self.lost).filter(|lost| *lost > 0));
        part("places taken over", Some(self.replaced).filter(|replaced| *replaced > 0));
        part("refused", Some(self.refused).filter(|refused| *refused > 0));
        part("frames made", self.frames_made);
        part("frames in", self.frames_at_relay);
        part("frames out", self.frames_forwarded);
        part("frames delivered", self.frames_delivered);
        part("incomplete", self.frames_incomplete);
        part("dropped", Some(self.frames_dropped));
        part("poses made", self.poses_made);
        part("missed", Some(self.inputs_missed).filter(|missed| *missed > 0));
        part("commands forwarded", self.commands_forwarded);
        part("commands executed", self.commands_executed);
        part("commands refused", self.commands_refused);
        part("packets declared lost", Some(self.packets_declared_lost));
        match self.rtt_ms {
            Some(rtt) => drop(write!(line, " rtt {rtt:.1} ms")),
            None if self.is_relay() => line.push_str(" no operator"),
            None if self.in_session => line.push_str(" no rtt yet"),
            None => line.push_str(" not in a session"),
        }
        line
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}
