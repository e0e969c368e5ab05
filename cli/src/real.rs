//! Cells for real: whether this machine can, in which order, and one at a time.
//!
//! Real cells share the machine with nothing of ours: a second one at the same time would be the noise of the first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use bench::{Cell, CellResult};
use realbench::Clock;
use realbench::cell::{Namespaces, Options, run_cell};
use realbench::link::{LinkBackend, LinkPlan, probe_netem};
use realbench::net::{Topology, TopologyOptions, enter_user_namespace};

use crate::args::RealBackend;
use crate::failure::Failure;

/// Makes sure that the process may make network namespaces. Before there is a second thread: first of all.
pub(crate) fn enter() -> Result<(), Failure> {
    enter_user_namespace().map(drop).map_err(|error| impossible(&format!("failed to {error}")))
}

/// The backend, after a look at whether it can do all of `cells` on this machine.
pub(crate) fn backend(wanted: RealBackend, cells: &[Cell]) -> Result<&'static dyn LinkBackend, Failure> {
    let name = wanted.name();
    let backend = realbench::link::backend(name)
        .ok_or_else(|| Failure::unexpected(format!("there is no link backend `{name}`")))?;
    let mut refused: Vec<String> = Vec::new();
    for cell in cells {
        let plan = LinkPlan::of_cell(cell, Clock::start().epoch());
        for one in backend.refusals(&plan) {
            let line = format!("{}: {one}", cell.profile.name);
            if !refused.contains(&line) {
                refused.push(line);
            }
        }
    }
    if cells.iter().any(|cell| cell.workload.cross_traffic.is_some()) {
        return Err(Failure::usage(
            "`workload.cross_traffic` with real cells: nothing sends a second flow there",
        )
        .help("leave it out of the scenario, or run it in the simulator; no cell was run"));
    }
    if !refused.is_empty() {
        let lines = refused.join("\n  ");
        return Err(Failure::usage(format!("the backend `{name}` cannot do these cells:\n  {lines}"))
            .help("`--backend userspace` can do every stage of a profile; no cell was run"));
    }
    let made = Topology::new(&TopologyOptions { middle: backend.middle() });
    made.map_err(|error| impossible(&format!("failed to {error}")))?;
    if wanted == RealBackend::Netem {
        probe_netem().map_err(|error| impossible(&format!("failed to {error}")))?;
    }
    Ok(backend)
}

fn impossible(message: &str) -> Failure {
    Failure::usage(message).help("`arcbench doctor` says what this machine can do; no cell was run")
}

/// `cells` as often as each is run, a round after the other.
pub(crate) fn repeated(cells: &[Cell], repeat: u32) -> Vec<Cell> {
    let round = |repeat| cells.iter().map(move |cell| Cell { repeat, ..cell.clone() });
    (1..=repeat).flat_map(round).collect()
}

/// The order to run `cells` in: round after round, in each at random, so that what changes on the machine over
/// time falls on no profile or settings more than on another. The same for the same cells.
pub(crate) fn order(cells: &[Cell]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_cached_key(|index| {
        let cell = &cells[*index];
        let mut hasher = blake3::Hasher::new_derive_key("arcbench order of real cells v1");
        hasher.update(&cell.base_seed.to_le_bytes());
        hasher.update(cell.id().as_bytes());
        (cell.repeat, *hasher.finalize().as_bytes())
    });
    order
}

/// How long a cell takes.
pub(crate) fn takes(cell: &Cell) -> Duration {
    Duration::from_nanos((cell.warmup + cell.duration + Cell::DRAIN).as_nanos())
}

/// Runs one cell. It comes to an end whatever happens in it: a cell that hangs is given up at its deadline.
pub(crate) fn run(
    cell: &Cell,
    backend: &'static dyn LinkBackend,
    log: Option<sim::EventLog>,
) -> Result<CellResult, String> {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let mut network = Namespaces::new(cell, backend)?;
        run_cell(cell, &mut network, Options { log, ..Options::default() })
    }));
    // The message of a panic is on stderr already.
    let ran = ran.map_err(|_| "run the cell: it panicked".to_owned())?;
    ran.map_err(|error| error.to_string())
}

/// A time to wait, for people.
pub(crate) fn said(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Selection;
    use crate::input;

    #[test]
    fn rounds_follow_each_other_and_each_is_mixed() {
        let selection = Selection { scenario: Some("confirm".to_owned()), ..Selection::default() };
        let cells = repeated(&input::load(&selection).ok().unwrap().cells, 2);
        assert_eq!(cells.len(), 30);
        let order = order(&cells);
        assert_eq!(order, super::order(&cells));
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..30).collect::<Vec<_>>());
        assert_ne!(sorted, order);
        assert!(order[..15].iter().all(|index| cells[*index].repeat == 1));
    }

    #[test]
    fn a_cable_refuses_by_name() {
        let selection = Selection { profiles: Some(vec!["bad-india".to_owned()]), ..Selection::default() };
        let cells = input::load(&selection).ok().unwrap().cells;
        let text = backend(RealBackend::None, &cells).err().unwrap().text();
        assert!(text.contains("bad-india: operator-hop/down: `loss` is not possible"), "{text}");
    }

    #[test]
    fn times_are_said() {
        assert_eq!(said(Duration::from_secs(119)), "119 s");
        assert_eq!(said(Duration::from_secs(1020)), "17 min");
    }
}
