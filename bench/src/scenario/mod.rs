//! Scenario files: a matrix of cells, named in TOML.
//!
//! [`Scenario::parse`] reads a file and fills in every default, or says everything that is wrong
//! with it. [`Scenario::apply`] narrows or changes it as the command line asks. A scenario reads no
//! file itself: texts of profile files come through a lookup that the caller gives.

mod error;
mod file;
pub(crate) mod names;
mod overrides;
mod read;
mod seeds;

use std::sync::Arc;

use netmodel::Profile;
use relay_core::Settings;
use units::Span;

pub use error::{ErrorKind, ScenarioErrors, SourceProblems};
pub use file::Reference;
pub(crate) use file::ScenarioFile;
pub use names::{is_path, matches as name_matches};
pub use overrides::Overrides;

use crate::cell::Cell;
use crate::offload::Real;
use crate::workload::Workload;

/// A scenario with every default filled in and every profile resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    description: String,
    duration: Span,
    warmup: Span,
    seeds: Vec<u64>,
    base_seed: u64,
    profiles: Vec<Arc<Profile>>,
    robot_hop: Arc<Profile>,
    workload: Arc<Workload>,
    settings: Vec<(String, Arc<Settings>)>,
    real: Real,
    reference: Reference,
}

impl Scenario {
    /// Reads a scenario from `text`, which errors call `source_name`.
    ///
    /// `lookup` gives the text of a profile file or a rate trace by the name or path that the
    /// scenario has for it. A bare name is looked for among the scenario's own `[profile.…]`
    /// tables, then the built-in profiles, then by `lookup`; what has a `/` or ends in `.toml` is a
    /// path, and the profile is called like the file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in the scenario and in the profile files it names.
    pub fn parse(
        source_name: &str,
        text: &str,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ScenarioErrors> {
        read::read(source_name, text, lookup)
    }

    /// Changes the scenario as the command line asks; on an error it stays as it was.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the overrides, or that they leave nothing to run
    /// ([`ErrorKind::NothingSelected`]).
    pub fn apply(&mut self, overrides: &Overrides) -> Result<(), ScenarioErrors> {
        *self = overrides::applied(self, overrides)?;
        Ok(())
    }

    /// The scenario as a file with every default filled in and all profiles inlined: it runs
    /// without any other file, and has the same cells.
    pub fn to_toml(&self) -> String {
        file::print(self)
    }

    /// The cells: profiles, then settings, then seeds, each in the file's order.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(self.profiles.len() * self.settings.len() * self.seeds.len());
        for profile in &self.profiles {
            for (settings_name, settings) in &self.settings {
                cells.extend(self.seeds.iter().map(|seed| Cell {
                    profile: Arc::clone(profile),
                    robot_hop: Arc::clone(&self.robot_hop),
                    settings_name: settings_name.clone(),
                    settings: Arc::clone(settings),
                    workload: Arc::clone(&self.workload),
                    seed: *seed,
                    base_seed: self.base_seed,
                    duration: self.duration,
                    warmup: self.warmup,
                    offload: self.real.of(settings_name),
                    repeat: 1,
                }));
            }
        }
        cells
    }

    /// What the scenario is for; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// How long each cell has traffic.
    pub fn duration(&self) -> Span {
        self.duration
    }

    /// The seed that all cells share.
    pub fn base_seed(&self) -> u64 {
        self.base_seed
    }

    /// Seed indices in order.
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The operator hop's profiles in order.
    pub fn profiles(&self) -> &[Arc<Profile>] {
        &self.profiles
    }

    /// The settings and their names in order.
    pub fn settings(&self) -> &[(String, Arc<Settings>)] {
        &self.settings
    }

    /// What may be as it is and yet is hardly meant, a sentence each; for people.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if let Some(flow) = &self.workload.cross_traffic
            && flow.start >= self.duration
        {
            warnings.push(format!(
                "`workload.cross_traffic` starts at {}, when the traffic of a cell of {} has ended: it sends nothing",
                flow.start, self.duration
            ));
        }
        warnings
    }

    /// Figures to print beside the results.
    pub fn reference(&self) -> &Reference {
        &self.reference
    }
}

/// How long a cell may have traffic.
const DURATION_RANGE: std::ops::RangeInclusive<Span> = Span::from_secs(1)..=Span::from_secs(3600);

/// Checks a duration; the complaint otherwise.
fn check_duration(duration: Span) -> Result<Span, String> {
    if DURATION_RANGE.contains(&duration) {
        return Ok(duration);
    }
    Err(format!("duration is {duration}, outside 1 s to 3600 s"))
}

#[cfg(test)]
mod tests;
