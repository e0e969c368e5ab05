//! What the command line changes about a scenario.

use std::sync::Arc;

use netmodel::document::{self, Problem};
use netmodel::{Profile, builtin};
use relay_core::Settings;
use toml::{Table, Value};

use super::error::{ErrorKind, ScenarioErrors, SourceProblems};
use super::read::unknown_profile;
use super::{Scenario, check_duration, names, seeds};
use crate::offload::{OffloadFile, Real};

/// Changes to a scenario, each as it was written; empty changes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overrides {
    /// `--seeds`: takes the place of the scenario's seeds.
    pub seeds: Option<String>,
    /// `--profiles`: names or globs with `*`, also several with commas. Keeps those of the
    /// scenario's profiles that match. A built-in profile that the scenario does not have can be
    /// asked for by its name, or by a glob that matches none of the scenario's.
    pub profiles: Vec<String>,
    /// `--settings`: names or globs with `*`, also several with commas. Keeps those of the
    /// scenario's settings that match.
    pub settings: Vec<String>,
    /// `--duration`: takes the place of the scenario's duration.
    pub duration: Option<String>,
    /// `--set`: `key=value` for every settings block (`skip.threshold=2%`) or
    /// `<settings>.key=value` for one. The value is TOML, or else text as it stands. The keys are those of settings,
    /// and `real.gso` and `real.gro`.
    pub set: Vec<String>,
}

/// `scenario` with the overrides applied.
pub(super) fn applied(scenario: &Scenario, overrides: &Overrides) -> Result<Scenario, ScenarioErrors> {
    let mut changed = scenario.clone();
    let mut found = Found::default();
    if let Some(text) = &overrides.seeds {
        match seeds::parse(text) {
            Ok(seeds) => changed.seeds = seeds,
            Err(message) => found.whole("--seeds", text, Problem::new(message)),
        }
    }
    if let Some(text) = &overrides.duration {
        let duration = text.parse().map_err(|e: units::ParseError| e.to_string()).and_then(check_duration);
        match duration {
            Ok(duration) => changed.duration = duration,
            Err(message) => found.whole("--duration", text, Problem::new(message)),
        }
    }
    if !overrides.profiles.is_empty() {
        changed.profiles = select_profiles(scenario, &overrides.profiles, &mut found);
    }
    if !overrides.settings.is_empty() {
        changed.settings = select_settings(scenario, &overrides.settings, &mut found);
    }
    for argument in &overrides.set {
        set(&mut changed, &scenario.settings, argument, &mut found);
    }
    found.into_result()?;
    Ok(changed)
}

fn select_settings(
    scenario: &Scenario,
    arguments: &[String],
    found: &mut Found,
) -> Vec<(String, Arc<Settings>)> {
    let all = &scenario.settings;
    for pattern in names::patterns(arguments) {
        if !pattern.contains('*') && !all.iter().any(|(name, _)| name == pattern) {
            let known = || all.iter().map(|(name, _)| name.as_str());
            let problem = Problem::new(format!("there are no settings `{pattern}`"));
            let help = match document::suggest(pattern, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the settings are {}", known().collect::<Vec<_>>().join(", ")),
            };
            found.whole("--settings", pattern, problem.help(help));
        }
    }
    let chosen = |name: &str| names::patterns(arguments).any(|pattern| names::matches(pattern, name));
    let kept: Vec<_> = all.iter().filter(|(name, _)| chosen(name)).cloned().collect();
    found.note_empty("--settings", arguments, kept.is_empty(), all.iter().map(|(name, _)| name.as_str()));
    kept
}

fn select_profiles(scenario: &Scenario, arguments: &[String], found: &mut Found) -> Vec<Arc<Profile>> {
    let all = &scenario.profiles;
    let chosen = |name: &str| names::patterns(arguments).any(|pattern| names::matches(pattern, name));
    let mut kept: Vec<Arc<Profile>> = all.iter().filter(|p| chosen(&p.name)).cloned().collect();
    for pattern in names::patterns(arguments) {
        if all.iter().any(|p| names::matches(pattern, &p.name)) {
            continue;
        }
        let others = builtin::names().iter().filter(|name| names::matches(pattern, name));
        let mut known = false;
        for profile in others.filter_map(|name| builtin::profile(name)) {
            known = true;
            if !kept.iter().any(|p| p.name == profile.name) {
                kept.push(Arc::new(profile));
            }
        }
        if !known && names::is_path(pattern) {
            let problem = Problem::new(format!("`{pattern}` is a file, and here are the names of profiles"));
            let help = format!("name the file in a scenario: profiles = [\"{pattern}\"]");
            found.whole("--profiles", pattern, problem.help(help));
        } else if !known && !pattern.contains('*') {
            found.whole("--profiles", pattern, unknown_profile(pattern, all.iter().map(|p| p.name.as_str())));
        }
    }
    found.note_empty("--profiles", arguments, kept.is_empty(), all.iter().map(|p| p.name.as_str()));
    kept
}

/// What is changed of real cells, beside the groups of settings.
const REAL: &str = "real";

