//! The binary as its users meet it: help, errors, exit codes, output, interruption and resumption.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

mod compare;
mod damage;
mod errors;
mod explain;
mod processes;
mod readme;
mod real;
mod replay;
mod runs;
mod schema;

/// A folder to run in, with nothing in it.
struct Sandbox {
    folder: tempfile::TempDir,
}

impl Sandbox {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("arcbench"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Ended {
        Ended::new(self.command(arguments).output().unwrap())
    }

    /// Names of everything in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

/// How a command ended.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn new(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Checks the exit code, and that failure says why on stderr and nothing on stdout.
    #[track_caller]
    fn refused(self, code: i32, says: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.out, "", "{self:#?}");
        for part in says {
            assert!(self.err.contains(part), "no {part:?} in\n{}", self.err);
        }
        self
    }

    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }
}

/// A small matrix that takes a moment.
const SMALL: &str = r#"
duration = "2 s"
seeds = "1..2"
profiles = ["same-region", "bad-india"]
[settings.plain]
[settings.reno]
congestion = { kind = "new-reno" }
"#;

#[test]
fn help_shows_verbs_exit_codes_and_examples() {
    let help = Sandbox::new().run(&["--help"]).ok();
    for part in [
        "run",
        "list",
        "check",
        "show",
        "explain",
        "replay",
        "grid",
        "cdf",
        "compare",
        "confirm",
        "fates",
        "doctor",
        "schema",
        "completions",
        "certs",
        "relay",
        "robot",
        "operator",
        "Exit codes:",
        "15",
    ] {
        assert!(help.out.contains(part), "no {part:?} in\n{}", help.out);
    }
    assert!(help.out.matches("\n  arcbench run").count() >= 3, "{}", help.out);
    assert_eq!(help.err, "");
}

#[test]
fn every_flag_of_run_says_what_happens_without_it() {
    let help = Sandbox::new().run(&["run", "--help"]).ok();
    for flag in ["--seeds", "--profiles", "--settings", "--duration", "--set", "--jobs", "--out", "--fresh"] {
        let at = help.out.find(flag).unwrap_or_else(|| panic!("no {flag} in\n{}", help.out));
        let next = help.out[at + 2..].find("\n      --").map_or(help.out.len(), |end| at + 2 + end);
        assert!(help.out[at..next].to_lowercase().contains("default"), "{}", &help.out[at..next]);
    }
}

#[test]
fn nothing_asked_is_help_and_a_usage_error() {
    let ended = Sandbox::new().run(&[]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("Usage:"), "{}", ended.err);
}

#[test]
fn version_is_data() {
    let version = Sandbox::new().run(&["--version"]).ok();
    assert!(version.out.starts_with("arcbench "), "{}", version.out);
}

#[test]
fn completions_are_scripts() {
    for (shell, part) in
        [("bash", "complete -F"), ("zsh", "#compdef arcbench"), ("fish", "complete -c arcbench")]
    {
        let script = Sandbox::new().run(&["completions", shell]).ok();
        assert!(script.out.contains(part), "{shell}: {}", &script.out[..script.out.len().min(300)]);
    }
}

#[test]
fn schemas_are_schemas() {
    let files = ["scenario", "profile", "settings"];
    let outputs =
        ["grid", "compare", "show", "moments", "explain", "replay", "list", "check", "cdf", "fates"];
    for of in [&files[..], &outputs, &["doctor", "confirm", "error", "help"]].concat() {
        let schema = Sandbox::new().run(&["schema", of]).ok().json();
        assert!(schema["properties"].is_object(), "{of}: {schema}");
    }
}

