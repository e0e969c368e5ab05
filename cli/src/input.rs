//! From a command line to a resolved scenario: reads the files, applies the overrides, and turns
//! everything that is wrong into one report.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use bench::netmodel::document::{Problem, suggest};
use bench::scenario::is_path;
use bench::{Cell, ErrorKind, Overrides, Scenario, ScenarioErrors, builtin_scenario, builtin_scenario_names};

use crate::args::Selection;
use crate::diagnostics;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::reference;
use crate::text_file::{self, Unreadable};

/// A scenario with the command line's changes applied.
pub(crate) struct Loaded {
    /// What it is called: the built-in name, or the file's name without its ending.
    pub(crate) name: String,
    /// The scenario itself.
    pub(crate) scenario: Scenario,
    /// Its cells, in order; never empty.
    pub(crate) cells: Vec<Cell>,
}

/// Reads and resolves what `selection` names.
pub(crate) fn load(selection: &Selection) -> Result<Loaded, Failure> {
    let source = source(selection.scenario.as_deref().unwrap_or(DEFAULT_SCENARIO))?;
    let unread = RefCell::new(Vec::new());
    let lookup = |name: &str| {
        let reason = match read_named(&source.folder, name) {
            Ok(text) => return Some(text),
            Err(reason) => reason,
        };
        unread.borrow_mut().push((name.to_owned(), reason));
        None
    };
    let parsed = Scenario::parse(&source.shown, &source.text, &lookup);
    let parsed = reference::checked(parsed, &source.shown, &source.text);
    let mut scenario = parsed.map_err(|mut errors| {
        let problems = errors.sources.iter_mut().flat_map(|source| &mut source.problems);
        problems.for_each(|problem| explain(problem, &unread.borrow()));
        failure(&errors)
    })?;
    scenario.apply(&overrides(selection)).map_err(|e| failure(&e))?;
    let cells = scenario.cells();
    if cells.is_empty() {
        return Err(Failure::nothing_selected(format!("`{}` has no cell to run", source.shown))
            .help("give it at least one profile, one settings and one seed"));
    }
    Ok(Loaded { name: source.name, scenario, cells })
}

/// Refuses paths of files where names of profiles in a run are wanted.
pub(crate) fn no_files(profiles: &[String]) -> Result<(), Failure> {
    match profiles.iter().find(|name| is_path(name)) {
        Some(path) => Err(Failure::usage(format!(
            "`--profiles {path}`: `{path}` is a file, and here are names of profiles"
        ))
        .help("a run has its profiles by their names, which for a file is its name without `.toml`")),
        None => Ok(()),
    }
}

/// Says on stderr what of it is hardly meant.
pub(crate) fn warn(loaded: &Loaded) {
    for warning in loaded.scenario.warnings() {
        output::note(&format!("warning: {warning}"));
    }
}

struct Source {
    /// The bare name.
    name: String,
    /// How messages call it.
    shown: String,
    text: String,
    /// What relative paths inside it start from.
    folder: PathBuf,
}

/// The scenario that `wanted` means: a built-in name or a path.
fn source(wanted: &str) -> Result<Source, Failure> {
    if let Some(text) = builtin_scenario(wanted) {
        return Ok(Source {
            name: wanted.to_owned(),
            shown: format!("{wanted} (built in)"),
            text: text.to_owned(),
            folder: PathBuf::new(),
        });
    }
    let path = Path::new(wanted);
    let text = text_file::read(path).map_err(|reason| {
        let failure = Failure::usage(format!("cannot read the scenario `{wanted}`: {reason}"));
        if !reason.is_missing() {
            return failure;
        }
        let names = builtin_scenario_names();
        let near = suggest(wanted, names.iter().copied());
        let built_in = near.map(|near| format!("did you mean the built-in `{near}`?"));
        let help = built_in.or_else(|| reason.help());
        failure.help(help.unwrap_or_else(|| format!("built-in scenarios are {}", names.join(", "))))
    })?;
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    // A run's resolved scenario is the same scenario.
    let name = stem.strip_suffix(".resolved").unwrap_or(&stem).to_owned();
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(Source { name, shown: wanted.to_owned(), text, folder })
}