/// Applies one `--set`.
///
/// `all` are the settings before any was left out, so that a change to one that was left out is no
/// error.
fn set(changed_to: &mut Scenario, all: &[(String, Arc<Settings>)], argument: &str, found: &mut Found) {
    let Some((key, text)) = argument.split_once('=') else {
        let problem = Problem::new("a setting is changed with key=value, for example skip.threshold=2%");
        return found.whole("--set", argument, problem);
    };
    let mut groups = Table::try_from(Settings::default()).expect("settings have a TOML form");
    groups.insert(REAL.to_owned(), Table::new().into());
    let mut path: Vec<&str> = key.split('.').map(str::trim).collect();
    let mut only = None;
    // Settings may be called like a group; then what follows says which is meant.
    let group_follows = path.get(1).is_some_and(|second| groups.contains_key(*second));
    if !groups.contains_key(path[0]) || (group_follows && all.iter().any(|(name, _)| name == path[0])) {
        if all.iter().any(|(name, _)| name == path[0]) {
            only = Some(path.remove(0));
        } else {
            let known = groups.keys().map(String::as_str).chain(all.iter().map(|(name, _)| name.as_str()));
            let problem = Problem::new(format!("unknown key `{}`", path[0]));
            let problem = match document::suggest(path[0], known) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help(format!(
                    "it starts with {}, or the name of settings",
                    groups.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
                )),
            };
            return found.at("--set", argument, 0..key.len(), problem);
        }
    }
    let value = value_of(text.trim());
    let Scenario { settings, real, .. } = changed_to;
    for (name, block) in settings.iter_mut().filter(|(name, _)| only.is_none_or(|only| only == name)) {
        let changed = if path.first() == Some(&REAL) {
            set_real(real, name, &path, &value).map(|()| Arc::clone(block))
        } else {
            changed(block, &path, &value).map(Arc::new)
        };
        match changed {
            Ok(changed) => *block = changed,
            Err(problem) => {
                let about_key = problem.message.starts_with("unknown key");
                let span = if about_key { 0..key.len() } else { key.len() + 1..argument.len() };
                // The same mistake is in every block; saying it once is enough.
                return found.at("--set", argument, span, problem);
            }
        }
    }
}

/// Changes what holds for the real cells of the settings `name`.
fn set_real(real: &mut Real, name: &str, path: &[&str], value: &Value) -> Result<(), Problem> {
    let [_, key] = path else {
        return Err(
            Problem::new(format!("unknown key `{}`", path.join("."))).help("there are real.gso and real.gro")
        );
    };
    let said = value.as_bool();
    let file = match *key {
        "gso" => OffloadFile { gso: said, ..OffloadFile::default() },
        "gro" => OffloadFile { gro: said, ..OffloadFile::default() },
        _ => {
            let problem = Problem::new(format!("unknown key `{key}`"));
            return Err(match document::suggest(key, ["gso", "gro"]) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None => problem.help("there are real.gso and real.gro"),
            });
        }
    };
    if said.is_none() {
        return Err(Problem::new(format!("`real.{key}` is true or false")));
    }
    real.set(name, file);
    Ok(())
}

/// `settings` with the value at `path` replaced.
fn changed(settings: &Settings, path: &[&str], value: &Value) -> Result<Settings, Problem> {
    let mut root = Table::try_from(settings).expect("settings have a TOML form");
    let Some((last, groups)) = path.split_last() else {
        return Err(Problem::new("unknown key: a name of settings alone is not one"));
    };
    let mut table = &mut root;
    for group in groups {
        let entry = table.entry((*group).to_owned()).or_insert_with(|| Table::new().into());
        table = entry.as_table_mut().ok_or_else(|| {
            Problem::new(format!("unknown key `{}`: `{group}` has none below it", path.join(".")))
        })?;
    }
    table.insert((*last).to_owned(), value.clone());
    let text = toml::to_string(&root).expect("a table has a TOML form");
    let changed: Settings = document::decode(&text).map_err(|problems| {
        problems.into_iter().next().unwrap_or_else(|| Problem::new("this value does not fit"))
    })?;
    match changed.problems().into_iter().find(|p| p.key == path.join(".")) {
        Some(outside) => Err(Problem::new(outside.to_string())),
        None => Ok(changed),
    }
}

/// The text as a TOML value, or as the string that it is.
fn value_of(text: &str) -> Value {
    let parsed = format!("value = {text}").parse::<Table>().ok().filter(|table| table.len() == 1);
    parsed.and_then(|mut table| table.remove("value")).unwrap_or_else(|| Value::String(text.to_owned()))
}

/// What is wrong with the overrides.
#[derive(Default)]
struct Found {
    sources: Vec<SourceProblems>,

    empty: Vec<SourceProblems>,
}

impl Found {
    /// A problem with the whole of `text`, which was given to `argument`.
    fn whole(&mut self, argument: &str, text: &str, problem: Problem) {
        self.at(argument, text, 0..text.len(), problem);
    }

    fn at(&mut self, argument: &str, text: &str, span: std::ops::Range<usize>, problem: Problem) {
        self.sources.push(source(argument, text, problem.at(span)));
    }

    fn note_empty<'a>(
        &mut self,
        argument: &str,
        patterns: &[String],
        empty: bool,
        known: impl Iterator<Item = &'a str>,
    ) {
        if empty {
            let known: Vec<&str> = known.collect();
            let text = patterns.join(",");
            let problem = Problem::new(format!("nothing matches `{text}`")).at(0..text.len());
            self.empty.push(source(argument, &text, problem.help(format!("there are {}", known.join(", ")))));
        }
    }

    fn into_result(self) -> Result<(), ScenarioErrors> {
        if !self.sources.is_empty() {
            return Err(ScenarioErrors { kind: ErrorKind::Invalid, sources: self.sources });
        }
        if !self.empty.is_empty() {
            return Err(ScenarioErrors { kind: ErrorKind::NothingSelected, sources: self.empty });
        }
        Ok(())
    }
}

fn source(argument: &str, text: &str, problem: Problem) -> SourceProblems {
    SourceProblems { name: argument.to_owned(), text: text.to_owned(), problems: vec![problem] }
}
