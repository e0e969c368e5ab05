//! The relay's settings: every knob that a scenario can turn, with its effect, default, unit and
//! trade-off.
//!
//! An empty settings table is the shipped default. Field documentation is the user's
//! documentation: the schema is generated from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Share, Size, Span};

use crate::wire::WINDOW_MAX;

/// A relay configuration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// How the relay's sending rate towards the operator is controlled.
    pub congestion: Congestion,
    /// How QUIC decides that a packet is lost.
    pub loss_detection: LossDetection,
    /// When the relay skips whole frames because the link loses packets.
    pub skip: Skip,
    /// Whether missing packets are sent again.
    pub repair: Repair,
    /// Whether parity travels beside a frame, and how much.
    pub fec: Fec,
    /// Whether the robot is asked for smaller frames on a link too thin for full ones.
    pub resize: Resize,
    /// How frames travel.
    pub delivery: Delivery,
    /// How old a frame may get in a machine before it is given up there.
    pub deadline: Deadline,
    /// Who goes first when there is more to send than the window admits.
    pub priority: Priority,
    /// How poses are protected against loss.
    pub pose: Pose,
    /// What the receiver reports back.
    pub feedback: Feedback,
    /// Packet sizes.
    pub mtu: Mtu,
}

/// How the sending rate is controlled, on the operator hop in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Congestion {
    /// The control law. Default `"delay"`.
    pub kind: CongestionKind,
    /// Window before anything has been acknowledged, in bytes. Default `"256 kB"`: the default
    /// workload over a round trip of half a second, so that video is not held up before the first report.
    /// RFC 9002 §7.2 has 10 packets. Larger starts faster and risks a burst of loss on a thin link.
    /// Range 2.4 kB to 10 MB.
    #[schemars(with = "String")]
    pub initial_window: Size,
    /// Which feedback drives the law. Default `"app"`, which knows when each packet
    /// arrived and does not take reordering for loss, but hears of it only every
    /// `feedback.interval`. It applies to video datagrams from the relay to the operator;
    /// everything else stays with `"transport"`, which is QUIC's acknowledgements.
    pub feedback: CongestionFeedback,
    /// Most bytes that leave the pacer at once; a law that asks for less gets less. Default
    /// `"64 kB"`, a main frame with its parity. A law without a pacing rate of its own asks for what its
    /// window sends in 2 ms, but 10 to 256 packets, as in quinn. Smaller is kinder to short queues and makes
    /// a frame take longer to leave. Range 1.2 kB to 10 MB.
    #[schemars(with = "String")]
    pub burst: Size,
}

impl Default for Congestion {
    fn default() -> Self {
        Self {
            kind: CongestionKind::Delay,
            initial_window: Size::from_bytes(256_000),
            feedback: CongestionFeedback::App,
            burst: Size::from_bytes(64_000),
        }
    }
}

/// The congestion control laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionKind {
    /// Halves its window once a round trip in which a packet was lost (RFC 9002 §7).
    NewReno,
    /// Cuts its window by three tenths on loss and grows back along a cubic (RFC 9438).
    Cubic,
    /// Slows down when a standing queue shows over the path's own delay, by the jitter's measure, and
    /// takes isolated loss for noise.
    Delay,
    /// A rate steered by one signal made of queueing delay, loss and marks, between 150 kbit/s and
    /// 10 Mbit/s (RFC 8698).
    Nada,
    /// A window steered towards a queueing delay of 0.1 s, up to 0.4 s beside flows that fill queues
    /// (RFC 8298).
    Scream,
    /// A rate that grows until delay does and falls with it, cut by loss above a tenth only; what
    /// WebRTC runs (draft-ietf-rmcat-gcc-02).
    Gcc,
    /// Moves its window towards a target rate that falls with the standing queue, of which it keeps
    /// about two packets; more where somebody else fills it (Copa, NSDI 2018). Takes jitter for a
    /// queue.
    Copa,
    /// Sends at the greatest rate it measured and keeps the longest round trip without a queue in
    /// flight; backs off on delay, loss and marks, the sooner the faster it is
    /// (draft-huitema-ccwg-c4).
    C4,
    /// Models the path by its greatest delivery rate and least round trip, and probes both in turn
    /// (BBR version 3, draft-ietf-ccwg-bbr). Heeds loss from two per cent on.
    Bbr3,
    /// No congestion control at all: everything goes as soon as it is there. For separating
    /// causes on a modelled link. Unsafe on a real network, which it can bring to a halt for
    /// everybody.
    Open,
}

