//! The tables: there and back, the same bytes each time, hostile ones refused, and as documented.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::table::{self, Column, TableProblem};
use super::tables::{self, Kind};
use super::{CellFolder, Manifest, RunFolderError, write};
use crate::metrics::{
    CameraSecondRow, Cause, CellResult, FrameRow, FreezeRow, LinkSecondRow, Recorder, RelaySecondRow,
    SecondRow,
};
use crate::named::Named;
use units::Time;

fn frame(number: u32, cause: Option<Cause>) -> FrameRow {
    let there = cause != Some(Cause::Skipped);
    FrameRow {
        camera: if number.is_multiple_of(3) { "main".to_owned() } else { "wrist".to_owned() },
        frame: number,
        bytes: 20_000 + number,
        produced_us: u64::from(number) * 66_667,
        at_relay_us: Some(u64::from(number) * 66_667 + 500),
        forwarded_us: there.then_some(u64::from(number) * 66_667 + 600),
        packets: 17,
        delivered_us: there.then_some(u64::from(number) * 66_667 + 150_000),
        shown_us: None,
        dropped_at: (!there).then(|| "relay".to_owned()),
        dropped_why: (!there).then(|| "skipped".to_owned()),
        cause,
        packets_sent: 20,
        packets_parity: 2,
        packets_again: 1,
        packets_lost: 1,
        packets_overflowed: 0,
        packets_in_outage: 0,
        link_queue_us_max: 1500,
    }
}

fn second(second: u64) -> SecondRow {
    let link = LinkSecondRow { packets: 300, bytes: 360_000, lost: 3, queue_ms_max: 1.5 };
    let relay = RelaySecondRow {
        window_bytes: 100_000,
        in_flight_bytes: 5000,
        rtt_ms: 270.125,
        queue_bytes: 0,
        queue_frames: 0,
        declared_lost: 4,
    };
    let camera =
        CameraSecondRow { produced: 15, delivered: 14, frozen_s: 0.25, ..CameraSecondRow::default() };
    SecondRow {
        second,
        cameras: Named(vec![("wrist".to_owned(), camera), ("main".to_owned(), CameraSecondRow::default())]),
        down: link,
        up: LinkSecondRow::default(),
        relay: (second != 1).then_some(relay),
        commands: 72,
    }
}

fn result() -> CellResult {
    let cell = crate::cell::test_cell(1);
    let mut result = Recorder::new(&cell, None).finish(Time::from_nanos(9_000_000_000));
    let causes = [None, Some(Cause::Skipped), Some(Cause::Lost)];
    result.frames = (0..30).map(|number| frame(number, causes[number as usize % 3])).collect();
    result.seconds = (0..4).map(second).collect();
    result.freezes = vec![
        FreezeRow {
            camera: "main".to_owned(),
            from_us: 1000,
            to_us: 501_000,
            cause: Some(Cause::Lost),
            first_frame: Some(3),
            last_frame: Some(9),
            missing: 6,
            late: 1,
        },
        FreezeRow {
            camera: "main".to_owned(),
            from_us: 900_000,
            to_us: 2_000_000,
            cause: None,
            first_frame: None,
            last_frame: None,
            missing: 0,
            late: 0,
        },
    ];
    result
}

fn written(folder: &Path) -> CellFolder {
    let folder = CellFolder::at(folder);
    folder.write_tables(&result()).unwrap();
    folder
}

#[test]
fn tables_read_back_as_they_were_written_and_the_same_bytes_each_time() {
    let temp = tempfile::tempdir().unwrap();
    let folder = written(temp.path());
    let expected = result();
    assert_eq!(folder.frames().unwrap(), expected.frames);
    assert_eq!(folder.freezes().unwrap(), expected.freezes);
    assert_eq!(folder.seconds().unwrap(), expected.seconds);
    let again = tempfile::tempdir().unwrap();
    written(again.path());
    for entry in fs::read_dir(temp.path()).unwrap() {
        let entry = entry.unwrap();
        assert_eq!(fs::read(entry.path()).unwrap(), fs::read(again.path().join(entry.file_name())).unwrap());
    }
}

#[test]
fn tables_without_rows_are_tables() {
    let temp = tempfile::tempdir().unwrap();
    let folder = CellFolder::at(temp.path());
    let empty = CellResult { frames: Vec::new(), freezes: Vec::new(), seconds: Vec::new(), ..result() };
    folder.write_tables(&empty).unwrap();
    assert_eq!((folder.frames().unwrap(), folder.freezes().unwrap()), (Vec::new(), Vec::new()));
    assert_eq!(folder.seconds().unwrap(), Vec::new());
}

