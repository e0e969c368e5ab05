//! What verbs print with `--format json`, where no other crate has a type for it: one object each, with `schema`
//! and `version` first. Fields may be added; these keep their names. `arcbench schema` prints the schemas, and a test
//! holds the outputs against them.

use std::collections::BTreeMap;
use std::path::Path;

use bench::{Named, Summary};
use schemars::{JsonSchema, Schema, schema_for};
use serde::Serialize;
use serde_json::json;

use crate::failure::Failure;

/// Version of every format here.
pub(crate) const VERSION: u32 = 1;

/// `record` as one line of JSON.
pub(crate) fn line(record: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(record).map_err(|error| {
        // Plain data with text keys becomes JSON; if it ever does not, that is a defect.
        Failure::unexpected(format!("writing the result as JSON: {error}"))
    })
}

/// A cell's summary as `show` prints it: the object of `summary.json`, which a grid has in its `cells`, with
/// `schema`, `version` and the cell's `folder` before it.
pub(crate) fn cell(summary: &Summary, folder: &Path) -> Result<String, Failure> {
    let (fields, folder) = (line(summary)?, line(&folder.display().to_string())?);
    let fields = fields.strip_prefix('{').unwrap_or(&fields);
    Ok(format!("{{\"schema\":\"{CELL}\",\"version\":{VERSION},\"folder\":{folder},{fields}"))
}

/// The schema of that object.
pub(crate) fn cell_schema() -> Schema {
    let mut schema = schema_for!(Summary);
    schema.insert("title".to_owned(), json!("CellRecord"));
    let object = schema.ensure_object();
    if let Some(properties) = object.get_mut("properties").and_then(|value| value.as_object_mut()) {
        let text = json!({"type": "string", "description": "Always `\"arcbench.cell\"`."});
        let number = json!({"type": "integer", "description": "Version of this format: 1."});
        properties.insert("schema".to_owned(), text);
        properties.insert("version".to_owned(), number);
        let folder = json!({"type": "string", "description": "The cell's folder."});
        properties.insert("folder".to_owned(), folder);
    }
    if let Some(required) = object.get_mut("required").and_then(|value| value.as_array_mut()) {
        required.extend([json!("schema"), json!("version"), json!("folder")]);
    }
    schema
}

/// Help, or the version, as an object.
pub(crate) fn help(text: &str) -> Result<String, Failure> {
    line(&HelpRecord { schema: "arcbench.help", version: VERSION, text: text.trim_end().to_owned() })
}

/// What `--help`, `--version` and `run --metric help` print.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HelpRecord {
    /// Always `"arcbench.help"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The text as it is printed otherwise.
    pub(crate) text: String,
}

/// What `list` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListRecord {
    /// Always `"arcbench.list"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The scenario's name.
    pub(crate) scenario: String,
    /// The cells that it would run, in order.
    pub(crate) cells: Vec<ListedCell>,
}

/// One cell of a scenario.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListedCell {
    /// The cell's id, which will name its folder.
    pub(crate) cell: String,
    /// The operator hop's profile.
    pub(crate) profile: String,
    /// The name of the settings.
    pub(crate) settings: String,
    /// The seed index, as text.
    pub(crate) seed: String,
    /// How long there is traffic, in seconds.
    pub(crate) duration_s: f64,
    /// About how many packets it sends on both hops where nothing is lost or left out.
    pub(crate) packets_estimated: u64,
}

/// What `check` prints when nothing is wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckRecord {
    /// Always `"arcbench.check"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// Always true: what is wrong is an `arcbench.error`.
    pub(crate) ok: bool,
    /// The scenario's name.
    pub(crate) scenario: String,
    /// How many cells it names.
    pub(crate) cells: usize,
    /// Profiles of these cells, in order.
    pub(crate) profiles: Vec<String>,
    /// Settings of these cells, in order.
    pub(crate) settings: Vec<String>,
    /// Seeds of these cells as text, in order.
    pub(crate) seeds: Vec<String>,
    /// What may be as it is and yet is hardly meant, a sentence each.
    pub(crate) warnings: Vec<String>,
}

/// What a command prints in place of its result when it fails.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorRecord {
    /// Always `"arcbench.error"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The exit code.
    pub(crate) exit_code: u8,
    /// What is wrong, as on stderr.
    pub(crate) message: String,
    /// What to try; `null` where nothing is known.
    pub(crate) help: Option<String>,
    /// Each thing that is wrong in a file, in the file's order; empty where it is not about a file.
    pub(crate) problems: Vec<ProblemRecord>,
}

/// One thing that is wrong in a file, or in an argument.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ProblemRecord {
    /// The file, or the argument.
    pub(crate) file: String,
    /// The line, from 1; `null` where it is about the whole.
    pub(crate) line: Option<usize>,
    /// The column, from 1.
    pub(crate) column: Option<usize>,
    /// What is wrong.
    pub(crate) message: String,
    /// What to do about it; `null` where that is not known.
    pub(crate) help: Option<String>,
}

/// What `doctor` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorRecord {
    /// Always `"arcbench.doctor"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The program.
    pub(crate) arcbench: BuildRecord,
    /// Facts about the machine by name.
    pub(crate) host: BTreeMap<String, String>,
    /// What was tried.
    pub(crate) checks: Vec<DoctorCheck>,
}

/// The program itself.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BuildRecord {
    /// Its version.
    pub(crate) version: String,
    /// The commit it was built from, where known.
    pub(crate) commit: Option<String>,
    /// The compiler.
    pub(crate) rustc: String,
    /// Whether it is a debug or a release build.
    pub(crate) profile: String,
}

