//! The same cells in the simulator and for real, metric by metric, against stated tolerances.
//!
//! The tolerances are what a reader may expect of the simulator; they are fixed and not taken from any result. A real
//! cell whose machine was too noisy gets no verdict, since its numbers are the machine's. Called by the command line.
//!
//! Some cells have no single value to hit: under a law that halves its window at each loss, which frame a loss falls on
//! decides what follows, and a fraction of a millisecond decides that. So the simulator runs a cell that differs some times more,
//! with a machine's lateness added on the robot's hop. Where its own figures are then further apart than the tolerance, a
//! real one among them is `chaotic` and no more can be said; it counts neither for the simulator nor against it.

use bench::Summary;
use bench::metrics::summary::{HostSummary, Status};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize};

use crate::metric::{Metric, Value};
use crate::sheet::{Align, Sheet};

/// What `arcbench confirm --format json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmResult {
    /// Always `"arcbench.confirm"`.
    pub schema: String,
    /// Version of this format: 1.
    pub version: u32,
    /// The id of the run that has the real cells.
    pub run: String,
    /// What carried the packets of the real cells.
    pub backend: String,
    /// How many rows have each verdict.
    pub verdicts: ConfirmCounts,
    /// One for each cell, in the scenario's order.
    pub cells: Vec<ConfirmCell>,
}

/// How many rows have each verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmCounts {
    /// Within the tolerance.
    pub agrees: usize,
    /// Beyond it, where the simulator's own figures are as far apart.
    pub chaotic: usize,
    /// Beyond it.
    pub differs: usize,
    /// The machine was too noisy to tell.
    pub tainted: usize,
    /// There is nothing to compare.
    pub failed: usize,
}

/// One cell, both ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmCell {
    /// The operator hop's profile.
    pub profile: String,
    /// The name of the settings.
    pub settings: String,
    /// The seed index, as text.
    pub seed: String,
    /// Real runs of the cell that came to their end.
    pub repeats: usize,
    /// Those of them that the real figures are taken of: the ones that are not tainted, or all if every one is.
    pub repeats_used: usize,
    /// Why runs of it are not to be trusted, a text for each.
    pub tainted: Vec<String>,
    /// Why runs of it came to no end, a text for each.
    pub errors: Vec<String>,
    /// How steady the machine was, for each run that came to its end.
    pub host: Vec<HostSummary>,
    /// One for each metric.
    pub rows: Vec<ConfirmRow>,
}

/// One metric of a cell, both ways.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConfirmRow {
    /// The metric, by the name that `--metric` has for it.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// In the simulator; `null` when it is infinite or there is nothing to measure it on.
    pub sim: Option<f64>,
    /// The least in the simulator when packets are some tenths of a millisecond late; `null` when any
    /// has no finite number, and where that was not tried because nothing of the cell differs.
    pub sim_min: Option<f64>,
    /// The most, likewise.
    pub sim_max: Option<f64>,
    /// For real, the mean of the runs used; `null` as for `sim`.
    pub real: Option<f64>,
    /// `real` less `sim`.
    pub difference: Option<f64>,
    /// How large the difference may be.
    pub tolerance: f64,
    /// The largest less the smallest of the real runs used: what the machine alone makes; `null` of fewer than two.
    pub spread: Option<f64>,
    /// Whether the difference is within the tolerance.
    pub within: bool,
    /// What it comes down to.
    pub verdict: ConfirmVerdict,
}

/// What a row comes down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConfirmVerdict {
    /// Within the tolerance.
    Agrees,
    /// Beyond it, but no further than the tolerance from what the simulator itself gives when it is a little late, and
    /// that is further apart than the tolerance.
    Chaotic,
    /// Beyond it.
    Differs,
    /// The machine was too noisy to tell.
    Tainted,
    /// There is nothing to compare.
    Failed,
}

