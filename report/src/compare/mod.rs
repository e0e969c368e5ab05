//! Two sides of the same cells, before and after: what got better, what got worse, and what the seeds
//! cannot tell.
//!
//! Cells are paired by profile and seed, which under two settings meet the same link. A [`Row`] is
//! one metric of one profile; its [`Verdict`] needs a difference that matters
//! ([`Metric::minimum_effect`]), an interval and a test (`bench::statistics::paired`). How it looks
//! is [`text`]'s, how it is read by programs [`record`]'s. Which cells belong together is for the
//! caller to say; nothing here reads a file.

pub mod record;
pub mod text;

use bench::Summary;
use bench::metrics::summary::Status;
use bench::statistics::enough::seeds_enough;
use bench::statistics::paired::{benjamini_hochberg, bootstrap_interval, sign_flip_p, signed_ranks};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::metric::{Better, Metric, Value};

/// The cells of one profile, and of one settings on either side.
#[derive(Debug, Clone)]
pub struct Group<'a> {
    /// The profile of all of them.
    pub profile: String,
    /// The settings before.
    pub before: String,
    /// The settings after.
    pub after: String,
    /// Cells of the same seed, before and after.
    pub pairs: Vec<(&'a Summary, &'a Summary)>,
}

/// What a row comes down to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It got worse, surely and by more than the smallest difference that matters.
    Worse,
    /// The seeds at hand do not tell.
    TooFewSeeds,
    /// What difference there is, is surely below what matters.
    Same,
    /// It got better, surely and by more than the smallest difference that matters.
    Better,
}

impl Verdict {
    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::TooFewSeeds => "too-few-seeds",
            Self::Same => "same",
            Self::Better => "better",
        }
    }
}

/// One metric of one group, compared.
#[derive(Debug, Clone)]
pub struct Row {
    /// The profile.
    pub profile: String,
    /// The settings before and after.
    pub settings: (String, String),
    /// What is looked at.
    pub metric: &'static Metric,
    /// Seeds that have a value on both sides.
    pub seeds: usize,
    /// The means over these seeds; `None` where any of them is infinite.
    pub means: (Option<f64>, Option<f64>),
    /// Seeds in which the value is infinite, before and after.
    pub lost: (usize, usize),
    /// The mean of after less before; `None` where it is infinite.
    pub difference: Option<f64>,
    /// Its 95 % interval; `None` with fewer than two seeds, or where a difference is infinite.
    pub interval: Option<(f64, f64)>,
    /// Seeds in which after is better, and in which it is worse.
    pub better_worse: (usize, usize),
    /// The p-value of the sign-flip test.
    pub p: f64,
    /// The same, adjusted for all rows (Benjamini and Hochberg).
    pub p_adjusted: f64,
    /// What it comes down to.
    pub verdict: Verdict,
    /// How many seeds would probably tell, where these do not: an estimate ([`bench::statistics::enough`]); `None` where
    /// these do, or nothing can be said.
    pub seeds_enough: Option<usize>,
    /// How much worse it got, in smallest differences that matter: infinite where something is newly
    /// lost, negative where it got better.
    pub harm: f64,
}

/// All rows, the worst regression first.
#[derive(Debug, Clone, Default)]
pub struct Compared {
    /// By verdict and then by harm.
    pub rows: Vec<Row>,
    /// Pairs of cells that were compared.
    pub pairs: usize,
}

impl Compared {
    /// Compares `metrics` in all `groups`. What a group has no values of is left out.
    pub fn new(groups: &[Group<'_>], metrics: &[&'static Metric]) -> Self {
        let mut drafts: Vec<Draft> = Vec::new();
        for group in groups {
            drafts.extend(metrics.iter().filter_map(|metric| Draft::new(group, metric)));
        }
        let adjusted = benjamini_hochberg(&drafts.iter().map(|draft| draft.row.p).collect::<Vec<_>>());
        drafts.iter_mut().zip(adjusted).for_each(|(draft, p)| draft.judge(p));
        // With more seeds, as many results as differ by what matters would share the adjustment.
        let differing = drafts.iter().filter(|draft| draft.row.harm.abs() >= 1.0).count().max(1);
        let significant = SIGNIFICANT * differing as f64 / drafts.len().max(1) as f64;
        let mut rows: Vec<Row> = drafts.into_iter().map(|draft| draft.planned(significant)).collect();
        rows.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(b.harm.total_cmp(&a.harm)));
        Self { rows, pairs: groups.iter().map(|group| finished(group).count()).sum() }
    }

    /// How many rows have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.verdict == verdict).count()
    }

    /// How many seeds would probably settle the open results, and how many of these; `None` if nothing can be said of
    /// any.
    pub fn seeds_enough(&self) -> Option<(usize, usize)> {
        let wanted = || self.rows.iter().filter_map(|row| row.seeds_enough);
        Some((wanted().max()?, wanted().count()))
    }

    /// Whether a row without a verdict leans to the worse by as much as matters.
    pub fn leans_worse(&self) -> bool {
        self.rows.iter().any(|row| row.verdict == Verdict::TooFewSeeds && row.harm >= 1.0)
    }
}

