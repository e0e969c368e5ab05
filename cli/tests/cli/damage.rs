//! Kept cells of which something is missing or damaged: run again by the run's own command, and named by whoever wants to
//! read them. And which folder a reader took.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::{Ended, SMALL, Sandbox};

/// A sandbox with a kept run of the small scenario in `run`.
fn kept() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    again(&sandbox).ok();
    sandbox
}

fn again(sandbox: &Sandbox) -> Ended {
    sandbox.run(&["run", "small.toml", "--format", "json", "--no-report", "--out", "run"])
}

/// The folders of the run's cells, in the order of their names.
fn cells(sandbox: &Sandbox) -> Vec<PathBuf> {
    let entries = fs::read_dir(sandbox.path().join("run/cells")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort_unstable();
    paths
}

/// Cuts a file of a cell in two, and throws half away.
fn cut(cell: &std::path::Path, name: &str) {
    let file = cell.join(name);
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn the_same_command_runs_damaged_cells_again_and_says_which() {
    let sandbox = kept();
    let cells = cells(&sandbox);
    let bytes = |index: usize, name: &str| fs::read(cells[index].join(name)).unwrap();
    let whole = [bytes(1, "frames.parquet"), bytes(2, "seconds.parquet"), bytes(3, "delays.hlog")];
    fs::remove_file(cells[1].join("frames.parquet")).unwrap();
    cut(&cells[2], "seconds.parquet");
    cut(&cells[3], "delays.hlog");
    cut(&cells[4], "summary.json");
    let ended = again(&sandbox).ok();
    for (index, file) in [(1, "frames"), (2, "seconds"), (3, "delays"), (4, "summary")] {
        let id = cells[index].file_name().unwrap().to_str().unwrap();
        let line = format!("{id} is run again: failed to read `run/cells/{id}/{file}.");
        assert!(ended.err.contains(&line), "no {line:?} in {}", ended.err);
    }
    assert!(ended.err.contains("4 of 8 already finished"), "{}", ended.err);
    let now = [bytes(1, "frames.parquet"), bytes(2, "seconds.parquet"), bytes(3, "delays.hlog")];
    assert!(whole == now, "what is run again is as it was");
    let ended = again(&sandbox).ok();
    assert!(ended.err.contains("8 of 8 already finished") && !ended.err.contains("again"), "{}", ended.err);
}

#[test]
fn show_says_what_it_knows_and_which_table_it_could_not_read() {
    let sandbox = kept();
    let cell = &cells(&sandbox)[0];
    let show = |format: &str| sandbox.run(&["show", cell.to_str().unwrap(), "--format", format]);
    let whole = show("table").ok();
    fs::remove_file(cell.join("freezes.parquet")).unwrap();
    let ended = show("table");
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert!(
        ended.err.contains("freezes.parquet") && ended.err.contains("help: give the run's"),
        "{}",
        ended.err
    );
    assert!(!ended.err.contains("seconds"), "{}", ended.err);
    let heads = |text: &str| text.lines().take(20).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(heads(&ended.out), heads(&whole.out), "the summary is whole");
    show("csv").ok();
    cut(cell, "camera_seconds.parquet");
    let ended = show("table");
    for part in ["freezes.parquet", "camera_seconds.parquet", "not a whole Parquet file"] {
        assert!(ended.err.contains(part), "no {part:?} in {}", ended.err);
    }
    show("csv").refused(2, &["camera_seconds.parquet"]);
    show("markdown").refused(2, &["camera_seconds.parquet"]);
    show("json").ok();
}

#[test]
fn who_needs_a_table_that_cannot_be_read_names_it() {
    let sandbox = kept();
    let cell = &cells(&sandbox)[1];
    let id = cell.file_name().unwrap().to_str().unwrap();
    cut(cell, "frames.parquet");
    let says = ["frames.parquet", "not a whole Parquet file", "help: give the run's command again"];
    sandbox.run(&["explain", cell.to_str().unwrap()]).refused(2, &says);
    sandbox.run(&["cdf", cell.to_str().unwrap()]).refused(2, &says);
    sandbox.run(&["cdf", "run"]).refused(2, &says);
    // A page of the other cells is a page.
    let ended = sandbox.run(&["report", "run"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(11), "run/report.html\n"), "{ended:#?}");
    assert!(ended.err.contains(&format!("not in the page: {id}: failed to read `run/cells/{id}/frames")));
    let page = fs::read_to_string(sandbox.path().join("run/report.html")).unwrap();
    assert!(page.contains("Before you read") && page.contains("not a whole Parquet file"));
    // Summaries are all that these take.
    sandbox.run(&["grid", "run"]).ok();
    sandbox.run(&["compare", "run:plain", "run:plain"]).ok();
    cut(cell, "summary.json");
    for verb in [&["grid", "run"][..], &["compare", "run:plain", "run:plain"], &["cdf", "run"]] {
        sandbox.run(verb).refused(2, &[id, "summary.json"]);
    }
    let ended = sandbox.run(&["report", "run"]);
    assert_eq!(ended.code, Some(11), "{ended:#?}");
    assert!(ended.err.contains(&format!("{id}: its summary is damaged")), "{}", ended.err);
}

#[test]
fn a_report_goes_where_it_is_told_or_leaves_nothing() {
    let sandbox = kept();
    sandbox.run(&["report", "run", "--out", "new/deep/page.html"]).ok();
    assert!(sandbox.path().join("new/deep/page.html").is_file());
    sandbox.run(&["report", "run", "--out", "new/deep/page.html"]).refused(2, &["already there", "--force"]);
    sandbox.run(&["report", "run", "--out", "new/deep/page.html", "--force"]).ok();
    fs::create_dir(sandbox.path().join("folder")).unwrap();
    sandbox.run(&["report", "run", "--out", "folder"]).refused(2, &["it is a folder"]);
    sandbox.run(&["report", "nowhere", "--out", "other/page.html"]).refused(2, &["nowhere"]);
    assert_eq!(sandbox.names(), ["folder", "new", "run", "small.toml"]);
}

#[test]
fn every_reader_names_the_folder_it_took() {
    let sandbox = kept();
    sandbox.run(&["run", "small.toml", "--quiet", "--no-report"]).ok();
    let newest = fs::read_dir(sandbox.path().join("runs")).unwrap().next().unwrap().unwrap();
    let newest = format!("runs/{}", newest.file_name().to_str().unwrap());
    let id = cells(&sandbox)[0].file_name().unwrap().to_str().unwrap().to_owned();
    let (kept_cell, new_cell) = (format!("run/cells/{id}"), format!("{newest}/cells/{id}"));
    let says = |folder: &str| format!(": {folder}\n");
    let chosen = |folder: &str| format!(": {folder}, the newest in ./runs\n");
    for (verb, told, place, folder) in [
        (&["grid", "run"][..], says("run"), "/folder", "run"),
        (&["grid"], chosen(&newest), "/folder", &newest),
        (&["cdf", "run"], says("run"), "/folder", "run"),
        (&["cdf"], chosen(&newest), "/folder", &newest),
        (&["cdf", &id], chosen(&new_cell), "/folder", &new_cell),
        (&["show", &id, "--run", "run"], says(&kept_cell), "/folder", &kept_cell),
        (&["show", &id], chosen(&new_cell), "/folder", &new_cell),
        (&["show", &id, "--at", "1s"], chosen(&new_cell), "/folder", &new_cell),
        (&["compare", "plain", "plain"], chosen(&newest), "/after/folder", &newest),
        (&["compare", "run:plain", "plain"], says("run"), "/before/folder", "run"),
        (&["compare", "run:plain", "plain"], chosen(&newest), "/after/folder", &newest),
    ] {
        for format in ["table", "markdown", "csv"] {
            let ended = sandbox.run(&[verb, &["--format", format]].concat()).ok();
            assert!(ended.err.contains(&told), "{verb:?} as {format}: no {told:?} in {}", ended.err);
        }
        let json: Value = sandbox.run(&[verb, &["--format", "json"]].concat()).ok().json();
        assert_eq!(json.pointer(place), Some(&folder.into()), "{verb:?}");
    }
}