/// What reading `columns` as a table of freezes says.
fn problem(format: &'static str, version: u32, columns: Vec<Column>) -> TableProblem {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join(tables::FREEZES.file);
    fs::write(&path, table::encode(format, version, columns).unwrap()).unwrap();
    match CellFolder::at(temp.path()).freezes().unwrap_err() {
        RunFolderError::Table { path: named, problem } if named == path => problem,
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_no_such_table_is_refused_with_the_reason() {
    let Kind { format, version, .. } = tables::FREEZES;
    let good = || tables::freezes(&result().freezes);
    assert!(matches!(problem("arcbench.frames", 1, good()), TableProblem::OtherFormat { .. }));
    let newer = problem(format, version + 1, good());
    assert!(matches!(newer, TableProblem::Newer { found: 2, known: 1 }), "{newer}");
    let without: Vec<Column> = good().into_iter().filter(|column| column.name() != "to_us").collect();
    assert!(matches!(problem(format, version, without), TableProblem::Column("to_us")));
    let replaced = |with: Column| {
        let mut columns = good();
        columns.retain(|column| column.name() != with.name());
        columns.push(with);
        columns
    };
    let texts = replaced(Column::text("from_us", ["a", "b"].into_iter()));
    assert!(matches!(problem(format, version, texts), TableProblem::Column("from_us")));
    let fate = replaced(Column::maybe_text("cause", [None, Some("fate")].into_iter()));
    assert!(matches!(problem(format, version, fate), TableProblem::Value { column: "cause", row: 1 }));
    let large = replaced(Column::int("frames_late", [1, 1 << 40].into_iter()));
    assert!(matches!(problem(format, version, large), TableProblem::Value { column: "frames_late", row: 1 }));
}

#[test]
fn a_table_that_is_not_there_is_said_so() {
    let temp = tempfile::tempdir().unwrap();
    let error = CellFolder::at(temp.path()).frames().unwrap_err();
    assert!(error.to_string().contains("frames.parquet"), "{error}");
}

/// A folder as version 2 of the run folder leaves it, which must stay readable.
fn fixture() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run-v2")
}

#[test]
fn a_folder_of_an_earlier_build_stays_readable() {
    let manifest: Manifest =
        serde_json::from_str(&fs::read_to_string(fixture().join("manifest.json")).unwrap()).unwrap();
    assert_eq!(manifest.format, 2);
    let folder = CellFolder::at(fixture().join("cells/one"));
    assert!(folder.summary().unwrap().cameras.get("main").is_some());
    let frames = folder.frames().unwrap();
    assert_eq!(frames.len(), 30);
    assert_eq!(frames[7], frame(7, Some(Cause::Skipped)));
    let freezes = folder.freezes().unwrap();
    assert_eq!((freezes[0].length_us(), freezes[0].cause), (500_000, Some(Cause::Lost)));
    let seconds = folder.seconds().unwrap();
    assert_eq!(seconds.len(), 4);
    assert_eq!(seconds[2], second(2));
    let delays = fs::read_to_string(folder.path().join("delays.hlog")).unwrap();
    assert!(delays.contains("Tag=hand-to-command,"), "{delays}");
}

#[test]
#[ignore = "writes the fixture, for a new version of the run folder only"]
fn write_the_fixture() {
    let folder = CellFolder::at(fixture().join("cells/one"));
    fs::create_dir_all(folder.path()).unwrap();
    folder.write_tables(&result()).unwrap();
    write::json(&folder.path().join("summary.json"), &result().summary).unwrap();
    let manifest = Manifest { format: Manifest::FORMAT, ..Manifest::default() };
    write::json(&fixture().join("manifest.json"), &manifest).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_damage_makes_reading_panic(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>(), cuts: bool) {
        let mut bytes = tables::FRAMES.encode(tables::frames(&result().frames)).unwrap();
        let index = at.index(bytes.len());
        bytes[index] = byte;
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let temp = tempfile::tempdir().unwrap();
        fs::write(temp.path().join(tables::FRAMES.file), &bytes).unwrap();
        if let Ok(rows) = CellFolder::at(temp.path()).frames() {
            prop_assert!(rows.len() <= 30);
        }
    }
}

/// Columns that `docs/formats.md` names under the heading of `file`.
fn documented(file: &str) -> Vec<String> {
    let text = include_str!("../../../docs/formats.md");
    let heading = format!("### {file} ");
    let section = text.split("\n#").map(|part| format!("#{part}")).find(|part| part.starts_with(&heading));
    let section = section.unwrap_or_else(|| panic!("no section `{heading}`"));
    let first = |line: &str| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name.to_owned());
    section.lines().filter_map(first).collect()
}

#[test]
fn every_column_is_documented_and_no_other() {
    let all = [
        (tables::FRAMES, tables::frames(&[])),
        (tables::FREEZES, tables::freezes(&[])),
        (tables::SECONDS, tables::seconds(&[])),
        (tables::CAMERA_SECONDS, tables::camera_seconds(&[])),
    ];
    for (kind, columns) in all {
        let names: Vec<&str> = columns.iter().map(Column::name).collect();
        assert_eq!(documented(kind.file), names, "{}", kind.file);
        let heading = format!("### {} (`{}`)", kind.file, kind.format);
        assert!(include_str!("../../../docs/formats.md").contains(&heading), "{heading}");
    }
}

#[test]
fn every_cause_is_documented() {
    let text = include_str!("../../../docs/formats.md");
    for cause in Cause::ALL {
        assert!(text.contains(&format!("\n| `{}` | ", cause.name())), "{}", cause.name());
    }
}
