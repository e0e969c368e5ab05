//! Resuming, refusing, and never keeping half of anything.

use std::fs;
use std::io::{Read, Write};

use super::*;
use crate::metrics::Recorder;
use crate::scenario::{Overrides, Scenario};
use units::Time;

fn scenario() -> Scenario {
    let text = "duration = \"1 s\"\nseeds = \"1..2\"\nprofiles = [\"brazil\"]\n[settings.a]\n";
    Scenario::parse("x", text, &|_| None).unwrap()
}

fn manifest() -> Manifest {
    Manifest {
        format: Manifest::FORMAT,
        base_seed: "1".to_owned(),
        created: "now".to_owned(),
        ..Manifest::default()
    }
}

fn open(path: &Path) -> Result<RunFolder, RunFolderError> {
    RunFolder::open_or_create(path, &scenario(), &manifest())
}

fn result(cell: &Cell) -> CellResult {
    Recorder::new(cell, None).finish(Time::from_nanos(9_000_000_000))
}

/// Names of all files under a folder.
fn files(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            names.extend(files(&entry.path()));
        } else {
            names.push(entry.file_name().into_string().unwrap());
        }
    }
    names.sort();
    names
}

#[test]
fn a_run_is_resumed_where_it_stopped() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("runs/one");
    let cells = scenario().cells();
    let folder = open(&path).unwrap();
    assert!(!folder.resumed());
    assert_eq!((folder.id().as_str(), folder.done(&cells[0])), ("one", None));
    folder.write(&cells[0], &result(&cells[0])).unwrap();

    let folder = open(&path).unwrap();
    assert!(folder.resumed());
    assert_eq!(folder.done(&cells[0]), Some(result(&cells[0]).summary));
    assert_eq!(folder.done(&cells[1]), None);
    assert_eq!(folder.manifest(), Some(manifest()));
    assert_eq!(
        files(&path),
        [
            "camera_seconds.parquet",
            "delays.hlog",
            "frames.parquet",
            "freezes.parquet",
            "lock",
            "manifest.json",
            "scenario.resolved.toml",
            "seconds.parquet",
            "summary.json"
        ]
    );
    let seconds = folder.cell_folder(&cells[0]).seconds().unwrap();
    assert_eq!(seconds.len(), 4, "one second of traffic and three of drain");
}

#[test]
fn the_resolved_scenario_in_the_folder_runs() {
    let temp = tempfile::tempdir().unwrap();
    open(temp.path()).unwrap();
    let text = fs::read_to_string(temp.path().join("scenario.resolved.toml")).unwrap();
    assert_eq!(Scenario::parse("x", &text, &|_| None).unwrap(), scenario());
}

#[test]
fn another_scenario_is_refused_and_nothing_touched() {
    let temp = tempfile::tempdir().unwrap();
    open(temp.path()).unwrap();
    let mut other = scenario();
    other.apply(&Overrides { seeds: Some("5".to_owned()), ..Overrides::default() }).unwrap();
    let before = files(temp.path());
    let error = RunFolder::open_or_create(temp.path(), &other, &manifest()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("another scenario") && text.contains("seeds = "), "{text}");
    assert_eq!(files(temp.path()), before);
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("thesis.txt"), "years of work").unwrap();
    let error = open(temp.path()).unwrap_err();
    assert!(matches!(error, RunFolderError::NotARunFolder { .. }), "{error}");
    assert_eq!(files(temp.path()), ["thesis.txt"]);
    let file = temp.path().join("thesis.txt");
    let error = open(&file).unwrap_err().to_string();
    assert!(error.contains("thesis.txt"), "{error}");
}

#[test]
fn a_beginning_that_was_cut_short_is_begun_again() {
    let temp = tempfile::tempdir().unwrap();
    fs::create_dir(temp.path().join("cells")).unwrap();
    fs::write(temp.path().join("manifest.json"), "{").unwrap();
    fs::write(temp.path().join("scenario.resolved.toml.tmp"), "dur").unwrap();
    let folder = open(temp.path()).unwrap();
    assert!(!folder.resumed());
    assert_eq!(folder.manifest(), Some(manifest()));
    assert_eq!(files(temp.path()), ["lock", "manifest.json", "scenario.resolved.toml"]);
}

/// The folder's lock, taken by somebody else.
fn taken(path: &Path) -> fs::File {
    fs::create_dir_all(path).unwrap();
    let file = fs::File::create(path.join("lock")).unwrap();
    file.try_lock().unwrap();
    file
}

#[test]
fn a_folder_that_another_process_is_at_work_in_is_refused_and_nothing_written() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("run");
    let other = taken(&path);
    let error = open(&path).unwrap_err();
    assert!(matches!(error, RunFolderError::Busy { .. }), "{error}");
    assert!(error.to_string().contains("another arcbench is at work in"), "{error}");
    assert_eq!(files(&path), ["lock"]);
    drop(other);
    let first = open(&path).unwrap();
    let again = open(&path).unwrap();
    assert!(!first.resumed() && again.resumed(), "the process itself may open it again");
    drop(first);
    let lock = fs::File::create(path.join("lock")).unwrap();
    assert!(lock.try_lock().is_err(), "held for as long as any is open");
    drop(again);
    lock.try_lock().unwrap();
    assert!(matches!(open(&path).unwrap_err(), RunFolderError::Busy { .. }));
    assert!(matches!(fresh(&path).unwrap_err(), RunFolderError::Busy { .. }));
}

