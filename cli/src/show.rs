//! `arcbench show`: one finished cell, found in a run folder and written for reading.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bench::metrics::summary::{Mode, Status};
use bench::{CellFolder, RunFolderError, Summary};
use units::Span;

use crate::args::{Format, Show};
use crate::diagnostics::unreadable;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept_cell::{self, KeptCell};
use crate::output::quoted;
use crate::{cell_text, kept, output, place, records, replay, standstill, text_file, timeline};

/// Finds the cell and prints its summary.
pub(crate) fn run(arguments: &Show) -> Result<Exit, Failure> {
    if let Some(at) = arguments.at {
        let kept = KeptCell::find(&arguments.cell, arguments.run.as_deref())?;
        let (window, moments) = replay::at::look(&kept, at, arguments.around.unwrap_or(AROUND))?;
        let mut text = timeline::moments(&kept, window.from_ns, window.to_ns, &moments, arguments.format)?;
        tell(arguments, &kept.folder);
        if arguments.format == Format::Human {
            text.push_str(&closer(&kept, window.from_ns, window.to_ns));
        }
        return output::data(&text).map(|()| Exit::Ok);
    }
    let file = find(&arguments.cell, arguments.run.as_deref())?;
    let shown = file.display().to_string();
    let summary = summary(&file)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let tables = CellFolder::at(folder);
    let seconds = || tables.seconds().map_err(|error| kept_cell::unreadable(&[error]));
    tell(arguments, folder);
    match arguments.format {
        Format::Human => {
            let (over_time, unread) = over_time(&summary, &tables);
            let quoted = quoted(&folder.display().to_string());
            output::data(&format!(
                "{}{over_time}\n  why: arcbench explain {quoted}\n  file: {shown}",
                cell_text::human(&summary)
            ))?;
            // What can be said has been said, and what is missing from it is not passed over.
            if !unread.is_empty() {
                return Err(kept_cell::unreadable(&unread));
            }
        }
        Format::Markdown => output::data(&timeline::seconds(&seconds()?).markdown())?,
        Format::Csv => output::data(&timeline::seconds(&seconds()?).csv())?,
        Format::Json => output::data(&records::cell(&summary, folder)?)?,
    }
    Ok(Exit::Ok)
}

/// The cell over time, as far as its tables tell; and what of them cannot be read. A cell that failed has none.
fn over_time(summary: &Summary, tables: &CellFolder) -> (String, Vec<RunFolderError>) {
    let (mut text, mut unread) = (String::new(), Vec::new());
    if summary.status != Status::Ok {
        return (text, unread);
    }
    match tables.seconds() {
        Ok(seconds) => text.push_str(&timeline::sparklines(&seconds, output::columns())),
        Err(error) => unread.push(error),
    }
    match tables.freezes() {
        Ok(freezes) => {
            text.push_str(&standstill::text(tables.path(), freezes, summary.mode == Mode::Sim));
        }
        Err(error) => unread.push(error),
    }
    (text, unread)
}

/// Says which cell's folder it is about.
fn tell(arguments: &Show, folder: &Path) {
    let newest = arguments.run.is_none() && !Path::new(&arguments.cell).exists();
    kept::tell("cell folder", folder, newest, arguments.format);
}

/// The commands that look closer at a window of a cell than words do.
fn closer(kept: &KeptCell, from_ns: u64, to_ns: u64) -> String {
    let folder = quoted(&kept.folder.display().to_string());
    let last = kept.cell.duration.as_nanos().saturating_sub(1) / SECOND_NS;
    let from = (from_ns / SECOND_NS).min(last);
    let to = to_ns.div_ceil(SECOND_NS).max(from + 1);
    format!(
        "\n  the life of these frames: arcbench replay {folder} --trace trace-{from}s.json --from {from}s --to {to}s\n  \
         every packet by its number: arcbench replay {folder} --packets packets.tsv\n"
    )
}

/// The summary in `file`.
pub(crate) fn summary(file: &Path) -> Result<Summary, Failure> {
    let shown = file.display();
    let text = text_file::read(file)
        .map_err(|reason| Failure::usage(format!("cannot read the summary `{shown}`: {reason}")))?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("`{shown}` is not a cell's summary: {error}")))
}

