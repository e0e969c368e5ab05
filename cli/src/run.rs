//! `arcbench run`: a scenario's cells through the simulator or for real, into a run folder and onto stdout.
//!
//! Everything that can be wrong with the command is found before the first cell runs and before
//! anything is written. From then on finished cells are kept whatever happens.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bench::metrics::GateRow;
use bench::run_folder::REPORT;
use bench::{Cell, CellResult, Offload, RunFolder, RunFolderError, Summary};
use realbench::link::LinkBackend;
use report::{Gate, Metric};
use sim::{Hooks, Pool};

use crate::args::{Crypto, Format, RealBackend, Run, RunMode};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host::{self, Build};
use crate::input::{self, Loaded};
use crate::progress::Progress;
use crate::{gates, grid, interrupt, kept, manifest, output, place, real, records, replay, report_page};

/// Runs what is asked and prints the grid.
pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    meaningless(arguments)?;
    if arguments.mode == RunMode::Real {
        real::enter()?;
    }
    // Before anything that takes time: a signal is answered from the beginning.
    let cancel = interrupt::listen()?;
    if arguments.metric.iter().any(|name| name == "help") {
        let text = match arguments.format {
            Format::Json => records::help(&metric_help())?,
            _ => metric_help(),
        };
        return output::data(&text).map(|()| Exit::Ok);
    }
    let metrics = grid::metrics(&arguments.metric)?;
    let loaded = input::load(&arguments.selection)?;
    input::warn(&loaded);
    if arguments.mode == RunMode::Sim && loaded.cells.iter().any(|cell| cell.offload != Offload::default()) {
        output::note("note: what `real` says is for real cells; the simulator takes no notice of it");
    }
    let gates = gates::read(&arguments.gate, &loaded.cells)?;
    if cancel.load(Ordering::Relaxed) {
        return Err(Failure::interrupted("no cell was run and nothing was written"));
    }
    let job = Job::prepare(arguments, loaded)?;
    let outcome = job.run(arguments, cancel);
    let judged = job.judge(&gates, &outcome);
    output::data(&job.result(&outcome, &judged).render(arguments.format, &metrics)?)?;
    for line in warnings(&outcome.summaries) {
        output::note(&line);
    }
    job.report(arguments, &outcome);
    job.end(arguments, &outcome, &judged)
}

/// Refuses what means nothing in the mode that is asked for.
fn meaningless(arguments: &Run) -> Result<(), Failure> {
    let real = arguments.mode == RunMode::Real;
    let refused = [
        (!real && arguments.repeat > 1, "--repeat without --mode real: the simulator gives the same again"),
        (
            !real && arguments.backend != RealBackend::Auto,
            "--backend without --mode real: the simulator has its own links",
        ),
        (real && arguments.jobs.is_some(), "--jobs with --mode real: real cells are run one at a time"),
        (
            real && arguments.crypto == Some(Crypto::Null),
            "--crypto null with --mode real: real cells are protected by TLS, always",
        ),
    ];
    match refused.into_iter().find(|(is, _)| *is) {
        Some((_, message)) => Err(Failure::usage(format!("{message}; no cell was run"))),
        None => Ok(()),
    }
}

/// A run that is ready to begin or to go on.
pub(crate) struct Job {
    loaded: Loaded,
    /// What carries the packets, for real.
    backend: Option<&'static dyn LinkBackend>,
    folder: RunFolder,
    /// What was finished before, for each cell.
    before: Vec<Option<Summary>>,
    /// Which cells of these are run again because something of them is missing or damaged, and what.
    damaged: Vec<String>,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Of every cell that has ended, in the scenario's order.
    pub(crate) summaries: Vec<Summary>,
    /// Cells that were run this time, and the packets and processor time they took.
    ran: usize,
    packets: u64,
    cpu_s: f64,
    failed: usize,
    /// The first thing that kept a result from being written.
    pub(crate) unwritten: Option<String>,
    took: Duration,
}