#[test]
fn what_a_killed_run_left_half_written_is_gone_and_hurts_no_cell() {
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cell = &scenario().cells()[0];
    let half = write::temporary(&folder.cell_path(cell).join("events.jsonl.zst"));
    fs::create_dir_all(folder.cell_path(cell)).unwrap();
    fs::write(&half, "x").unwrap();
    drop(folder);
    let folder = open(temp.path()).unwrap();
    assert!(!half.exists());
    folder.write(cell, &result(cell)).unwrap();
}

#[test]
fn finished_cells_in_an_older_form_are_refused_until_begun_afresh() {
    let temp = tempfile::tempdir().unwrap();
    let old = Manifest { format: 1, ..manifest() };
    let begin = || RunFolder::open_fresh(temp.path(), &scenario(), &old).unwrap();
    let cell = &scenario().cells()[0];
    drop(begin());
    assert_eq!(
        open(temp.path()).unwrap().manifest(),
        Some(manifest()),
        "written again, since no cell was done"
    );
    begin().write(cell, &result(cell)).unwrap();
    let error = open(temp.path()).unwrap_err();
    assert!(matches!(error, RunFolderError::OtherFormat { found: 1, .. }), "{error}");
    assert!(error.to_string().contains("version 1") && error.to_string().contains("--fresh"), "{error}");
    assert!(fresh(temp.path()).unwrap().done(cell).is_none());
    open(temp.path()).unwrap();
}

fn fresh(path: &Path) -> Result<RunFolder, RunFolderError> {
    RunFolder::open_fresh(path, &scenario(), &manifest())
}

#[test]
fn without_a_manifest_finished_cells_are_of_another_run_until_begun_afresh() {
    for damage in [None, Some("{"), Some("{}")] {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("manifest.json");
        let harm = || match damage {
            None => fs::remove_file(&path).unwrap(),
            Some(text) => fs::write(&path, text).unwrap(),
        };
        let cell = &scenario().cells()[0];
        drop(open(temp.path()).unwrap());
        harm();
        let folder = open(temp.path()).unwrap();
        assert_eq!(folder.manifest(), Some(manifest()), "written again, since no cell was done");
        folder.write(cell, &result(cell)).unwrap();
        harm();
        let before = files(temp.path());
        let error = open(temp.path()).unwrap_err();
        assert!(matches!(error, RunFolderError::NoManifest { .. }), "{error}");
        assert!(error.to_string().contains("--fresh"), "{error}");
        assert_eq!(files(temp.path()), before);
        assert!(folder.done(cell).is_some());
        let folder = fresh(temp.path()).unwrap();
        assert!(!folder.resumed());
        assert_eq!((folder.done(cell), folder.manifest()), (None, Some(manifest())));
        assert_eq!(files(temp.path()), ["lock", "manifest.json", "scenario.resolved.toml"]);
    }
}

#[test]
fn beginning_afresh_refuses_what_is_not_this_run_and_keeps_what_is_not_its_own() {
    let temp = tempfile::tempdir().unwrap();
    let mut other = scenario();
    other.apply(&Overrides { seeds: Some("5".to_owned()), ..Overrides::default() }).unwrap();
    drop(fresh(temp.path()).unwrap());
    fs::write(temp.path().join("notes.txt"), "mine").unwrap();
    let error = RunFolder::open_fresh(temp.path(), &other, &manifest()).unwrap_err();
    assert!(matches!(error, RunFolderError::OtherScenario { .. }), "{error}");
    fresh(temp.path()).unwrap();
    assert!(temp.path().join("notes.txt").exists());
}

#[test]
fn a_corrupt_foreign_or_failed_summary_is_not_done() {
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cells = scenario().cells();
    folder.write(&cells[0], &result(&cells[0])).unwrap();
    let path = folder.cell_path(&cells[0]).join("summary.json");
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(folder.done(&cells[0]), None);
    fs::write(&path, serde_json::to_string(&result(&cells[1]).summary).unwrap()).unwrap();
    assert_eq!(folder.done(&cells[0]), None, "the summary of another cell");
    let failed = Summary::failed(&cells[0], "it broke");
    folder.write_failed(&cells[0], &failed).unwrap();
    assert!(!path.exists(), "a summary says that a cell is done");
    let failed_path = path.with_file_name("failed.json");
    assert!(fs::read_to_string(&failed_path).unwrap().contains("it broke"));
    assert_eq!(folder.done(&cells[0]), None, "a failed cell is run again");
    folder.write(&cells[0], &result(&cells[0])).unwrap();
    assert!(folder.done(&cells[0]).is_some() && !failed_path.exists());
    folder.write_failed(&cells[0], &failed).unwrap();
    assert!(folder.done(&cells[0]).is_some() && !failed_path.exists(), "what is done stays done");
}