/// The text of a file that a scenario names, relative to the scenario's folder. A bare name that
/// is no file is one of a profile beside the scenario.
fn read_named(folder: &Path, name: &str) -> Result<String, Unreadable> {
    let first = match text_file::read(&folder.join(name)) {
        Ok(text) => return Ok(text),
        Err(reason) => reason,
    };
    match text_file::read(&folder.join(format!("{name}.toml"))) {
        // What is there and cannot be read says more than what is not there.
        Err(reason) if !reason.is_missing() => Err(reason),
        Err(reason) if first.is_missing() && first.help().is_none() && reason.help().is_some() => Err(reason),
        second => second.map_err(|_| first),
    }
}

/// Says in a problem about a file that was looked for why it could not be had: whoever reads the
/// scenario only learns that it could not.
fn explain(problem: &mut Problem, unread: &[(String, Unreadable)]) {
    let about = |(name, _): &&(String, Unreadable)| problem.message.ends_with(&format!("`{name}`"));
    let Some((_, reason)) = unread.iter().find(about) else { return };
    let absent = problem.message.starts_with(ABSENT);
    if !reason.is_missing() {
        // The name is right; another one would be no help.
        problem.help = None;
        problem.message = problem.message.replacen(ABSENT, "cannot read the ", 1);
    }
    if !(absent && reason.is_missing()) {
        problem.message = format!("{}: {reason}", problem.message);
    }
    let suggests = problem.help.as_ref().is_some_and(|help| help.starts_with("did you mean"));
    if !suggests && let Some(help) = reason.help() {
        problem.help = Some(help);
    }
}

/// How a problem begins that is about something which is not there.
const ABSENT: &str = "there is no ";

fn overrides(selection: &Selection) -> Overrides {
    Overrides {
        seeds: selection.seeds.clone(),
        profiles: selection.profiles.clone().unwrap_or_default(),
        settings: selection.settings.clone().unwrap_or_default(),
        duration: selection.duration.clone(),
        set: selection.set.clone(),
    }
}

/// Everything that is wrong as one report.
fn failure(errors: &ScenarioErrors) -> Failure {
    let report = diagnostics::failure(&errors.sources);
    match errors.kind {
        ErrorKind::Invalid => report,
        ErrorKind::NothingSelected => Failure { exit: Exit::NothingSelected, ..report },
    }
}

/// The scenario that runs when none is named.
pub(crate) const DEFAULT_SCENARIO: &str = "seed-matrix";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_beside_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.toml"), "x").unwrap();
        let read = |name: &str| read_named(folder.path(), name);
        assert_eq!(read("mine.toml").unwrap(), "x");
        assert_eq!(read("mine").unwrap(), "x");
        assert!(read("other").unwrap_err().is_missing());
        assert!(matches!(read("."), Err(Unreadable::Folder)));
        assert!(read("mnie").unwrap_err().help().unwrap().contains("mine.toml"));
    }

    #[test]
    fn the_reason_reaches_the_problem() {
        let missing = || Unreadable::Missing { path: "s/x.toml".into(), nearest: Some("s/y.toml".into()) };
        let told = |message: &str, help: Option<&str>, reason: Unreadable| {
            let mut problem = Problem::new(message);
            problem.help = help.map(str::to_owned);
            explain(&mut problem, &[("other".to_owned(), Unreadable::Folder), ("x".to_owned(), reason)]);
            problem.to_string()
        };
        let lead = "cannot read the profile file `x`";
        let near = "(did you mean the file `s/y.toml`?)";
        assert_eq!(told(lead, None, missing()), format!("{lead}: there is no file `s/x.toml` {near}"));
        assert_eq!(told(lead, None, Unreadable::NotRegular), format!("{lead}: it is not a regular file"));
        let absent = "there is no trace file `x`";
        assert_eq!(told(absent, None, missing()), format!("{absent} {near}"));
        let built_in = Some("did you mean `z`?");
        assert_eq!(told(absent, built_in, missing()), format!("{absent} (did you mean `z`?)"));
        let refused = "cannot read the trace file `x`: it is a folder";
        assert_eq!(told(absent, built_in, Unreadable::Folder), refused);
        assert_eq!(told("unknown key `y`", None, missing()), "unknown key `y`");
    }

    #[test]
    fn a_built_in_name_needs_no_file_and_a_wrong_one_gets_the_nearest() {
        assert_eq!(source(DEFAULT_SCENARIO).map(|source| source.name).ok().as_deref(), Some("seed-matrix"));
        let Err(failure) = source("seed-matrx") else { panic!("there is no such scenario") };
        assert!(failure.text().contains("`seed-matrix`"), "{}", failure.text());
    }
}
