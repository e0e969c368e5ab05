//! The numbers of one cell and of a grid, exactly as they are written in JSON.
//!
//! Field names are a promise to whoever reads the files: fields may be added, these keep their
//! names. Times carry their unit in the name; a percentile that falls on something that never
//! happened is `null`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cause::CauseSummary;
use crate::cell::Cell;
use crate::named::Named;

/// The result of a scenario: what `--format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// Always `"arcbench.grid"`.
    pub schema: String,
    /// Version of this format: 1.
    pub version: u32,
    /// The run's id.
    pub run: String,
    /// The run folder, by a path from where the command was given; not there where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// One summary a cell: profiles, then settings, then seeds, in the scenario's order.
    pub cells: Vec<Summary>,
    /// The scenario's reference figures beside the results, for the profiles and settings that have
    /// results; not there when there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference: Vec<ReferenceRow>,
    /// How the gates that were asked for fared; not there when there were none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateRow>,
}

impl Grid {
    /// A grid of `cells`, without reference figures and gates.
    pub fn new(run: impl Into<String>, cells: Vec<Summary>) -> Self {
        let schema = "arcbench.grid".to_owned();
        let (reference, gates) = (Vec::new(), Vec::new());
        Self { schema, version: 1, run: run.into(), folder: None, cells, reference, gates }
    }
}

/// A reference figure of the scenario beside the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceRow {
    /// The operator hop's profile.
    pub profile: String,
    /// The name of the settings.
    pub settings: String,
    /// The metric, by the name that `--metric` has for it.
    pub metric: String,
    /// The unit of the three numbers.
    pub unit: String,
    /// The scenario's figure.
    pub reference: f64,
    /// Mean over the seeds; `null` when it is infinite or there is nothing to take it of.
    pub ours: Option<f64>,
    /// `ours` less `reference`; `null` when `ours` is.
    pub difference: Option<f64>,
}

/// What came of a gate for one profile under one settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRow {
    /// The gate as it was written.
    pub gate: String,
    /// The operator hop's profile.
    pub profile: String,
    /// The name of the settings.
    pub settings: String,
    /// What the gate looks at: a path in a cell's summary.
    pub field: String,
    /// Whether it holds.
    pub passed: bool,
    /// The mean over the seeds, or the worst seed's value, as the gate asks; `null` when any seed has
    /// no finite number, and the gate then fails.
    pub value: Option<f64>,
    /// The seed that is furthest on the wrong side, as text; one without a number before all others.
    pub worst_seed: String,
    /// That seed's value.
    pub worst_value: Option<f64>,
}

/// The result of one cell.
///
/// Everything but `cpu_s` is equal between two runs of the same cell.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The cell's id, which names its folder.
    pub cell: String,
    /// The operator hop's profile.
    pub profile: String,
    /// The name of the settings.
    pub settings: String,
    /// The seed index, as text.
    pub seed: String,
    /// Which time that this cell was run it is, from 1; only real cells are run more than once.
    #[serde(default = "first_time")]
    pub repeat: u32,
    /// How the cell was run.
    pub mode: Mode,
    /// How long there was traffic, in seconds.
    pub duration_s: f64,
    /// Whether the cell ran to its end.
    pub status: Status,
    /// Why it did not, where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What a reader of the numbers should know about how they came to be, one sentence each; not
    /// there when there is nothing to say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// When the ends came and went.
    pub connection: ConnectionSummary,
    /// Hash over every packet's time, size and fate and every frame and command event.
    pub trace_hash: String,
    /// Packets sent on all links, connection setup included.
    pub packets: u64,
    /// Processor time the cell took, in seconds; differs from run to run.
    pub cpu_s: Option<f64>,
    /// What became of each camera's frames.
    pub cameras: Named<CameraSummary>,
    /// All cameras together.
    pub all: AllSummary,
    /// Hand movement to command at the robot, over all movements; one never carried out counts as
    /// infinitely late.
    pub hand_to_command_ms: HandSummary,
    /// Commands executed although a newer one had been executed before; must be 0.
    pub stale_commands: u64,
    /// What became of poses and commands.
    pub commands: CommandSummary,
    /// The operator hop's link: `down` is relay to operator.
    pub link: LinkPair,
    /// The robot hop's link: `up` is robot to relay.
    pub robot_link: LinkPair,
    /// What the second flow on the operator hop came to; not there when the workload has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_traffic: Option<CrossTrafficSummary>,
    /// IP bytes sent from relay to operator for each byte of frames delivered; those of a second flow do
    /// not count.
    pub overhead_ratio: Option<f64>,
    /// Loss before and after whatever repairs it.
    pub loss: LossSummary,
    /// Frame complete at the relay → its last byte handed to the transport, over forwarded frames.
    pub relay_ms: Percentiles,
    /// What the relay's transport towards the operator did.
    pub transport: TransportSummary,
    /// How steady the machine was, in real mode; not there in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostSummary>,
    /// Why the numbers of a real cell are not to be trusted: the machine was too noisy, or something that is
    /// not part of the link lost packets. Not there when there is no such reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tainted: Option<String>,
}