/// Where a control law learns what became of its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CongestionFeedback {
    /// From QUIC's acknowledgements and its loss detection.
    Transport,
    /// From the receiver's reports of sequence numbers and arrival times. A packet that nothing is
    /// heard of for three round trips, and at least a second, counts as lost.
    App,
}

/// How QUIC decides that a packet is lost (RFC 9002 §6.1), on the operator hop in both directions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LossDetection {
    /// A packet is lost once one sent this many packets later is acknowledged. Default 1000;
    /// RFC 9002 §6.1.1 has 3. Higher tolerates reordering and finds real loss later.
    /// Range 3 to 10000.
    pub packet_threshold: u32,
    /// A packet is lost once one sent later is acknowledged and this many round trips have
    /// passed. Default 4; RFC 9002 §6.1.2 has 1.125. Higher tolerates more jitter. Range 1 to 100.
    pub time_threshold: f32,
}

impl Default for LossDetection {
    fn default() -> Self {
        Self { packet_threshold: 1000, time_threshold: 4.0 }
    }
}

/// When the relay skips whole frames because the link loses packets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Skip {
    /// Whether it skips at all. Default false: parity and repair carry frames over loss, and control
    /// of the rate keeps it from being caused.
    pub enabled: bool,
    /// Measured loss above which it starts to skip. Default `"5 %"`. Lower sheds load earlier and
    /// throws away frames that would have arrived.
    #[schemars(with = "String")]
    pub threshold: Share,
    /// While it skips, of this many frames of a camera one is kept, evenly spaced. Default 3.
    /// Range 2 to 100.
    pub keep_one_in: u32,
    /// Which loss is measured. Default `"app"`.
    pub measured: LossMeasure,
    /// Over how long loss is measured. Default `"1 s"`. Longer is steadier and reacts later.
    /// Range 100 ms to 60 s.
    #[schemars(with = "String")]
    pub window: Span,
}

impl Default for Skip {
    fn default() -> Self {
        Self {
            enabled: false,
            threshold: Share::from_parts_per_billion(50_000_000),
            keep_one_in: 3,
            measured: LossMeasure::App,
            window: Span::from_secs(1),
        }
    }
}

/// Where loss is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossMeasure {
    /// What QUIC declared lost, which counts packets that merely came late.
    Transport,
    /// What the receiver's feedback says never arrived.
    App,
}

/// Selective retransmission, driven by the receiver's feedback and not by QUIC's loss detection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Repair {
    /// Whether missing packets of a frame are sent again. Default true. Costs only what is lost.
    pub enabled: bool,
    /// Nothing is sent again that cannot be at the operator this long after the relay got the
    /// frame. Default `"1 s"`. Shorter saves the bytes of frames that come too late to be seen;
    /// longer completes more frames. Range 10 ms to 60 s.
    #[schemars(with = "String")]
    pub deadline: Span,
    /// Packets sent again beyond those that a frame needs, where so many were lost: insurance
    /// against losing the repair. Default 1. Range 0 to 16.
    pub spare: u32,
}

impl Default for Repair {
    fn default() -> Self {
        Self { enabled: true, deadline: Span::from_secs(1), spare: 1 }
    }
}