#[test]
fn the_doctor_tries_the_simulator() {
    let sandbox = Sandbox::new();
    let found = sandbox.run(&["doctor", "--format", "json"]).ok().json();
    let state = |name: &str| {
        let checks = found["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["state"].clone()
    };
    assert_eq!(state("simulator"), "ok");
    for name in ["namespaces", "userspace link", "netem link", "real time", "clock", "processors"] {
        assert_ne!(state(name), "broken", "{name} is a matter of the machine");
    }
    assert!(found["host"]["cores"].as_str().unwrap().parse::<u32>().unwrap() >= 1);
    assert!(sandbox.names().is_empty(), "looking leaves nothing behind");
}

#[test]
fn fates_are_the_same_by_the_model_and_by_a_real_link() {
    let sandbox = Sandbox::new();
    let alone =
        sandbox.run(&["fates", "--profile", "bad-india", "--packets", "300", "--format", "json"]).ok().json();
    let fates = alone["backends"][0]["fates"].as_array().unwrap().clone();
    assert_eq!(fates.len(), 300);
    assert!(fates.iter().any(|fate| fate["fate"] == "lost" && fate["delay_us"].is_null()));
    let found = sandbox.run(&["doctor", "--format", "json"]).ok().json();
    let checks = found["checks"].as_array().unwrap();
    let link = checks.iter().find(|check| check["name"] == "userspace link").unwrap();
    if link["state"] == "unsupported" {
        eprintln!("skipped: {}", link["text"]);
        return;
    }
    let both = ["fates", "--profile", "bad-india", "--packets", "300", "--backend", "sim,userspace"];
    let text = sandbox.run(&both).ok().out;
    assert!(text.contains("userspace: ") && text.contains(", 0 with another fate"), "{text}");
    assert!(text.lines().next().unwrap().ends_with("userspace   sim@userspace"), "{text}");
    let csv = sandbox.run(&[&both[..], &["--format", "csv"]].concat()).ok().out;
    let mut lines = csv.lines();
    let head = "packet,sim_fate,sim_delay_ms,userspace_fate,userspace_delay_ms,sim@userspace_fate,\
                sim@userspace_delay_ms,userspace_differs";
    assert_eq!(lines.next(), Some(head));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[7]), (8, "false"), "{line}");
        for (fate, delay) in [(cells[1], cells[2]), (cells[3], cells[4]), (cells[5], cells[6])] {
            assert_eq!(fate == "delivered", delay.parse::<f64>().is_ok_and(|ms| ms > 100.0), "{line}");
            assert!(fate == "delivered" || delay.is_empty(), "{line}");
        }
    }
    let both = sandbox.run(&[&both[..], &["--format", "json"]].concat()).ok().json();
    assert_eq!(both["equal"], true);
    let of = |key: &str| both["backends"][1][key].as_array().unwrap().clone();
    assert_eq!(of("model"), of("fates"), "the model at the times at which packets were sent");
    assert!(both["backends"][0]["model"].is_null());
    let lost = |backend: usize| -> Vec<bool> {
        let fates = both["backends"][backend]["fates"].as_array().unwrap();
        fates.iter().map(|fate| fate["fate"] == "lost").collect()
    };
    assert_eq!(lost(0), lost(1), "which packets are lost does not depend on when they are sent");
    assert!(sandbox.names().is_empty(), "nothing is left behind");
}

#[test]
fn fates_by_netems_seed_are_the_same_by_a_real_link() {
    let sandbox = Sandbox::new();
    let found = sandbox.run(&["doctor", "--format", "json"]).ok().json();
    let checks = found["checks"].as_array().unwrap();
    let link = checks.iter().find(|check| check["name"] == "userspace link").unwrap();
    if link["state"] == "unsupported" {
        eprintln!("skipped: {}", link["text"]);
        return;
    }
    let mut all = Vec::new();
    for seed in ["1", "2", "77"] {
        sandbox.file(
            "netem.toml",
            &format!(
                "[netem]\nseed = {seed}\ndelay = '50 ms'\njitter = '10 ms'\n\
                 loss = {{ kind = 'gilbert-elliott', p = '5 %', r = '30 %' }}"
            ),
        );
        let both = ["fates", "--profile", "./netem.toml", "--packets", "200", "--backend", "sim,userspace"];
        let both = sandbox.run(&[&both[..], &["--format", "json"]].concat()).ok().json();
        assert_eq!(both["equal"], true);
        let fates = |backend: usize| -> Vec<Value> {
            let fates = both["backends"][backend]["fates"].as_array().unwrap();
            fates.iter().map(|fate| serde_json::json!([fate["fate"], fate["delay_us"]])).collect()
        };
        // Neither depends on when a packet is sent.
        assert_eq!(fates(0), fates(1), "seed {seed}");
        all.push(fates(0));
    }
    assert!(all[0] != all[1] && all[1] != all[2], "the seed is the profile's");
}

#[test]
fn fates_of_what_is_not_there_are_a_usage_error() {
    let sandbox = Sandbox::new();
    for wrong in [
        &["fates", "--profile", "bad-indja"][..],
        &["fates", "--profile", "./nothing.toml"],
        &["fates", "--profile", "bad-india", "--interval", "2"],
        &["fates", "--profile", "bad-india", "--packets", "0"],
        &["fates", "--profile", "bad-india", "--late-max", "1"],
    ] {
        let ended = sandbox.run(wrong);
        assert_eq!(ended.code, Some(2), "{wrong:?}: {}", ended.err);
    }
}