impl ConfirmVerdict {
    /// The word that is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Chaotic => "chaotic",
            Self::Differs => "differs",
            Self::Tainted => "tainted",
            Self::Failed => "failed",
        }
    }
}

/// Schema of a [`ConfirmResult`].
pub fn confirm_schema() -> Schema {
    schema_for!(ConfirmResult)
}

impl ConfirmResult {
    /// Puts cells together.
    pub fn new(run: impl Into<String>, backend: impl Into<String>, cells: Vec<ConfirmCell>) -> Self {
        let mut verdicts = ConfirmCounts::default();
        for row in cells.iter().flat_map(|cell| &cell.rows) {
            *match row.verdict {
                ConfirmVerdict::Agrees => &mut verdicts.agrees,
                ConfirmVerdict::Chaotic => &mut verdicts.chaotic,
                ConfirmVerdict::Differs => &mut verdicts.differs,
                ConfirmVerdict::Tainted => &mut verdicts.tainted,
                ConfirmVerdict::Failed => &mut verdicts.failed,
            } += 1;
        }
        let (run, backend) = (run.into(), backend.into());
        Self { schema: "arcbench.confirm".to_owned(), version: 1, run, backend, verdicts, cells }
    }

    /// A row for each cell and metric. `rounded` for reading, with as many digits as the metric is worth.
    pub fn sheet(&self, rounded: bool) -> Sheet {
        let repeated = self.cells.iter().any(|cell| cell.repeats_used > 1);
        let mut columns = vec![("profile", Align::Left), ("settings", Align::Left), ("seed", Align::Right)];
        columns.extend([("metric", Align::Left), ("sim", Align::Right), ("sim range", Align::Right)]);
        columns.push(("real", Align::Right));
        columns.extend([("diff", Align::Right), ("may", Align::Right)]);
        if repeated {
            columns.push(("spread", Align::Right));
        }
        columns.push(("verdict", Align::Left));
        let mut sheet = Sheet::new(columns);
        for cell in &self.cells {
            for row in &cell.rows {
                let decimals = Metric::find(&row.metric).map_or(3, |metric| metric.decimals);
                let number = |number: Option<f64>| match number {
                    Some(number) if rounded => format!("{number:.decimals$}"),
                    Some(number) => number.to_string(),
                    None => "-".to_owned(),
                };
                let mut texts = vec![cell.profile.clone(), cell.settings.clone(), cell.seed.clone()];
                let range = row.sim_min.zip(row.sim_max);
                let range =
                    range.map(|(least, most)| format!("{}..{}", number(Some(least)), number(Some(most))));
                texts.extend([row.metric.clone(), number(row.sim), range.unwrap_or_else(|| "-".to_owned())]);
                texts.push(number(row.real));
                texts.extend([number(row.difference), row.tolerance.to_string()]);
                if repeated {
                    texts.push(number(row.spread));
                }
                texts.push(row.verdict.word().to_owned());
                sheet.row(texts);
            }
        }
        sheet
    }

    /// Why cells have no verdict, a line each.
    pub fn reasons(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for cell in &self.cells {
            let name = format!("{}/{} seed {}", cell.profile, cell.settings, cell.seed);
            lines.extend(cell.tainted.iter().map(|why| format!("{name}: tainted: {why}")));
            lines.extend(cell.errors.iter().map(|why| format!("{name}: failed: {why}")));
        }
        lines
    }
}