impl Summary {
    /// Which run of which seed it is, for people and as a name among a run's cells: `2`, and `2.r3` of the third time
    /// that a real cell was run.
    pub fn seed_label(&self) -> String {
        seed_label(&self.seed, self.repeat)
    }

    /// The summary of a cell that failed with `error`: nothing measured.
    pub fn failed(cell: &Cell, error: impl Into<String>) -> Self {
        Self { status: Status::Failed, error: Some(error.into()), ..Self::of(cell) }
    }

    /// The part that says which cell it is; nothing measured yet.
    pub(crate) fn of(cell: &Cell) -> Self {
        Self {
            cell: cell.id(),
            profile: cell.profile.name.clone(),
            settings: cell.settings_name.clone(),
            seed: cell.seed.to_string(),
            repeat: cell.repeat,
            duration_s: crate::statistics::seconds(cell.duration.as_nanos()),
            ..Self::default()
        }
    }
}

/// A seed and a repeat as one name: the seed alone for the first time.
pub fn seed_label(seed: &str, repeat: u32) -> String {
    if repeat > 1 { format!("{seed}.r{repeat}") } else { seed.to_owned() }
}

fn first_time() -> u32 {
    1
}

/// When the ends joined their session and lost it, in seconds since the start of the traffic;
/// negative in the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionSummary {
    /// The robot's end first joined; `null` if it never did.
    pub robot_joined_at_s: Option<f64>,
    /// The operator's end first joined; `null` if it never did.
    pub operator_joined_at_s: Option<f64>,
    /// The first connection was lost, as an end or the relay noticed it; `null` if none was. An end
    /// that closes its connection after the traffic loses nothing.
    pub lost_at_s: Option<f64>,
}

/// How a cell was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// In virtual time.
    #[default]
    Sim,
    /// Over real sockets.
    Real,
}

/// How a cell ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// It ran to its end.
    #[default]
    Ok,
    /// It did not; the summary says why and has no measurements.
    Failed,
}

/// Two percentiles in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// The median; `null` when there is nothing.
    pub p50: Option<f64>,
    /// The 99th percentile; `null` when there is nothing.
    pub p99: Option<f64>,
}