impl Job {
    /// Finds the run folder and what is done in it.
    pub(crate) fn prepare(arguments: &Run, mut loaded: Loaded) -> Result<Self, Failure> {
        let real = arguments.mode == RunMode::Real;
        let backend = real.then(|| real::backend(arguments.backend, &loaded.cells)).transpose()?;
        loaded.cells = real::repeated(&loaded.cells, arguments.repeat);
        let fingerprint = Build::fingerprint()
            .map_err(|error| Failure::unexpected(format!("reading the running program: {error}")))?;
        let resolved = loaded.scenario.to_toml();
        let out = arguments.out.clone().unwrap_or_else(|| {
            let backend = backend.map(LinkBackend::name);
            place::default_out(&loaded.name, &resolved, arguments.crypto(), &fingerprint, backend)
        });
        place::check_out(&out)?;
        let folder = manifest::open(&out, &loaded, arguments, &fingerprint)?;
        let mut damaged = Vec::new();
        let mut kept = |cell: &Cell| {
            folder.kept(cell).unwrap_or_else(|error| {
                damaged.push(format!("{} is run again: failed to {error}", cell.id()));
                None
            })
        };
        let before = loaded.cells.iter().map(&mut kept).collect();
        Ok(Self { loaded, backend, folder, before, damaged })
    }

    /// How many cells there are.
    pub(crate) fn cells(&self) -> usize {
        self.loaded.cells.len()
    }

    /// The run's id.
    pub(crate) fn id(&self) -> String {
        self.folder.id()
    }

    /// Runs the cells that are not done.
    pub(crate) fn run(&self, arguments: &Run, cancel: &AtomicBool) -> Outcome {
        let open: Vec<usize> = (0..self.before.len()).filter(|index| self.before[*index].is_none()).collect();
        let cells: Vec<Cell> = open.iter().map(|index| self.loaded.cells[*index].clone()).collect();
        let progress = Progress::start(cells.len(), arguments.quiet);
        for line in first(self.damaged.clone(), "cells are run again") {
            progress.note(&line);
        }
        if !arguments.quiet {
            progress.note(&self.opening(cells.len()));
        }
        let mut all = self.before.clone();
        let mut outcome = Outcome::default();
        let mut done = |index: usize, result: Result<CellResult, String>| {
            let kept = self.keep(arguments, &cells[index], result);
            outcome.count(&kept);
            if outcome.unwritten.is_some() {
                cancel.store(true, Ordering::Relaxed);
            }
            if let Some(said) = &kept.said {
                progress.note(said);
            }
            all[open[index]] = Some(kept.summary);
        };
        if let Some(backend) = self.backend {
            self.in_real_time(arguments, &cells, backend, cancel, &progress, &mut done);
        } else {
            self.in_the_simulator(arguments, &cells, cancel, &progress, &mut done);
        }
        outcome.took = progress.end();
        outcome.summaries = all.into_iter().flatten().collect();
        outcome
    }

    fn in_the_simulator(
        &self,
        arguments: &Run,
        cells: &[Cell],
        cancel: &AtomicBool,
        progress: &Progress,
        done: &mut dyn FnMut(usize, Result<CellResult, String>),
    ) {
        let pool = Pool {
            jobs: workers(arguments.jobs, cells.len(), host::cores()),
            crypto: arguments.crypto().sim(),
            cancel,
            meter: crate::meter::thread_cpu,
        };
        let log = |_: usize, cell: &Cell| {
            progress.begun(&cell.id());
            self.log(arguments, cell).map_err(std::io::Error::other)
        };
        let hooks = Hooks { log: &log, progress: &|finished, _| progress.finished(finished) };
        pool.run(cells, hooks, |index, result| done(index, result.map_err(|error| error.to_string())));
    }

    /// One cell after the other. A cell that is interrupted comes to its end.
    fn in_real_time(
        &self,
        arguments: &Run,
        cells: &[Cell],
        backend: &'static dyn LinkBackend,
        cancel: &AtomicBool,
        progress: &Progress,
        done: &mut dyn FnMut(usize, Result<CellResult, String>),
    ) {
        let order = real::order(cells);
        for (finished, index) in order.iter().copied().enumerate() {
            if cancel.load(Ordering::Relaxed) {
                return;
            }
            let cell = &cells[index];
            progress.begun(&cell.id());
            if !arguments.quiet {
                let left: Duration = order[finished..].iter().map(|index| real::takes(&cells[*index])).sum();
                let (number, total) = (finished + 1, cells.len());
                progress.note(&format!("{number}/{total} {}, about {} to go", cell.id(), real::said(left)));
            }
            let log = self.log(arguments, cell);
            let result = log.map_err(|error| error.to_string()).and_then(|log| real::run(cell, backend, log));
            done(index, result);
            progress.finished(finished + 1);
        }
    }

