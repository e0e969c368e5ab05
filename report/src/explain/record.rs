//! An explanation as JSON: what `arcbench explain --format json` prints. Fields may be added; these keep their
//! names.

use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

/// What limited one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Always `"arcbench.explain"`.
    pub schema: String,
    /// Version of this format: 1.
    pub version: u32,
    /// The cell's id.
    pub cell: String,
    /// The operator hop's profile.
    pub profile: String,
    /// The name of the settings.
    pub settings: String,
    /// The seed index, as text.
    pub seed: String,
    /// How long there was traffic, in seconds.
    pub duration_s: f64,
    /// Frames that all cameras made.
    pub produced: u64,
    /// Those that never became complete at the operator.
    pub missing: u64,
    /// Those that came more than 300 ms after they were made.
    pub late: u64,
    /// How long the cameras' pictures stood, in seconds, added up over cameras.
    pub frozen_s: f64,
    /// Freezes, of all cameras.
    pub freezes: u64,
    /// What limited it, the costliest first; never empty. Findings with an empty `covers` share out the
    /// missing and late frames and the freezes among them: each counts in exactly one.
    pub findings: Vec<Finding>,
}

/// One thing that limited a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it was.
    pub what: Kind,
    /// In one sentence or two.
    pub text: String,
    /// Findings of which this is the reason. What it cost is a part of what they cost, counted once more.
    pub covers: Vec<Kind>,
    /// Frames that it kept from coming.
    pub missing: u64,
    /// Frames that it made late.
    pub late: u64,
    /// How long pictures stood for it, in seconds, added up over cameras.
    pub frozen_s: f64,
    /// Freezes that it caused.
    pub freezes: u64,
    /// What it added to a packet's or frame's way at the 99th percentile, in milliseconds; `null` where
    /// that is not measured.
    pub delay_ms_p99: Option<f64>,
    /// The numbers that say so.
    pub evidence: Vec<Fact>,
    /// Seconds of the traffic in which it was worst, worst first; at most three.
    pub worst_seconds: Vec<u64>,
    /// Commands that look closer.
    pub next: Vec<String>,
    /// A setting to try, where the numbers speak for one; `null` where they do not.
    pub setting: Option<Suggestion>,
}

/// What limited a cell: the closed list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// An end was not in the session.
    Connection,
    /// The link was down.
    Outage,
    /// The link carries less than the cameras make at full size.
    Rate,
    /// Packets that came late or overtook others were taken for lost.
    ReorderingTakenForLoss,
    /// What went wrong did so at the beginning.
    StartUp,
    /// The relay skipped frames because of measured loss.
    Skipping,
    /// Window or pacer did not admit frames that waited in the relay.
    Window,
    /// Frames grew older in the relay than the frame deadline.
    Deadline,
    /// Packets waited in the link's queue, or found it full.
    Queue,
    /// The link lost packets that neither parity nor sending again made up for.
    RandomLoss,
    /// The link's own delay and jitter.
    LinkDelay,
    /// Frames were in the hands of QUIC, as streams.
    Streams,
    /// Between robot and relay.
    RobotHop,
    /// A camera made no frame that could have been shown.
    NoFrames,
    /// Parity took much of what was sent.
    ParityCost,
    /// Nothing.
    Nothing,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Connection,
        Self::Outage,
        Self::Rate,
        Self::ReorderingTakenForLoss,
        Self::StartUp,
        Self::Skipping,
        Self::Window,
        Self::Deadline,
        Self::Queue,
        Self::RandomLoss,
        Self::LinkDelay,
        Self::Streams,
        Self::RobotHop,
        Self::NoFrames,
        Self::ParityCost,
        Self::Nothing,
    ];

    /// The name used in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::Outage => "outage",
            Self::Rate => "rate",
            Self::ReorderingTakenForLoss => "reordering-taken-for-loss",
            Self::StartUp => "start-up",
            Self::Skipping => "skipping",
            Self::Window => "window",
            Self::Deadline => "deadline",
            Self::Queue => "queue",
            Self::RandomLoss => "random-loss",
            Self::LinkDelay => "link-delay",
            Self::Streams => "streams",
            Self::RobotHop => "robot-hop",
            Self::NoFrames => "no-frames",
            Self::ParityCost => "parity-cost",
            Self::Nothing => "nothing",
        }
    }
}

/// A number, or a word, and where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What it is.
    pub what: String,
    /// The number; `null` where it is a word, or where there is none.
    pub value: Option<f64>,
    /// The unit; empty for a count or a ratio.
    pub unit: String,
    /// The word, for a setting that is one.
    pub word: Option<String>,
    /// The file that it comes from, relative to the cell's folder.
    pub file: String,
    /// Its path in that file; `null` where it takes a query.
    pub field: Option<String>,
    /// The query that gives it in `DuckDB`, from within the cell's folder; `null` where it stands there.
    pub query: Option<String>,
}

/// A setting to try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// Its key, as `arcbench schema settings` and `--set` have it.
    pub key: String,
    /// What it was in this cell.
    pub now: String,
    /// What to try.
    pub value: String,
    /// Why.
    pub why: String,
    /// The command that runs this cell with it.
    pub command: String,
}

/// Schema of the object that `explain --format json` prints.
pub fn explain_schema() -> Schema {
    schema_for!(Explanation)
}