/// One thing that was tried.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DoctorCheck {
    /// What.
    pub(crate) name: String,
    /// `ok`, `note`, `unsupported` or `broken`.
    pub(crate) state: String,
    /// What came of it.
    pub(crate) text: String,
}

/// What `cdf` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CdfRecord {
    /// Always `"arcbench.cdf"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The folder that was read, of a run or of a cell.
    pub(crate) folder: String,
    /// The camera that was asked for; `null` for the main one.
    pub(crate) camera: Option<String>,
    /// A curve for each profile and settings.
    pub(crate) curves: Vec<CdfCurve>,
}

/// How late one camera's frames were.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CdfCurve {
    /// The operator hop's profile.
    pub(crate) profile: String,
    /// The name of the settings.
    pub(crate) settings: String,
    /// Frames made.
    pub(crate) produced: usize,
    /// Frames that came.
    pub(crate) delivered: usize,
    /// Percentiles over all produced frames, in milliseconds, by names like `p50`; `null` where the frame at that
    /// rank never came.
    pub(crate) delay_all_ms: Named<Option<f64>>,
}

/// What `show --at` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MomentsRecord {
    /// Always `"arcbench.moments"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The cell's id.
    pub(crate) cell: String,
    /// The cell's folder.
    pub(crate) folder: String,
    /// Begin of the time that is told, in seconds of the traffic.
    pub(crate) from_s: f64,
    /// Its end.
    pub(crate) to_s: f64,
    /// What happened, in order.
    pub(crate) moments: Vec<MomentRecord>,
}

/// One thing that happened.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MomentRecord {
    /// When, in seconds of the traffic.
    pub(crate) t_s: f64,
    /// What kind of thing: `frame`, `sent`, `resend`, `lost`, `queue`, `freeze`, `skip`, `resize`, `hand`, `session`.
    pub(crate) what: &'static str,
    /// What happened.
    pub(crate) text: String,
}

/// What `replay` prints when the cell came to the same.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ReplayRecord {
    /// Always `"arcbench.replay"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The cell's id.
    pub(crate) cell: String,
    /// Always true: another result is an `arcbench.error` with exit code 13.
    pub(crate) same: bool,
    /// The trace hash of both.
    pub(crate) trace_hash: String,
    /// Packets sent on all links.
    pub(crate) packets: u64,
    /// What was written.
    pub(crate) written: Vec<WrittenRecord>,
}

/// One file, or folder of files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WrittenRecord {
    /// What it is: `packets`, `qlog`, `trace`, `pcap` or `keylog`.
    pub(crate) what: String,
    /// Where it is.
    pub(crate) path: String,
    /// How large.
    pub(crate) bytes: u64,
    /// How many lines, events, packets or secrets it has.
    pub(crate) events: u64,
}

/// What `fates` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FatesRecord {
    /// Always `"arcbench.fates"`.
    pub(crate) schema: &'static str,
    /// Version of this format: 1.
    pub(crate) version: u32,
    /// The profile of the link.
    pub(crate) profile: String,
    /// The seed, as text.
    pub(crate) seed: String,
    /// `up` or `down`.
    pub(crate) direction: String,
    /// Whether no backend gave a packet another fate than the model.
    pub(crate) equal: bool,
    /// A part for each backend that was asked for.
    pub(crate) backends: Vec<BackendRecord>,
}

/// The fates by one backend.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackendRecord {
    /// Its name.
    pub(crate) backend: String,
    /// Whether it promises the model's fates.
    pub(crate) exact: bool,
    /// Each packet's, in the order they were sent.
    pub(crate) fates: Vec<FateRecord>,
    /// The model's, of packets sent at the same times: what those of a real link are compared with. `null` for the
    /// model itself.
    pub(crate) model: Option<Vec<FateRecord>>,
    /// Numbers of the packets with another fate than the model's.
    pub(crate) differences: Vec<usize>,
    /// How late a real link's packets came against the model, in microseconds; `null` for the model.
    pub(crate) late_us: Option<LatenessRecord>,
    /// How a real link fared; `null` for the model.
    pub(crate) report: Option<LinkReportRecord>,
}

/// How late packets came, in microseconds; negative is early.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LatenessRecord {
    /// How many packets.
    pub(crate) count: u64,
    /// The least.
    pub(crate) min: f64,
    /// The median.
    pub(crate) p50: f64,
    /// The 99th percentile.
    pub(crate) p99: f64,
    /// The most.
    pub(crate) max: f64,
}

/// One packet's fate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FateRecord {
    /// When it was sent, in microseconds.
    pub(crate) sent_us: f64,
    /// `delivered`, `lost`, `queue full` or `outage`.
    pub(crate) fate: &'static str,
    /// How long it was under way, in microseconds; `null` where it was not delivered.
    pub(crate) delay_us: Option<f64>,
}

/// How a real link fared.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LinkReportRecord {
    /// How late packets were released.
    pub(crate) release_lag_us: LagRecord,
    /// How late packets were taken in.
    pub(crate) arrival_lag_us: LagRecord,
    /// Packets that were not the bench's.
    pub(crate) strays: u64,
    /// Packets for which a socket had no room.
    pub(crate) socket_drops: u64,
    /// Packets that could not be sent.
    pub(crate) send_failures: u64,
    /// Processor time, in seconds.
    pub(crate) cpu_s: f64,
    /// Time it took, in seconds.
    pub(crate) wall_s: f64,
    /// What else there is to know.
    pub(crate) notes: Vec<String>,
}

/// How late something was, in microseconds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LagRecord {
    /// How many were measured.
    pub(crate) count: u64,
    /// The median.
    pub(crate) p50: f64,
    /// The 99th percentile.
    pub(crate) p99: f64,
    /// The most.
    pub(crate) max: f64,
}

const CELL: &str = "arcbench.cell";