/// How steady the machine was while a cell ran for real. Differs from run to run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HostSummary {
    /// What carried the packets: the link's backend.
    pub backend: String,
    /// How late the link released packets; `null` where there is no link, or it does not know.
    pub release_lag_us: Option<LagSummary>,
    /// How late the ends dealt with their timeouts and inputs.
    pub timer_lag_us: Option<LagSummary>,
    /// How long received datagrams waited between the kernel and the ends; `null` where the kernel does not say.
    pub receive_lag_us: Option<LagSummary>,
    /// Share of all processors' time that the hypervisor took for others; `null` where the system does not say.
    pub steal_ratio: Option<f64>,
    /// Share of all processors' time that was used, by whomever.
    pub busy_ratio: Option<f64>,
    /// Frames and poses that were due.
    pub inputs_asked: u64,
    /// Frames and poses that were made.
    pub inputs_made: u64,
    /// Of these, more than 10 ms late.
    pub inputs_late: u64,
    /// Datagrams for which an end's socket had no room; `null` where the kernel does not say.
    pub dropped_at_sockets: Option<u64>,
    /// Packets that devices and sockets of the link dropped although the link's model did not.
    pub dropped_in_link: u64,
    /// Datagrams that the kernel would not send.
    pub send_errors: u64,
    /// Whether the ends were to give the kernel several datagrams in one call, as the scenario's `real.gso` says;
    /// `null` of cells from before it was told.
    #[serde(default)]
    pub gso: Option<bool>,
    /// Whether the kernel was to hand them several datagrams in one piece, as `real.gro` says; `null` likewise.
    #[serde(default)]
    pub gro: Option<bool>,
    /// Datagrams that the ends sent.
    #[serde(default)]
    pub datagrams_sent: u64,
    /// Calls that sent them: as many where `gso` is false.
    #[serde(default)]
    pub send_calls: u64,
    /// Datagrams that the ends received.
    #[serde(default)]
    pub datagrams_received: u64,
    /// Pieces in which the kernel handed them over: as many where `gro` is false.
    #[serde(default)]
    pub pieces_received: u64,
    /// Facts that did not reach the recorder, or too late to be put in order.
    pub facts_lost: u64,
}

/// Percentiles of how late something was, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LagSummary {
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The most.
    pub max: f64,
}

/// What became of one camera's frames.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CameraSummary {
    /// Frames the camera made.
    pub produced: u64,
    /// Frames complete at the operator, ever.
    pub delivered: u64,
    /// Delivered ÷ produced.
    pub delivered_ratio: Option<f64>,
    /// Share of produced frames complete within so many milliseconds.
    pub on_time_ratio: OnTime,
    /// Delay of delivered frames: from the robot's end to complete at the operator.
    pub delay_ms: DelaySummary,
    /// Delay of all produced frames; one that never came counts as infinitely late.
    pub delay_all_ms: DelayAllSummary,
    /// Frozen time, in seconds a minute.
    pub frozen_s_per_min: f64,
    /// Freezes.
    pub freezes: u64,
    /// The longest freeze, in milliseconds.
    pub freeze_ms_max: f64,
    /// Frozen time by the W3C's running mean of the last 30 gaps, in seconds a minute. A picture that
    /// stands until the end of the traffic counts, and so does the whole time when none was shown.
    pub frozen_w3c_s_per_min: f64,
    /// Freezes by the W3C's running mean.
    pub freezes_w3c: u64,
    /// Frames that were on screen for a while.
    pub shown: u64,
    /// Frames that came after a newer one had been shown.
    pub late: u64,
    /// Frames that came but missed one they were predicted from.
    pub undecodable: u64,
    /// Frames given up by the machines, by reason. A frame can be given up in one place only.
    pub dropped: DropSummary,
    /// Why frames were missing, and why those that came more than 300 ms after they were made did: one
    /// cause for each.
    #[serde(default)]
    pub causes: CauseSummary,
    /// Frame complete at the relay → its last byte handed to the transport.
    pub relay_ms: Percentiles,
}

/// Shares of produced frames that were complete in time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct OnTime {
    /// Within 200 ms.
    #[serde(rename = "200")]
    pub within_200_ms: Option<f64>,
    /// Within 300 ms.
    #[serde(rename = "300")]
    pub within_300_ms: Option<f64>,
    /// Within 500 ms.
    #[serde(rename = "500")]
    pub within_500_ms: Option<f64>,
}

/// Delays over delivered frames, in milliseconds; `null` when none was delivered.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DelaySummary {
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

/// Delays over all produced frames, in milliseconds; `null` where the frame at that rank is lost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DelayAllSummary {
    /// The median.
    pub p50: Option<f64>,
    /// The 95th percentile.
    pub p95: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
}

