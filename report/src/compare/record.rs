//! A comparison as JSON: what `arcbench compare --format json` prints. Fields may be added; these keep
//! their names.

use bench::metrics::GateRow;
use bench::statistics::enough::POWER;
use bench::statistics::paired::{RANDOM_SEED, RESAMPLES};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use super::{Compared, Row, SIGNIFICANT, Verdict};

/// Two sides compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CompareResult {
    /// Always `"arcbench.compare"`.
    pub schema: String,
    /// Version of this format: 1.
    pub version: u32,
    /// What is compared with.
    pub before: SideRecord,
    /// What is compared.
    pub after: SideRecord,
    /// How the numbers were made.
    pub method: MethodRecord,
    /// Pairs of cells, of the same profile and seed, that were compared.
    pub pairs: usize,
    /// How many rows have each verdict.
    pub verdicts: VerdictCounts,
    /// How many seeds would probably be enough for all results whose `seeds_enough` is a number; `null` where there is none.
    pub seeds_enough: Option<usize>,
    /// A row for each metric, profile and settings: worse, too-few-seeds, same, better, and within
    /// each the most worsened first.
    pub rows: Vec<RowRecord>,
    /// How the gates that were asked for fared, on the cells of `after`; not there when there were
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateRow>,
}

/// One side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SideRecord {
    /// The run's id.
    pub run: String,
    /// The run's folder, by a path from where the command was given.
    pub folder: String,
    /// The settings, where one was chosen; `null` when all are compared by name.
    pub settings: Option<String>,
    /// Ids of finished cells that have no finished counterpart on the other side.
    pub unpaired: Vec<String>,
}

/// How the numbers were made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MethodRecord {
    /// Bootstrap resamples of each interval.
    pub resamples: usize,
    /// The seed of all random draws, as text: the same cells give the same numbers.
    pub random_seed: String,
    /// What the intervals cover.
    pub confidence: f64,
    /// What `p_adjusted` must not be above for a verdict of better or worse.
    pub significant: f64,
    /// In what share of cases `seeds_enough` seeds would tell.
    pub power: f64,
}

/// How many rows have each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictCounts {
    /// Worse.
    pub worse: usize,
    /// The seeds do not tell.
    pub too_few_seeds: usize,
    /// The same.
    pub same: usize,
    /// Better.
    pub better: usize,
}

/// One metric of one profile, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowRecord {
    /// What it comes down to.
    pub verdict: Verdict,
    /// The profile.
    pub profile: String,
    /// The settings before.
    pub settings_before: String,
    /// The settings after.
    pub settings_after: String,
    /// The metric, by the name that `--metric` has for it.
    pub metric: String,
    /// The unit of all its numbers.
    pub unit: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// The smallest difference that matters.
    pub minimum_effect: f64,
    /// Seeds that have a value on both sides.
    pub seeds: usize,
    /// About how many seeds would tell in `power` of all cases, were mean and spread of the differences as measured: an
    /// estimate, the rougher the fewer seeds there are. `null` where these seeds tell, with one seed, or where it would take
    /// more than 1000.
    pub seeds_enough: Option<usize>,
    /// The mean before; `null` where any seed is infinite.
    pub before: Option<f64>,
    /// The mean after; `null` where any seed is infinite.
    pub after: Option<f64>,
    /// Seeds that are infinite before.
    pub lost_before: usize,
    /// Seeds that are infinite after.
    pub lost_after: usize,
    /// The mean of after less before within each seed; `null` where any is infinite.
    pub difference: Option<f64>,
    /// The lower end of its 95 % interval; `null` with one seed or where a difference is infinite.
    pub interval_low: Option<f64>,
    /// The upper end.
    pub interval_high: Option<f64>,
    /// Seeds in which it got better.
    pub seeds_better: usize,
    /// Seeds in which it got worse.
    pub seeds_worse: usize,
    /// The p-value of the paired sign-flip test.
    pub p: f64,
    /// The same, adjusted for all rows (Benjamini and Hochberg).
    pub p_adjusted: f64,
}

impl CompareResult {
    /// The record of `compared`.
    pub fn new(compared: &Compared, before: SideRecord, after: SideRecord, gates: Vec<GateRow>) -> Self {
        let count = |verdict| compared.count(verdict);
        Self {
            schema: "arcbench.compare".to_owned(),
            version: 1,
            before,
            after,
            method: MethodRecord {
                resamples: RESAMPLES,
                random_seed: RANDOM_SEED.to_string(),
                confidence: 0.95,
                significant: SIGNIFICANT,
                power: POWER,
            },
            pairs: compared.pairs,
            verdicts: VerdictCounts {
                worse: count(Verdict::Worse),
                too_few_seeds: count(Verdict::TooFewSeeds),
                same: count(Verdict::Same),
                better: count(Verdict::Better),
            },
            seeds_enough: compared.seeds_enough().map(|(seeds, _)| seeds),
            rows: compared.rows.iter().map(RowRecord::new).collect(),
            gates,
        }
    }
}

impl RowRecord {
    fn new(row: &Row) -> Self {
        Self {
            verdict: row.verdict,
            profile: row.profile.clone(),
            settings_before: row.settings.0.clone(),
            settings_after: row.settings.1.clone(),
            metric: row.metric.name.to_owned(),
            unit: row.metric.unit.to_owned(),
            higher_is_better: row.metric.better == crate::metric::Better::Higher,
            minimum_effect: row.metric.minimum_effect(),
            seeds: row.seeds,
            seeds_enough: row.seeds_enough,
            before: row.means.0,
            after: row.means.1,
            lost_before: row.lost.0,
            lost_after: row.lost.1,
            difference: row.difference,
            interval_low: row.interval.map(|(low, _)| low),
            interval_high: row.interval.map(|(_, high)| high),
            seeds_better: row.better_worse.0,
            seeds_worse: row.better_worse.1,
            p: row.p,
            p_adjusted: row.p_adjusted,
        }
    }
}

/// Schema of the object that `compare --format json` prints.
pub fn compare_schema() -> Schema {
    schema_for!(CompareResult)
}
