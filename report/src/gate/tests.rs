use bench::metrics::GateRow;
use bench::metrics::summary::{CameraSummary, Status};
use bench::{Named, Summary};

use super::*;
use crate::table::Shape;

fn known() -> Known {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Known {
        profiles: names(&["bad-india", "brazil"]),
        settings: names(&["before", "best"]),
        cameras: names(&["main", "wrist-left"]),
    }
}

fn cell(profile: &str, settings: &str, seed: u32, delivered: f64, p99: Option<f64>) -> Summary {
    let mut main =
        CameraSummary { produced: 10, delivered_ratio: Some(delivered), ..CameraSummary::default() };
    main.delay_all_ms.p99 = p99;
    let wrist = CameraSummary { produced: 10, delivered_ratio: Some(0.5), ..CameraSummary::default() };
    Summary {
        profile: profile.to_owned(),
        settings: settings.to_owned(),
        seed: seed.to_string(),
        cameras: Named(vec![("main".to_owned(), main), ("wrist-left".to_owned(), wrist)]),
        ..Summary::default()
    }
}

fn cells() -> Vec<Summary> {
    vec![
        cell("bad-india", "before", 1, 0.2, None),
        cell("bad-india", "before", 2, 0.4, Some(900.0)),
        cell("bad-india", "best", 1, 1.0, Some(180.0)),
        cell("bad-india", "best", 2, 0.98, Some(200.0)),
    ]
}

fn judged(text: &str) -> Vec<GateRow> {
    let gate = Gate::parse(text).unwrap();
    gate.check(&known()).unwrap();
    gate.judge(&Shape::of(&cells()), &known(), &cells())
}

fn refused(text: &str) -> String {
    let error = Gate::parse(text).and_then(|gate| gate.check(&known())).unwrap_err();
    format!("{error} ({})", error.help.as_deref().unwrap_or_default())
}

#[test]
fn a_mean_and_the_worst_seed_are_told_apart() {
    let rows = judged("bad-india/best.main.delivered_ratio >= 0.985");
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].passed, rows[0].value, rows[0].worst_seed.as_str()), (true, Some(0.99), "2"));
    let rows = judged("worst( bad-india/best.main.delivered_ratio )>=0.985");
    assert_eq!((rows[0].passed, rows[0].value, rows[0].worst_value), (false, Some(0.98), Some(0.98)));
    let rows = judged("worst(bad-india/best.main.delay_all_ms.p99) < 200");
    assert_eq!((rows[0].passed, rows[0].value, rows[0].worst_seed.as_str()), (false, Some(200.0), "2"));
}

#[test]
fn a_star_is_every_profile_settings_or_camera() {
    let rows = judged("*.*.delivered_ratio > 0.3");
    let found: Vec<_> = rows.iter().map(|r| (r.settings.as_str(), r.field.as_str(), r.passed)).collect();
    let expected = [
        ("before", "cameras.main.delivered_ratio", false),
        ("before", "cameras.wrist-left.delivered_ratio", true),
        ("best", "cameras.main.delivered_ratio", true),
        ("best", "cameras.wrist-left.delivered_ratio", true),
    ];
    // 0.2 and 0.4 have a mean of 0.3 and a little.
    assert_eq!(found.len(), 4);
    assert_eq!(found[1..], expected[1..]);
    assert_eq!(judged("bad*/be*.stale_commands == 0").len(), 2);
    assert!(judged("bad-india.stale_commands == 0").iter().all(|row| row.passed));
    assert!(judged("bad-india.link.down.lost != 0").iter().all(|row| !row.passed));
}

#[test]
fn null_fails_whatever_is_asked() {
    for gate in ["bad-india/before.main.delay_all_ms.p99 < 1e9", "bad-india/before.main.delay_all_ms.p99 > 0"]
    {
        let rows = judged(gate);
        assert_eq!((rows[0].passed, rows[0].value, rows[0].worst_seed.as_str()), (false, None, "1"));
    }
}

#[test]
fn a_seed_that_failed_or_was_not_run_fails() {
    let gate = Gate::parse("worst(bad-india/best.main.delivered_ratio) >= 0.5").unwrap();
    let shape = Shape::of(&cells());
    let mut some = cells();
    some[3].status = Status::Failed;
    let rows = gate.judge(&shape, &known(), &some);
    assert_eq!((rows[0].passed, rows[0].worst_seed.as_str(), rows[0].worst_value), (false, "2", None));
    assert!(!gate.judge(&shape, &known(), &some[..3])[0].passed);
}

#[test]
fn what_is_wrong_is_said_with_what_was_meant() {
    for (text, says) in [
        ("bad-india.main.delivered_ratio", "there is no comparison"),
        ("bad-india.main.delivered_ratio >= much", "no number"),
        ("bad-india.main.delivered_ratio >= inf", "no finite number"),
        ("bad-india >= 1", "names no profile and field"),
        (".main.x >= 1", "names no profile and field"),
        ("best(bad-india.main.x) > 1", "`mean` or `worst`"),
        ("worst(bad-india.main.x > 1", "without `)`"),
        ("bad-india.main..x > 1", "is empty"),
        ("bad-inda.main.delivered_ratio > 1", "no profile is called `bad-inda` (did you mean `bad-india`?)"),
        ("bad-india/bset.main.delivered_ratio > 1", "no settings is called `bset` (did you mean `best`?)"),
        ("bad-india.mian.delivered_ratio > 1", "no `mian` in its cameras (did you mean `main`?)"),
        ("bad-india.main.deliverd_ratio > 1", "(did you mean `delivered_ratio`?)"),
        ("bad-india.hand_to_comand_ms.p99 > 1", "(did you mean `hand_to_command_ms`?)"),
        ("bad-india.main.delay_ms > 1", "is not a number (it has max, p50, p95, p99)"),
        ("bad-india.trace_hash == 1", "`trace_hash` is not a number"),
        ("bad-india.main.on_time_ratio.max > 1", "there are 200, 300, 500"),
    ] {
        assert!(refused(text).contains(says), "{text}: {}", refused(text));
    }
}
