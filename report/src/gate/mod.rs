//! Gates: what a result must keep to, as short expressions.
//!
//! ```text
//! bad-india.main.delivered_ratio >= 0.99            mean of the seeds
//! worst(*/best.hand_to_command_ms.p99) <= 250       every seed, every profile, one settings
//! *.*.frozen_s_per_min < 1                          every camera
//! ```
//!
//! A [`Gate`] is read ([`Gate::parse`]), held against what there will be ([`Gate::check`]) before
//! anything runs, and judged on finished cells ([`Gate::judge`]). It looks at the summary of a cell as
//! it is in JSON, so that every number there can be gated.

mod judge;
mod parse;

use bench::netmodel::document::suggest;
use bench::scenario::name_matches;

/// One gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// As it was written.
    pub text: String,
    over: Over,
    /// A pattern of profile names.
    profile: String,
    /// A pattern of settings names.
    settings: String,
    path: Vec<String>,
    comparison: Comparison,
    limit: f64,
}

/// What of the seeds is held against the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Mean,
    Worst,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
    Unequal,
}

/// What there is to gate.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Names of the profiles.
    pub profiles: Vec<String>,
    /// Names of the settings.
    pub settings: Vec<String>,
    /// Names of the cameras, the main one first.
    pub cameras: Vec<String>,
}

/// Why a gate cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the gate `{gate}`: {reason}")]
pub struct GateError {
    /// The gate.
    pub gate: String,
    /// What is wrong with it.
    pub reason: String,
    /// What was probably meant, or how it is written.
    pub help: Option<String>,
}

impl Gate {
    /// Holds the names in the gate against what there is.
    ///
    /// # Errors
    ///
    /// If no profile, settings or camera has that name, or a summary has no such number.
    pub fn check(&self, known: &Known) -> Result<(), GateError> {
        self.check_pattern("profile", &self.profile, &known.profiles)?;
        self.check_pattern("settings", &self.settings, &known.settings)?;
        for path in self.paths(&known.cameras) {
            judge::check_path(&path, &known.cameras).map_err(|(reason, help)| self.error(reason, help))?;
        }
        Ok(())
    }

    fn check_pattern(&self, what: &str, pattern: &str, names: &[String]) -> Result<(), GateError> {
        if names.iter().any(|name| name_matches(pattern, name)) {
            return Ok(());
        }
        let near = suggest(pattern, names.iter().map(String::as_str));
        let help = near.map_or_else(|| format!("there are {}", names.join(", ")), did_you_mean);
        Err(self.error(format!("no {what} is called `{pattern}`"), Some(help)))
    }

    /// The paths in a summary that the gate looks at: one, or one for each camera.
    fn paths(&self, cameras: &[String]) -> Vec<Vec<String>> {
        let Some((first, rest)) = self.path.split_first() else { return Vec::new() };
        let of = |camera: &str| [&["cameras".to_owned(), camera.to_owned()], rest].concat();
        match first.as_str() {
            "*" => cameras.iter().map(|camera| of(camera)).collect(),
            name if judge::is_field(name) => vec![self.path.clone()],
            name => vec![of(name)],
        }
    }

    fn error(&self, reason: impl Into<String>, help: Option<String>) -> GateError {
        GateError { gate: self.text.clone(), reason: reason.into(), help }
    }
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean `{name}`?")
}

#[cfg(test)]
mod tests;