/// The `summary.json` that `cell` means.
pub(crate) fn find(cell: &str, run: Option<&Path>) -> Result<PathBuf, Failure> {
    let path = Path::new(cell);
    if path.is_file() {
        return Ok(path.to_owned());
    }
    if path.join(SUMMARY).is_file() {
        return Ok(path.join(SUMMARY));
    }
    let run = match run {
        Some(run) => run.to_owned(),
        None => newest(Path::new(place::RUNS)).ok_or_else(|| {
            Failure::usage(format!("no cell `{cell}`: there is no run in ./{}", place::RUNS))
                .help("give the cell's folder, or a run folder with --run")
        })?,
    };
    let known = cells(&run)?;
    match matching(&known, cell)[..] {
        [one] => Ok(run.join(CELLS).join(one).join(SUMMARY)),
        [] => Err(Failure::usage(format!("no finished cell `{cell}` in `{}`", run.display()))
            .help(some_of("it has", &known.iter().collect::<Vec<_>>()))),
        ref many => Err(Failure::usage(format!("`{cell}` is the beginning of {} cells", many.len()))
            .help(some_of("they are", many))),
    }
}

/// Ids that are `wanted` or else begin with it.
fn matching<'a>(known: &'a [String], wanted: &str) -> Vec<&'a String> {
    match known.iter().find(|id| *id == wanted) {
        Some(exact) => vec![exact],
        None => known.iter().filter(|id| id.starts_with(wanted)).collect(),
    }
}

fn some_of(lead: &str, ids: &[&String]) -> String {
    if ids.is_empty() {
        return "it has no finished cell".to_owned();
    }
    let shown: Vec<&str> = ids.iter().take(SUGGESTED_MAX).map(|id| id.as_str()).collect();
    let more = ids.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{lead} {}{more}", shown.join(", "))
}

/// Ids of the finished cells in a run folder, in order.
fn cells(run: &Path) -> Result<Vec<String>, Failure> {
    let folder = run.join(CELLS);
    let shown = folder.display().to_string();
    let entries = fs::read_dir(&folder).map_err(|error| unreadable("the run folder", &shown, &error))?;
    let mut ids: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join(SUMMARY).is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    ids.sort_unstable();
    Ok(ids)
}

/// The run folder in `runs` in which a cell was finished last.
pub(crate) fn newest(runs: &Path) -> Option<PathBuf> {
    let changed = |path: &Path| fs::metadata(path.join(CELLS)).and_then(|data| data.modified()).ok();
    let runs = fs::read_dir(runs).ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let dated: Vec<(SystemTime, PathBuf)> = runs.filter_map(|path| Some((changed(&path)?, path))).collect();
    dated.into_iter().max().map(|(_, path)| path)
}

/// The file whose presence says that a cell is done.
pub(crate) const SUMMARY: &str = "summary.json";
/// Where a run folder keeps its cells.
const CELLS: &str = "cells";
const SECOND_NS: u64 = 1_000_000_000;
/// How far around a moment it is told what happened.
const AROUND: Span = Span::from_secs(1);
/// Ids named in an error before it says how many more there are.
const SUGGESTED_MAX: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exact_id_wins_over_a_longer_one() {
        let known = ["a--b".to_owned(), "a--b--c".to_owned(), "x".to_owned()];
        assert_eq!(matching(&known, "a--b"), [&known[0]]);
        assert_eq!(matching(&known, "a"), [&known[0], &known[1]]);
        assert!(matching(&known, "zz").is_empty());
    }

    #[test]
    fn only_finished_cells_are_found_and_ambiguity_is_said() {
        let run = tempfile::tempdir().unwrap();
        for (id, done) in [("p--s--s1--aa", true), ("p--s--s2--bb", true), ("q--s--s1--cc", false)] {
            let folder = run.path().join(CELLS).join(id);
            fs::create_dir_all(&folder).unwrap();
            if done {
                fs::write(folder.join(SUMMARY), "{}").unwrap();
            }
        }
        let found = find("p--s--s2", Some(run.path())).unwrap();
        assert!(found.ends_with("cells/p--s--s2--bb/summary.json"));
        let both = find("p", Some(run.path())).unwrap_err();
        assert!(both.text().contains("beginning of 2 cells"), "{}", both.text());
        let none = find("q", Some(run.path())).unwrap_err();
        assert!(none.text().contains("no finished cell `q`"), "{}", none.text());
        assert!(none.text().contains("p--s--s1--aa"), "{}", none.text());
    }
}
