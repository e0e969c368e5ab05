//! `--gate`: what a result must keep to. All gates are read and held against what there will be before
//! anything runs, and judged when all cells have ended.

use bench::metrics::GateRow;
use bench::{Cell, Summary};
use report::Gate;

use crate::failure::Failure;
use crate::{kept, output};

/// Reads `texts` and holds them against `cells`; everything that is wrong is one failure.
pub(crate) fn read(texts: &[String], cells: &[Cell]) -> Result<Vec<Gate>, Failure> {
    let known = kept::known(cells);
    let (mut gates, mut wrong) = (Vec::new(), Vec::new());
    for text in texts {
        match Gate::parse(text).and_then(|gate| gate.check(&known).map(|()| gate)) {
            Ok(gate) => gates.push(gate),
            Err(error) => {
                let said = Failure::usage(error.to_string());
                wrong.push(error.help.into_iter().fold(said, Failure::help).text());
            }
        }
    }
    if wrong.is_empty() { Ok(gates) } else { Err(Failure::report(wrong.join("\n"))) }
}

/// Judges `gates` on what came of `cells`.
pub(crate) fn judge(gates: &[Gate], cells: &[Cell], summaries: &[Summary]) -> Vec<GateRow> {
    let (shape, known) = (kept::shape(cells), kept::known(cells));
    gates.iter().flat_map(|gate| gate.judge(&shape, &known, summaries)).collect()
}

/// Says on stderr which gates failed, each with the line that runs its worst seed again; whether any
/// did.
pub(crate) fn tell(rows: &[GateRow], quiet: bool, replay: impl Fn(&str, &str, &str) -> String) -> bool {
    let failed: Vec<&GateRow> = rows.iter().filter(|row| !row.passed).collect();
    for row in failed.iter().take(TOLD_MAX) {
        let value =
            |value: Option<f64>| value.map_or_else(|| "no number".to_owned(), |value| value.to_string());
        output::note(&format!(
            "gate failed: {}\n  {} under {}: {}; worst is seed {} with {}\n  replay: {}",
            row.gate,
            row.profile,
            row.settings,
            value(row.value),
            row.worst_seed,
            value(row.worst_value),
            replay(&row.profile, &row.settings, &row.worst_seed)
        ));
    }
    if failed.len() > TOLD_MAX {
        output::note(&format!("and {} more; `--format json` has them all", failed.len() - TOLD_MAX));
    }
    let all_hold = failed.is_empty();
    if !(rows.is_empty() || quiet && all_hold) {
        output::note(&format!("gates: {} of {} results hold", rows.len() - failed.len(), rows.len()));
    }
    !failed.is_empty()
}

/// Failed results that are told before it is only said how many more there are.
const TOLD_MAX: usize = 20;
