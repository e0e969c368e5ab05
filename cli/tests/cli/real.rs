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
    let shown = sandbox.run(&["show", &folders[0]]).ok().out;
    assert!(shown.contains(" datagrams sent in ") && shown.contains("(GSO on)"), "{shown}");
    // The second time is named by its own id, and is in everything that is made of the run.
    let second = folders
        .iter()
        .find(|folder| folder.strip_suffix(".r2").is_some())
        .unwrap()
        .rsplit('/')
        .next()
        .unwrap();
    assert!(sandbox.run(&["show", second, "--run", "out"]).ok().out.contains("run 2 of this cell"));
    let explained = sandbox.run(&["explain", second, "--run", "out"]).ok().out;
    assert!(explained.contains(second) && !explained.contains("arcbench replay"), "{explained}");
    let grid = sandbox.run(&["grid", "out", "--metric", "hand-p50", "--format", "csv"]).ok().out;
    let row: Vec<&str> = grid.lines().nth(1).unwrap().split(',').collect();
    assert_eq!((row[4], row[5], row[10]), ("2", "2", "2"), "{grid}");
    assert!(row[11].parse::<f64>().is_ok_and(|noise| noise >= 0.0), "{grid}");
    let grid = sandbox.run(&["grid", "out", "--metric", "hand-p50"]).ok().out;
    assert!(grid.contains("mean of 1 seed x 2 repeats (worst)") && grid.contains(" ~"), "{grid}");
    let page = std::fs::read_to_string(sandbox.path().join("out/report.html")).unwrap();
    assert!(page.contains("each run 2 times") && page.contains(">1.r2</option>"), "both are in the page");
    assert!(page.contains(second) && page.contains("--mode real --backend userspace"));
    sandbox.run(&["replay", &folders[0]]).refused(2, &["was run for real"]);
    let mixed = sandbox.run(&["run", "short.toml", "--out", "out"]);
    mixed.refused(2, &["--mode"]);
}

/// Names of everything below a folder that is not whole.
fn unfinished(folder: &std::path::Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: std::path::PathBuf| {
        if path.is_dir() { unfinished(&path) } else { vec![path.display().to_string()] }
    };
    entries.flat_map(of).filter(|name| name.strip_suffix(".tmp").is_some()).collect()
}

fn finished(run: &std::path::Path) -> usize {
    let cells = std::fs::read_dir(run.join("cells"));
    cells
        .into_iter()
        .flatten()
        .filter(|cell| cell.as_ref().unwrap().path().join("summary.json").exists())
        .count()
}

/// The first Ctrl-C lets the cell that is at work come to its end, the second does not; nothing is left half-written, and
/// the same command goes on.
#[test]
fn a_real_run_that_is_interrupted_keeps_its_cells_and_goes_on() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let sandbox = Sandbox::new();
    if !possible(&sandbox) {
        return;
    }
    sandbox.file("short.toml", SHORT);
    let run = sandbox.path().join("out");
    let command = ["run", "short.toml", "--mode", "real", "--repeat", "3", "--events", "--out", "out"];
    let stopped = |signals: usize| {
        let mut child =
            sandbox.command(&command).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut until = |text: &str| {
            let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains(text));
            assert!(line.is_some(), "no {text:?}");
        };
        // What is told when a cell begins.
        until("/3 same-region--best--s1--");
        for signal in 0..signals {
            super::runs::interrupt(&child);
            until(if signal == 0 { "interrupted: finishing the cells at work" } else { "stopped; finished" });
        }
        assert_eq!(child.wait().unwrap().code(), Some(12));
        assert_eq!(unfinished(&run), Vec::<String>::new());
        finished(&run)
    };
    assert_eq!(stopped(2), 0, "the second stops at once");
    assert_eq!(stopped(1), 1, "the first lets the cell end");
    let ended = sandbox.run(&command).ok();
    assert!(ended.err.contains("1 of 3 already finished"), "{}", ended.err);
    assert_eq!(finished(&run), 3);
}

/// A cell whose result cannot be written ends the run: exit code 1, and the others are kept.
#[test]
fn a_real_result_that_cannot_be_kept_stops_the_run() {
    let sandbox = Sandbox::new();
    if !possible(&sandbox) {
        return;
    }
    sandbox.file("short.toml", SHORT);
    let command = ["run", "short.toml", "--mode", "real", "--repeat", "2", "--out", "out"];
    let listed = sandbox.run(&["list", "short.toml", "--format", "json"]).ok().json();
    let id = listed["cells"][0]["cell"].as_str().unwrap().to_owned();
    // A file where the first cell's folder is to be.
    std::fs::create_dir_all(sandbox.path().join("out/cells")).unwrap();
    sandbox.file(&format!("out/cells/{id}"), "");
    let ended = sandbox.run(&command);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.err.contains("a result could not be kept"), "{}", ended.err);
    assert_eq!(finished(&sandbox.path().join("out")), 0, "the second was not begun");
    std::fs::remove_file(sandbox.path().join("out/cells").join(&id)).unwrap();
    sandbox.run(&command).ok();
    assert_eq!(finished(&sandbox.path().join("out")), 2);
    sandbox
        .run(&["run", "short.toml", "--mode", "real", "--out", "/proc/nowhere"])
        .refused(2, &["cannot make the run folder", "--out"]);
}

#[test]
fn real_mode_is_refused_by_name_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.file("short.toml", SHORT);
    sandbox.run(&["run", "short.toml", "--repeat", "2"]).refused(2, &["--mode real"]);
    sandbox.run(&["run", "short.toml", "--backend", "netem"]).refused(2, &["--mode real"]);
    let real = |more: &[&str]| sandbox.run(&[&["run", "short.toml", "--mode", "real"][..], more].concat());
    real(&["--jobs", "2"]).refused(2, &["--jobs with --mode real", "no cell was run"]);
    real(&["--crypto", "null"]).refused(2, &["--crypto null with --mode real", "TLS"]);
    assert_eq!(sandbox.names(), ["short.toml"], "nothing was written");
    if !possible(&sandbox) {
        return;
    }
    let flow = "[workload]\ncross_traffic = { kind = \"bulk\" }\n";
    sandbox.file("flow.toml", &SHORT.replace("[settings", &format!("{flow}[settings")));
    for verb in [&["run", "flow.toml", "--mode", "real"][..], &["confirm", "flow.toml"]] {
        sandbox.run(verb).refused(2, &["`workload.cross_traffic` with real cells", "no cell was run"]);
    }
    std::fs::remove_file(sandbox.path().join("flow.toml")).unwrap();
    let cable = ["run", "short.toml", "--mode", "real", "--backend", "none"];
    sandbox.run(&cable).refused(2, &["same-region: operator-hop/down: `delay` is not possible"]);
    assert_eq!(sandbox.names(), ["short.toml"], "nothing was written");
}
