//! Wrong input: a clear error with file, line and a suggestion, the right exit code, and nothing
//! written.

use crate::{SMALL, Sandbox};

/// Runs a scenario with `line` added at its top, which must be refused.
fn with_line(line: &str, code: i32, says: &[&str]) {
    let sandbox = Sandbox::new();
    sandbox.file("bad.toml", &format!("{line}{SMALL}"));
    for verb in ["run", "check"] {
        sandbox.run(&[verb, "bad.toml"]).refused(code, says);
    }
    assert_eq!(sandbox.names(), ["bad.toml"], "nothing is half-written");
}

#[test]
fn an_unknown_verb_gets_the_nearest() {
    Sandbox::new().run(&["chek"]).refused(2, &["chek", "'check'"]);
}

#[test]
fn an_unknown_flag_is_a_usage_error() {
    Sandbox::new().run(&["run", "--sed", "1"]).refused(2, &["--sed", "--seeds"]);
}

#[test]
fn an_unknown_key_is_placed_and_gets_the_nearest() {
    with_line("drain = \"2 s\"\nduratoin = \"2 s\"", 2, &["duratoin", "bad.toml:2:1", "duration"]);
}

#[test]
fn every_error_is_reported_at_once() {
    let sandbox = Sandbox::new();
    let text = "durations = \"2 s\"\nseeds = 3\nprofiles = [\"nowhere\"]\n[settings.a]\nskp = {}\n";
    sandbox.file("bad.toml", text);
    sandbox.run(&["check", "bad.toml"]).refused(
        2,
        &["durations", "bad.toml:1:", "bad.toml:2:", "nowhere", "bad.toml:3:", "skp", "bad.toml:5:"],
    );
}

#[test]
fn a_missing_unit_is_named() {
    let text = SMALL.replace("\"2 s\"", "2");
    let sandbox = Sandbox::new();
    sandbox.file("bad.toml", &text);
    sandbox.run(&["run", "bad.toml"]).refused(2, &["bad.toml:2:", "unit", "120 s"]);
    sandbox.run(&["run", "--duration", "5"]).refused(2, &["5", "unit"]);
    assert_eq!(sandbox.names(), ["bad.toml"]);
}

#[test]
fn a_profile_that_does_not_exist_gets_the_nearest() {
    let sandbox = Sandbox::new();
    sandbox.file("bad.toml", &SMALL.replace("bad-india", "bad-inda"));
    sandbox.run(&["run", "bad.toml"]).refused(2, &["bad-inda", "bad.toml:4:", "bad-india"]);
    sandbox.run(&["run", "--profiles", "bad-inda"]).refused(2, &["bad-inda", "bad-india"]);
    assert_eq!(sandbox.names(), ["bad.toml"]);
}

#[test]
fn a_negative_rate_in_a_profile_is_placed_in_the_profile() {
    let sandbox = Sandbox::new();
    sandbox.file("mine.toml", "description = \"x\"\nrtt = \"10 ms\"\nrate = \"-2 Mbit/s\"\n");
    sandbox.file("bad.toml", &SMALL.replace("\"bad-india\"", "\"mine.toml\""));
    sandbox.run(&["run", "bad.toml"]).refused(2, &["mine.toml:3:", "negative"]);
    assert_eq!(sandbox.names(), ["bad.toml", "mine.toml"]);
}

#[test]
fn an_empty_selection_is_told_apart_from_a_mistake() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    for verb in ["run", "check", "list"] {
        let wanted = [verb, "small.toml", "--profiles", "mars*"];
        sandbox.run(&wanted).refused(15, &["mars*", "same-region, bad-india"]);
    }
    assert_eq!(sandbox.names(), ["small.toml"]);
}

#[test]
fn a_file_without_profiles_is_refused_with_its_line() {
    let sandbox = Sandbox::new();
    sandbox.file("empty.toml", &SMALL.replace(r#"["same-region", "bad-india"]"#, "[]"));
    let ended = sandbox.run(&["run", "empty.toml"]);
    assert!(matches!(ended.code, Some(2 | 15)), "{ended:#?}");
    assert!(ended.err.contains("no profiles") && ended.err.contains("empty.toml:4:"), "{}", ended.err);
    assert_eq!(sandbox.names(), ["empty.toml"]);
}

#[test]
fn settings_that_the_scenario_does_not_have_are_refused() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    sandbox.run(&["run", "small.toml", "--settings", "ren"]).refused(2, &["ren", "reno"]);
}

#[test]
fn a_scenario_that_does_not_exist_is_a_usage_error() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "missing.toml"]).refused(2, &["missing.toml"]);
    sandbox.run(&["run", "seed-matrx"]).refused(2, &["seed-matrx", "seed-matrix"]);
    assert!(sandbox.names().is_empty());
}

#[test]
fn an_override_that_is_no_key_is_a_usage_error() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    sandbox.run(&["run", "small.toml", "--set", "nonsense"]).refused(2, &["nonsense", "="]);
    let wrong = ["run", "small.toml", "--set", "plain.skip.treshold=3 %"];
    sandbox.run(&wrong).refused(2, &["treshold", "threshold"]);
}

