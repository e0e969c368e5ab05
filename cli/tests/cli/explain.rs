//! `explain` over real cells, the walk from a grid to a packet, and the schema of every JSON output.

use std::fs;

use serde_json::Value;

use crate::schema::problems;
use crate::{Ended, SMALL, Sandbox};

/// Twenty seconds of the cells whose limits are known.
fn matrix(sandbox: &Sandbox) {
    let profiles = "bad-india-reorder,thin-india,same-region";
    let arguments = ["run", "--profiles", profiles, "--settings", "before,best", "--seeds", "1"];
    let rest = ["--duration", "20 s", "--quiet", "--no-report", "--out", "run"];
    sandbox.run(&[&arguments[..], &rest].concat()).ok();
}

fn explained(sandbox: &Sandbox, cell: &str) -> Value {
    sandbox.run(&["explain", cell, "--run", "run", "--format", "json"]).ok().json()
}

#[test]
fn real_cells_are_explained_by_what_limited_them() {
    let sandbox = Sandbox::new();
    matrix(&sandbox);
    let reorder = explained(&sandbox, "bad-india-reorder--before");
    let first = &reorder["findings"][0];
    assert_eq!(first["what"], "reordering-taken-for-loss", "{reorder}");
    assert_eq!(first["setting"]["key"], "loss_detection");
    assert_eq!(explained(&sandbox, "thin-india--best")["findings"][0]["what"], "rate");
    let nothing = explained(&sandbox, "same-region--best");
    assert_eq!(nothing["findings"].as_array().unwrap().len(), 1);
    assert_eq!(nothing["findings"][0]["what"], "nothing");
    let text = sandbox.run(&["explain", "bad-india-reorder--before", "--run", "run"]).ok().out;
    for part in [
        "1. reordering-taken-for-loss",
        "cost: ",
        "look: arcbench show ",
        "try: arcbench run ",
        "[summary.json: ",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    // Each number that names a path of the summary is the number there.
    let show =
        sandbox.run(&["show", "bad-india-reorder--before", "--run", "run", "--format", "json"]).ok().json();
    for fact in reorder["findings"].as_array().unwrap().iter().flat_map(|f| f["evidence"].as_array().unwrap())
    {
        if fact["file"] == "summary.json" {
            let path = fact["field"].as_str().unwrap().replace('.', "/");
            let there = show.pointer(&format!("/{path}")).unwrap_or_else(|| panic!("no {path}"));
            assert_eq!(there.as_f64(), fact["value"].as_f64(), "{fact}");
        }
    }
    let csv = sandbox.run(&["explain", "thin-india--best", "--run", "run", "--format", "csv"]).ok().out;
    assert!(
        csv.starts_with("rank,what,missing,late,") && csv.contains("\n\nfinding,what,value,unit,"),
        "{csv}"
    );
    // What it says to try is a command that runs, and helps.
    let delivered = |summary: &Value| summary["all"]["delivered_ratio"].as_f64().unwrap();
    let tried =
        followed(&sandbox, first["setting"]["command"].as_str().unwrap(), &["--format", "json"]).json();
    assert!(delivered(&tried["cells"][0]) > delivered(&show) + 0.1, "{tried}");
}

/// Runs a command that the tool printed.
fn followed(sandbox: &Sandbox, command: &str, more: &[&str]) -> Ended {
    let mut words = command.split_whitespace();
    assert_eq!(words.next(), Some("arcbench"), "{command}");
    // Nothing that is printed here has a space within its quotes.
    let words: Vec<&str> = words.map(|word| word.trim_matches('\'')).chain(more.iter().copied()).collect();
    sandbox.run(&words).ok()
}

/// The command that stands after `lead` in `text`.
#[track_caller]
fn printed<'a>(text: &'a str, lead: &str) -> &'a str {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(lead));
    line.unwrap_or_else(|| panic!("no {lead:?} in\n{text}")).trim()
}

/// docs/walk.md, on a shorter cell: each step is what the one before it printed.
#[test]
fn the_walk_from_a_grid_to_a_packet_follows_only_what_is_printed() {
    let sandbox = Sandbox::new();
    let arguments =
        ["run", "--profiles", "good-india", "--settings", "before", "--seeds", "1", "--duration", "20 s"];
    let grid = sandbox.run(&arguments).ok();
    assert!(grid.out.contains("frozen: "), "{}", grid.out);
    let show = followed(&sandbox, printed(&grid.err, "look: "), &[]).out;
    assert!(show.contains("\nfreezes"), "{show}");
    let why = followed(&sandbox, printed(&show, "why: "), &[]).out;
    assert!(why.contains("\n1. window"), "{why}");
    let at = followed(&sandbox, printed(&show, "packet by packet: "), &[]).out;
    assert!(at.contains("stands still from here"), "{at}");
    let trace = followed(&sandbox, printed(&at, "the life of these frames: "), &[]).out;
    assert!(trace.contains("  trace: trace-") && trace.contains("ui.perfetto.dev"), "{trace}");
    let packets = followed(&sandbox, printed(&at, "every packet by its number: "), &[]).out;
    assert!(packets.contains("  packets: packets.tsv"), "{packets}");
    // The number of a packet in the moments is the number of a line in the file.
    let frame =
        at.lines().find_map(|line| line.split_once(" fragment ")).expect("a frame's parts are told").1;
    let number = frame.split_once('#').unwrap().1.split([' ', ')', ',']).next().unwrap();
    let table = fs::read_to_string(sandbox.path().join("packets.tsv")).unwrap();
    let is = |line: &&str| {
        let columns: Vec<&str> = line.split('\t').collect();
        columns[1..4] == ["operator", "down", number] && columns[8].contains("fragment")
    };
    assert_eq!(table.lines().filter(is).count(), 1, "packet {number}");
    let grid = sandbox.run(&["grid"]).ok();
    printed(&grid.err, "look: ");
    // What explain says to look at can be looked at.
    for command in why.lines().filter_map(|line| line.trim_start().strip_prefix("look: ")) {
        followed(&sandbox, command, if command.contains("--trace") { &["--force"] } else { &[] });
    }
}