/// Pairs of which both ran to their end.
fn finished<'a>(group: &'a Group<'_>) -> impl Iterator<Item = &'a (&'a Summary, &'a Summary)> {
    group.pairs.iter().filter(|(a, b)| a.status == Status::Ok && b.status == Status::Ok)
}

/// A row before all rows are known.
struct Draft {
    row: Row,
    /// The interval, on ranks where a difference is infinite.
    tested: Option<(f64, f64)>,
    /// After less before, for each seed.
    differences: Vec<f64>,
}

impl Draft {
    fn new(group: &Group<'_>, metric: &'static Metric) -> Option<Self> {
        let values: Vec<(f64, f64)> = finished(group)
            .filter_map(|(a, b)| Some((number(metric.of(a))?, number(metric.of(b))?)))
            .collect();
        if values.is_empty() {
            return None;
        }
        // Two infinite values are equal.
        let differences: Vec<f64> = values
            .iter()
            .map(|(a, b)| if a.is_infinite() && b.is_infinite() { 0.0 } else { b - a })
            .collect();
        let infinite = differences.iter().any(|difference| difference.is_infinite());
        let tested = if infinite { signed_ranks(&differences) } else { differences.clone() };
        let interval = bootstrap_interval(&tested);
        let mean = |values: &[f64]| bench::statistics::mean(values).filter(|mean| mean.is_finite());
        let (before, after): (Vec<f64>, Vec<f64>) = values.iter().copied().unzip();
        let lost = |values: &[f64]| values.iter().filter(|value| value.is_infinite()).count();
        let worsening = |difference: &f64| match metric.better {
            Better::Higher => -difference,
            Better::Lower => *difference,
        };
        let seeds_where =
            |wanted: fn(f64) -> bool| differences.iter().filter(|d| wanted(worsening(d))).count();
        let difference = mean(&differences);
        let row = Row {
            profile: group.profile.clone(),
            settings: (group.before.clone(), group.after.clone()),
            metric,
            seeds: values.len(),
            means: (mean(&before), mean(&after)),
            lost: (lost(&before), lost(&after)),
            difference,
            interval: interval.filter(|_| !infinite),
            better_worse: (
                seeds_where(|worsening| worsening < 0.0),
                seeds_where(|worsening| worsening > 0.0),
            ),
            p: sign_flip_p(&tested),
            p_adjusted: 1.0,
            verdict: Verdict::TooFewSeeds,
            seeds_enough: None,
            harm: harm(metric, difference, &differences, worsening),
        };
        Some(Self { row, tested: interval, differences })
    }

    fn judge(&mut self, p_adjusted: f64) {
        (self.row.verdict, self.row.p_adjusted) = (self.verdict(p_adjusted), p_adjusted);
    }

    /// The row, with how many seeds would tell where a test must reach `significant`.
    fn planned(self, significant: f64) -> Row {
        let open = self.row.verdict == Verdict::TooFewSeeds;
        let enough = || seeds_enough(&self.differences, self.row.metric.minimum_effect(), significant);
        Row { seeds_enough: if open { enough() } else { None }, ..self.row }
    }

    fn verdict(&self, p_adjusted: f64) -> Verdict {
        let row = &self.row;
        let least = row.metric.minimum_effect();
        let within = |(low, high): (f64, f64)| low > -least && high < least;
        // One seed without any difference is the same; of any other nothing can be said.
        let same = row.interval.map_or(row.difference == Some(0.0), within);
        if same {
            return Verdict::Same;
        }
        let apart = self.tested.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        if !apart || p_adjusted > SIGNIFICANT {
            return Verdict::TooFewSeeds;
        }
        match row.harm {
            harm if harm >= 1.0 => Verdict::Worse,
            harm if harm <= -1.0 => Verdict::Better,
            _ => Verdict::TooFewSeeds,
        }
    }
}

/// How much worse it got, in smallest differences that matter.
fn harm(
    metric: &Metric,
    difference: Option<f64>,
    differences: &[f64],
    worsening: impl Fn(&f64) -> f64,
) -> f64 {
    if let Some(difference) = difference {
        return worsening(&difference) / metric.minimum_effect();
    }
    let newly = |end: f64| differences.iter().filter(|d| worsening(d).total_cmp(&end).is_eq()).count();
    match newly(f64::INFINITY).cmp(&newly(f64::NEG_INFINITY)) {
        std::cmp::Ordering::Greater => f64::INFINITY,
        std::cmp::Ordering::Less => f64::NEG_INFINITY,
        std::cmp::Ordering::Equal => 0.0,
    }
}

/// A value as a number, infinite where it is lost.
fn number(value: Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(number),
        Value::Lost => Some(f64::INFINITY),
        Value::Absent => None,
    }
}

/// The share of false discoveries among all rows that are called better or worse.
pub const SIGNIFICANT: f64 = 0.05;
/// With fewer seeds the test cannot reach [`SIGNIFICANT`]: 2⁻⁴ is above it, 2⁻⁵ below.
pub const SEEDS_ENOUGH: usize = 6;

#[cfg(test)]
mod tests;
