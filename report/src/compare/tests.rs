use bench::Named;
use bench::metrics::summary::CameraSummary;
use bench::statistics::paired::smallest_p;

use super::*;

fn cell(delivered: f64, p99: Option<f64>) -> Summary {
    let mut camera =
        CameraSummary { produced: 1800, delivered_ratio: Some(delivered), ..CameraSummary::default() };
    camera.delay_all_ms.p99 = p99;
    Summary { cameras: Named(vec![("main".to_owned(), camera)]), ..Summary::default() }
}

fn compared(metrics: &[&str], sides: &[(Summary, Summary)]) -> Compared {
    let pairs = sides.iter().map(|(a, b)| (a, b)).collect();
    let (profile, before, after) = ("p".to_owned(), "x".to_owned(), "y".to_owned());
    Compared::new(&[Group { profile, before, after, pairs }], &Metric::select(metrics).unwrap())
}

/// Delivered shares before and after, in percent.
fn delivered(shares: &[(f64, f64)]) -> Row {
    let sides: Vec<_> = shares.iter().map(|(a, b)| (cell(a / 100.0, None), cell(b / 100.0, None))).collect();
    compared(&["delivered"], &sides).rows.remove(0)
}

/// Delays at the 99th percentile before and after.
fn delays(values: &[(Option<f64>, Option<f64>)]) -> Row {
    let sides: Vec<_> = values.iter().map(|(a, b)| (cell(1.0, *a), cell(1.0, *b))).collect();
    compared(&["delay-all-p99"], &sides).rows.remove(0)
}

#[test]
fn enough_seeds_that_agree_are_a_verdict() {
    let row =
        delivered(&[(90.0, 95.0), (91.0, 95.0), (89.0, 95.5), (90.5, 96.0), (92.0, 95.0), (90.0, 94.0)]);
    assert_eq!((row.verdict, row.better_worse), (Verdict::Better, (6, 0)));
    assert_eq!(row.p, smallest_p(6));
    assert!(row.difference.unwrap() > 4.0 && row.harm < -8.0);
    let back =
        delivered(&[(95.0, 90.0), (95.0, 91.0), (95.5, 89.0), (96.0, 90.5), (95.0, 92.0), (94.0, 90.0)]);
    assert_eq!((back.verdict, back.better_worse), (Verdict::Worse, (0, 6)));
}

#[test]
fn five_seeds_cannot_tell_however_large_the_difference() {
    let row = delivered(&[(20.0, 99.0); 5]);
    assert_eq!((row.verdict, row.p), (Verdict::TooFewSeeds, 0.0625));
    assert!((row.interval.unwrap().0 - 79.0).abs() < 1e-9, "the interval is stated anyway");
    assert_eq!(SEEDS_ENOUGH, (1..20).find(|n| smallest_p(*n) <= SIGNIFICANT).unwrap());
}