#[track_caller]
fn holds(sandbox: &Sandbox, of: &str, name: &str, value: &Value) {
    let schema = sandbox.run(&["schema", of]).ok().json();
    assert_eq!(problems(&schema, value), Vec::<String>::new(), "{of}");
    assert_eq!((&value["schema"], &value["version"]), (&name.into(), &1.into()), "{of}");
}

#[test]
fn every_json_output_keeps_to_its_schema() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let cell = "bad-india--reno--s1";
    let grid = ["run", "small.toml", "--quiet", "--no-report", "--out", "run", "--format", "json"];
    let at = ["show", cell, "--run", "run", "--at", "1s"];
    let replay = ["replay", cell, "--run", "run", "--packets", "p.tsv"];
    let both = ["compare", "run:plain", "run:reno", "--fail-on", "none"];
    let outputs: &[(&str, &str, &[&str])] = &[
        ("grid", "arcbench.grid", &grid[..6]),
        ("grid", "arcbench.grid", &["grid", "run"]),
        ("compare", "arcbench.compare", &both),
        ("show", "arcbench.cell", &["show", cell, "--run", "run"]),
        ("moments", "arcbench.moments", &at),
        ("explain", "arcbench.explain", &["explain", cell, "--run", "run"]),
        ("replay", "arcbench.replay", &replay),
        ("list", "arcbench.list", &["list", "small.toml"]),
        ("check", "arcbench.check", &["check", "small.toml"]),
        ("cdf", "arcbench.cdf", &["cdf", "run"]),
        ("fates", "arcbench.fates", &["fates", "--profile", "bad-india"]),
        ("doctor", "arcbench.doctor", &["doctor"]),
    ];
    for (of, name, arguments) in outputs {
        let ended = sandbox.run(&[arguments, &["--format", "json"][..]].concat()).ok();
        assert_eq!(ended.out.trim_end().lines().count(), 1, "{of}: one object on one line");
        holds(&sandbox, of, name, &ended.json());
    }
    // The same verbs as tables.
    for (of, _, arguments) in outputs.iter().filter(|(of, ..)| *of != "replay") {
        let table = |format| sandbox.run(&[arguments, &["--format", format][..]].concat()).ok().out;
        assert!(table("markdown").contains("|--"), "{of}: {}", table("markdown"));
        assert!(table("csv").lines().next().unwrap().contains(','), "{of}: {}", table("csv"));
    }
}

#[test]
fn a_failure_is_one_object_too_where_json_was_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.file("bad.toml", &format!("durations = \"2 s\"\n{SMALL}").replace("bad-india", "bad-inda"));
    let failed = |arguments: &[&str], code: i32| {
        let ended = sandbox.run(arguments);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        let error = ended.json();
        holds(&sandbox, "error", "arcbench.error", &error);
        assert_eq!(error["exit_code"], code);
        assert!(!ended.err.is_empty(), "it is told in words as well");
        error
    };
    let error = failed(&["check", "bad.toml", "--format", "json"], 2);
    let problems = error["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 2, "{error}");
    assert_eq!((&problems[0]["file"], &problems[0]["line"]), (&"bad.toml".into(), &1.into()));
    assert!(problems[1]["message"].as_str().unwrap().contains("bad-inda"), "{error}");
    failed(&["explain", "nothing", "--format=json"], 2);
    // Every way in which clap refuses a command line.
    for (words, says, help) in [
        (&["run", "--sed", "1"][..], "unexpected argument '--sed' found", "'--seeds'"),
        (&["chek"], "unrecognized subcommand 'chek'", "'check'"),
        (&["run", "--jobs", "no"], "invalid value 'no' for '--jobs <N>'", ""),
        (&["run", "--out"], "a value is required for '--out <DIR>'", ""),
        (&["show"], "the following required arguments were not provided: <CELL>", "Usage: "),
        (&["show", "a", "--at", "1"], "invalid value '1' for '--at <TIME>'", ""),
        (&["show", "a", "--around", "1s"], "the following required arguments were not provided", ""),
        (&["report"], "unexpected argument '--format' found", ""),
        (&["run", "--format", "json"], "the argument '--format <FORMAT>' cannot be used multiple times", ""),
    ] {
        let error = failed(&[words, &["--format", "json"]].concat(), 2);
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(says), "{words:?}: {message}");
        assert!(error["help"].as_str().unwrap().contains(help), "{error}");
    }
    for words in
        [&["--help"][..], &["run", "--help"], &["run", "-h"], &["--version"], &["run", "--metric", "help"]]
    {
        let ended = sandbox.run(&[words, &["--format", "json"]].concat()).ok();
        holds(&sandbox, "help", "arcbench.help", &ended.json());
        let text = sandbox.run(words).ok().out;
        assert_eq!(ended.json()["text"], text.trim_end(), "{words:?}");
    }
    failed(&["list", "--profiles", "mars*", "--format", "json"], 15);
    assert_eq!(sandbox.run(&["explain", "nothing"]).out, "", "nothing on stdout where it was not asked for");
}
