//! Every law alone, over any sequence of what may happen to it.
//!
//! A failure shrinks to a short sequence and prints the line that replays it. With
//! `ARCBENCH_LAW=cubic` in the environment only that law is tested.

use std::fmt;
use std::str::FromStr;

use proptest::prelude::*;
use units::{Size, Span, Time};

use super::bottleneck::{Bottleneck, Path, Source};
use super::bounds::bounds;
use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::registry::{LAWS, tested};
use crate::settings::{Congestion, CongestionFeedback, CongestionKind};

/// So many milliseconds after the beginning.
pub(crate) fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// What every test starts a law from: ten packets of 1200 bytes.
pub(crate) fn start() -> Start<'static> {
    static SETTINGS: std::sync::LazyLock<Congestion> = std::sync::LazyLock::new(|| Congestion {
        initial_window: Size::from_bytes(12_000),
        feedback: CongestionFeedback::Transport,
        ..Congestion::default()
    });
    Start { now: Time::ZERO, initial_window_bytes: 12_000, packet_bytes: 1_200, settings: &SETTINGS }
}

/// The acknowledgement at `now` of a packet of 1200 bytes.
pub(crate) fn acked(sent_at: Time, now: Time) -> Acked {
    Acked {
        bytes: 1_200,
        sent_at,
        received_at: None,
        rtt: now.since(sent_at),
        in_flight_bytes: 0,
        app_limited: false,
        app_limited_now: false,
    }
}

/// The loss of a packet of 1200 bytes.
pub(crate) fn lost(sent_at: Time) -> Lost {
    Lost { bytes: 1_200, sent_at, in_flight_bytes: 0, persistent: false }
}

/// One thing that happens. Packets are named by how long ago they were sent, modulo how many there
/// are, so that any number names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Send {
        packets: u32,
        app_limited: bool,
    },
    Ack {
        packet: u32,
        received: bool,
    },
    /// The acknowledgement of a packet that is sent at this moment.
    AckAtOnce {
        received: bool,
    },
    /// The acknowledgement of a packet that the law was never told of, sent an hour ago.
    AckForeign {
        received: bool,
    },
    Lose {
        packet: u32,
        persistent: bool,
    },
    Mark {
        packet: u32,
    },
    Wait {
        ms: u32,
    },
    Tick,
    NewPath,
    PacketSize {
        bytes: u32,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Send { packets, app_limited: false } => write!(f, "send:{packets}"),
            Self::Send { packets, app_limited: true } => write!(f, "send-last:{packets}"),
            Self::Ack { packet, received: false } => write!(f, "ack:{packet}"),
            Self::Ack { packet, received: true } => write!(f, "ack-timed:{packet}"),
            Self::AckAtOnce { received } => write!(f, "ack-at-once:{}", u32::from(received)),
            Self::AckForeign { received } => write!(f, "ack-foreign:{}", u32::from(received)),
            Self::Lose { packet, persistent: false } => write!(f, "lose:{packet}"),
            Self::Lose { packet, persistent: true } => write!(f, "lose-all:{packet}"),
            Self::Mark { packet } => write!(f, "mark:{packet}"),
            Self::Wait { ms } => write!(f, "wait:{ms}"),
            Self::Tick => write!(f, "tick:0"),
            Self::NewPath => write!(f, "path:0"),
            Self::PacketSize { bytes } => write!(f, "size:{bytes}"),
        }
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, number) = text.split_once(':').ok_or_else(|| format!("no number in `{text}`"))?;
        let n: u32 = number.parse().map_err(|_| format!("no number in `{text}`"))?;
        Ok(match name {
            "send" => Self::Send { packets: n, app_limited: false },
            "send-last" => Self::Send { packets: n, app_limited: true },
            "ack" => Self::Ack { packet: n, received: false },
            "ack-timed" => Self::Ack { packet: n, received: true },
            "ack-at-once" => Self::AckAtOnce { received: n == 1 },
            "ack-foreign" => Self::AckForeign { received: n == 1 },
            "lose" => Self::Lose { packet: n, persistent: false },
            "lose-all" => Self::Lose { packet: n, persistent: true },
            "mark" => Self::Mark { packet: n },
            "wait" => Self::Wait { ms: n },
            "tick" => Self::Tick,
            "path" => Self::NewPath,
            "size" => Self::PacketSize { bytes: n },
            _ => return Err(format!("`{name}` is no step")),
        })
    }
}

