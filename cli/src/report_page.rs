//! `arcbench report`: a run folder as one HTML page. `arcbench run` writes the same page at its end.

use std::fs;
use std::path::{Path, PathBuf};

use bench::run_folder::{REPORT, write_whole};
use report::{data, page};

use crate::args::Report;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, place, replay, show};

/// Makes the page and prints its path.
pub(crate) fn run(arguments: &Report) -> Result<Exit, Failure> {
    let folder = match &arguments.run {
        Some(folder) => folder.clone(),
        None => show::newest(Path::new(place::RUNS)).ok_or_else(|| {
            Failure::usage(format!("there is no run in ./{}", place::RUNS)).help("give a run folder")
        })?,
    };
    if let Some(out) = &arguments.out {
        replay::check_free(out, arguments.force)?;
    }
    let file = arguments.out.clone().unwrap_or_else(|| folder.join(REPORT));
    let bytes = write(&folder, &file)?;
    output::note(&format!("{} kB", bytes.div_ceil(1000)));
    output::data(&file.display().to_string()).map(|()| Exit::Ok)
}

/// Writes the page of the run in `folder` to `file`; how many bytes it has.
pub(crate) fn write(folder: &Path, file: &Path) -> Result<usize, Failure> {
    // However the folder was called on the command line, the page is the same.
    let folder: PathBuf = folder.components().collect();
    let (run, tables) = data::read(&folder).map_err(|error| {
        Failure::usage(format!("failed to {error}")).help("a run folder is what `arcbench run` leaves")
    })?;
    let crypto = run.facts.iter().find(|(name, _)| name == "crypto").map_or("null", |(_, value)| value);
    let again = |profile: &str, settings: &str, seed: &str| {
        replay::from_folder(&folder, crypto, (profile, settings, seed))
    };
    let text = page::render(&run, &tables, &again);
    if let Some(parent) = file.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent)
            .map_err(|error| Failure::usage(format!("cannot make `{}`: {error}", parent.display())))?;
    }
    write_whole(file, text.as_bytes()).map_err(|error| Failure::usage(format!("failed to {error}")))?;
    Ok(text.len())
}