#[test]
fn what_the_seeds_do_not_tell_says_how_many_would() {
    let row = delivered(&[(20.0, 99.0); 5]);
    assert_eq!(row.seeds_enough, Some(SEEDS_ENOUGH), "they agree: the test wants one more");
    let row = delivered(&[(90.0, 95.0), (91.0, 93.0), (89.0, 95.5)]);
    assert!((6..20).contains(&row.seeds_enough.unwrap()), "{:?}", row.seeds_enough);
    let apart = [(90.0, 95.0), (95.0, 90.0), (90.0, 94.0), (94.0, 90.5), (90.0, 97.0), (97.0, 91.0)];
    assert!(delivered(&apart).seeds_enough.is_none_or(|seeds| seeds > 100), "little difference, much spread");
    assert_eq!(delivered(&[(22.6, 22.7)]).seeds_enough, None, "one seed has no spread");
    assert_eq!(delivered(&[(99.0, 99.1); 8]).seeds_enough, None, "these seeds do tell");
    assert_eq!(delays(&[(None, Some(200.0)); 3]).seeds_enough, Some(SEEDS_ENOUGH));
    // Where one result of many differs, it must be surer.
    let rise = |n: u32| (cell(0.9, Some(100.0)), cell(0.9, Some(150.0 + f64::from(n))));
    let metrics = ["delivered", "delay-all-p99", "stale", "on-time-200", "overhead"];
    let all = compared(&metrics, &(0..3).map(rise).collect::<Vec<_>>());
    assert!(all.seeds_enough().unwrap().0 > SEEDS_ENOUGH, "{:?}", all.seeds_enough());
    let text = text::human(&all, 80);
    assert!(text.contains("enough") && text.contains("would probably settle 1 of 1: --seeds 1.."), "{text}");
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn a_certain_difference_that_does_not_matter_is_the_same() {
    let row = delivered(&[(99.0, 99.1); 8]);
    assert_eq!(row.p, smallest_p(8));
    assert_eq!(row.verdict, Verdict::Same);
}

#[test]
fn seeds_that_disagree_do_not_tell() {
    let row =
        delivered(&[(90.0, 95.0), (95.0, 90.0), (90.0, 94.0), (94.0, 90.0), (90.0, 97.0), (97.0, 90.0)]);
    assert_eq!(row.verdict, Verdict::TooFewSeeds);
    assert!(row.p > 0.5);
}

#[test]
fn equal_cells_are_the_same_from_one_seed_on() {
    for count in [1, 2, 8] {
        let row = delivered(&vec![(22.6, 22.6); count]);
        assert_eq!((row.verdict, row.p, row.harm), (Verdict::Same, 1.0, 0.0), "{count}");
        assert_eq!(delays(&vec![(None, None); count]).verdict, Verdict::Same, "lost on both sides");
    }
    assert_eq!(delivered(&[(22.6, 22.7)]).verdict, Verdict::TooFewSeeds, "one seed has no interval");
}

#[test]
fn newly_lost_is_the_worst_there_is() {
    let row = delays(&[(Some(200.0), None); 6]);
    assert_eq!((row.verdict, row.lost, row.better_worse), (Verdict::Worse, (0, 6), (0, 6)));
    assert_eq!((row.difference, row.interval, row.harm), (None, None, f64::INFINITY));
    assert_eq!(row.means, (Some(200.0), None));
    assert_eq!(delays(&[(None, Some(200.0)); 6]).verdict, Verdict::Better);
    assert_eq!(delays(&[(None, Some(200.0)); 3]).verdict, Verdict::TooFewSeeds);
    let mixed = [(None, Some(200.0)), (Some(200.0), None)].repeat(3);
    assert_eq!(delays(&mixed).verdict, Verdict::TooFewSeeds);
    let one = delays(&[&[(Some(200.0), None)][..], &[(Some(200.0), Some(200.0)); 7][..]].concat());
    assert_eq!((one.verdict, one.harm), (Verdict::TooFewSeeds, f64::INFINITY));
}

#[test]
fn the_worst_comes_first_and_all_rows_share_the_error() {
    let rise = |n: u32| (cell(0.9, Some(100.0)), cell(0.99, Some(150.0 + f64::from(n))));
    let all = compared(&["delivered", "delay-all-p99", "stale"], &(0..6).map(rise).collect::<Vec<_>>());
    let found: Vec<_> = all.rows.iter().map(|row| (row.metric.name, row.verdict)).collect();
    let expected =
        [("delay-all-p99", Verdict::Worse), ("stale", Verdict::Same), ("delivered", Verdict::Better)];
    assert_eq!(found, expected);
    assert_eq!(all.rows[0].p_adjusted, 1.5 / 32.0, "2 of 3 tests at 1/32");
    assert_eq!((all.pairs, all.count(Verdict::Worse), all.leans_worse()), (6, 1, false));
}

#[test]
fn what_failed_or_is_not_there_is_not_compared() {
    let failed = Summary { status: Status::Failed, ..cell(0.0, None) };
    let all = compared(
        &["delivered", "hand-p50"],
        &[(cell(0.9, None), failed), (cell(0.9, None), cell(0.9, None))],
    );
    assert_eq!((all.pairs, all.rows.len(), all.rows[0].seeds), (1, 1, 1));
}