#[test]
fn an_unknown_metric_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.run(&["run", "--metric", "deliverd"]).refused(2, &["deliverd", "delivered"]);
    assert!(sandbox.names().is_empty());
}

#[test]
fn an_unknown_metric_in_a_reference_is_placed_and_gets_the_nearest() {
    let sandbox = Sandbox::new();
    let text = SMALL.replace("\nduration", "duratoin = 1\nduration");
    let figures = "[reference.same-region.plain]\ndeliverd = 90\n";
    sandbox.file("bad.toml", &format!("{SMALL}{figures}"));
    sandbox.file("worse.toml", &format!("{text}{figures}"));
    for verb in ["run", "check"] {
        let says = ["`deliverd` is not a metric", "bad.toml:9:1", "did you mean `delivered`?"];
        sandbox.run(&[verb, "bad.toml"]).refused(2, &says);
        sandbox.run(&[verb, "worse.toml"]).refused(2, &["duratoin", "worse.toml:9:1", "`delivered`"]);
    }
    assert_eq!(sandbox.names(), ["bad.toml", "worse.toml"]);
}

#[test]
fn an_out_that_cannot_be_written_is_refused_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    sandbox.file("file", "in the way");
    for (out, reason) in
        [("file", "`file`"), ("file/below/it", "file"), ("/proc/arcbench-cannot-be-here/run", "`/proc`")]
    {
        sandbox.run(&["run", "small.toml", "--out", out]).refused(2, &[out, reason, "--out"]);
    }
    assert_eq!(sandbox.names(), ["file", "small.toml"]);
}

#[test]
fn a_folder_with_other_things_in_it_is_not_written_into() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    sandbox.run(&["run", "small.toml", "--out", "."]).refused(2, &["--out"]);
    assert_eq!(sandbox.names(), ["small.toml"]);
}

#[test]
fn no_jobs_are_no_jobs() {
    Sandbox::new().run(&["run", "--jobs", "0"]).refused(2, &["--jobs"]);
}

#[test]
fn a_cell_that_is_not_there_is_a_usage_error() {
    Sandbox::new().run(&["show", "bad-india"]).refused(2, &["bad-india", "--run"]);
}

#[test]
fn a_run_folder_that_cannot_be_begun_is_left_as_it_was() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    // The folder of the cells can be made, and then the manifest cannot be written.
    let way = sandbox.path().join("out/manifest.json");
    std::fs::create_dir_all(&way).unwrap();
    sandbox.run(&["run", "small.toml", "--out", "out"]).refused(2, &["manifest.json", "--out"]);
    assert!(!sandbox.path().join("out/cells").exists());
    assert!(way.is_dir());
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_no_regular_file_is_refused_and_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let sandbox = Sandbox::new();
    mknodat(CWD, sandbox.path().join("pipe"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for file in ["pipe", "/dev/zero"] {
        let reason = "it is not a regular file";
        sandbox.run(&["check", file]).refused(2, &[&format!("cannot read the scenario `{file}`: {reason}")]);
    }
    for profile in ["./pipe", "pipe", "/dev/zero"] {
        sandbox.file("bad.toml", &SMALL.replace("\"bad-india\"", &format!("\"{profile}\"")));
        let says = [&format!("`{profile}`: it is not a regular file"), "bad.toml:4:"];
        sandbox.run(&["check", "bad.toml"]).refused(2, &says);
    }
    let trace = "[profile.cell]\nrate = { kind = \"trace\", path = \"pipe\" }\n";
    sandbox.file("bad.toml", &format!("{}{trace}", SMALL.replace("bad-india", "cell")));
    let says = ["cannot read the trace file `pipe`: it is not a regular file", "bad.toml:9:"];
    sandbox.run(&["check", "bad.toml"]).refused(2, &says);
}

#[test]
fn a_file_that_is_not_there_or_no_text_says_so() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let says =
        ["cannot read the scenario `smal.toml`", "there is no file", "did you mean the file `small.toml`?"];
    sandbox.run(&["check", "smal.toml"]).refused(2, &says);
    sandbox.run(&["check", "no/smal.toml"]).refused(2, &["there is no folder `no`"]);
    std::fs::create_dir(sandbox.path().join("sub")).unwrap();
    std::fs::write(sandbox.path().join("sub/link.toml"), b"# \xe9").unwrap();
    sandbox.run(&["check", "sub"]).refused(2, &["`sub`: it is a folder"]);
    let with = |profile: &str| SMALL.replace("bad-india", profile);
    sandbox.file("sub/bad.toml", &with("./link.toml"));
    sandbox.run(&["check", "sub/bad.toml"]).refused(2, &["`./link.toml`: it is not UTF-8 text (byte 2)"]);
    sandbox.file("sub/bad.toml", &with("./lnk.toml"));
    let says = ["there is no file `sub/./lnk.toml`", "did you mean the file `sub/link.toml`?"];
    sandbox.run(&["check", "sub/bad.toml"]).refused(2, &says);
}
