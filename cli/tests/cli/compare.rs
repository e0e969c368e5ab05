//! Comparing runs and settings, gates, and looking at runs that were kept.

use std::fs;

use serde_json::Value;

use crate::schema::problems;
use crate::{SMALL, Sandbox};

/// What is changed in the text of a scenario.
type Change = fn(String) -> String;

/// A sandbox with a kept run of the small scenario, changed as said, in each of these folders.
fn kept(folders: &[(&str, Change)]) -> Sandbox {
    let sandbox = Sandbox::new();
    for (folder, change) in folders {
        sandbox.file("small.toml", &change(SMALL.to_owned()));
        sandbox.run(&["run", "small.toml", "--quiet", "--out", folder]).ok();
    }
    sandbox
}

fn as_it_is(text: String) -> String {
    text
}

/// A run under settings of which one is far worse than the other.
fn before_and_best(seeds: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let selection = ["--profiles", "bad-india", "--settings", "before,best", "--seeds", seeds];
    let arguments = [&["run", "--duration", "8 s", "--quiet", "--out", "r"][..], &selection].concat();
    sandbox.run(&arguments).ok();
    sandbox
}

#[test]
fn a_run_is_the_same_as_itself() {
    let sandbox = kept(&[("a", as_it_is)]);
    let ended = sandbox.run(&["compare", "a", "a", "--metric", "all", "--format", "json"]).ok();
    assert_eq!(ended.err, "");
    let found = ended.json();
    assert_eq!(found["pairs"], 8);
    let rows = found["rows"].as_array().unwrap();
    assert!(rows.len() > 50, "{}", rows.len());
    assert_eq!(found["verdicts"]["same"], rows.len());
    assert!(rows.iter().all(|row| row["verdict"] == "same" && row["p"] == 1.0), "{found}");
    let shown = sandbox.run(&["compare", "a:plain", "a:plain"]).ok();
    assert!(shown.out.starts_with("same (10)\n"), "{}", shown.out);
    let one = sandbox.run(&["compare", "plain", "plain", "--run", "a"]).ok();
    assert_eq!(one.out, shown.out);
}

#[test]
fn a_regression_is_found_with_enough_seeds() {
    let sandbox = before_and_best("1..6");
    let worse = sandbox.run(&["compare", "best", "before", "--run", "r"]);
    assert_eq!(worse.code, Some(14), "{worse:#?}");
    assert!(worse.out.starts_with("worse ("), "{}", worse.out);
    assert!(worse.out.lines().all(|line| line.len() <= 80), "{}", worse.out);
    sandbox.run(&["compare", "r:best", "r:before", "--fail-on", "none"]).ok();
    let better = sandbox.run(&["compare", "r:before", "r:best", "--format", "json"]).ok().json();
    let row = better["rows"].as_array().unwrap().iter().find(|row| row["metric"] == "delivered").unwrap();
    assert_eq!((&row["verdict"], &row["seeds"], &row["p"]), (&"better".into(), &6.into(), &0.03125.into()));
    assert!(row["interval_low"].as_f64().unwrap() > 1.0, "{row}");
    let again = sandbox.run(&["compare", "r:before", "r:best", "--format", "json"]).ok().json();
    assert_eq!(better, again, "the same cells give the same numbers");
    for format in ["markdown", "csv"] {
        let text = sandbox.run(&["compare", "r:before", "r:best", "--format", format]).ok().out;
        assert!(text.contains("better") && text.contains("bad-india"), "{text}");
    }
}

#[test]
fn three_seeds_are_too_few() {
    let sandbox = before_and_best("1..3");
    let ended = sandbox.run(&["compare", "best", "before", "--run", "r", "--metric", "delivered"]).ok();
    assert!(ended.out.starts_with("too-few-seeds (1)"), "{}", ended.out);
    assert!(ended.out.contains("fewer than 6 seeds"), "{}", ended.out);
    let strict = sandbox.run(&["compare", "r:best", "r:before", "--fail-on", "unsettled"]);
    assert_eq!(strict.code, Some(14), "{strict:#?}");
    sandbox.run(&["compare", "r:before", "r:best", "--metric", "delivered", "--fail-on", "unsettled"]).ok();
}

