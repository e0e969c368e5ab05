//! The scenarios that are built into the binary, so that it runs from any folder.

/// Names of the built-in scenarios; the first is what runs when none is named.
pub fn builtin_scenario_names() -> &'static [&'static str] {
    &["seed-matrix", "seed-before-after", "best", "laws", "fec", "fairness", "outage", "confirm"]
}

/// The text of a built-in scenario.
pub fn builtin_scenario(name: &str) -> Option<&'static str> {
    match name {
        "seed-matrix" => Some(include_str!("../../scenarios/seed-matrix.toml")),
        "seed-before-after" => Some(include_str!("../../scenarios/seed-before-after.toml")),
        "best" => Some(include_str!("../../scenarios/best.toml")),
        "laws" => Some(include_str!("../../scenarios/laws.toml")),
        "fec" => Some(include_str!("../../scenarios/fec.toml")),
        "fairness" => Some(include_str!("../../scenarios/fairness.toml")),
        "outage" => Some(include_str!("../../scenarios/outage.toml")),
        "confirm" => Some(include_str!("../../scenarios/confirm.toml")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn every_builtin_scenario_is_sound() {
        for name in builtin_scenario_names() {
            let text = builtin_scenario(name).unwrap();
            let scenario = Scenario::parse(name, text, &|_| None).unwrap_or_else(|e| panic!("{e}"));
            assert!(!scenario.cells().is_empty());
        }
        assert_eq!(builtin_scenario("nothing"), None);
    }

    #[test]
    fn the_seed_matrix_is_five_profiles_three_settings_three_seeds() {
        let text = builtin_scenario("seed-matrix").unwrap();
        let scenario = Scenario::parse("seed-matrix.toml", text, &|_| None).unwrap();
        let settings: Vec<&str> = scenario.settings().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(settings, ["before", "tuned", "best"], "in the order of the file");
        let cells = scenario.cells();
        assert_eq!(cells.len(), 45);
        assert!(cells[0].id().starts_with("same-region--before--s1--"));
        assert!(cells[3].id().starts_with("same-region--tuned--s1--"));
        assert!(cells[44].id().starts_with("thin-india--best--s3--"));
    }
}
