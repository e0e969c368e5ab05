//! `arcbench schema`: JSON Schema of what a person writes and of what a program reads.

use schemars::schema_for;

use crate::args::{Schema, SchemaOf};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::records::{
    self, CdfRecord, CheckRecord, DoctorRecord, ErrorRecord, FatesRecord, HelpRecord, ListRecord,
    MomentsRecord, ReplayRecord,
};

/// Prints the schema that was asked for.
pub(crate) fn run(arguments: &Schema) -> Result<Exit, Failure> {
    let schema = match arguments.of {
        SchemaOf::Scenario => bench::scenario_schema(),
        SchemaOf::Profile => netmodel::profile_schema(),
        SchemaOf::Settings => bench::settings_schema(),
        SchemaOf::Grid => bench::grid_schema(),
        SchemaOf::Confirm => report::confirm::confirm_schema(),
        SchemaOf::Compare => report::compare::record::compare_schema(),
        SchemaOf::Show => records::cell_schema(),
        SchemaOf::Moments => schema_for!(MomentsRecord),
        SchemaOf::Explain => report::explain::explain_schema(),
        SchemaOf::Replay => schema_for!(ReplayRecord),
        SchemaOf::List => schema_for!(ListRecord),
        SchemaOf::Check => schema_for!(CheckRecord),
        SchemaOf::Cdf => schema_for!(CdfRecord),
        SchemaOf::Fates => schema_for!(FatesRecord),
        SchemaOf::Doctor => schema_for!(DoctorRecord),
        SchemaOf::Error => schema_for!(ErrorRecord),
        SchemaOf::Help => schema_for!(HelpRecord),
    };
    let text = serde_json::to_string_pretty(&schema)
        .map_err(|error| Failure::unexpected(format!("writing the schema: {error}")))?;
    output::data(&text)?;
    Ok(Exit::Ok)
}