    /// Where the events of `cell` go, if they are asked for.
    fn log(&self, arguments: &Run, cell: &Cell) -> Result<Option<sim::EventLog>, RunFolderError> {
        if !arguments.events {
            return Ok(None);
        }
        // Before it is there: whoever stops the process lets nobody past this line.
        interrupt::remove_when_stopped(&self.folder.events_unfinished(cell));
        Ok(Some(Box::new(self.folder.events_file(cell)?)))
    }

    /// Writes the result of a cell, or says why there is none.
    fn keep(&self, arguments: &Run, cell: &Cell, result: Result<CellResult, String>) -> Kept {
        let (error, broken) = match result {
            Ok(result) => match self.folder.write(cell, &result) {
                Ok(()) => return Kept::done(result.summary),
                Err(error) => (format!("failed to {error}"), true),
            },
            Err(error) => (format!("failed to run the cell: {error}"), false),
        };
        let summary = Summary::failed(cell, error.clone());
        // The grid and the message below tell of it in any case.
        let _ = self.folder.write_failed(cell, &summary);
        let replay = replay::line(arguments, cell);
        let said = format!("failed: {}\n  {error}\n  replay: {replay}", cell.id());
        Kept { summary, said: Some(said), unwritten: broken.then_some(error) }
    }

    fn opening(&self, open: usize) -> String {
        let total = self.before.len();
        let cells = if total == 1 { "1 cell".to_owned() } else { format!("{total} cells") };
        let done = total - open;
        let done = if done > 0 { format!(", {done} of {total} already finished") } else { String::new() };
        format!("{}: {cells}{done}, into {}", self.loaded.name, self.folder.path().display())
    }

    /// How the gates fare; none is judged before all cells have ended.
    fn judge(&self, gates: &[Gate], outcome: &Outcome) -> Vec<GateRow> {
        if outcome.summaries.len() < self.loaded.cells.len() {
            return Vec::new();
        }
        gates::judge(gates, &self.loaded.cells, &outcome.summaries)
    }

    /// What the grid is made of.
    fn result<'a>(&'a self, outcome: &'a Outcome, gates: &'a [GateRow]) -> grid::Grid<'a> {
        grid::Grid {
            run: self.folder.id(),
            folder: self.folder.path(),
            reference: self.loaded.scenario.reference(),
            shape: kept::shape(&self.loaded.cells),
            summaries: &outcome.summaries,
            gates,
        }
    }

    /// Writes the page into the run folder. The results are kept whether it can be written or not.
    pub(crate) fn report(&self, arguments: &Run, outcome: &Outcome) {
        if arguments.no_report || outcome.unwritten.is_some() || outcome.summaries.is_empty() {
            return;
        }
        let folder = self.folder.path();
        match report_page::write(folder, &folder.join(REPORT), true) {
            Ok(page) => report_page::tell(&page.unread),
            Err(failure) => output::note(&format!("warning: there is no {REPORT}: {}", failure.message)),
        }
    }

    /// The last words on stderr and the exit code.
    pub(crate) fn end(&self, arguments: &Run, outcome: &Outcome, gates: &[GateRow]) -> Result<Exit, Failure> {
        let (ended, total) = (outcome.summaries.len(), self.loaded.cells.len());
        if !arguments.quiet {
            output::note(&self.footer(outcome));
            if let Some(next) = grid::closer(self.folder.path(), &outcome.summaries) {
                output::note(&next);
            }
        }
        if let Some(error) = &outcome.unwritten {
            return Err(Failure::unexpected(format!("a result could not be kept: {error}")).help(format!(
                "finished cells are in {}; go on with: {}",
                self.folder.path().display(),
                replay::again()
            )));
        }
        if ended < total {
            output::note(&format!(
                "interrupted: {ended} of {total} cells are kept; go on with:\n  {}",
                replay::again()
            ));
            return Ok(Exit::Interrupted);
        }
        let gate_failed = gates::tell(gates, arguments.quiet, |profile, settings, seed| {
            let backend = self.backend.map(LinkBackend::name);
            let crypto = arguments.crypto().name();
            replay::from_folder(self.folder.path(), crypto, backend, (profile, settings, seed))
        });
        if outcome.failed > 0 {
            output::note(&format!("{} of {total} cells failed", outcome.failed));
            return Ok(Exit::CellsFailed);
        }
        Ok(if gate_failed { Exit::GateFailed } else { Exit::Ok })
    }

    fn footer(&self, outcome: &Outcome) -> String {
        let speed = match outcome.cpu_s {
            cpu_s if cpu_s > 0.0 => {
                format!(", {:.0} thousand packets a CPU second", outcome.packets as f64 / cpu_s / 1e3)
            }
            _ => String::new(),
        };
        format!(
            "{} of {} cells, {} run now in {:.1} s{speed}\nrun folder: {}",
            outcome.summaries.len() - outcome.failed,
            self.loaded.cells.len(),
            outcome.ran,
            outcome.took.as_secs_f64(),
            self.folder.path().display()
        )
    }
}