/// In every verb that takes names of profiles.
#[test]
fn a_profile_file_among_names_is_told_from_a_name() {
    let sandbox = Sandbox::new();
    sandbox.file("mine.toml", "rtt = \"20 ms\"\n");
    sandbox.file("small.toml", SMALL);
    for verb in ["run", "list", "check"] {
        let says = ["`./mine.toml` is a file", "profiles = [\"./mine.toml\"]"];
        sandbox.run(&[verb, "small.toml", "--profiles", "./mine.toml"]).refused(2, &says);
    }
    sandbox.run(&["run", "small.toml", "--quiet", "--out", "out", "--seeds", "1"]).ok();
    let says = ["`./mine.toml` is a file", "names of profiles"];
    sandbox.run(&["cdf", "out", "--profiles", "./mine.toml"]).refused(2, &says);
    sandbox.run(&["compare", "out", "out", "--profiles", "./mine.toml"]).refused(2, &says);
    sandbox.run(&["fates", "--profile", "./mine.toml", "--packets", "2"]).ok();
}

/// A second flow that never starts is no error, and hardly meant.
#[test]
fn a_second_flow_that_never_starts_is_warned_of() {
    let sandbox = Sandbox::new();
    let text = SMALL.replace(
        "[settings.plain]",
        "[workload]\ncross_traffic = { kind = \"bulk\", start = \"2 s\" }\n[settings.plain]",
    );
    sandbox.file("late.toml", &text);
    let says = "warning: `workload.cross_traffic` starts at 2 s";
    let checked = sandbox.run(&["check", "late.toml", "--format", "json"]).ok();
    assert!(checked.err.contains(says), "{}", checked.err);
    assert_eq!(checked.json()["warnings"].as_array().unwrap().len(), 1);
    let ran = sandbox.run(&["run", "late.toml", "--seeds", "1", "--quiet", "--out", "out"]).ok();
    assert!(ran.err.contains(says), "{}", ran.err);
    assert_eq!(sandbox.run(&["check", "late.toml", "--duration", "3 s"]).ok().err, "");
}

/// What is for real cells is read, kept and, in the simulator, said to do nothing.
#[test]
fn offload_is_told_to_be_for_real_cells() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let says = "what `real` says is for real cells";
    let run = ["run", "small.toml", "--seeds", "1", "--profiles", "same-region", "--quiet", "--out", "out"];
    let ran = sandbox.run(&[&run[..], &["--set", "reno.real.gso=false"]].concat()).ok();
    assert!(ran.err.contains(says), "{}", ran.err);
    let kept = fs::read_to_string(sandbox.path().join("out/scenario.resolved.toml")).unwrap();
    assert!(kept.contains("[real.settings.reno]\ngso = false"), "{kept}");
    let schema = sandbox.run(&["schema", "scenario"]).ok().out;
    assert!(schema.contains("generic segmentation offload"), "{schema}");
    assert!(!sandbox.run(&["run", "small.toml", "--seeds", "1", "--quiet"]).ok().err.contains(says));
}

#[test]
fn list_names_every_cell_of_the_built_in_matrix_and_runs_none() {
    let sandbox = Sandbox::new();
    let listed = sandbox.run(&["list", "--format", "json"]).ok().json();
    let cells = listed["cells"].as_array().unwrap();
    assert!(cells.len() >= 5, "{listed}");
    assert!(cells.iter().all(|cell| cell["packets_estimated"].as_u64().unwrap() > 10_000));
    let text = sandbox.run(&["list"]).ok().out;
    assert!(cells.iter().all(|cell| text.contains(cell["cell"].as_str().unwrap())), "{text}");
    assert!(sandbox.names().is_empty());
}

#[test]
fn check_says_how_many_cells() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let ended = sandbox.run(&["check", "small.toml"]).ok();
    assert!(ended.out.starts_with("ok: small"), "{}", ended.out);
    assert!(ended.out.contains("8 cells"), "{}", ended.out);
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_not_an_error() {
    let sandbox = Sandbox::new();
    let mut child =
        sandbox.command(&["schema", "grid"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ended = Ended::new(child.wait_with_output().unwrap());
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:#?}");
}
