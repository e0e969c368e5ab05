//! `arcbench schema`: JSON Schema of what a person writes and of what a program reads.

use crate::args::{Schema, SchemaOf};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Prints the schema that was asked for.
pub(crate) fn run(arguments: &Schema) -> Result<Exit, Failure> {
    let schema = match arguments.of {
        SchemaOf::Scenario => bench::scenario_schema(),
        SchemaOf::Profile => netmodel::profile_schema(),
        SchemaOf::Settings => bench::settings_schema(),
        SchemaOf::Grid => bench::grid_schema(),
        SchemaOf::Compare => report::compare::record::compare_schema(),
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::unexpected(format!("writing the schema: {error}")))?;
    output::data(&text)?;
    Ok(Exit::Ok)
}