/// Parity beside frames, so that a frame survives losses without waiting for a round trip.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fec {
    /// Whether and how. Default `"block"`.
    pub kind: FecKind,
    /// With `kind = "window"`: how many packets of frames, of all cameras and in the order they were sent, each
    /// parity packet protects. Default 64, some 0.2 s of the default workload. More lets a later
    /// frame's parity help for longer, and costs work and a receiver that solves for more that is under
    /// way; fewer than a frame has leaves its first packets unprotected. Range 2 to 128.
    pub window: u32,
    /// How much. Default `"adaptive"`.
    pub amount: FecAmount,
    /// With `amount = "fixed"`: parity packets for each packet of a frame. Default `"50 %"`.
    #[schemars(with = "String")]
    pub ratio: Share,
    /// With `amount = "adaptive"`: the share of main-camera frames that may still be lost. Default
    /// `"0.3 %"`. Less costs more parity.
    #[schemars(with = "String")]
    pub residual_main: Share,
    /// The same for wrist cameras, whose missing frames show less. Default `"3 %"`.
    #[schemars(with = "String")]
    pub residual_wrist: Share,
    /// With `amount = "adaptive"`, on a link that reorders packets and has room: the least parity
    /// packets for each packet of a frame. Default `"15 %"`. A frame is whole with any of its pieces, so
    /// more of them do not wait for the slowest.
    #[schemars(with = "String")]
    pub reordering: Share,
    /// With `amount = "adaptive"`: most parity packets for each packet of a frame. Default
    /// `"100 %"`.
    #[schemars(with = "String")]
    pub overhead_max: Share,
    /// With `amount = "adaptive"`, on a link that has no rate to spare beside full-size frames: most parity packets
    /// for each packet of a frame. Default `"10 %"`. Parity takes from the pictures there, and what is lost
    /// can be sent again.
    #[schemars(with = "String")]
    pub overhead_short: Share,
}

impl Default for Fec {
    fn default() -> Self {
        Self {
            kind: FecKind::Block,
            window: 64,
            amount: FecAmount::Adaptive,
            ratio: Share::from_parts_per_billion(500_000_000),
            residual_main: Share::from_parts_per_billion(3_000_000),
            residual_wrist: Share::from_parts_per_billion(30_000_000),
            reordering: Share::from_parts_per_billion(150_000_000),
            overhead_max: Share::ALL,
            overhead_short: Share::from_parts_per_billion(100_000_000),
        }
    }
}

/// The ways parity can be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FecKind {
    /// No parity.
    None,
    /// Reed-Solomon parity over the packets of one frame.
    Block,
    /// Parity over the last packets of all frames (a sliding window as in RFC 8681): a burst that kills more of a
    /// frame than its own parity makes up for is made up for by the next frames' parity. As much of it
    /// as with `"block"`, and it yields alike; each packet carries three bytes more.
    Window,
}

/// How the amount of parity is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FecAmount {
    /// As `ratio` says.
    Fixed,
    /// From the measured share and burst length of loss, no more than the residual asks for.
    Adaptive,
}

/// Asking the robot for smaller frames before any is dropped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Resize {
    /// Whether the relay asks. Default true. Keeps the frame rate on a thin link and costs picture
    /// detail.
    pub enabled: bool,
    /// The smallest size asked for, as a share of the full size. Default `"20 %"`. Wrist cameras
    /// reach it before the main camera is made smaller than them.
    #[schemars(with = "String")]
    pub floor: Share,
    /// The share of the measured rate that video may take, parity and headers included. Default
    /// `"90 %"`. More gives a better picture and a longer queue.
    #[schemars(with = "String")]
    pub use_of_rate: Share,
}

impl Default for Resize {
    fn default() -> Self {
        Self {
            enabled: true,
            floor: Share::from_parts_per_billion(200_000_000),
            use_of_rate: Share::from_parts_per_billion(900_000_000),
        }
    }
}

/// How frames travel between relay and operator.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Delivery {
    /// Datagrams or streams. Default `"datagram"`.
    pub kind: DeliveryKind,
}