/// How many cells are at work at the same time. More than a few per core finish no sooner and each
/// takes memory.
fn workers(wanted: Option<u16>, cells: usize, cores: usize) -> usize {
    wanted.map_or(cores, usize::from).min(cells).min(CELLS_PER_CORE_MAX * cores)
}

/// Cells at work for each core, at most.
const CELLS_PER_CORE_MAX: usize = 4;

/// What is kept of one cell.
struct Kept {
    summary: Summary,
    /// What is said about it, if it failed.
    said: Option<String>,
    /// Why it could not be written, if so: then others cannot either.
    unwritten: Option<String>,
}

impl Kept {
    fn done(summary: Summary) -> Self {
        Self { summary, said: None, unwritten: None }
    }
}

impl Outcome {
    /// Takes one more cell that was run into account.
    fn count(&mut self, kept: &Kept) {
        self.ran += 1;
        self.packets += kept.summary.packets;
        self.cpu_s += kept.summary.cpu_s.unwrap_or(0.0);
        self.failed += usize::from(kept.said.is_some());
        if self.unwritten.is_none() {
            self.unwritten.clone_from(&kept.unwritten);
        }
    }
}

/// What a reader of the grid should know about its cells, a line each.
fn warnings(summaries: &[Summary]) -> Vec<String> {
    let of = |cell: &Summary| -> Vec<String> {
        let tainted = cell.tainted.iter().map(|reason| format!("tainted: {reason}"));
        let texts = cell.warnings.iter().cloned().chain(tainted);
        texts.map(|text| format!("warning: {}: {text}", cell.cell)).collect()
    };
    first(summaries.iter().flat_map(of).collect(), "warnings; `arcbench show CELL` has those of a cell")
}

/// As many of `lines` as are printed, and how many `more` there are.
fn first(mut lines: Vec<String>, more: &str) -> Vec<String> {
    let left_out = lines.len().saturating_sub(WARNINGS_MAX);
    if left_out > 0 {
        lines.truncate(WARNINGS_MAX);
        lines.push(format!("and {left_out} more {more}"));
    }
    lines
}

/// Warnings that are printed before it is only said how many more there are.
const WARNINGS_MAX: usize = 10;

fn metric_help() -> String {
    let line = |metric: &Metric| {
        let aliases = match metric.aliases {
            [] => String::new(),
            aliases => format!(" (or {})", aliases.join(", ")),
        };
        format!("  {:<14} {}, {}{aliases}\n", metric.name, metric.title, metric.unit)
    };
    let lines: String = Metric::all().iter().map(line).collect();
    format!("Metrics, for `--metric NAME,...`; `all` is all of them:\n{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_name_their_cell_and_are_not_endless() {
        let cell = |warnings: usize| Summary {
            cell: "p--s--s1--00".to_owned(),
            warnings: vec!["an end never joined".to_owned(); warnings],
            ..Summary::default()
        };
        assert_eq!(warnings(&[cell(0), cell(1)]), ["warning: p--s--s1--00: an end never joined"]);
        let noisy = Summary { tainted: Some("one timeout was late".to_owned()), ..cell(0) };
        assert_eq!(warnings(&[noisy]), ["warning: p--s--s1--00: tainted: one timeout was late"]);
        assert_eq!(warnings(&[cell(4), cell(6)]).len(), 10);
        let many = warnings(&[cell(4), cell(9)]);
        assert_eq!(many.len(), 11);
        assert!(many[10].starts_with("and 3 more warnings"), "{}", many[10]);
    }

    #[test]
    fn workers_are_bounded_by_cells_and_cores() {
        assert_eq!(workers(None, 400, 2), 2);
        assert_eq!(workers(Some(1000), 400, 2), 8);
        assert_eq!(workers(Some(1000), 5, 2), 5);
        assert_eq!(workers(Some(1), 400, 2), 1);
    }
}