/// A sequence of steps; shows itself as the line that replays it.
#[derive(Clone, PartialEq, Eq)]
struct Storm(Vec<Step>);

impl fmt::Debug for Storm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<String> = self.0.iter().map(Step::to_string).collect();
        write!(f, "replay: ARCBENCH_STORM='{}' cargo test -p relay-core a_storm_again", steps.join(" "))
    }
}

/// Sequences of up to `most` steps.
fn storms(most: usize) -> impl Strategy<Value = Storm> {
    let packet = || prop_oneof![3 => 0u32..8, 1 => 0u32..1_000];
    let step = prop_oneof![
        6 => (1u32..40, any::<bool>())
            .prop_map(|(packets, app_limited)| Step::Send { packets, app_limited }),
        10 => (packet(), any::<bool>()).prop_map(|(packet, received)| Step::Ack { packet, received }),
        1 => any::<bool>().prop_map(|received| Step::AckAtOnce { received }),
        1 => any::<bool>().prop_map(|received| Step::AckForeign { received }),
        3 => (packet(), prop::bool::weighted(0.1))
            .prop_map(|(packet, persistent)| Step::Lose { packet, persistent }),
        1 => packet().prop_map(|packet| Step::Mark { packet }),
        6 => prop_oneof![20 => 0u32..300, 1 => 0u32..10_000_000].prop_map(|ms| Step::Wait { ms }),
        4 => Just(Step::Tick),
        1 => Just(Step::NewPath),
        1 => (1_200u32..1_473).prop_map(|bytes| Step::PacketSize { bytes }),
    ];
    prop::collection::vec(step, 1..most).prop_map(Storm)
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    sent_at: Time,
    bytes: u64,
    app_limited: bool,
    in_flight: bool,
}

/// A law and what was done to it.
struct Rig {
    kind: CongestionKind,
    law: Box<dyn Controller>,
    now: Time,
    packet_bytes: u64,
    in_flight_bytes: u64,
    /// The newest first.
    packets: std::collections::VecDeque<Packet>,
}

impl Rig {
    fn new(kind: CongestionKind) -> Self {
        let build = LAWS.iter().find(|(listed, _)| *listed == kind).expect("listed").1;
        let now = Time::ZERO + HOUR * 2;
        let start = Start { now, ..start() };
        let packets = std::collections::VecDeque::new();
        Self { kind, law: build(&start), now, packet_bytes: 1_200, in_flight_bytes: 0, packets }
    }

    fn send(&mut self, app_limited: bool) {
        self.in_flight_bytes += self.packet_bytes;
        let (bytes, in_flight_bytes) = (self.packet_bytes, self.in_flight_bytes);
        self.law.on_sent(self.now, &Sent { bytes, in_flight_bytes, app_limited });
        self.packets.push_front(Packet { sent_at: self.now, bytes, app_limited, in_flight: true });
        self.packets.truncate(1_000);
    }

    /// Takes the packet out of flight if it was in.
    fn take(&mut self, packet: u32) -> Option<Packet> {
        let count = self.packets.len().max(1);
        let packet = self.packets.get_mut(packet as usize % count)?;
        if std::mem::take(&mut packet.in_flight) {
            self.in_flight_bytes -= packet.bytes;
        }
        Some(*packet)
    }

    fn ack(&mut self, sent_at: Time, bytes: u64, received: bool, app_limited: bool) {
        let rtt = self.now.since(sent_at);
        let acked = Acked {
            bytes,
            sent_at,
            // Half-way, on a clock that is three hours ahead.
            received_at: received.then_some(sent_at + rtt / 2 + HOUR * 3),
            rtt,
            in_flight_bytes: self.in_flight_bytes,
            app_limited,
            app_limited_now: self.packets.front().is_none_or(|packet| packet.app_limited),
        };
        self.law.on_acked(self.now, &acked);
    }

