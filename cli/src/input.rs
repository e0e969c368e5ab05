//! From a command line to a resolved scenario: reads the files, applies the overrides, and turns
//! everything that is wrong into one report.

use std::fs;
use std::path::{Path, PathBuf};

use bench::netmodel::document::suggest;
use bench::{Cell, ErrorKind, Overrides, Scenario, ScenarioErrors, builtin_scenario, builtin_scenario_names};

use crate::args::Selection;
use crate::diagnostics::{self, unreadable};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::reference;

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
    let lookup = |name: &str| read_named(&source.folder, name);
    let parsed = Scenario::parse(&source.shown, &source.text, &lookup);
    let parsed = reference::checked(parsed, &source.shown, &source.text);
    let mut scenario = parsed.map_err(|e| failure(&e))?;
    scenario.apply(&overrides(selection)).map_err(|e| failure(&e))?;
    let cells = scenario.cells();
    if cells.is_empty() {
        return Err(Failure::nothing_selected(format!("`{}` has no cell to run", source.shown))
            .help("give it at least one profile, one settings and one seed"));
    }
    Ok(Loaded { name: source.name, scenario, cells })
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
    let text = read(path).map_err(|error| {
        let failure = unreadable("the scenario", wanted, &error);
        let names = builtin_scenario_names();
        match suggest(wanted, names.iter().copied()) {
            Some(near) => failure.help(format!("did you mean the built-in `{near}`?")),
            None => failure.help(format!("built-in scenarios are {}", names.join(", "))),
        }
    })?;
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    // A run's resolved scenario is the same scenario.
    let name = stem.strip_suffix(".resolved").unwrap_or(&stem).to_owned();
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    Ok(Source { name, shown: wanted.to_owned(), text, folder })
}

/// The text of a file that a scenario names, relative to the scenario's folder. A bare name that
/// is no file is one of a profile beside the scenario.
fn read_named(folder: &Path, name: &str) -> Option<String> {
    read(&folder.join(name)).or_else(|_| read(&folder.join(format!("{name}.toml")))).ok()
}

fn read(path: &Path) -> std::io::Result<String> {
    let data = fs::metadata(path)?;
    if data.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    if data.len() > FILE_BYTES_MAX {
        return Err(std::io::ErrorKind::FileTooLarge.into());
    }
    fs::read_to_string(path)
}

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
    let reports =
        errors.sources.iter().map(|source| diagnostics::render(&source.name, &source.text, &source.problems));
    let report = Failure::report(reports.collect::<Vec<_>>().join("\n"));
    match errors.kind {
        ErrorKind::Invalid => report,
        ErrorKind::NothingSelected => Failure { exit: Exit::NothingSelected, ..report },
    }
}

/// The scenario that runs when none is named.
pub(crate) const DEFAULT_SCENARIO: &str = "seed-matrix";
/// A larger scenario, profile or trace is refused. Hours of a Mahimahi trace are a few megabytes.
const FILE_BYTES_MAX: u64 = 64_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_beside_the_scenario() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.toml"), "x").unwrap();
        assert_eq!(read_named(folder.path(), "mine.toml").as_deref(), Some("x"));
        assert_eq!(read_named(folder.path(), "mine").as_deref(), Some("x"));
        assert_eq!(read_named(folder.path(), "other"), None);
        assert_eq!(read_named(folder.path(), "."), None);
    }

    #[test]
    fn a_built_in_name_needs_no_file_and_a_wrong_one_gets_the_nearest() {
        assert_eq!(source(DEFAULT_SCENARIO).map(|source| source.name).ok().as_deref(), Some("seed-matrix"));
        let Err(failure) = source("seed-matrx") else { panic!("there is no such scenario") };
        assert!(failure.text().contains("`seed-matrix`"), "{}", failure.text());
    }
}
