//! The page as a whole: what is in it, that nothing breaks out of its place, and that it is bounded.

use bench::Named;
use bench::Summary;
use bench::metrics::summary::{CameraSummary, Status};

use super::*;
use crate::data::{Configuration, Freeze, Link, ReadError, Second, Timeline};

/// Tables made up: half of the frames come, and each second is like the other.
struct Fake {
    seconds: usize,
}

impl Tables for Fake {
    fn delays(&self, _: &Summary, into: &mut Delays) -> Result<(), ReadError> {
        for frame in 0..100u64 {
            into.add((frame % 2 == 0).then_some(100_000 + frame * 1000));
        }
        Ok(())
    }

    fn timeline(&self, _: &Summary) -> Result<Timeline, ReadError> {
        let second = Second { delivered: vec![15], sent_bytes: 400_000, packets: 300, ..Second::default() };
        let cause = Some(HOSTILE.to_owned());
        Ok(Timeline {
            cameras: vec![HOSTILE.to_owned()],
            // Steps that cannot be left out of a path.
            seconds: (0..self.seconds)
                .map(|n| Second { lost: n as u64 % 7, queue_ms: (n % 5) as f64, ..second.clone() })
                .collect(),
            freezes: vec![Freeze { camera: 0, from_s: 1.0, to_s: 2.5, cause }],
        })
    }
}

/// No tables at all.
struct Unreadable;

impl Tables for Unreadable {
    fn delays(&self, _: &Summary, into: &mut Delays) -> Result<(), ReadError> {
        into.add(Some(1));
        Err(broken())
    }

    fn timeline(&self, _: &Summary) -> Result<Timeline, ReadError> {
        Err(broken())
    }
}

fn broken() -> ReadError {
    ReadError::NotAScenario { path: "frames".into(), reason: "<b>".to_owned() }
}

fn run(profiles: &[&str], settings: &[&str], seeds: usize) -> Run {
    let link = |name: &&str| Link {
        name: (*name).to_owned(),
        description: HOSTILE.to_owned(),
        toml: HOSTILE.to_owned(),
        rate_mbit_s: Some(4.0),
    };
    let configuration = |name: &&str| Configuration {
        name: (*name).to_owned(),
        values: vec![("skip.threshold".to_owned(), (*name).to_owned())],
    };
    let mut run = Run {
        id: HOSTILE.to_owned(),
        description: HOSTILE.to_owned(),
        facts: vec![("host".to_owned(), HOSTILE.to_owned())],
        profiles: profiles.iter().map(link).collect(),
        settings: settings.iter().map(configuration).collect(),
        seeds: (1..=seeds).map(|seed| seed.to_string()).collect(),
        ..Run::default()
    };
    for profile in profiles {
        for name in settings {
            for seed in 1..=seeds {
                run.cells.push(cell(profile, name, seed));
            }
        }
    }
    run
}

fn cell(profile: &str, settings: &str, seed: usize) -> Summary {
    let ratio = 0.5 + seed as f64 / 100.0;
    let camera = CameraSummary { produced: 100, delivered_ratio: Some(ratio), ..CameraSummary::default() };
    let mut cell = Summary {
        cell: format!("{profile}--{settings}--s{seed}--0"),
        profile: profile.to_owned(),
        settings: settings.to_owned(),
        seed: seed.to_string(),
        cameras: Named(vec![("main".to_owned(), camera)]),
        packets: seed as u64,
        ..Summary::default()
    };
    cell.all.frozen_s_per_min = Some(seed as f64);
    cell
}

fn rendered(run: &Run, tables: &dyn Tables) -> Page {
    render(run, tables, &|profile, settings, seed| format!("arcbench run {profile} {settings} {seed} --end"))
}

fn page(run: &Run, tables: &dyn Tables) -> String {
    rendered(run, tables).text
}

const HOSTILE: &str = r#"</style></script></title><script>alert("1")</script><img src=x onerror='alert(2)'>"#;