    fn take_step(&mut self, step: Step) {
        match step {
            Step::Send { packets, app_limited } => {
                for left in (0..packets.min(100)).rev() {
                    self.send(app_limited && left == 0);
                }
            }
            Step::Ack { packet, received } => {
                if let Some(packet) = self.take(packet) {
                    self.ack(packet.sent_at, packet.bytes, received, packet.app_limited);
                }
            }
            Step::AckAtOnce { received } => {
                self.send(false);
                self.take(0);
                self.ack(self.now, self.packet_bytes, received, false);
            }
            Step::AckForeign { received } => {
                let sent_at = Time::ZERO + self.now.since(Time::ZERO + HOUR);
                self.ack(sent_at, self.packet_bytes, received, false);
            }
            Step::Lose { packet, persistent } => {
                if let Some(Packet { bytes, sent_at, .. }) = self.take(packet) {
                    let in_flight_bytes = self.in_flight_bytes;
                    self.law.on_lost(self.now, &Lost { bytes, sent_at, in_flight_bytes, persistent });
                }
            }
            Step::Mark { packet } => {
                let count = self.packets.len().max(1);
                if let Some(packet) = self.packets.get(packet as usize % count) {
                    self.law.on_marked(self.now, packet.sent_at);
                }
            }
            Step::Wait { ms } => self.now += Span::from_millis(ms.into()),
            Step::Tick => self.law.on_tick(self.now),
            Step::NewPath => self.law.on_path_change(self.now),
            Step::PacketSize { bytes } => {
                self.packet_bytes = u64::from(bytes).clamp(1_200, 65_000);
                self.law.on_packet_size(self.packet_bytes);
            }
        }
    }

    /// What every law promises at every moment.
    fn check(&self) {
        let window = self.law.window_bytes();
        let kind = self.kind;
        assert!(
            (2 * self.packet_bytes..=WINDOW_BYTES_MAX).contains(&window),
            "the window of {kind:?} is {window} with packets of {}",
            self.packet_bytes
        );
        if let Some(pacing) = self.law.pacing() {
            assert!(
                pacing.bytes_per_sec > 0 && pacing.burst_bytes > 0,
                "the pacing of {kind:?} is {pacing:?}"
            );
        }
    }

    /// Nothing was in the way for some round trips: things must be going again.
    fn check_recovery(&mut self) {
        if self.kind == CongestionKind::Open {
            return;
        }
        self.law.on_packet_size(1_200);
        let rtts = bounds(self.kind).recovery_rtts;
        let path = Path::clear(10_000_000, Span::from_millis(50), 125_000);
        let mut link = Bottleneck::new(self.now, self.law.as_mut(), path, Source::Backlog, 1);
        link.run(path.rtt * rtts);
        let run = link.run(path.rtt * 20);
        assert!(
            run.window_bytes_max >= 4 * 1_200 && run.delivered_bytes >= 20 * 4 * 1_200,
            "{:?} has a window of at most {} and delivers {} bytes in 20 round trips, {rtts} round trips after \
             the storm",
            self.kind,
            run.window_bytes_max,
            run.delivered_bytes
        );
    }
}

/// Runs a storm over every law; then each must recover.
fn weather(storm: &Storm, recovery: bool) {
    for (kind, _) in tested() {
        let mut rig = Rig::new(kind);
        rig.check();
        for step in &storm.0 {
            rig.take_step(*step);
            rig.check();
        }
        if recovery {
            rig.check_recovery();
        }
    }
}

const HOUR: Span = Span::from_secs(3_600);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_storm_breaks_a_law(storm in storms(300)) {
        weather(&storm, false);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn every_law_recovers_from_any_storm(storm in storms(200)) {
        weather(&storm, true);
    }
}

proptest! {
    #[test]
    fn a_replay_line_reads_back(storm in storms(50)) {
        let line = format!("{storm:?}");
        let steps = line.split('\'').nth(1).expect("quoted").split(' ').map(str::parse);
        prop_assert_eq!(Ok(storm.0), steps.collect::<Result<Vec<_>, _>>());
    }
}

/// Replays what a failure printed; without it, a storm that has everything.
#[test]
fn a_storm_again() {
    #[expect(clippy::disallowed_methods, reason = "how a person replays a printed failure")]
    let steps = std::env::var("ARCBENCH_STORM").unwrap_or_else(|_| EVERYTHING.to_owned());
    let steps = steps.split_whitespace().map(|step| step.parse().expect("a printed step"));
    let storm = Storm(steps.collect());
    for (kind, _) in tested() {
        println!("{kind:?}");
        let mut rig = Rig::new(kind);
        for step in &storm.0 {
            rig.take_step(*step);
            println!("  {step}: window {} pacing {:?}", rig.law.window_bytes(), rig.law.pacing());
            rig.check();
        }
        rig.check_recovery();
    }
}

const EVERYTHING: &str = "send:20 wait:100 ack:19 ack-timed:3 ack:3 lose:5 ack:5 mark:2 tick:0 send-last:7 \
     wait:10000000 ack-at-once:1 ack-foreign:0 ack-foreign:1 lose-all:4 size:1472 path:0 send:3 tick:0";
