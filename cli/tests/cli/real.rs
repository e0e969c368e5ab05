//! Real cells from the command line: structure alone, since a busy machine decides the rest.

use super::Sandbox;
use super::schema::problems;

/// Whether this machine can; if not, says why.
#[expect(clippy::print_stderr, reason = "says what it skips")]
fn possible(sandbox: &Sandbox) -> bool {
    let found = sandbox.run(&["doctor", "--format", "json"]).ok().json();
    let checks = found["checks"].as_array().unwrap();
    let link = checks.iter().find(|check| check["name"] == "userspace link").unwrap();
    let possible = link["state"] != "unsupported";
    if !possible {
        eprintln!("skipped: {}", link["text"]);
    }
    possible
}

const SHORT: &str = r#"
duration = "2 s"
warmup = "1 s"
seeds = "1"
profiles = ["same-region"]
[settings.best]
"#;

#[test]
fn confirm_runs_cells_both_ways_and_goes_on_where_it_stopped() {
    let sandbox = Sandbox::new();
    if !possible(&sandbox) {
        return;
    }
    sandbox.file("short.toml", SHORT);
    let command = ["confirm", "short.toml", "--out", "out", "--repeat", "2", "--format", "json"];
    let ended = sandbox.run(&command);
    // 10 where the machine is so busy that a figure is off and yet not tainted.
    assert!(matches!(ended.code, Some(0 | 10)), "{ended:#?}");
    let result = ended.json();
    let schema = sandbox.run(&["schema", "confirm"]).ok().json();
    assert_eq!(problems(&schema, &result), Vec::<String>::new());
    let cells = result["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &result["backend"]), (1, &"userspace".into()));
    assert_eq!(cells[0]["repeats"], 2);
    assert_eq!(cells[0]["host"].as_array().unwrap().len(), 2);
    let rows = cells[0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 5);
    assert!(rows.iter().all(|row| row["sim"].is_number() && row["real"].is_number()), "{rows:?}");
    assert!(ended.err.contains("2/2 same-region--best--s1--"), "{}", ended.err);

    let again = sandbox.run(&command);
    assert_eq!(again.json(), result, "nothing is run again");
    assert!(again.err.contains("0 run now"), "{}", again.err);
    let cell = "same-region--best--s1";
    let shown = sandbox.run(&["show", cell, "--run", "out"]);
    assert!(shown.code == Some(2) && shown.err.contains(".r2"), "both are offered: {shown:#?}");
    let found = std::fs::read_dir(sandbox.path().join("out/cells")).unwrap();
    let mut folders: Vec<_> = found.map(|entry| entry.unwrap().path().display().to_string()).collect();
    folders.sort_unstable();
    sandbox.run(&["show", &folders[0]]).ok();
    sandbox.run(&["replay", &folders[0]]).refused(2, &["was run for real"]);
    let mixed = sandbox.run(&["run", "short.toml", "--out", "out"]);
    mixed.refused(2, &["--mode"]);
}

#[test]
fn real_mode_is_refused_by_name_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.file("short.toml", SHORT);
    sandbox.run(&["run", "short.toml", "--repeat", "2"]).refused(2, &["--mode real"]);
    sandbox.run(&["run", "short.toml", "--backend", "netem"]).refused(2, &["--mode real"]);
    if !possible(&sandbox) {
        return;
    }
    let cable = ["run", "short.toml", "--mode", "real", "--backend", "none"];
    sandbox.run(&cable).refused(2, &["same-region: operator-hop/down: `delay` is not possible"]);
    assert_eq!(sandbox.names(), ["short.toml"], "nothing was written");
}
