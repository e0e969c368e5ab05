//! `arcbench check`: everything that is wrong with a scenario, or that nothing is.

use crate::args::Check;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{input, output};

/// Loads the scenario as `run` would, and says what it found.
pub(crate) fn run(arguments: &Check) -> Result<Exit, Failure> {
    let loaded = input::load(&arguments.selection)?;
    let count = loaded.cells.len();
    let cells = if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
    output::data(&format!("ok: {} is {cells}", loaded.name))?;
    Ok(Exit::Ok)
}