impl Default for Delivery {
    fn default() -> Self {
        Self { kind: DeliveryKind::Datagram }
    }
}

/// The ways a frame can travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryKind {
    /// Cut into QUIC datagrams (RFC 9221), each sent once.
    Datagram,
    /// One QUIC stream a frame: lost parts are sent again by QUIC until the frame deadline, when
    /// the stream is reset.
    Stream,
}

/// How old frames may get.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Deadline {
    /// A frame that has been this long in the relay (or at the robot's end) without being wholly
    /// sent is given up. Default `"1 s"`. Shorter keeps the picture fresh; longer lets a slow
    /// link finish frames. Range 10 ms to 60 s.
    #[schemars(with = "String")]
    pub frame: Span,
    /// The operator's end forgets an incomplete frame this long after its first part came.
    /// Default `"2 s"`. Range 10 ms to 60 s.
    #[schemars(with = "String")]
    pub reassembly: Span,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { frame: Span::from_secs(1), reassembly: Span::from_secs(2) }
    }
}

/// Who goes first. Commands and poses always go before video.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Priority {
    /// The main camera before the wrist cameras. Default true; false takes turns.
    pub main_first: bool,
    /// Which frame of a camera goes next. Default `"newest"`.
    pub frames: FrameOrder,
    /// Most frames of one camera that wait in a machine; one more takes the place of the oldest
    /// that has not begun. Default 8. Range 1 to 64.
    pub frames_waiting_max: u32,
}

impl Default for Priority {
    fn default() -> Self {
        Self { main_first: true, frames: FrameOrder::Newest, frames_waiting_max: 8 }
    }
}

/// The order in which frames of one camera are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FrameOrder {
    /// A frame that has begun is finished, then the newest goes.
    Newest,
    /// In the order of arrival.
    Oldest,
}

/// How poses are protected against loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pose {
    /// How many past poses each pose datagram repeats. Default 2. More bridges longer bursts of
    /// loss for 80 bytes each. Range 0 to 12.
    pub repeat: u32,
    /// A command older than this at the robot, from the pose being taken, is not executed.
    /// Default `"1 s"`. Range 10 ms to 60 s.
    #[schemars(with = "String")]
    pub age_max: Span,
}

impl Default for Pose {
    fn default() -> Self {
        Self { repeat: 2, age_max: Span::from_secs(1) }
    }
}

/// What the operator's end reports back about video.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Feedback {
    /// How often a report goes while video arrives. Default `"25 ms"`. Shorter finds loss earlier
    /// and costs upstream packets. Range 1 ms to 1 s.
    #[schemars(with = "String")]
    pub interval: Span,
    /// Packets that the peer may receive without acknowledging them at once, on the operator hop in
    /// both directions (draft-ietf-quic-ack-frequency). Default 64: acknowledgements ride along with
    /// poses and reports. 1 is QUIC's own way, which control laws with `feedback = "transport"` want. Fewer
    /// acknowledgements leave the link's jitter fewer packets to hold poses up behind.
    /// Range 1 to 1000.
    pub ack_packets: u32,
    /// The longest that an acknowledgement waits where `ack_packets` is over 1. Default `"100 ms"`.
    /// Range 1 ms to 1 s.
    #[schemars(with = "String")]
    pub ack_delay: Span,
}

impl Default for Feedback {
    fn default() -> Self {
        Self { interval: Span::from_millis(25), ack_packets: 64, ack_delay: Span::from_millis(100) }
    }
}

/// Packet sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Mtu {
    /// Largest UDP payload sent before discovery has found a larger one. Default `"1.2 kB"`, what
    /// every QUIC path carries (RFC 9000 §14). Range 1.2 kB to 1.472 kB.
    #[schemars(with = "String")]
    pub initial: Size,
    /// Whether larger packets are probed for (RFC 8899). Default true. Fewer, larger packets
    /// make a frame less likely to lose one.
    pub discovery: bool,
}

