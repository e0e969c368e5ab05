//! Running: what goes where, resuming, and being interrupted.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Ended, SMALL, Sandbox};

/// A sandbox with `small.toml` in it.
fn small() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    sandbox
}

fn cells(grid: &Value) -> &Vec<Value> {
    grid["cells"].as_array().unwrap()
}

fn finished(run: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(run.join("cells")) else { return Vec::new() };
    let done = entries.filter_map(Result::ok).filter(|entry| entry.path().join("summary.json").is_file());
    let mut names: Vec<String> = done.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn json_is_one_object_of_the_documented_shape() {
    let sandbox = small();
    let ended = sandbox.run(&["run", "small.toml", "--format", "json", "--seeds", "1"]).ok();
    assert_eq!(ended.out.trim_end().lines().count(), 1, "one line, one object");
    let grid = ended.json();
    assert_eq!((&grid["schema"], &grid["version"]), (&"arcbench.grid".into(), &1.into()));
    assert_eq!(cells(&grid).len(), 4);
    for cell in cells(&grid) {
        assert_eq!(cell["status"], "ok");
        assert_eq!(cell["mode"], "sim");
        assert_eq!(cell["seed"], "1", "seeds are strings");
        assert_eq!(cell["duration_s"], 2.0);
        assert!(cell["trace_hash"].as_str().unwrap().len() >= 16);
        assert!(cell["packets"].as_u64().unwrap() > 100);
        assert!(cell["cpu_s"].as_f64().unwrap() > 0.0);
        assert_eq!(cell["cameras"]["main"]["produced"], 30);
        assert!(cell["cameras"]["wrist-left"]["delay_all_ms"].is_object());
        assert!(cell["all"]["goodput_mbit_s"].is_number());
        assert!(cell["hand_to_command_ms"]["p50"].is_number());
        assert_eq!(cell["stale_commands"], 0);
        assert!(cell["link"]["down"]["offered"].as_u64().unwrap() > 0);
    }
    let run = grid["run"].as_str().unwrap();
    assert!(run.starts_with("small-"), "{run}");
    assert_eq!(finished(&sandbox.path().join("runs").join(run)).len(), 4);
}

#[test]
fn stdout_is_the_grid_and_nothing_else() {
    let sandbox = small();
    let ended = sandbox.run(&["run", "small.toml"]).ok();
    assert!(ended.out.starts_with("delivered: "), "{}", ended.out);
    for metric in ["delivered", "frozen", "delay-p50", "delay-p99", "hand-p50"] {
        assert!(ended.out.contains(&format!("{metric}: ")), "{}", ended.out);
    }
    assert!(!ended.out.contains("cells/s") && !ended.out.contains("runs/"), "{}", ended.out);
    assert!(ended.out.is_ascii() && !ended.out.contains('\u{1b}'));
    assert!(ended.out.lines().all(|line| line.len() <= 80), "{}", ended.out);
    assert!(ended.err.contains("8 cells") && ended.err.contains("runs/small-"), "{}", ended.err);
    assert!(!ended.err.contains('\u{1b}'), "no colour where there is no terminal");
}

#[test]
fn quiet_is_quiet() {
    let ended = small().run(&["run", "small.toml", "--seeds", "1", "--quiet", "--metric", "delivered"]).ok();
    assert_eq!(ended.err, "");
    assert!(ended.out.starts_with("delivered: "));
}

#[test]
fn markdown_and_csv_hold_the_same_grid() {
    let sandbox = small();
    let of =
        |format| sandbox.run(&["run", "small.toml", "--metric", "delivered", "--format", format]).ok().out;
    assert!(of("markdown").contains("| same-region |"));
    let csv = of("csv");
    assert_eq!(csv.lines().count(), 1 + 2 * 2, "{csv}");
    assert!(csv.lines().nth(1).unwrap().starts_with("delivered,% of produced,same-region,plain,2,2,0,0,"));
}

#[test]
fn reference_figures_stand_beside_the_results() {
    let sandbox = Sandbox::new();
    let figures = "[reference.same-region.plain]\ndelivered = 90\n[reference.same-region.reno]\nfrozen = 1\n\
                   [reference.thin-india.plain]\ndelivered = 1\n";
    sandbox.file("figures.toml", &format!("{SMALL}{figures}"));
    let of = |format, settings| {
        let selection = ["--profiles", "same-region", "--seeds", "1", "--settings", settings];
        let arguments =
            [&["run", "figures.toml", "--metric", "delivered", "--format", format][..], &selection].concat();
        sandbox.run(&arguments).ok()
    };
    let human = of("human", "plain").out;
    let table = "
against the reference
  ours: 1 seed; difference: ours less reference
 profile      settings  metric       reference   ours  difference
-----------------------------------------------------------------
 same-region  plain     delivered %       90.0  100.0       +10.0
";
    assert!(human.ends_with(table), "{human}");
    assert!(of("markdown", "plain").out.contains("**against the reference**"));
    let csv = of("csv", "plain").out;
    let rows = "\n\nprofile,settings,metric,unit,reference,ours,difference\n\
                same-region,plain,delivered,% of produced,90,100,10\n";
    assert!(csv.ends_with(rows), "{csv}");
    let grid = of("json", "plain").json();
    let row = serde_json::json!({
        "profile": "same-region", "settings": "plain", "metric": "delivered", "unit": "% of produced",
        "reference": 90.0, "ours": 100.0, "difference": 10.0,
    });
    assert_eq!(grid["reference"], serde_json::json!([row]));
    sandbox.file("small.toml", SMALL);
    let without = sandbox.run(&["run", "small.toml", "--seeds", "1", "--format", "json"]).ok().json();
    assert!(without.get("reference").is_none(), "{without}");
}

#[test]
fn a_built_in_scenario_runs_from_any_folder() {
    let sandbox = Sandbox::new();
    let arguments =
        ["run", "--duration", "1 s", "--seeds", "1", "--profiles", "same-region", "--format", "json"];
    let grid = sandbox.run(&arguments).ok().json();
    assert!(!cells(&grid).is_empty());
    assert!(cells(&grid).iter().all(|cell| cell["profile"] == "same-region"));
}

#[test]
fn the_same_command_does_not_run_finished_cells_again() {
    let sandbox = small();
    let arguments = ["run", "small.toml", "--format", "json"];
    let first = sandbox.run(&arguments).ok().json();
    let again = sandbox.run(&arguments).ok();
    // Even the processor time is the same: it was read, not measured again.
    assert_eq!(first, again.json());
    assert!(again.err.contains("8 of 8"), "{}", again.err);
}

#[test]
fn a_partial_run_is_completed_and_equals_an_undisturbed_one() {
    let sandbox = small();
    let arguments = ["run", "small.toml", "--format", "json", "--out", "here"];
    let whole = sandbox.run(&arguments).ok().json();
    let run = sandbox.path().join("here");
    let all = finished(&run);
    for id in [&all[1], &all[4]] {
        fs::remove_dir_all(run.join("cells").join(id)).unwrap();
    }
    // What a killed process leaves behind: a cell without its summary.
    fs::create_dir_all(run.join("cells").join(&all[1])).unwrap();
    fs::write(run.join("cells").join(&all[1]).join("frames.parquet"), "PAR1 torn").unwrap();
    let resumed = sandbox.run(&arguments).ok();
    assert!(resumed.err.contains("6 of 8"), "{}", resumed.err);
    assert_eq!(hashes(&resumed.json()), hashes(&whole));
    assert_eq!(finished(&run), all);
}

#[test]
fn fresh_runs_finished_cells_again() {
    let sandbox = small();
    let arguments = ["run", "small.toml", "--seeds", "1", "--format", "json"];
    let first = sandbox.run(&arguments).ok().json();
    let fresh = sandbox.run(&[&arguments[..], &["--fresh"]].concat()).ok();
    assert!(!fresh.err.contains("of 4 already"), "{}", fresh.err);
    assert_eq!(hashes(&fresh.json()), hashes(&first));
}

#[test]
fn jobs_do_not_change_results() {
    let sandbox = small();
    let with = |jobs, out| {
        hashes(
            &sandbox
                .run(&["run", "small.toml", "--format", "json", "--jobs", jobs, "--out", out])
                .ok()
                .json(),
        )
    };
    assert_eq!(with("1", "one"), with("3", "three"));
}

#[test]
fn another_crypto_is_another_run() {
    let sandbox = small();
    let run = |crypto| {
        let selection = ["--profiles", "same-region", "--settings", "plain", "--seeds", "1"];
        let arguments =
            [&["run", "small.toml", "--format", "json", "--crypto", crypto][..], &selection].concat();
        sandbox.run(&arguments).ok().json()
    };
    let (null, tls) = (run("null"), run("tls"));
    assert_ne!(null["run"], tls["run"]);
    assert_eq!(cells(&tls)[0]["cameras"]["main"]["delivered"], 30);
}

#[test]
fn the_resolved_scenario_runs_and_gives_the_same_cells() {
    let sandbox = small();
    let first = sandbox.run(&["run", "small.toml", "--format", "json", "--out", "a"]).ok().json();
    let resolved = "a/scenario.resolved.toml";
    let again = sandbox.run(&["run", resolved, "--format", "json", "--out", "b"]).ok().json();
    assert_eq!(hashes(&first), hashes(&again));
}

#[test]
fn events_are_written_where_asked() {
    let sandbox = small();
    let selection = ["--profiles", "bad-india", "--settings", "plain", "--seeds", "1"];
    let arguments = [&["run", "small.toml", "--events", "--out", "e"][..], &selection].concat();
    sandbox.run(&arguments).ok();
    let run = sandbox.path().join("e");
    let cell = run.join("cells").join(&finished(&run)[0]);
    let file = fs::File::open(cell.join("events.jsonl.zst")).unwrap();
    let text = String::from_utf8(zstd::decode_all(file).unwrap()).unwrap();
    assert!(text.lines().count() > 1000);
    for line in text.lines().take(100) {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[test]
fn show_finds_a_cell_by_the_beginning_of_its_id() {
    let sandbox = small();
    let grid = sandbox.run(&["run", "small.toml", "--format", "json", "--seeds", "1"]).ok().json();
    let shown = sandbox.run(&["show", "bad-india--reno"]).ok();
    assert!(shown.out.contains("profile bad-india, settings reno, seed 1"), "{}", shown.out);
    let json = sandbox.run(&["show", "bad-india--reno", "--format", "json"]).ok().json();
    // A cell of a grid is the same object without what says of a whole output what it is.
    let mut fields = json.as_object().unwrap().clone();
    assert_eq!(
        (fields.remove("schema"), fields.remove("version")),
        (Some("arcbench.cell".into()), Some(1.into()))
    );
    let folder = fields.remove("folder").unwrap();
    assert!(folder.as_str().unwrap().starts_with("runs/small-"), "{folder}");
    assert!(cells(&grid).contains(&Value::Object(fields)));
    sandbox.run(&["show", "bad-india"]).refused(2, &["bad-india--plain", "bad-india--reno"]);
}

/// A run folder in which the second cell cannot be written, and that cell's id.
fn blocked(sandbox: &Sandbox) -> String {
    sandbox.run(&["run", "small.toml", "--out", "here", "--quiet"]).ok();
    let cells = sandbox.path().join("here/cells");
    let id = finished(&sandbox.path().join("here"))[1].clone();
    fs::remove_dir_all(cells.join(&id)).unwrap();
    fs::write(cells.join(&id), "in the way").unwrap();
    id
}

#[test]
fn a_cell_that_fails_is_named_with_its_reason_and_its_replay() {
    let sandbox = small();
    let id = blocked(&sandbox);
    let ended =
        sandbox.run(&["run", "small.toml", "--out", "here", "--events", "--format", "json", "--quiet"]);
    assert_eq!(ended.code, Some(11), "{ended:#?}");
    assert!(ended.err.contains(&format!("failed: {id}")), "{}", ended.err);
    assert!(ended.err.contains("replay: arcbench run small.toml --profiles bad-india"), "{}", ended.err);
    assert!(ended.err.contains("1 of 8 cells failed"), "{}", ended.err);
    let grid = ended.json();
    assert_eq!(cells(&grid).len(), 8);
    let failed: Vec<_> = cells(&grid).iter().filter(|cell| cell["status"] == "failed").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0]["cell"], id.as_str());
    assert!(failed[0]["error"].is_string());
}

#[test]
fn a_result_that_cannot_be_kept_stops_the_run() {
    let sandbox = small();
    blocked(&sandbox);
    let ended = sandbox.run(&["run", "small.toml", "--out", "here"]);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.err.contains("could not be kept"), "{}", ended.err);
    assert_eq!(finished(&sandbox.path().join("here")).len(), 7, "the others are still there");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_its_cells_and_the_same_command_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.file("long.toml", &SMALL.replace("\"1..2\"", "\"1..100\""));
    let arguments = ["run", "long.toml", "--jobs", "1", "--format", "json", "--out", "here"];
    let run = sandbox.path().join("here");
    let child = sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| !finished(&run).is_empty());
    interrupt(&child);
    let stopped = Ended::new(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(12), "{}", stopped.err);
    assert!(stopped.err.contains("arcbench run long.toml --jobs 1"), "{}", stopped.err);
    let kept = finished(&run);
    assert!(!kept.is_empty() && kept.len() < 400, "{}", kept.len());
    assert_eq!(cells(&stopped.json()).len(), kept.len());
    // Fewer seeds would be another run; the same command is what goes on.
    let resumed = sandbox.run(&arguments).ok();
    assert!(resumed.err.contains(&format!("{} of 400", kept.len())), "{}", resumed.err);
    assert_eq!(finished(&run).len(), 400);
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_is_answered_from_the_beginning() {
    let sandbox = small();
    let arguments = ["run", "small.toml", "--jobs", "1", "--out", "here"];
    let run = sandbox.path().join("here");
    let child = sandbox.command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| {
        let begun = run.exists();
        let listens = listens(&child);
        assert!(listens || !begun, "work before anybody listens");
        listens
    });
    interrupt(&child);
    let stopped = Ended::new(child.wait_with_output().unwrap());
    assert_eq!(stopped.code, Some(12), "{stopped:#?}");
    assert!(stopped.err.contains("interrupted"), "{}", stopped.err);
    assert!(finished(&run).len() < 8);
}

/// Whether the process handles SIGINT, as its kernel says.
#[cfg(target_os = "linux")]
fn listens(child: &Child) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

fn hashes(grid: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    cells(grid).iter().map(|cell| (text(&cell["cell"]), text(&cell["trace_hash"]))).collect()
}

/// Sends SIGINT, as Ctrl-C does.
pub(crate) fn interrupt(child: &Child) {
    let process = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for, in real time")]
pub(crate) fn wait_for(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited too long");
        std::thread::sleep(Duration::from_millis(5));
    }
}
