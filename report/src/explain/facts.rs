//! Numbers with the place that they come from. A number of the summary is read by the path that is named with
//! it, so that the two cannot differ.

use bench::Summary;
use serde_json::Value;

use super::record::Fact;

/// Makes facts of one cell.
pub(super) struct Facts {
    summary: Value,
    settings: Value,
    settings_path: String,
    profile_path: String,
}

impl Facts {
    pub(super) fn new(summary: &Summary, cell: &bench::Cell) -> Self {
        let plain = "plain data with text keys becomes JSON";
        Self {
            summary: serde_json::to_value(summary).expect(plain),
            settings: serde_json::to_value(&*cell.settings).expect(plain),
            settings_path: format!("settings.{}", key(&cell.settings_name)),
            profile_path: format!("profile.{}", key(&cell.profile.name)),
        }
    }

    /// The number at `path` of the summary.
    pub(super) fn number(&self, path: &str) -> Option<f64> {
        at(&self.summary, path).as_f64()
    }

    /// The same as a fact.
    pub(super) fn summary(&self, what: &str, path: &str, unit: &str) -> Fact {
        Fact { field: Some(path.to_owned()), ..fact(what, self.number(path), unit, "summary.json") }
    }

    /// A setting, as it is written in a scenario.
    pub(super) fn setting(&self, path: &str) -> Fact {
        Fact {
            field: Some(format!("{}.{path}", self.settings_path)),
            word: Some(self.written(path)),
            ..fact(&format!("the setting {path}"), None, "", SCENARIO)
        }
    }

    /// How the setting at `path` is written.
    pub(super) fn written(&self, path: &str) -> String {
        match at(&self.settings, path) {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// A number of the operator hop's profile.
    pub(super) fn profile(&self, what: &str, path: &str, value: Option<f64>, unit: &str) -> Fact {
        Fact { field: Some(format!("{}.{path}", self.profile_path)), ..fact(what, value, unit, SCENARIO) }
    }

    /// A number of the workload.
    pub(super) fn workload(what: &str, path: &str, value: f64, unit: &str) -> Fact {
        Fact { field: Some(format!("workload.{path}")), ..fact(what, Some(value), unit, SCENARIO) }
    }

    /// A number that a query of the table `name` gives; the query stands on `FROM name`.
    pub(super) fn table(what: &str, name: &str, value: Option<f64>, unit: &str, select: &str) -> Fact {
        let file = format!("{name}.parquet");
        let query = select.replace("FROM *", &format!("FROM '{file}'"));
        Fact { query: Some(query), ..fact(what, value, unit, &file) }
    }
}

fn fact(what: &str, value: Option<f64>, unit: &str, file: &str) -> Fact {
    Fact {
        what: what.to_owned(),
        value,
        unit: unit.to_owned(),
        word: None,
        file: file.to_owned(),
        field: None,
        query: None,
    }
}

fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, key| &value[key])
}

/// A name as a key of TOML.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { format!("\"{name}\"") }
}

/// The resolved scenario, from the cell's folder.
const SCENARIO: &str = "../../scenario.resolved.toml";