impl Default for Mtu {
    fn default() -> Self {
        Self { initial: Size::from_bytes(1200), discovery: true }
    }
}

/// A setting outside its range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {value}, outside {range}")]
pub struct OutOfRange {
    /// The dotted name of the setting, for example `skip.keep_one_in`.
    pub key: &'static str,
    /// What it was set to.
    pub value: String,
    /// What it may be.
    pub range: &'static str,
}

impl Settings {
    /// Everything that is outside its documented range; empty when the settings are usable.
    pub fn problems(&self) -> Vec<OutOfRange> {
        let mut found = Vec::new();
        let mut check = |key, inside: bool, value: &dyn std::fmt::Display, range| {
            if !inside {
                found.push(OutOfRange { key, value: value.to_string(), range });
            }
        };
        let within = |span: Span, low: u64, high: u64| {
            span >= Span::from_millis(low) && span <= Span::from_millis(high)
        };
        let window = self.congestion.initial_window;
        check(
            "congestion.initial_window",
            (2_400..=10_000_000).contains(&window.as_bytes()),
            &window,
            "2.4 kB to 10 MB",
        );
        let burst = self.congestion.burst;
        check(
            "congestion.burst",
            (1_200..=10_000_000).contains(&burst.as_bytes()),
            &burst,
            "1.2 kB to 10 MB",
        );
        let packets = self.loss_detection.packet_threshold;
        check("loss_detection.packet_threshold", (3..=10_000).contains(&packets), &packets, "3 to 10000");
        let time = self.loss_detection.time_threshold;
        check("loss_detection.time_threshold", (1.0..=100.0).contains(&time), &time, "1 to 100");
        let keep = self.skip.keep_one_in;
        check("skip.keep_one_in", (2..=100).contains(&keep), &keep, "2 to 100");
        check("skip.window", within(self.skip.window, 100, 60_000), &self.skip.window, "100 ms to 60 s");
        check(
            "deadline.frame",
            within(self.deadline.frame, 10, 60_000),
            &self.deadline.frame,
            "10 ms to 60 s",
        );
        let repair = self.repair.deadline;
        check("repair.deadline", within(repair, 10, 60_000), &repair, "10 ms to 60 s");
        check("repair.spare", self.repair.spare <= 16, &self.repair.spare, "0 to 16");
        let window = self.fec.window;
        check("fec.window", (2..=u32::from(WINDOW_MAX)).contains(&window), &window, "2 to 128");
        let floor = self.resize.floor;
        let floor_low = Share::from_parts_per_billion(10_000_000);
        check("resize.floor", floor >= floor_low, &floor, "1 % to 100 %");
        let used = self.resize.use_of_rate;
        let used_low = Share::from_parts_per_billion(100_000_000);
        check("resize.use_of_rate", used >= used_low, &used, "10 % to 100 %");
        let reassembly = self.deadline.reassembly;
        check("deadline.reassembly", within(reassembly, 10, 60_000), &reassembly, "10 ms to 60 s");
        let waiting = self.priority.frames_waiting_max;
        check("priority.frames_waiting_max", (1..=64).contains(&waiting), &waiting, "1 to 64");
        check("pose.repeat", self.pose.repeat <= 12, &self.pose.repeat, "0 to 12");
        check("pose.age_max", within(self.pose.age_max, 10, 60_000), &self.pose.age_max, "10 ms to 60 s");
        let interval = self.feedback.interval;
        check("feedback.interval", within(interval, 1, 1_000), &interval, "1 ms to 1 s");
        let acks = self.feedback.ack_packets;
        check("feedback.ack_packets", (1..=1000).contains(&acks), &acks, "1 to 1000");
        let delay = self.feedback.ack_delay;
        check("feedback.ack_delay", within(delay, 1, 1_000), &delay, "1 ms to 1 s");
        let mtu = self.mtu.initial;
        check("mtu.initial", (1200..=1472).contains(&mtu.as_bytes()), &mtu, "1.2 kB to 1.472 kB");
        found
    }
}
