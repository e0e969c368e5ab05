//! What the README shows is what its commands print.

use std::path::Path;

use crate::Sandbox;

/// The README, and the folder that it is in.
fn readme() -> (String, std::path::PathBuf) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    (std::fs::read_to_string(root.join("README.md")).unwrap(), root.to_owned())
}

/// The tables under `heading`, with the captions in bold over them.
fn tables(readme: &str, heading: &str) -> Vec<String> {
    let section = readme.split("\n## ").find(|section| section.lines().next() == Some(heading));
    let section = section.unwrap_or_else(|| panic!("no section {heading:?}"));
    let shown = |line: &&str| line.starts_with('|') || line.starts_with("**");
    section.lines().filter(shown).map(str::to_owned).collect()
}

/// All 45 cells at their full length: the one test here that takes a while.
#[test]
fn the_first_grid_is_what_the_first_command_prints() {
    let (readme, root) = readme();
    let scenario = root.join("scenarios/seed-matrix.toml");
    assert!(readme.contains("run scenarios/seed-matrix.toml"), "the README's first command");
    let sandbox = Sandbox::new();
    let arguments = ["run", scenario.to_str().unwrap(), "--quiet", "--no-report", "--format", "markdown"];
    let printed = sandbox.run(&arguments).ok().out;
    let printed: Vec<&str> =
        printed.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("ours: ")).collect();
    let shown = tables(&readme, "The first grid");
    for (shown, printed) in shown.iter().zip(&printed) {
        assert_eq!(shown, printed, "README's first grid; `--format markdown` prints it");
    }
    assert_eq!(shown.len(), printed.len(), "{printed:#?}");
}