/// Compares one cell: `sim` in the simulator, `late` there with a little lateness added, `real` each time it was run for
/// real.
pub fn confirm(sim: &Summary, late: &[Summary], real: &[Summary]) -> ConfirmCell {
    let ended: Vec<&Summary> = real.iter().filter(|cell| cell.status == Status::Ok).collect();
    let clean: Vec<&Summary> = ended.iter().copied().filter(|cell| cell.tainted.is_none()).collect();
    let tainted = clean.is_empty();
    let used = if tainted { &ended } else { &clean };
    let failed = used.is_empty() || sim.status != Status::Ok;
    let rows = TOLERANCES.iter().filter_map(|(name, tolerance)| {
        let metric = Metric::find(name).ok()?;
        let values: Vec<Value> = used.iter().map(|cell| metric.of(cell)).collect();
        let late: Vec<Value> = late.iter().map(|cell| metric.of(cell)).collect();
        let mut row = row(metric, *tolerance, metric.of(sim), &late, &values);
        row.verdict = match row.verdict {
            _ if failed => ConfirmVerdict::Failed,
            _ if tainted => ConfirmVerdict::Tainted,
            verdict => verdict,
        };
        Some(row)
    });
    let errors = std::iter::once(sim).chain(real).filter_map(|cell| cell.error.clone());
    ConfirmCell {
        profile: sim.profile.clone(),
        settings: sim.settings.clone(),
        seed: sim.seed.clone(),
        repeats: ended.len(),
        repeats_used: used.len(),
        tainted: ended.iter().filter_map(|cell| cell.tainted.clone()).collect(),
        errors: errors.collect(),
        host: ended.iter().filter_map(|cell| cell.host.clone()).collect(),
        rows: rows.collect(),
    }
}

fn row(metric: &Metric, tolerance: f64, sim: Value, late: &[Value], real: &[Value]) -> ConfirmRow {
    let numbers: Option<Vec<f64>> = real.iter().map(|value| value.number()).collect();
    let numbers = numbers.filter(|numbers| !numbers.is_empty());
    let mean = numbers.as_ref().map(|numbers| numbers.iter().sum::<f64>() / numbers.len() as f64);
    let spread = numbers.filter(|numbers| numbers.len() > 1).map(|numbers| {
        let (least, most) = range(&numbers);
        most - least
    });
    let simulated: Option<Vec<f64>> = std::iter::once(&sim).chain(late).map(|value| value.number()).collect();
    let simulated = simulated.filter(|numbers| numbers.len() > 1);
    let (sim_min, sim_max) = simulated.map(|numbers| range(&numbers)).unzip();
    let chaotic = mean.zip(sim_min.zip(sim_max)).is_some_and(|(real, (least, most))| {
        most - least > tolerance && (least - tolerance..=most + tolerance).contains(&real)
    });
    let difference = mean.zip(sim.number()).map(|(real, sim)| real - sim);
    // Infinite, or nothing to measure it on, both ways is the same too.
    let within = match difference {
        Some(difference) => difference.abs() <= tolerance,
        None => !real.is_empty() && real.iter().all(|value| *value == sim),
    };
    let verdict = match (within, chaotic) {
        (true, _) => ConfirmVerdict::Agrees,
        (false, true) => ConfirmVerdict::Chaotic,
        (false, false) => ConfirmVerdict::Differs,
    };
    let (metric, unit) = (metric.name.to_owned(), metric.unit.to_owned());
    ConfirmRow {
        metric,
        unit,
        sim: sim.number(),
        sim_min,
        sim_max,
        real: mean,
        difference,
        tolerance,
        spread,
        within,
        verdict,
    }
}

/// The least and the most.
fn range(numbers: &[f64]) -> (f64, f64) {
    let fold = |of: fn(f64, f64) -> f64, from| numbers.iter().copied().fold(from, of);
    (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY))
}

/// The metrics that are compared, and how far they may be apart, in the metric's unit.
///
/// Two points of delivered frames is how far the runs of the seed matrix's source are from each other. The delays are a
/// small part of what an operator notices: a fifth of a pose's interval at the median, less than a camera's at p95.
/// A second a minute frozen is about three freezes.
const TOLERANCES: &[(&str, f64)] =
    &[("delivered", 2.0), ("delay-p50", 3.0), ("delay-p95", 10.0), ("hand-p50", 3.0), ("frozen", 1.0)];

