//! `arcbench check`: everything that is wrong with a scenario, or that nothing is.

use report::{Align, Sheet};

use crate::args::{Check, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::input::{self, Loaded};
use crate::list::distinct;
use crate::output;
use crate::records::{self, CheckRecord};

/// Loads the scenario as `run` would, and says what it found.
pub(crate) fn run(arguments: &Check) -> Result<Exit, Failure> {
    let loaded = input::load(&arguments.selection)?;
    let count = loaded.cells.len();
    input::warn(&loaded);
    match arguments.format {
        Format::Human => {
            let cells = if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
            output::data(&format!("ok: {} is {cells}", loaded.name))?;
        }
        Format::Json => output::data(&records::line(&record(&loaded))?)?,
        Format::Markdown => output::data(&sheet(&loaded).markdown())?,
        Format::Csv => output::data(&sheet(&loaded).csv())?,
    }
    Ok(Exit::Ok)
}

fn record(loaded: &Loaded) -> CheckRecord {
    let cells = &loaded.cells;
    CheckRecord {
        schema: "arcbench.check",
        version: records::VERSION,
        ok: true,
        scenario: loaded.name.clone(),
        cells: cells.len(),
        profiles: distinct(cells, |cell| cell.profile.name.clone()),
        settings: distinct(cells, |cell| cell.settings_name.clone()),
        seeds: distinct(cells, |cell| cell.seed.to_string()),
        warnings: loaded.scenario.warnings(),
    }
}

fn sheet(loaded: &Loaded) -> Sheet {
    let CheckRecord { scenario, cells, profiles, settings, seeds, warnings, .. } = record(loaded);
    let left = Align::Left;
    let columns = [
        ("scenario", left),
        ("cells", Align::Right),
        ("profiles", left),
        ("settings", left),
        ("seeds", left),
        ("warnings", left),
    ];
    let mut sheet = Sheet::new(columns);
    let [profiles, settings, seeds] = [profiles, settings, seeds].map(|names| names.join(" "));
    sheet.row([scenario, cells.to_string(), profiles, settings, seeds, warnings.join("; ")]);
    sheet
}