/// Frames that were not delivered, by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DropSummary {
    /// Skipped by the relay because of measured loss.
    pub skipped: u64,
    /// Grown older than the frame deadline before being sent.
    pub expired: u64,
    /// Pushed out of a full queue by a newer frame.
    pub superseded: u64,
    /// Nobody was there to send it to.
    pub no_peer: u64,
    /// A part was missing at the operator and could no longer come.
    pub incomplete: u64,
    /// Sent and given up by nobody, but lost on the way: wholly handed to the transport towards the
    /// operator, or taken by the robot's end, and too little of it came out of the link.
    #[serde(default)]
    pub lost_on_link: u64,
    /// None of these: complete at the relay, and still waiting there when the cell ended.
    pub unaccounted: u64,
}

/// All cameras together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AllSummary {
    /// Frames all cameras made.
    pub produced: u64,
    /// Frames of all cameras that were complete at the operator.
    pub delivered: u64,
    /// Delivered ÷ produced over all frames.
    pub delivered_ratio: Option<f64>,
    /// Frozen time: mean over the cameras, in seconds a minute; `null` when the cell failed.
    pub frozen_s_per_min: Option<f64>,
    /// Frozen time by the W3C's running mean: mean over the cameras, in seconds a minute; `null` when
    /// the cell failed.
    pub frozen_w3c_s_per_min: Option<f64>,
    /// Bytes of complete frames, over the duration of the traffic; `null` when the cell failed.
    pub goodput_mbit_s: Option<f64>,
}

/// Hand movement to command at the robot, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HandSummary {
    /// The median.
    pub p50: Option<f64>,
    /// The 99th percentile.
    pub p99: Option<f64>,
    /// The longest that was carried out.
    pub max: Option<f64>,
}

/// What became of poses and commands.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CommandSummary {
    /// Poses taken; each carries one hand movement.
    pub poses: u64,
    /// Poses that became a command at the relay.
    pub at_relay: u64,
    /// Commands executed at the robot.
    pub executed: u64,
    /// Commands the robot refused because they came too late or after a newer one.
    pub refused: u64,
    /// Commands executed more than once in a row; must be 0.
    pub repeated: u64,
    /// Movements that no command ever carried out.
    pub movements_lost: u64,
    /// The longest time within the traffic without a command, in milliseconds. The time to the
    /// first and after the last one count. `null` when the cell failed.
    pub gap_ms_max: Option<f64>,
}

/// Both directions of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkPair {
    /// Away from the relay.
    pub down: LinkSummary,
    /// Towards the relay.
    pub up: LinkSummary,
}

/// What one direction of a link did to packets sent from the start of the traffic on; those of a second
/// flow count like all others, in every number.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LinkSummary {
    /// Packets handed to the link.
    pub offered: u64,
    /// Packets lost by the loss model.
    pub lost: u64,
    /// Packets that found the queue full, or that an active queue dropped after it had let them in.
    pub queue_dropped: u64,
    /// Packets that fell into an outage.
    pub outage_dropped: u64,
    /// Packets that came out, duplicates not counted.
    pub delivered: u64,
    /// Extra copies that came out.
    pub duplicated: u64,
    /// Packets that came out damaged.
    pub corrupted: u64,
    /// Packets that came out after one sent later.
    pub reordered: u64,
    /// IP bytes handed to the link.
    pub bytes: u64,
    /// Time spent waiting in the bottleneck queue, over packets that came out.
    pub queue_ms: Percentiles,
    /// The longest wait in the bottleneck queue, in milliseconds; `null` when nothing came out.
    pub queue_ms_max: Option<f64>,
    /// The most bytes the bottleneck queue held in the whole cell, where the link says so.
    pub queue_bytes_max: Option<u64>,
    /// Packets that an active queue marked (ECN: congestion experienced) in the whole cell; not there where it
    /// marked none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<u64>,
}

/// What the second flow on the operator hop came to, while it ran.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CrossTrafficSummary {
    /// Bytes of its data that arrived, without IP and UDP headers, over the time it ran; `null` when that
    /// is no time at all.
    pub goodput_mbit_s: Option<f64>,
    /// Bytes of frames that became complete meanwhile, over the same time.
    pub video_goodput_mbit_s: Option<f64>,
    /// Jain's index of the two goodputs: 1 when they are equal, 0.5 when one got everything. `null` when
    /// its data does not go the way the video goes.
    pub jain_index: Option<f64>,
    /// Packets of data it sent.
    pub sent: u64,
    /// Packets of these that did not come out of the link intact.
    pub lost: u64,
    /// Lost ÷ sent.
    pub loss_ratio: Option<f64>,
    /// Round trips its sender measured, to three digits.
    pub rtt_ms: Percentiles,
    /// Times it had as many packets under way as it keeps account of, and waited.
    pub limit_hits: u64,
}

