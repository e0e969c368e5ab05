//! `arcbench confirm`: the same cells in the simulator and for real, side by side.
//!
//! The real cells are a run of their own, kept in its folder and gone on with like any other; the simulator's are run
//! anew, since they take a moment.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::{Cell, Summary};
use report::confirm::{ConfirmCell, ConfirmResult, confirm};
use sim::{Hooks, Pool};

use crate::args::{self, Confirm, Crypto, Format, RunMode};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{self, Outcome};
use crate::{host, input, interrupt, output, real};

/// Runs the cells both ways and compares.
pub(crate) fn run(arguments: &Confirm) -> Result<Exit, Failure> {
    real::enter()?;
    let cancel = interrupt::listen()?;
    let arguments = real_run(arguments);
    let loaded = input::load(&arguments.selection)?;
    let cells = loaded.cells.clone();
    let job = run::Job::prepare(&arguments, loaded)?;
    let sim = simulated(&cells, cancel);
    let outcome = job.run(&arguments, cancel);
    if outcome.unwritten.is_some() || sim.len() < cells.len() || outcome.summaries.len() < job.cells() {
        return job.end(&arguments, &outcome, &[]);
    }
    let result = ConfirmResult::new(job.id(), arguments.backend.name(), compared(&cells, &sim, &outcome));
    output::data(&rendered(&result, arguments.format)?)?;
    for line in result.reasons() {
        output::note(&line);
    }
    job.report(&arguments, &outcome);
    let counts = result.verdicts;
    if counts.agrees + counts.differs == 0 {
        output::note("nothing was confirmed: no cell has a verdict");
    }
    match job.end(&arguments, &outcome, &[])? {
        Exit::Ok if counts.differs > 0 => Ok(Exit::GateFailed),
        exit => Ok(exit),
    }
}

/// The run that the real cells are.
fn real_run(arguments: &Confirm) -> args::Run {
    let mut selection = arguments.selection.clone();
    selection.scenario.get_or_insert_with(|| DEFAULT_SCENARIO.to_owned());
    args::Run {
        selection,
        jobs: None,
        out: arguments.out.clone(),
        fresh: arguments.fresh,
        metric: Vec::new(),
        format: arguments.format,
        gate: Vec::new(),
        crypto: Crypto::Null,
        events: false,
        no_report: false,
        quiet: arguments.quiet,
        mode: RunMode::Real,
        backend: arguments.backend,
        repeat: arguments.repeat,
    }
}

/// The cells in the simulator: a summary for each, in order, unless it is interrupted.
fn simulated(cells: &[Cell], cancel: &AtomicBool) -> Vec<Summary> {
    let mut summaries = Vec::new();
    let jobs = host::cores().min(cells.len());
    let pool = Pool { jobs, crypto: sim::Crypto::Null, cancel, meter: crate::meter::thread_cpu };
    pool.run(cells, Hooks::default(), |index, result| {
        summaries.push(match result {
            Ok(result) => result.summary,
            Err(error) => Summary::failed(&cells[index], format!("failed to run the cell: {error}")),
        });
    });
    if cancel.load(Ordering::Relaxed) { Vec::new() } else { summaries }
}

/// Each cell with its repeats.
fn compared(cells: &[Cell], sim: &[Summary], outcome: &Outcome) -> Vec<ConfirmCell> {
    let pairs = cells.iter().zip(sim);
    let one = |(cell, sim): (&Cell, &Summary)| {
        let (id, more) = (cell.id(), format!("{}.r", cell.id()));
        let is = |real: &&Summary| real.cell == id || real.cell.starts_with(&more);
        let real: Vec<Summary> = outcome.summaries.iter().filter(is).cloned().collect();
        confirm(sim, &real)
    };
    pairs.map(one).collect()
}

fn rendered(result: &ConfirmResult, format: Format) -> Result<String, Failure> {
    match format {
        Format::Human => {
            let mut text = result.sheet(true).human(output::columns());
            let counts = result.verdicts;
            let _ = writeln!(
                text,
                "{} agree, {} differ, {} are tainted, {} have nothing to compare",
                counts.agrees, counts.differs, counts.tainted, counts.failed
            );
            Ok(text)
        }
        Format::Json => serde_json::to_string(result)
            .map_err(|error| Failure::unexpected(format!("writing the result: {error}"))),
        Format::Markdown => Ok(result.sheet(true).markdown()),
        Format::Csv => Ok(result.sheet(false).csv()),
    }
}

/// The scenario that is confirmed when none is named.
const DEFAULT_SCENARIO: &str = "confirm";