#[test]
fn a_cell_with_a_missing_or_damaged_file_is_not_kept_and_says_which() {
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cell = &scenario().cells()[0];
    assert!(folder.kept(cell).unwrap().is_none(), "never run");
    let write = || folder.write(cell, &result(cell)).unwrap();
    write();
    assert_eq!(folder.kept(cell).unwrap(), Some(result(cell).summary));
    let path = folder.cell_path(cell);
    for name in files(&path) {
        let file = path.join(&name);
        let whole = fs::read(&file).unwrap();
        for damaged in [None, Some(&whole[..whole.len() / 2]), Some(&whole[..whole.len() - 2]), Some(&[])] {
            match damaged {
                None => fs::remove_file(&file).unwrap(),
                Some(bytes) => fs::write(&file, bytes).unwrap(),
            }
            match folder.kept(cell) {
                Ok(None) => assert!(damaged.is_none() && name == SUMMARY),
                Ok(Some(_)) => panic!("{name} is damaged and the cell is kept"),
                Err(error) => assert!(error.to_string().contains(&name), "{error}"),
            }
            write();
        }
    }
    let failed = Summary::failed(cell, "it broke");
    fs::remove_file(path.join("seconds.parquet")).unwrap();
    folder.write_failed(cell, &failed).unwrap();
    assert_eq!((folder.done(cell), path.join(FAILED).exists()), (None, true), "half a cell is not kept");
}

#[test]
fn frames_that_the_summary_counts_and_the_table_lacks_are_damage() {
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cell = &scenario().cells()[0];
    let mut counted = result(cell);
    counted.summary.all.produced = 7;
    folder.write(cell, &counted).unwrap();
    let error = folder.kept(cell).unwrap_err().to_string();
    assert!(
        error.contains("frames.parquet") && error.contains("0 rows") && error.contains("says 7"),
        "{error}"
    );
}

#[test]
fn an_events_log_is_whole_or_fails_the_cell() {
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cell = &scenario().cells()[0];
    let log = folder.cell_path(cell).join("events.jsonl.zst");

    let mut events = folder.events_file(cell).unwrap();
    events.write_all(b"{\"t_us\":0.000}\n").unwrap();
    assert!(!log.exists(), "not before its end");
    let error = folder.write(cell, &result(cell)).unwrap_err();
    assert!(matches!(error, RunFolderError::EventsLog { .. }), "{error}");
    assert_eq!(folder.done(cell), None);
    drop(events);

    folder.write(cell, &result(cell)).unwrap();
    let mut text = String::new();
    zstd::Decoder::new(fs::File::open(&log).unwrap()).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "{\"t_us\":0.000}\n");
    assert!(folder.done(cell).is_some());

    let full = io::Error::from(io::ErrorKind::StorageFull);
    let error = folder.write(cell, &CellResult { log_error: Some(full), ..result(cell) }).unwrap_err();
    assert!(error.is_disk_full());
    assert_eq!(folder.done(cell), Some(result(cell).summary), "a failure replaces nothing that is good");
}

#[cfg(unix)]
#[test]
fn a_log_that_found_the_disk_full_is_gone_with_its_cell() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cell = &scenario().cells()[0];
    fs::create_dir_all(folder.cell_path(cell)).unwrap();
    std::os::unix::fs::symlink("/dev/full", folder.events_unfinished(cell)).unwrap();
    let mut events = folder.events_file(cell).unwrap();
    // What is compressed is written when it ends at the latest.
    let _ = events.write_all(b"{\"t_us\":0.000}\n");
    drop(events);
    let error = folder.write(cell, &result(cell)).unwrap_err();
    assert!(matches!(error, RunFolderError::EventsLog { .. }), "{error}");
    folder.write_failed(cell, &Summary::failed(cell, error.to_string())).unwrap();
    assert_eq!(files(&folder.cell_path(cell)), ["failed.json"]);
}

#[test]
fn what_cannot_be_written_is_an_error_with_its_path_and_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let folder = open(temp.path()).unwrap();
    let cell = &scenario().cells()[0];
    // A folder in the place of a table: the rename fails whoever runs the test.
    fs::create_dir_all(folder.cell_path(cell).join("seconds.parquet/x")).unwrap();
    let error = folder.write(cell, &result(cell)).unwrap_err();
    assert!(error.to_string().contains("seconds.parquet"), "{error}");
    assert_eq!(folder.done(cell), None);
    assert!(!folder.cell_path(cell).join("summary.json").exists());
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_recognised() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let temp = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", write::temporary(&temp.path().join("table"))).unwrap();
    let error = write::whole_file(&temp.path().join("table"), b"row").unwrap_err();
    assert!(error.is_disk_full(), "{error}");
    assert_eq!(files(temp.path()), [""; 0], "nothing is left half-written");
}