#[test]
fn hostile_names_stay_text() {
    let text = page(&run(&[HOSTILE, "b"], &[HOSTILE, "d"], 2), &Fake { seconds: 9 });
    // The page's own: one script that runs, one block of data, one style.
    assert_eq!(text.matches("<script").count(), 2);
    assert_eq!(text.matches("</script").count(), 2);
    assert_eq!(text.matches("</style").count(), 1);
    assert_eq!(text.matches("<title").count(), text.matches("</title").count());
    // Single quotes end nothing here: every attribute of the page has double ones.
    assert!(!text.contains("<img"), "an element came through");
    assert!(!text.contains(r#"alert("1")"#), "a double quote came through");
    assert!(text.contains("&lt;/style&gt;"));
}

#[test]
fn the_policy_lets_one_script_run_and_nothing_be_asked_for() {
    // Without the names that try to bring something in: those are text, as the test above shows.
    let text = page(&run(&["a"], &["b"], 1), &Fake { seconds: 9 }).replace("src=x onerror", "");
    assert!(text.contains("default-src 'none'"), "no policy");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        let at = text.find(outside).filter(|at| !text[*at..].starts_with("http://www.w3.org/2000/svg"));
        assert_eq!(at, None, "{outside} in {:?}", at.map(|at| &text[at.saturating_sub(40)..at + 20]));
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let run = run(&["a", "b"], &["c", "d"], 2);
    assert_eq!(page(&run, &Fake { seconds: 9 }), page(&run, &Fake { seconds: 9 }));
}

#[test]
fn headings_landmarks_and_scopes_are_there() {
    let text = page(&run(&["a", "b"], &["c", "d"], 2), &Fake { seconds: 9 });
    assert_eq!(text.matches("<h1").count(), 1);
    assert_eq!(text.matches("<main").count(), 1);
    assert!(text.contains(r#"<html lang="en">"#) && text.contains("<nav aria-label="));
    for part in text.split("<th").skip(1).filter(|part| part.starts_with([' ', '>'])) {
        let tag = part.split('>').next().unwrap();
        assert!(tag.contains("scope="), "a header cell without scope: <th{tag}>");
    }
    let named = text.matches(r#"role="img""#).count();
    assert!(named >= 4 + 2, "{named} drawings");
    assert_eq!(text.matches("<desc ").count(), named);
    for (id, _) in SECTIONS {
        assert_eq!(text.matches(&format!(r#"id="{id}""#)).count(), 1, "{id}");
        assert!(text.contains(&format!(r##"href="#{id}""##)), "{id}");
    }
}

#[test]
fn settings_have_one_colour_everywhere() {
    let text = page(&run(&["a"], &["c", "d"], 1), &Fake { seconds: 9 });
    let first = line_class(0);
    // Grid, comparison, legend of the delays, the curve itself and the table of settings.
    assert!(text.matches(&format!("line {first}")).count() >= 5);
    let classes: std::collections::BTreeSet<String> = (0..COLOURS * DASHES).map(line_class).collect();
    assert_eq!(classes.len(), COLOURS * DASHES, "each settings looks different");
}

#[test]
fn what_cannot_be_read_is_said_and_counts_for_nothing() {
    let text = page(&run(&["a"], &["c"], 1), &Unreadable);
    assert!(text.contains("read `frames`") && text.contains("&lt;b&gt;"));
    assert!(text.contains("No frame was delivered."), "half-read delays were used");
    let mut run = run(&["a"], &["c"], 1);
    run.damaged.push("d".to_owned());
    let unread = rendered(&run, &Unreadable).unread;
    assert_eq!(unread.len(), 3, "a summary, and two tables of the cell: {unread:?}");
    assert!(unread[0].contains("d: its summary") && unread[1].contains("read `frames`"), "{unread:?}");
}

#[test]
fn failed_and_open_cells_are_told_apart() {
    let mut run = run(&["a", "b"], &["c", "d"], 1);
    run.cells.pop();
    run.cells[0].status = Status::Failed;
    run.cells[0].error = Some("it <broke>".to_owned());
    let text = page(&run, &Fake { seconds: 9 });
    assert!(text.contains("2 of 4 cells finished, 1 failed, 1 not run"));
    assert!(text.contains("it &lt;broke&gt;"));
    assert!(text.contains("<b>failed</b>") && text.contains("not run"));
}

#[test]
fn an_empty_run_is_a_page_too() {
    let text = page(&Run::default(), &Fake { seconds: 0 });
    assert!(text.contains("No cell has ended yet."));
}

#[test]
fn timelines_stop_at_their_budget_and_the_page_says_so() {
    let names: Vec<String> = (0..20).map(|n| format!("p{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = run(&names, &["a", "b", "c"], 1);
    let text = page(&run, &Fake { seconds: 500 });
    let drawn = text.matches("class=\"timeline\"").count();
    assert!(drawn > 5 && drawn < 60, "{drawn}");
    assert!(text.contains(&format!("{} are left out", 60 - drawn)));
    assert!(text.len() < TIMELINES_BYTES_MAX + 700_000, "{} bytes", text.len());
}

#[test]
fn numbers_are_rounded_half_away_from_zero_and_never_minus_nothing() {
    assert_eq!(number(0.25, 1), "0.3");
    assert_eq!(number(-0.25, 1), "-0.3");
    assert_eq!(number(-0.01, 1), "0.0");
    assert_eq!(number(99.999, 0), "100");
}

/// The two colours, in light and in dark, that the style sheet gives `name`.
fn colours(name: &str) -> [[f64; 3]; 2] {
    let rest = STYLE.split_once(&format!("{name}: light-dark(")).unwrap_or_else(|| panic!("no {name}")).1;
    let (light, dark) = rest.split_once(')').unwrap().0.split_once(", ").unwrap();
    [light, dark]
        .map(|text| [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap()) / 255.0))
}

/// The contrast of two colours (WCAG 2.2).
fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let linear =
        |part: f64| if part <= 0.04045 { part / 12.92 } else { libm::pow((part + 0.055) / 1.055, 2.4) };
    let luminance = |c: [f64; 3]| 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Of every colour that there is, since a page need not have all settings and levels. tests/browser looks at a page.
#[test]
fn colours_have_contrast_in_light_and_in_dark() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
    let hold = |front: &str, back: &str, least: f64| {
        for ((front_at, back_at), theme) in
            colours(front).into_iter().zip(colours(back)).zip(["light", "dark"])
        {
            let found = contrast(front_at, back_at);
            assert!(found >= least, "{front} on {back}, {theme}: {found:.2}");
        }
    };
    for back in ["--paper", "--card"] {
        for text in ["--ink", "--soft", "--accent", "--good", "--bad"] {
            hold(text, back, 4.5);
        }
        hold("--freeze", back, 3.0);
        for settings in 0..COLOURS {
            let name = format!(".c{settings} {{ --c");
            hold(&name, back, 3.0);
            // What is written beside a curve: six parts of its colour, four of the ink.
            let mixed = colours(&name).into_iter().zip(colours("--ink")).zip(colours(back));
            for ((colour, ink), back) in mixed {
                let text = [0, 1, 2].map(|part| 0.6 * colour[part] + 0.4 * ink[part]);
                assert!(contrast(text, back) >= 4.5, "{name}: {:.2}", contrast(text, back));
            }
        }
    }
    for level in 0..5 {
        hold("--ink", &format!("--lv{level}"), 4.5);
    }
    assert!(STYLE.contains("svg .share { fill: color-mix(in srgb, var(--c) 60%, var(--ink)); }"));
}

/// A cell that was run twice for real: both times are picked by themselves, and what the machine makes is said.
#[test]
fn repeats_are_in_the_grid_and_in_the_picker() {
    let mut twice = run(&["a"], &["x"], 1);
    let mut again = cell("a", "x", 3);
    (again.seed, again.repeat, again.cell) = ("1".to_owned(), 2, "a--x--s1--0.r2".to_owned());
    again.tainted = Some("one timeout was late".to_owned());
    twice.cells.push(again);
    (twice.seeds, twice.repeats) = (vec!["1".to_owned(), "1.r2".to_owned()], 2);
    let text = page(&twice, &Fake { seconds: 9 });
    assert!(text.contains("1 seed: 2 of 2 cells finished, each run 2 times"), "{text}");
    assert!(text.contains(r#"<option value="1">1.r2</option>"#), "each has its own place in the picker");
    assert!(text.contains("a--x--s1--0.r2: tainted: one timeout was late"), "{text}");
    assert!(text.contains("51.0 53.0 ±2.0"), "both, and by how much they differ");
    assert!(text.contains("b>52.0</b>"), "the mean is over both");
    assert!(text.contains("arcbench run a x 1.r2 --end"), "its line names it");
    assert!(!page(&run(&["a"], &["x"], 2), &Fake { seconds: 9 }).contains(" ±0"), "nothing was repeated");
}
