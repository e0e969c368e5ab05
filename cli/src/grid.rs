//! `arcbench grid`: the grid of a run that was kept, as `arcbench run` prints it.

use std::path::Path;

use bench::Summary;
use bench::metrics::GateRow;
use bench::metrics::summary::Status;
use bench::scenario::Reference;
use report::{Comparison, Metric, Shape, Table, grid};

use crate::args::{self, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept::Kept;
use crate::{gates, output};

/// Reads the run and prints its grid.
pub(crate) fn run(arguments: &args::Grid) -> Result<Exit, Failure> {
    let metrics = metrics(&arguments.metric)?;
    let kept = Kept::find(arguments.run.as_deref())?;
    let wanted = gates::read(&arguments.gate, &kept.cells)?;
    if kept.summaries.is_empty() {
        return Err(Failure::nothing_selected(format!("no cell of `{}` has ended", kept.path.display())));
    }
    let judged = gates::judge(&wanted, &kept.cells, &kept.summaries);
    let result = Grid {
        run: kept.id.clone(),
        folder: &kept.path,
        reference: kept.scenario.reference(),
        shape: kept.shape(),
        summaries: &kept.summaries,
        gates: &judged,
    };
    kept.tell(arguments.format);
    output::data(&result.render(arguments.format, &metrics)?)?;
    if arguments.format == Format::Human
        && let Some(next) = closer(&kept.path, &kept.summaries)
    {
        output::note(&next);
    }
    let open = kept.cells.len() - kept.summaries.len();
    if open > 0 {
        output::note(&format!("{open} of {} cells have not been run", kept.cells.len()));
    }
    let failed = gates::tell(&judged, false, |profile, settings, seed| kept.replay(profile, settings, seed));
    Ok(if failed { Exit::GateFailed } else { Exit::Ok })
}

/// Where to look next: the cell with the most frozen video, then the fewest frames delivered, unless there is
/// nothing to see in any.
pub(crate) fn closer(run: &Path, summaries: &[Summary]) -> Option<String> {
    let done = summaries.iter().filter(|cell| cell.status == Status::Ok);
    let frozen = |cell: &Summary| cell.all.frozen_s_per_min.unwrap_or(0.0);
    let delivered = |cell: &Summary| cell.all.delivered_ratio.unwrap_or(1.0);
    let order = |a: &&Summary, b: &&Summary| {
        frozen(a).total_cmp(&frozen(b)).then_with(|| delivered(b).total_cmp(&delivered(a)))
    };
    // Of equals the first.
    let worst = done.rev().max_by(order)?;
    if frozen(worst) == 0.0 && delivered(worst) >= 1.0 {
        return None;
    }
    let folder = output::quoted(&run.join("cells").join(&worst.cell).display().to_string());
    Some(format!(
        "most frozen video: {}\n  look: arcbench show {folder}\n  why: arcbench explain {folder}",
        worst.cell
    ))
}

/// The metrics that were asked for.
pub(crate) fn metrics(names: &[String]) -> Result<Vec<&'static Metric>, Failure> {
    Metric::select(names).map_err(|error| {
        let nearest = error.nearest.map(|nearest| format!("did you mean `{nearest}`? "));
        Failure::usage(error.to_string())
            .help(format!("{}`arcbench run --metric help` lists them", nearest.unwrap_or_default()))
    })
}

/// What a grid is made of.
pub(crate) struct Grid<'a> {
    /// The run's id.
    pub(crate) run: String,
    /// The run's folder.
    pub(crate) folder: &'a Path,
    /// The scenario's reference figures.
    pub(crate) reference: &'a Reference,
    /// All cells that there should be.
    pub(crate) shape: Shape,
    /// Those that have ended.
    pub(crate) summaries: &'a [Summary],
    /// How the gates fared.
    pub(crate) gates: &'a [GateRow],
}

impl Grid<'_> {
    /// The grid in the format that was asked for, and the reference figures below it.
    pub(crate) fn render(&self, format: Format, metrics: &[&'static Metric]) -> Result<String, Failure> {
        let compared = Comparison::new(self.reference, &self.shape, self.summaries);
        if format == Format::Json {
            let mut grid = bench::Grid::new(self.run.clone(), self.summaries.to_vec());
            grid.folder = Some(self.folder.display().to_string());
            grid.reference = compared.records();
            grid.gates = self.gates.to_vec();
            return serde_json::to_string(&grid)
                .map_err(|error| Failure::unexpected(format!("writing the grid as JSON: {error}")));
        }
        let tables: Vec<Table> =
            metrics.iter().map(|metric| Table::new(metric, &self.shape, self.summaries)).collect();
        let columns = output::columns();
        let (mut parts, last): (Vec<String>, String) = match format {
            Format::Csv => (vec![grid::csv(&tables)], compared.csv()),
            Format::Markdown => (tables.iter().map(grid::markdown).collect(), compared.markdown()),
            _ => {
                let human = tables.iter().map(|table| grid::human(table, columns)).collect();
                (human, compared.human(columns))
            }
        };
        if !compared.is_empty() {
            parts.push(last);
        }
        Ok(parts.join("\n"))
    }
}
