//! `arcbench confirm`: the same cells in the simulator and for real, side by side.
//!
//! The real cells are a run of their own, kept in its folder and gone on with like any other; the simulator's are run
//! anew, since they take a moment.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bench::{Cell, Summary};
use netmodel::profile::Distribution;
use report::confirm::{ConfirmCell, ConfirmResult, ConfirmVerdict, confirm};
use sim::{Hooks, Pool};
use units::Span;

use crate::args::{self, Confirm, Format, RunMode};
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
    input::warn(&loaded);
    let cells = loaded.cells.clone();
    let job = run::Job::prepare(&arguments, loaded)?;
    let sim = simulated(&cells, cancel);
    let outcome = job.run(&arguments, cancel);
    if outcome.unwritten.is_some() || sim.is_empty() || outcome.summaries.len() < job.cells() {
        return job.end(&arguments, &outcome, &[]);
    }
    let compared = compared(&cells, &sim, &outcome, cancel);
    let result = ConfirmResult::new(job.id(), arguments.backend.name(), compared);
    output::data(&rendered(&result, arguments.format)?)?;
    for line in result.reasons() {
        output::note(&line);
    }
    job.report(&arguments, &outcome);
    let counts = result.verdicts;
    if counts.agrees + counts.chaotic + counts.differs == 0 {
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
        crypto: None,
        events: false,
        no_report: false,
        quiet: arguments.quiet,
        mode: RunMode::Real,
        backend: arguments.backend,
        repeat: arguments.repeat,
    }
}

/// A cell with a machine's lateness on both hops, some fractions of a millisecond, more each time: by a random time, since a
/// constant one would shift everything alike and change nothing.
fn with_lateness(cell: &Cell) -> Vec<Cell> {
    let late = |step: u64| {
        let (mut robot_hop, mut profile) = ((*cell.robot_hop).clone(), (*cell.profile).clone());
        for link in [&mut robot_hop, &mut profile] {
            for jitter in [&mut link.up.jitter, &mut link.down.jitter] {
                if jitter.sigma.is_zero() {
                    jitter.distribution = Distribution::Uniform;
                }
                jitter.sigma += LATENESS_STEP * step;
            }
        }
        Cell { robot_hop: Arc::new(robot_hop), profile: Arc::new(profile), ..cell.clone() }
    };
    (1..=LATENESS_STEPS).map(late).collect()
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

/// Each cell in the simulator and with its repeats for real; where they differ, a little late in the simulator too.
fn compared(cells: &[Cell], sim: &[Summary], outcome: &Outcome, cancel: &AtomicBool) -> Vec<ConfirmCell> {
    let pairs = cells.iter().zip(sim);
    let one = |(cell, sim): (&Cell, &Summary)| {
        let (id, more) = (cell.id(), format!("{}.r", cell.id()));
        let is = |real: &&Summary| real.cell == id || real.cell.starts_with(&more);
        let real: Vec<Summary> = outcome.summaries.iter().filter(is).cloned().collect();
        let strict = confirm(sim, &[], &real);
        if strict.rows.iter().all(|row| row.verdict != ConfirmVerdict::Differs) {
            return strict;
        }
        confirm(sim, &simulated(&with_lateness(cell), cancel), &real)
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
                "{} agree, {} are chaotic, {} differ, {} are tainted, {} have nothing to compare",
                counts.agrees, counts.chaotic, counts.differs, counts.tainted, counts.failed
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
/// How often a cell is run a little late: a real figure of the same kind is outside the range of 99 and one once in
/// fifty times. A dozen or so of the figures of the built-in scenario are such.
const LATENESS_STEPS: u64 = 99;
/// By how much the lateness's standard deviation grows: to a quarter of a millisecond, which is about what one timeout in a
/// hundred is late by on a quiet machine.
const LATENESS_STEP: Span = Span::from_nanos(2_400);
