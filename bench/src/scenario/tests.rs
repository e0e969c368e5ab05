//! Scenario files: what they may say, what is said about wrong ones, and how they print.

use proptest::prelude::*;

use super::*;
use crate::builtin_scenario;

const SMALL: &str = r#"
duration = "10 s"
seeds = "1..2"
profiles = ["brazil", "good-india"]
[settings.zebra]
[settings.apple]
skip = { threshold = "2 %" }
"#;

fn nothing(_: &str) -> Option<String> {
    None
}

fn parse(text: &str) -> Result<Scenario, ScenarioErrors> {
    Scenario::parse("test.toml", text, &nothing)
}

fn small() -> Scenario {
    parse(SMALL).unwrap()
}

/// Each problem as `line: message (help)`, where `line` is the text its span covers.
fn complaints(text: &str) -> Vec<String> {
    shown(&parse(text).unwrap_err())
}

fn shown(errors: &ScenarioErrors) -> Vec<String> {
    let show = |source: &SourceProblems| -> Vec<String> {
        let one = |p: &netmodel::document::Problem| {
            let place = p.span.clone().map_or("-", |span| &source.text[span]);
            let help = p.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
            format!("{place}: {}{help}", p.message)
        };
        source.problems.iter().map(one).collect()
    };
    errors.sources.iter().flat_map(show).collect()
}

fn names_of(scenario: &Scenario) -> (Vec<&str>, Vec<&str>) {
    let profiles = scenario.profiles().iter().map(|p| p.name.as_str()).collect();
    (profiles, scenario.settings().iter().map(|(name, _)| name.as_str()).collect())
}

fn apply(overrides: &Overrides) -> Result<Scenario, ScenarioErrors> {
    let mut scenario = small();
    scenario.apply(overrides).map(|()| scenario)
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn cells_are_profiles_times_settings_times_seeds_in_the_files_order() {
    let ids: Vec<String> = small().cells().iter().map(Cell::id).collect();
    let heads: Vec<&str> = ids.iter().map(|id| id.rsplit_once("--").unwrap().0).collect();
    assert_eq!(
        heads,
        [
            "brazil--zebra--s1",
            "brazil--zebra--s2",
            "brazil--apple--s1",
            "brazil--apple--s2",
            "good-india--zebra--s1",
            "good-india--zebra--s2",
            "good-india--apple--s1",
            "good-india--apple--s2",
        ]
    );
}

#[test]
fn what_is_not_said_has_its_default() {
    let scenario = parse("profiles = [\"brazil\"]\n[settings.a]").unwrap();
    let cell = &scenario.cells()[0];
    assert_eq!((cell.duration, cell.warmup), (Span::from_secs(120), Span::from_secs(5)));
    assert_eq!((cell.seed, cell.base_seed), (1, 1));
    assert_eq!(*cell.settings, Settings::default());
    assert_eq!(*cell.workload, Workload::default());
    assert_eq!(cell.robot_hop.name, "robot-hop");
}

#[test]
fn the_resolved_text_is_the_same_scenario_and_needs_no_other_file() {
    let text = r#"
description = "everything at once"
duration = "30 s"
warmup = "2 s"
seeds = "9,1..4"
base_seed = "18446744073709551615"
profiles = ["profiles/mine.toml", "inline", "thin-india"]
robot_hop = "inline"
[workload]
gop = 12
poses_per_s = 60
[[workload.cameras]]
name = "only"
frames_per_s = 30
frame_bytes = "9 kB"
[settings.slow]
loss_detection = { time_threshold = 1.1 }
[settings.fast]
delivery = { kind = "stream" }
[profile.inline]
rtt = "40 ms"
loss = { kind = "bernoulli", p = "1 %" }
[reference.inline.slow]
delivered = 1
"#;
    let lookup = |name: &str| (name == "profiles/mine.toml").then(|| "rtt = \"20 ms\"".to_owned());
    let scenario = Scenario::parse("x", text, &lookup).unwrap_or_else(|e| panic!("{e}"));
    let (profiles, settings) = names_of(&scenario);
    assert_eq!((profiles, settings), (vec!["mine", "inline", "thin-india"], vec!["slow", "fast"]));
    let printed = scenario.to_toml();
    let again = Scenario::parse("y", &printed, &nothing).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(again, scenario);
    assert_eq!(again.to_toml(), printed);
    let ids = |s: &Scenario| s.cells().iter().map(Cell::id).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&scenario));
    assert!(printed.contains("seeds = \"9,1..4\""), "{printed}");
    assert!(printed.contains("packet_threshold = 1000"), "defaults are filled in: {printed}");
}