#[test]
fn what_cannot_be_compared_is_refused_and_says_why() {
    let sandbox = kept(&[
        ("a", as_it_is),
        ("longer", |text| text.replace("2 s", "3 s")),
        ("gop", |text| format!("{text}[workload]\ngop = 2\n")),
        ("base", |text| format!("base_seed = 9\n{text}")),
        ("link", |text| {
            let profile = "[profile.mine]\nrtt = \"9 ms\"\n";
            format!("{}{profile}", text.replace("\"bad-india\"", "\"mine\""))
        }),
        ("other-link", |text| {
            let profile = "[profile.mine]\nrtt = \"8 ms\"\n";
            format!("{}{profile}", text.replace("\"bad-india\"", "\"mine\""))
        }),
        ("metrics", as_it_is),
    ]);
    let manifest = sandbox.path().join("metrics/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut changed: Value = serde_json::from_str(&text).unwrap();
    changed["metrics"] = 2.into();
    fs::write(&manifest, changed.to_string()).unwrap();
    for (other, says) in [
        ("longer", "the duration differs: 2 s before, 3 s after"),
        ("gop", "the workload differs"),
        ("base", "the base seed differs: 1 before, 9 after"),
        ("metrics", "the version of the metrics differs: 1 before, 2 after"),
    ] {
        sandbox.run(&["compare", "a", other]).refused(2, &[says]);
    }
    changed["format"] = 99.into();
    fs::write(&manifest, changed.to_string()).unwrap();
    for reader in
        [&["compare", "a", "metrics"][..], &["grid", "metrics"], &["report", "metrics"], &["cdf", "metrics"]]
    {
        sandbox.run(reader).refused(2, &["version 99", "the build that wrote it"]);
    }
    sandbox.run(&["compare", "link", "other-link"]).refused(2, &["the profile `mine` differs"]);
    // Where only some profiles are the same, those are compared and the others named.
    let ended = sandbox.run(&["compare", "a", "link"]).ok();
    assert!(ended.err.contains("finished only before: bad-india--plain--s1--"), "{}", ended.err);
}

#[test]
fn nothing_to_compare_is_an_error() {
    let sandbox = kept(&[("a", as_it_is)]);
    sandbox.run(&["compare", "a", "a", "--profiles", "mars*"]).refused(15, &["compared 0 cells"]);
    sandbox.run(&["compare", "a:plian", "a:reno"]).refused(2, &["`plian`", "did you mean `plain`?"]);
    sandbox.run(&["compare", "a:plain", "a"]).refused(2, &["a:SETTINGS"]);
    sandbox.run(&["compare", "no/where", "a"]).refused(2, &["no run folder `no/where`"]);
    sandbox.run(&["compare", ".", "a"]).refused(2, &["`.` is no run folder"]);
}

#[test]
fn a_gate_is_checked_before_anything_runs() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let gate = |gate| sandbox.run(&["run", "small.toml", "--gate", gate]);
    gate("bad-india.main.deliverd_ratio >= 0.9").refused(2, &["did you mean `delivered_ratio`?"]);
    gate("bad-inda.main.delivered_ratio >= 0.9").refused(2, &["did you mean `bad-india`?"]);
    gate("bad-india.main.delivered_ratio").refused(2, &["there is no comparison"]);
    let both = ["run", "small.toml", "--gate", "x.y > 1", "--gate", "*.stale_comands == 0"];
    sandbox.run(&both).refused(2, &["`x`", "did you mean `stale_commands`?"]);
    assert_eq!(sandbox.names(), ["small.toml"]);
}

#[test]
fn a_gate_that_fails_says_where_and_how_to_see_it() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    let gates =
        ["--gate", "worst(bad-india/reno.main.delivered_ratio) > 1", "--gate", "*.stale_commands == 0"];
    let ended = sandbox.run(&[&["run", "small.toml", "--out", "a", "--format", "json"][..], &gates].concat());
    assert_eq!(ended.code, Some(10), "{ended:#?}");
    for part in ["gate failed: worst(bad-india/reno", "replay: arcbench replay bad-india--reno--s"] {
        assert!(ended.err.contains(part), "no {part:?} in {}", ended.err);
    }
    assert!(ended.err.contains("gates: 4 of 5 results hold"), "{}", ended.err);
    let rows = ended.json()["gates"].as_array().unwrap().clone();
    assert_eq!(rows.len(), 5);
    assert_eq!((&rows[0]["passed"], &rows[0]["settings"]), (&false.into(), &"reno".into()));
    sandbox.run(&["run", "small.toml", "--out", "a", "--gate", "*.*.delivered_ratio >= 0"]).ok();
    for verb in [&["grid", "a"][..], &["compare", "a:reno", "a:reno"]] {
        let ended = sandbox.run(&[verb, &gates[..2]].concat());
        assert_eq!(ended.code, Some(10), "{ended:#?}");
        assert!(ended.err.contains("replay: arcbench replay bad-india--reno--s"), "{}", ended.err);
    }
    let foreign = ["compare", "a:reno", "a:reno", "--gate", "*/plain.stale_commands == 0"];
    sandbox.run(&foreign).refused(2, &["no settings is called `plain`"]);
}

