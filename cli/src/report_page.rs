//! `arcbench report`: a run folder as one HTML page. `arcbench run` writes the same page at its end.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bench::run_folder::REPORT;
use report::page::Page;
use report::{data, page};

use crate::args::Report;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::new_file::{NewFile, NewFolders};
use crate::{interrupt, kept, output, place, replay, show};

/// Makes the page and prints its path. What could not be read is not in it, and ends with the code of failed cells.
pub(crate) fn run(arguments: &Report) -> Result<Exit, Failure> {
    interrupt::stop_at_once()?;
    let folder = match &arguments.run {
        Some(folder) => folder.clone(),
        None => show::newest(Path::new(place::RUNS)).ok_or_else(|| {
            Failure::usage(format!("there is no run in ./{}", place::RUNS)).help("give a run folder")
        })?,
    };
    let file = arguments.out.clone().unwrap_or_else(|| folder.join(REPORT));
    let Page { text, unread } = write(&folder, &file, arguments.force || arguments.out.is_none())?;
    output::note(&format!("{} kB", text.len().div_ceil(1000)));
    output::data(&file.display().to_string())?;
    tell(&unread);
    Ok(if unread.is_empty() { Exit::Ok } else { Exit::CellsFailed })
}

/// Says on stderr what is not in a page.
pub(crate) fn tell(unread: &[String]) {
    for line in unread.iter().take(TOLD_MAX) {
        output::note(&format!("not in the page: {line}"));
    }
    if unread.len() > TOLD_MAX {
        output::note(&format!("and {} more; the page says it too", unread.len() - TOLD_MAX));
    }
    if !unread.is_empty() {
        output::note("the run's own command runs cells anew of which something is missing or damaged");
    }
}

/// Writes the page of the run in `folder` to `file`, in place of one that is there if `force`.
pub(crate) fn write(folder: &Path, file: &Path, force: bool) -> Result<Page, Failure> {
    // However the folder was called on the command line, the page is the same.
    let folder: PathBuf = folder.components().collect();
    kept::refuse_later(&folder, kept::manifest(&folder).as_ref())?;
    let (run, tables) = data::read(&folder).map_err(|error| {
        Failure::usage(format!("failed to {error}")).help("a run folder is what `arcbench run` leaves")
    })?;
    let crypto = run.facts.iter().find(|(name, _)| name == "crypto").map_or("null", |(_, value)| value);
    let backend = run.facts.iter().find(|(name, _)| name == "backend").map(|(_, value)| value.as_str());
    let again = |profile: &str, settings: &str, seed: &str| {
        replay::from_folder(&folder, crypto, backend, (profile, settings, seed))
    };
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let _folders = parent.map(NewFolders::create).transpose()?;
    let mut out = NewFile::create(file, force)?;
    let page = page::render(&run, &tables, &again);
    // The file remembers what goes wrong.
    let _ = out.write_all(page.text.as_bytes());
    out.close()?;
    out.rename()?;
    Ok(page)
}

/// Tables that are named before it is only said how many more there are.
const TOLD_MAX: usize = 20;