/// Loss towards the operator; packets of a second flow do not count.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LossSummary {
    /// Share of packets from relay to operator that the link did not deliver intact.
    pub pre_repair_ratio: Option<f64>,
    /// Share of frames wholly handed to the transport that never became complete.
    pub post_repair_ratio: Option<f64>,
}

/// What the relay's transport towards the operator believed, against what the link did, from the
/// start of the traffic on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TransportSummary {
    /// QUIC packets sent.
    pub packets_sent: u64,
    /// Packets that QUIC declared lost.
    pub packets_declared_lost: u64,
    /// Packets that the link really lost, by loss, full queue, outage or damage; not those of a second flow.
    pub packets_really_lost: u64,
    /// At least so many were declared lost although they arrived.
    pub packets_spuriously_lost_min: u64,
    /// Times the congestion controller was told of congestion.
    pub congestion_events: u64,
    /// Application datagrams that the receiver's feedback reported as never arrived.
    pub app_packets_lost: u64,
    /// Application datagrams that feedback has judged.
    pub app_packets_judged: u64,
    /// Frames skipped because of measured loss.
    pub frames_skipped: u64,
    /// Frames given up at the frame deadline, by the relay.
    pub frames_expired: u64,
    /// Frames pushed out of a full queue, in the relay.
    pub frames_superseded: u64,
    /// Times a bounded queue or table was full and something was discarded.
    pub limit_hits: u64,
    /// Received datagrams that were malformed.
    pub malformed: u64,
    /// IP bytes from robot to relay for each byte of frames complete at the relay.
    pub robot_hop_overhead_ratio: Option<f64>,
    /// IP bytes from relay to operator for each byte of frames delivered.
    pub operator_hop_overhead_ratio: Option<f64>,
    /// Events about frames or poses that were never made; must be 0.
    pub events_unexpected: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_reads_back_as_it_was_written() {
        let mut summary = Summary { cell: "x".to_owned(), seed: "1".to_owned(), ..Summary::default() };
        summary.cameras = Named(vec![("wrist".to_owned(), CameraSummary::default())]);
        summary.all.goodput_mbit_s = Some(3.08);
        let grid = Grid::new("run", vec![summary]);
        let text = serde_json::to_string(&grid).unwrap();
        assert!(text.starts_with(r#"{"schema":"arcbench.grid","version":1,"run":"run","cells":["#), "{text}");
        assert!(text.contains(r#""mode":"sim""#) && text.contains(r#""status":"ok""#), "{text}");
        assert!(text.contains(r#""on_time_ratio":{"200":null,"300":null,"500":null}"#), "{text}");
        assert_eq!(serde_json::from_str::<Grid>(&text).unwrap(), grid);
    }

    #[test]
    fn reference_figures_come_last_and_only_where_there_are_some() {
        let mut grid = Grid::new("run", Vec::new());
        let without = r#"{"schema":"arcbench.grid","version":1,"run":"run","cells":[]}"#;
        assert_eq!(serde_json::to_string(&grid).unwrap(), without);
        assert_eq!(serde_json::from_str::<Grid>(without).unwrap(), grid);
        grid.reference.push(ReferenceRow {
            profile: "p".to_owned(),
            settings: "s".to_owned(),
            metric: "delivered".to_owned(),
            unit: "% of produced".to_owned(),
            reference: 10.0,
            ours: None,
            difference: None,
        });
        let text = serde_json::to_string(&grid).unwrap();
        let row = r#""cells":[],"reference":[{"profile":"p","settings":"s","metric":"delivered","unit":"% of produced","reference":10.0,"ours":null,"difference":null}]}"#;
        assert!(text.ends_with(row), "{text}");
        assert_eq!(serde_json::from_str::<Grid>(&text).unwrap(), grid);
    }
}