#[test]
fn every_error_is_reported_at_once_with_its_place() {
    let text = r#"
duration = 120
seeds = "3..1"
profiles = ["brasil", "brazil", "brazil"]
robot_hop = "no/such.toml"
colour = "red"
[settings.Before]
skip = { treshold = "1 %", keep_one_in = 1 }
[settings.after]
congestion = { kind = "cubik" }
"#;
    let found = complaints(text);
    let expected = [
        "unknown key `colour`",
        "`120` has no unit; a duration",
        "smaller seed to the larger",
        "\"brasil\": there is no profile `brasil` (did you mean `brazil`?)",
        "two profiles called `brazil`",
        "cannot read the profile file `no/such.toml`",
        "`Before` is not a name for settings",
        "treshold: unknown key `treshold` (did you mean `threshold`?)",
        "1: skip.keep_one_in is 1, outside 2 to 100",
        "\"cubik\": unknown value `cubik` (did you mean `cubic`?)",
    ];
    for part in expected {
        assert!(found.iter().any(|c| c.contains(part)), "`{part}` in {found:#?}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn a_scenario_that_names_itself_as_a_profile_is_told_so() {
    for (key, list) in [("robot_hop", "\"x2.toml\""), ("profiles", "[\"x2.toml\"]")] {
        let other = if key == "profiles" { "" } else { "profiles = [\"brazil\"]\n" };
        let text = format!("{other}{key} = {list}\n[settings.a]\n");
        let lookup = |name: &str| (name == "x2.toml").then(|| text.clone());
        for source in ["x2.toml", "dir/x2.toml"] {
            let error = Scenario::parse(source, &text, &lookup).unwrap_err();
            let expected = "\"x2.toml\": `x2.toml` is this scenario, not a profile (name a file with the \
                            conditions of one link)";
            assert_eq!(shown(&error), [expected]);
        }
    }
}

#[test]
fn a_profile_file_called_like_the_scenario_keeps_its_errors() {
    let text = "profiles = [\"x2.toml\"]\nrobot_hop = \"x2.toml\"\n[settings.a]\n";
    let lookup = |name: &str| (name == "x2.toml").then(|| "rate = -1\n".to_owned());
    let error = Scenario::parse("x2.toml", text, &lookup).unwrap_err();
    assert_eq!((error.sources.len(), error.sources[0].text.as_str()), (1, "rate = -1\n"));
    assert!(error.to_string().contains("cannot be negative"), "{error}");
}

#[test]
fn what_follows_from_a_problem_is_not_told_again() {
    let head = "profiles = [\"x\"]\n[settings.a]\n";
    for (profile, expected) in [
        ("[profile.x]\nloss = { kind = \"bernoulli\", p = \"nan %\" }\n", "nan"),
        ("[[profile.x.schedule]]\nat = \"1 s\"\noutag = \"1 s\"\n", "did you mean `outage`?"),
        ("[profile]\nx = 3\n", "expected a table, found `3`"),
    ] {
        let found = complaints(&format!("{head}{profile}"));
        assert!(found.len() == 1 && found[0].contains(expected), "{profile}: {found:#?}");
    }
    let found = complaints("profiles = [\"brazil\"]\nsettings = 3\n");
    assert_eq!(found, ["3: expected a table, found `3`"]);
    let found = complaints("profiles = [\"brazil\"]\n[settings.a]\nskip = 1\n");
    assert_eq!(found, ["1: expected a table, found `1`"]);
}

#[test]
fn very_many_problems_are_cut_short_whatever_they_are() {
    let many = |line: &dyn Fn(usize) -> String| -> Vec<String> {
        let text: String = (0..10_000).map(line).collect();
        complaints(&format!("profiles = [\"brazil\"]\n{text}"))
    };
    let keys = many(&|n| format!("key{n} = 1\n"));
    assert_eq!(keys.len(), 101);
    assert!(keys[100].contains("there are more problems than these 100"), "{}", keys[100]);
    let blocks = many(&|n| format!("[settings.a{n}]\nskip = {{ keep_one_in = 1 }}\n"));
    assert_eq!(blocks.len(), 101);
    assert!(blocks[100].contains("and there are 9900 more problems"), "{}", blocks[100]);
}

#[test]
fn names_that_would_be_taken_for_something_else_are_refused() {
    for name in ["--", "-a", "a--s1", "a-"] {
        let settings = format!("profiles = [\"brazil\"]\n[settings.{name}]\n");
        let profile = format!("profiles = [\"{name}\"]\n[settings.a]\n[profile.{name}]\n");
        let camera = format!(
            "profiles = [\"brazil\"]\n[settings.a]\n[[workload.cameras]]\nname = \"{name}\"\n\
             frames_per_s = 9\nframe_bytes = \"9 kB\"\n"
        );
        for text in [settings, profile, camera] {
            let found = complaints(&text);
            assert!(found.len() == 1 && found[0].contains("single `-` between"), "{found:#?}");
        }
    }
}

#[test]
fn an_error_names_file_line_and_column() {
    let error =
        parse("profiles = [\"brazil\"]\n\n[settings.a]\nskip = { treshold = \"1 %\" }\n").unwrap_err();
    let text = error.to_string();
    assert_eq!(text, "test.toml:4:10: unknown key `treshold` (did you mean `threshold`?)");
    assert_eq!(error.kind, ErrorKind::Invalid);
}

#[test]
fn an_empty_matrix_is_an_error_that_says_what_to_add() {
    let found = complaints("");
    assert!(found.iter().any(|c| c.contains("no profiles to run (add `profiles")), "{found:#?}");
    assert!(found.iter().any(|c| c.contains("no settings to run (add a `[settings.<name>]`")), "{found:#?}");
    let found = complaints("profiles = []\nseeds = \"\"\n[settings.a]");
    assert!(found.iter().any(|c| c == "[]: there are no profiles to run"), "{found:#?}");
    assert!(found.iter().any(|c| c.contains("not a list of seeds")), "{found:#?}");
}

#[test]
fn a_block_that_is_there_twice_is_an_error() {
    let found = complaints("profiles = [\"brazil\"]\n[settings.a]\n[settings.a]\n");
    assert!(found.iter().any(|c| c.contains("duplicate key")), "{found:#?}");
}

/// What holds for the real cells of each settings.
fn offloads(scenario: &Scenario) -> Vec<(String, bool, bool)> {
    let cells = scenario.cells();
    let first = cells.iter().filter(|cell| cell.seed == 1 && cell.profile.name == "brazil");
    first.map(|cell| (cell.settings_name.clone(), cell.offload.gso, cell.offload.gro)).collect()
}

fn three(list: &[(&str, bool, bool)]) -> Vec<(String, bool, bool)> {
    list.iter().map(|(name, gso, gro)| ((*name).to_owned(), *gso, *gro)).collect()
}

#[test]
fn offload_is_on_and_switched_for_all_or_for_one_column() {
    assert_eq!(offloads(&small()), three(&[("zebra", true, true), ("apple", true, true)]));
    let text = format!("{SMALL}[real]\ngro = false\n[real.settings.apple]\ngso = false\n");
    let scenario = parse(&text).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(offloads(&scenario), three(&[("zebra", true, false), ("apple", false, false)]));
    let printed = scenario.to_toml();
    assert!(printed.contains("[real]\ngso = true\ngro = false"), "{printed}");
    let again = parse(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!((offloads(&again), again.to_toml()), (offloads(&scenario), printed));
    // Of what is left out nothing is printed that could not be read again.
    let mut one = scenario;
    one.apply(&Overrides { settings: owned(&["zebra"]), ..Overrides::default() }).unwrap();
    assert_eq!(offloads(&parse(&one.to_toml()).unwrap()), three(&[("zebra", true, false)]));
}

#[test]
fn offload_is_a_key_of_set() {
    let set = |list: &[&str]| apply(&Overrides { set: owned(list), ..Overrides::default() });
    let all = set(&["real.gso=false"]).unwrap();
    assert_eq!(offloads(&all), three(&[("zebra", false, true), ("apple", false, true)]));
    let one = set(&["apple.real.gro=false", "apple.real.gso=false"]).unwrap();
    assert_eq!(offloads(&one), three(&[("zebra", true, true), ("apple", false, false)]));
    assert_eq!(one.settings(), small().settings());
    assert_eq!(offloads(&parse(&one.to_toml()).unwrap()), offloads(&one));
    let ids = |scenario: &Scenario| scenario.cells().iter().map(Cell::id).collect::<Vec<_>>();
    let (plain, one) = (ids(&small()), ids(&one));
    assert_eq!(plain.iter().zip(&one).filter(|(a, b)| a != b).count(), 4, "the cells of one settings");
    for (wrong, says) in [
        ("real.gso=2", "false: `real.gso` is true or false"),
        ("real.gsp=true", "unknown key `gsp` (did you mean `gso`?)"),
        ("real=true", "unknown key `real`"),
        ("real.settings.apple.gso=true", "unknown key"),
    ] {
        let found = shown(&set(&[wrong]).unwrap_err());
        let says = says.trim_start_matches("false: ");
        assert!(found.len() == 1 && found[0].contains(says), "{wrong}: {found:?}");
    }
}

#[test]
fn what_is_wrong_with_offload_has_its_place() {
    let found = complaints(&format!("{SMALL}[real]\ngsp = false\n[real.settings.aple]\ngso = 1\n"));
    assert!(found.iter().any(|c| c.contains("gsp: unknown key `gsp` (did you mean `gso`?)")), "{found:#?}");
    assert!(found.iter().any(|c| c.starts_with("1: ")), "{found:#?}");
    let found = complaints(&format!("{SMALL}[real.settings.aple]\ngso = false\n"));
    assert_eq!(found, ["aple: there are no settings `aple` (did you mean `apple`?)"]);
}

#[test]
fn a_second_flow_that_never_starts_is_warned_of() {
    let with = |flow: &str| parse(&format!("{SMALL}[workload]\ncross_traffic = {flow}\n")).unwrap();
    let late = with("{ kind = \"bulk\", start = \"10 s\" }");
    let warnings = late.warnings();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("starts at 10 s") && warnings[0].contains("cell of 10 s"), "{warnings:?}");
    assert!(with("{ kind = \"bulk\", start = \"9.9 s\" }").warnings().is_empty());
    assert!(small().warnings().is_empty());
    let mut longer = late;
    longer.apply(&Overrides { duration: Some("11 s".to_owned()), ..Overrides::default() }).unwrap();
    assert!(longer.warnings().is_empty());
}

#[test]
fn problems_of_a_profile_file_are_shown_in_that_file() {
    let lookup = |name: &str| (name == "p/mine.toml").then(|| "rtt = \"20 ms\"\nrate = -1\n".to_owned());
    let text = "profiles = [\"p/mine.toml\"]\n[settings.a]";
    let error = Scenario::parse("s.toml", text, &lookup).unwrap_err();
    assert_eq!(error.sources.len(), 1);
    assert_eq!(error.sources[0].name, "p/mine.toml");
    assert!(error.to_string().starts_with("p/mine.toml:2:8: "), "{error}");
}

#[test]
fn problems_of_an_inline_profile_are_shown_in_the_scenario() {
    let text = "profiles = [\"x\"]\n[settings.a]\n[profile.x]\nrtt = \"20 ms\"\nrate = \"-1 Mbit/s\"\n";
    let error = parse(text).unwrap_err().to_string();
    assert!(error.starts_with("test.toml:5:8: "), "{error}");
    assert!(error.contains("cannot be negative"), "{error}");
    let unused = complaints("profiles = [\"brazil\"]\n[settings.a]\n[profile.x]\nrtt = \"20 ms\"\n");
    assert_eq!(unused, ["x: profile `x` is not used (name it in `profiles` or `robot_hop`)"]);
}

#[test]
fn ranges_are_checked() {
    let text = "duration = \"0.5 s\"\nwarmup = \"61 s\"\nprofiles = [\"brazil\"]\n[settings.a]\n[workload]\ngop = 0\n";
    let found = complaints(text);
    assert!(found[0].contains("duration is 500 ms, outside 1 s to 3600 s"), "{found:#?}");
    assert!(found[1].contains("warmup is 61 s, outside 0 s to 60 s"), "{found:#?}");
    assert!(found[2].contains("workload.gop is 0, outside 1 to 1000"), "{found:#?}");
}

#[test]
fn a_profile_of_the_scenario_hides_a_built_in_one() {
    let scenario =
        parse("profiles = [\"brazil\"]\n[settings.a]\n[profile.brazil]\nrtt = \"1 ms\"\n").unwrap();
    assert_ne!(*scenario.profiles()[0], netmodel::builtin::profile("brazil").unwrap());
}

#[test]
fn selection_keeps_what_matches_in_the_scenarios_order() {
    let scenario = apply(&Overrides { profiles: owned(&["*"]), ..Overrides::default() }).unwrap();
    assert_eq!(names_of(&scenario).0, ["brazil", "good-india"]);
    let scenario = apply(&Overrides {
        profiles: owned(&["good*,bad-india-reorder"]),
        settings: owned(&["*pp*"]),
        seeds: Some("7".to_owned()),
        duration: Some("20s".to_owned()),
        ..Overrides::default()
    })
    .unwrap();
    assert_eq!(names_of(&scenario), (vec!["good-india", "bad-india-reorder"], vec!["apple"]));
    assert_eq!((scenario.seeds(), scenario.duration()), (&[7][..], Span::from_secs(20)));
}

#[test]
fn twins_can_be_asked_for_by_a_glob_that_the_scenario_does_not_match() {
    let scenario = apply(&Overrides { profiles: owned(&["*-reorder"]), ..Overrides::default() }).unwrap();
    assert_eq!(scenario.profiles().len(), 5);
    assert!(scenario.profiles().iter().all(|p| p.name.ends_with("-reorder")));
}

#[test]
fn an_unknown_name_is_an_error_and_an_empty_selection_another() {
    let error = apply(&Overrides { profiles: owned(&["brasil"]), ..Overrides::default() }).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert_eq!(shown(&error), ["brasil: there is no profile `brasil` (did you mean `brazil`?)"]);
    for path in ["./mine.toml", "mine.toml", "a/mine"] {
        let error = apply(&Overrides { profiles: owned(&[path]), ..Overrides::default() }).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid);
        let help = format!("name the file in a scenario: profiles = [\"{path}\"]");
        let expected = format!("{path}: `{path}` is a file, and here are the names of profiles ({help})");
        assert_eq!(shown(&error), [expected]);
    }
    let error = apply(&Overrides { settings: owned(&["aple"]), ..Overrides::default() }).unwrap_err();
    assert_eq!(shown(&error), ["aple: there are no settings `aple` (did you mean `apple`?)"]);
    for overrides in [
        Overrides { profiles: owned(&["x*"]), ..Overrides::default() },
        Overrides { settings: owned(&["x*"]), ..Overrides::default() },
        Overrides { settings: owned(&[""]), ..Overrides::default() },
    ] {
        let error = apply(&overrides).unwrap_err();
        assert_eq!(error.kind, ErrorKind::NothingSelected);
        assert!(error.to_string().contains("nothing matches"), "{error}");
    }
}

#[test]
fn a_setting_is_set_in_every_block_or_in_one() {
    let set = |arguments: &[&str]| apply(&Overrides { set: owned(arguments), ..Overrides::default() });
    let scenario =
        set(&["skip.threshold=3%", "zebra.skip.keep_one_in = 5", "congestion.kind=new-reno"]).unwrap();
    let of = |name: &str| scenario.settings().iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert_eq!(of("zebra").skip.threshold, "3 %".parse().unwrap());
    assert_eq!(of("apple").skip.threshold, "3 %".parse().unwrap());
    assert_eq!((of("zebra").skip.keep_one_in, of("apple").skip.keep_one_in), (5, 3));
    assert_eq!(of("apple").congestion.kind, relay_core::settings::CongestionKind::NewReno);
    let scenario = set(&["skip={ threshold = \"4 %\", enabled = false }"]).unwrap();
    assert!(!scenario.settings()[0].1.skip.enabled);
    let scenario = set(&["loss_detection.time_threshold=1.1"]).unwrap();
    assert_eq!(scenario.settings()[0].1.loss_detection.time_threshold, 1.1f32);
}

#[test]
fn a_wrong_set_says_what_is_wrong_with_which_part() {
    let complaint = |argument: &str| {
        let overrides = Overrides { set: owned(&[argument]), ..Overrides::default() };
        shown(&apply(&overrides).unwrap_err()).join("\n")
    };
    assert_eq!(
        complaint("skip.treshold=2%"),
        "skip.treshold: unknown key `treshold` (did you mean `threshold`?)"
    );
    assert_eq!(complaint("skpi.threshold=2%"), "skpi.threshold: unknown key `skpi` (did you mean `skip`?)");
    assert!(
        complaint("skip.threshold=2").starts_with("2: `2` has no unit"),
        "{}",
        complaint("skip.threshold=2")
    );
    assert_eq!(complaint("skip.keep_one_in=1"), "1: skip.keep_one_in is 1, outside 2 to 100");
    assert_eq!(complaint("congestion.kind=cubik"), "cubik: unknown value `cubik` (did you mean `cubic`?)");
    assert!(complaint("skip.threshold").contains("key=value"));
    assert!(complaint("skip.threshold.deep=1").contains("has none below it"));
    assert!(complaint("zebra=1").contains("unknown key"));
}

#[test]
fn a_failed_apply_leaves_the_scenario_as_it_was() {
    let mut scenario = small();
    let overrides =
        Overrides { seeds: Some("9".to_owned()), set: owned(&["nope=1"]), ..Overrides::default() };
    assert!(scenario.apply(&overrides).is_err());
    assert_eq!(scenario, small());
}

#[test]
fn overrides_survive_being_resolved() {
    let scenario = apply(&Overrides {
        set: owned(&["apple.pose.repeat=4"]),
        profiles: owned(&["thin-india-reorder"]),
        ..Overrides::default()
    })
    .unwrap();
    assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario);
}