#[cfg(test)]
mod tests {
    use bench::Named;
    use bench::metrics::summary::{AllSummary, CameraSummary, DelaySummary, HandSummary};

    use super::*;

    fn summary(p50: Option<f64>, tainted: Option<&str>) -> Summary {
        let camera = CameraSummary {
            produced: 100,
            delivered: 99,
            delivered_ratio: Some(0.99),
            delay_ms: DelaySummary { p50, p95: p50, ..DelaySummary::default() },
            ..CameraSummary::default()
        };
        Summary {
            profile: "p".to_owned(),
            settings: "s".to_owned(),
            seed: "1".to_owned(),
            cameras: Named(vec![("main".to_owned(), camera)]),
            all: AllSummary { frozen_s_per_min: Some(0.0), ..AllSummary::default() },
            hand_to_command_ms: HandSummary { p50: Some(9.0), ..HandSummary::default() },
            tainted: tainted.map(str::to_owned),
            ..Summary::default()
        }
    }

    fn verdict(sim: &Summary, real: &[Summary]) -> ConfirmVerdict {
        confirm(sim, &[], real).rows[1].verdict
    }

    #[test]
    fn a_verdict_is_by_the_tolerance_and_only_of_clean_cells() {
        let sim = summary(Some(100.0), None);
        assert_eq!(confirm(&sim, &[], &[]).rows.len(), TOLERANCES.len());
        assert_eq!(verdict(&sim, &[summary(Some(102.9), None)]), ConfirmVerdict::Agrees);
        assert_eq!(verdict(&sim, &[summary(Some(96.9), None)]), ConfirmVerdict::Differs);
        assert_eq!(verdict(&sim, &[summary(Some(102.9), Some("busy"))]), ConfirmVerdict::Tainted);
        assert_eq!(
            verdict(&sim, &[Summary { status: Status::Failed, ..sim.clone() }]),
            ConfirmVerdict::Failed
        );
        assert_eq!(verdict(&sim, &[summary(None, None)]), ConfirmVerdict::Differs);
        assert_eq!(verdict(&summary(None, None), &[summary(None, None)]), ConfirmVerdict::Agrees);
    }

    #[test]
    fn a_figure_among_the_simulators_own_is_chaotic_only_where_those_are_far_apart() {
        let sim = summary(Some(100.0), None);
        let verdict = |late: f64, real: f64| {
            let cell = confirm(&sim, &[summary(Some(late), None)], &[summary(Some(real), None)]);
            cell.rows[1].verdict
        };
        assert_eq!(verdict(150.0, 140.0), ConfirmVerdict::Chaotic);
        assert_eq!(verdict(150.0, 154.0), ConfirmVerdict::Differs);
        assert_eq!(verdict(150.0, 102.0), ConfirmVerdict::Agrees);
        assert_eq!(verdict(102.0, 104.0), ConfirmVerdict::Differs, "the cell is calm");
    }

    #[test]
    fn repeats_give_mean_and_spread_and_tainted_ones_are_left_out() {
        let sim = summary(Some(100.0), None);
        let real = [Some(101.0), Some(103.0)].map(|p50| summary(p50, None));
        let cell = confirm(&sim, &[], &[&real[..], &[summary(Some(300.0), Some("busy"))]].concat());
        assert_eq!((cell.repeats, cell.repeats_used, cell.tainted.len()), (3, 2, 1));
        let row = &cell.rows[1];
        assert_eq!((row.real, row.difference, row.spread), (Some(102.0), Some(2.0), Some(2.0)));
        let result = ConfirmResult::new("run", "userspace", vec![cell]);
        assert_eq!(result.verdicts.agrees, TOLERANCES.len());
        assert!(result.sheet(true).csv().contains("p,s,1,delay-p50,100.0,-,102.0,2.0,3,2.0,agrees"));
        assert_eq!(result.reasons(), ["p/s seed 1: tainted: busy"]);
    }
}
