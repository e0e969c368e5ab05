//! JSON schemas of what people write and of what programs read.

use relay_core::Settings;
use schemars::{Schema, schema_for};

use crate::metrics::summary::Grid;
use crate::scenario::ScenarioFile;

/// Schema of a scenario file.
pub fn scenario_schema() -> Schema {
    schema_for!(ScenarioFile)
}

/// Schema of one settings block.
pub fn settings_schema() -> Schema {
    schema_for!(Settings)
}

/// Schema of the object that `--format json` prints.
pub fn grid_schema() -> Schema {
    schema_for!(Grid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schemas_name_every_top_level_key() {
        let keys = |schema: &Schema| -> Vec<String> {
            schema.get("properties").unwrap().as_object().unwrap().keys().cloned().collect()
        };
        let scenario = keys(&scenario_schema());
        for key in ["duration", "seeds", "profiles", "settings", "profile", "workload", "reference"] {
            assert!(scenario.iter().any(|k| k == key), "{key} in {scenario:?}");
        }
        assert!(keys(&settings_schema()).iter().any(|k| k == "congestion"));
        let grid = grid_schema();
        for key in ["cells", "reference"] {
            assert!(keys(&grid).iter().any(|k| k == key), "{key} in {grid:?}");
        }
        let required = grid.get("required").unwrap().as_array().unwrap();
        assert!(!required.iter().any(|key| key == "reference"), "{required:?}");
    }
}
