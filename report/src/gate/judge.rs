//! What a gate says of finished cells, and whether a summary has the number that it looks at.

use bench::metrics::GateRow;
use bench::metrics::summary::{CameraSummary, Status};
use bench::netmodel::document::suggest;
use bench::scenario::name_matches;
use bench::{Named, Summary};
use serde_json::Value;

use super::{Comparison, Gate, Known, Over, did_you_mean};
use crate::table::Shape;

impl Gate {
    /// Judges the gate on `cells`: a row for each profile and settings that it names, and for each
    /// camera where it asks for all. A seed that `shape` has room for and that did not end well has no
    /// value, and a row with such a seed fails.
    pub fn judge(&self, shape: &Shape, known: &Known, cells: &[Summary]) -> Vec<GateRow> {
        let mut rows = Vec::new();
        let paths = self.paths(&known.cameras);
        for profile in shape.profiles.iter().filter(|name| name_matches(&self.profile, name)) {
            for settings in shape.settings.iter().filter(|name| name_matches(&self.settings, name)) {
                let cells: Vec<(&String, Option<Value>)> =
                    shape.seeds.iter().map(|seed| (seed, json_of(cells, profile, settings, seed))).collect();
                rows.extend(paths.iter().map(|path| self.row(profile, settings, path, &cells)));
            }
        }
        rows
    }

    fn row(
        &self,
        profile: &str,
        settings: &str,
        path: &[String],
        cells: &[(&String, Option<Value>)],
    ) -> GateRow {
        let values: Vec<(&String, Option<f64>)> = cells
            .iter()
            .map(|(seed, cell)| (*seed, cell.as_ref().and_then(|cell| number(cell, path))))
            .collect();
        let worst = values.iter().max_by(|a, b| self.distance(a.1).total_cmp(&self.distance(b.1)));
        let numbers: Option<Vec<f64>> = values.iter().map(|(_, value)| *value).collect();
        let value = match self.over {
            Over::Mean => numbers.as_deref().and_then(bench::statistics::mean),
            Over::Worst => worst.and_then(|(_, value)| *value),
        };
        GateRow {
            gate: self.text.clone(),
            profile: profile.to_owned(),
            settings: settings.to_owned(),
            field: path.join("."),
            passed: value.is_some_and(|value| self.holds(value)),
            value,
            worst_seed: worst.map(|(seed, _)| (*seed).clone()).unwrap_or_default(),
            worst_value: worst.and_then(|(_, value)| *value),
        }
    }

    fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::AtLeast => value >= self.limit,
            Comparison::AtMost => value <= self.limit,
            Comparison::Above => value > self.limit,
            Comparison::Below => value < self.limit,
            Comparison::Equal => (value - self.limit).abs() == 0.0,
            Comparison::Unequal => (value - self.limit).abs() != 0.0,
        }
    }

    /// How far a value is on the wrong side: larger is worse, and no value is the worst.
    fn distance(&self, value: Option<f64>) -> f64 {
        let Some(value) = value else { return f64::INFINITY };
        match self.comparison {
            Comparison::AtLeast | Comparison::Above => self.limit - value,
            Comparison::AtMost | Comparison::Below => value - self.limit,
            Comparison::Equal => (value - self.limit).abs(),
            Comparison::Unequal => -(value - self.limit).abs(),
        }
    }
}

/// The summary of the finished cell, as JSON.
fn json_of(cells: &[Summary], profile: &str, settings: &str, seed: &str) -> Option<Value> {
    let is = |cell: &&Summary| {
        (cell.profile.as_str(), cell.settings.as_str()) == (profile, settings) && cell.seed_label() == seed
    };
    let cell = cells.iter().filter(|cell| cell.status == Status::Ok).find(is)?;
    serde_json::to_value(cell).ok()
}

fn number(cell: &Value, path: &[String]) -> Option<f64> {
    path.iter().try_fold(cell, |value, key| value.get(key))?.as_f64()
}

/// Whether a summary has a field of this name.
pub(super) fn is_field(name: &str) -> bool {
    example(&[]).get(name).is_some()
}

/// Whether `path` leads to a number in the summary of a cell with `cameras`; otherwise what is wrong
/// and what to try.
pub(super) fn check_path(path: &[String], cameras: &[String]) -> Result<(), (String, Option<String>)> {
    let summary = example(cameras);
    // The first word of a gate's field may name a camera or what stands beside the cameras.
    let tops = |depth: usize| (depth <= 1).then_some(&summary);
    let mut value = &summary;
    for (depth, key) in path.iter().enumerate() {
        let Some(inner) = value.get(key) else {
            return Err((
                format!("there is no `{key}` in {}", place(&path[..depth])),
                near(tops(depth), value, key),
            ));
        };
        value = inner;
    }
    match value {
        Value::Number(_) | Value::Null => Ok(()),
        Value::Object(fields) => {
            let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
            names.sort_unstable();
            let help = format!("it has {}", names.join(", "));
            Err((format!("`{}` is not a number", path.join(".")), Some(help)))
        }
        _ => Err((format!("`{}` is not a number", path.join(".")), None)),
    }
}

fn place(path: &[String]) -> String {
    match path {
        [] => "a cell's summary".to_owned(),
        [cameras] if cameras == "cameras" => "its cameras".to_owned(),
        path => format!("`{}`", path.join(".")),
    }
}

/// What was probably meant by `key`, or what there is.
fn near(top: Option<&Value>, within: &Value, key: &str) -> Option<String> {
    let Value::Object(fields) = within else { return None };
    let names = || fields.keys().map(String::as_str);
    let tops = top.and_then(Value::as_object).into_iter().flat_map(|top| top.keys()).map(String::as_str);
    let near = suggest(key, names()).or_else(|| suggest(key, tops));
    Some(near.map_or_else(|| format!("there are {}", names().collect::<Vec<_>>().join(", ")), did_you_mean))
}

/// A summary with every field, as JSON.
fn example(cameras: &[String]) -> Value {
    let cameras = cameras.iter().map(|name| (name.clone(), CameraSummary::default())).collect::<Named<_>>();
    serde_json::to_value(Summary { cameras, ..Summary::default() }).unwrap_or_default()
}