#[test]
fn a_kept_grid_is_what_the_run_printed() {
    let sandbox = Sandbox::new();
    sandbox.file("small.toml", SMALL);
    for format in ["table", "markdown", "csv", "json"] {
        let ran = sandbox.run(&["run", "small.toml", "--out", "a", "--format", format]).ok();
        assert_eq!(sandbox.run(&["grid", "a", "--format", format]).ok().out, ran.out, "{format}");
    }
    sandbox.run(&["grid"]).refused(2, &["no run in ./runs"]);
    sandbox.run(&["grid", "a", "--metric", "deliverd"]).refused(2, &["did you mean `delivered`?"]);
}

#[test]
fn a_distribution_counts_every_frame_that_was_made() {
    let sandbox = kept(&[("a", as_it_is)]);
    let drawn = sandbox.run(&["cdf", "a", "--profiles", "bad-india"]).ok().out;
    for part in ["bad-india: share", "a  plain:", "b  reno:", " of 60 frames came", "99 %"] {
        assert!(drawn.contains(part), "no {part:?} in {drawn}");
    }
    assert!(drawn.lines().all(|line| line.len() <= 80), "{drawn}");
    let found = sandbox.run(&["cdf", "a", "--format", "json"]).ok().json();
    assert_eq!(found["curves"].as_array().unwrap().len(), 4);
    assert_eq!(found["curves"][0]["produced"], 60);
    let cell = ["cdf", "bad-india--reno--s1", "--run", "a", "--camera", "wrist-left", "--format", "csv"];
    let csv = sandbox.run(&cell).ok().out;
    assert!(csv.starts_with("profile,settings,produced,"), "{csv}");
    assert!(csv.contains("\nbad-india,reno seed 1,16,"), "{csv}");
    sandbox.run(&["cdf", "a", "--camera", "mian"]).refused(2, &["did you mean `main`?"]);
    sandbox.run(&["cdf", "a", "--profiles", "mars"]).refused(15, &["no finished cell"]);
}

#[test]
fn every_table_has_every_form() {
    let sandbox = kept(&[("a", as_it_is)]);
    for verb in [
        &["list", "small.toml"][..],
        &["show", "bad-india--reno--s1", "--run", "a"],
        &["doctor"],
        &["grid", "a"],
        &["cdf", "a"],
        &["compare", "a:plain", "a:plain"],
    ] {
        let of = |format| sandbox.run(&[verb, &["--format", format]].concat()).ok().out;
        assert!(of("markdown").lines().any(|line| line.starts_with("|--")), "{verb:?}");
        let csv = of("csv");
        let columns = csv.lines().next().unwrap().split(',').count();
        assert!(columns >= 2, "{verb:?}: {csv}");
        // The doctor measures, and so says something else each time.
        if verb[0] != "doctor" {
            assert_eq!(of("human"), of("table"), "the older name still works");
        }
    }
}

#[test]
fn what_is_printed_keeps_to_its_schema() {
    let sandbox = kept(&[("a", as_it_is)]);
    let schema = |of| sandbox.run(&["schema", of]).ok().json();
    let gate = ["--gate", "*.main.delivered_ratio >= 0", "--format", "json"];
    let compared = sandbox.run(&[&["compare", "a:plain", "a:plain", "--metric", "all"][..], &gate].concat());
    let grid = sandbox.run(&[&["grid", "a"][..], &gate].concat());
    for (of, mut found) in [("compare", compared.ok().json()), ("grid", grid.ok().json())] {
        assert_eq!(problems(&schema(of), &found), Vec::<String>::new(), "{of}");
        found["gates"][0]["passed"] = "yes".into();
        found["surprise"] = 1.into();
        found.as_object_mut().unwrap().remove("version");
        let wrong = problems(&schema(of), &found);
        assert_eq!(wrong.len(), 3, "{wrong:?}");
    }
}