/// Pieces of scenario text, well-formed and not.
fn fragment() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "duration = \"120 s\"\n",
        "duration = 1\n",
        "seeds = \"1..3\"\n",
        "seeds = \"9..1\"\n",
        "seeds = 4\n",
        "profiles = [\"brazil\", \"x\"]\n",
        "profiles = [1, {}]\n",
        "profiles = \"brazil\"\n",
        "[settings.a]\n",
        "[settings.\"\"]\n",
        "[settings]\n",
        "a = 1\n",
        "skip = { threshold = \"1 %\" }\n",
        "skip.threshold = 2\n",
        "[workload]\n",
        "[[workload.cameras]]\n",
        "name = \"x\"\n",
        "frames_per_s = -1\n",
        "gop = 0\n",
        "[profile.x]\n",
        "rtt = \"1 ms\"\n",
        "rate = []\n",
        "[reference.a.b]\n",
        "c = nan\n",
        "c = 1\n",
        "robot_hop = \"x.toml\"\n",
        "base_seed = -1\n",
        "[",
        "]\n",
        "=",
        "\"",
        "\u{e9}",
        "\n",
        "# x\n",
        "[profile.x.up]\n",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn no_scenario_text_panics(pieces in prop::collection::vec(fragment(), 0..14)) {
        let text = pieces.concat();
        let lookup = |name: &str| (name == "x.toml").then(|| text.clone());
        match Scenario::parse("x", &text, &lookup) {
            Ok(scenario) => prop_assert_eq!(parse(&scenario.to_toml()).unwrap(), scenario),
            Err(errors) => {
                prop_assert!(!errors.to_string().is_empty());
                for source in &errors.sources {
                    for problem in &source.problems {
                        let fits = problem.span.clone().is_none_or(|s| source.text.get(s).is_some());
                        prop_assert!(fits, "{:?} in {:?}", problem, source.text);
                    }
                }
            }
        }
    }

    #[test]
    fn any_change_of_the_seed_matrix_at_one_byte_does_not_panic(at in 0usize..2500, with in any::<char>()) {
        let text = builtin_scenario("seed-matrix").unwrap();
        let chars: Vec<char> = text.chars().collect();
        let mut changed = chars.clone();
        let at = at % chars.len();
        changed[at] = with;
        let _ = parse(&changed.into_iter().collect::<String>());
    }

    #[test]
    fn no_override_panics(key in "[a-z_.=]{0,20}", value in "[0-9a-z%\"{}\\[\\] .=\n]{0,12}", pattern in "[a-z*,-]{0,8}") {
        let mut scenario = small();
        let before = scenario.clone();
        let set = vec![format!("{key}={value}"), key.clone(), format!("skip.{key}={value}"), format!("skip.threshold={value}")];
        for argument in set {
            let _ = scenario.apply(&Overrides { set: vec![argument], ..Overrides::default() });
        }
        let overrides = Overrides { profiles: vec![pattern.clone()], settings: vec![pattern], ..Overrides::default() };
        let _ = scenario.apply(&overrides);
        prop_assert_eq!(scenario.duration(), before.duration());
    }
}
