//! A comparison in text: for a terminal, as Markdown, as CSV.

use std::fmt::Write as _;

use bench::statistics::enough::POWER;

use super::{Compared, Row, SEEDS_ENOUGH, Verdict};
use crate::sheet::{Align, Sheet};

/// The comparison for a terminal: a table for each verdict, the worst first. Ends with a line end.
pub fn human(compared: &Compared, columns: usize) -> String {
    let mut out = String::new();
    for verdict in [Verdict::Worse, Verdict::TooFewSeeds, Verdict::Same, Verdict::Better] {
        let rows: Vec<&Row> = compared.rows.iter().filter(|row| row.verdict == verdict).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{} ({})", verdict.name(), rows.len());
        let _ = writeln!(out, "{}", sheet(&rows, names_settings(compared), false).human(columns));
    }
    let _ = writeln!(out, "{}", closing(compared));
    for line in legend(compared) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The comparison in Markdown. Ends with a line end.
pub fn markdown(compared: &Compared) -> String {
    let rows: Vec<&Row> = compared.rows.iter().collect();
    let table = sheet(&rows, names_settings(compared), true).markdown();
    format!("**{}**\n\n{table}\n{}\n", closing(compared), legend(compared).join("; "))
}

/// The comparison as CSV. Nothing is rounded; what is infinite or not there is empty, and `lost_…`
/// count the seeds in which a value is infinite.
pub fn csv(compared: &Compared) -> String {
    let names = [
        "verdict",
        "profile",
        "settings_before",
        "settings_after",
        "metric",
        "unit",
        "minimum_effect",
        "seeds",
        "before",
        "after",
        "lost_before",
        "lost_after",
        "difference",
        "interval_low",
        "interval_high",
        "seeds_better",
        "seeds_worse",
        "p",
        "p_adjusted",
        "seeds_enough",
    ];
    let mut sheet = Sheet::new(names.map(|name| (name, Align::Left)));
    let plain = |number: Option<f64>| number.map(|number| number.to_string()).unwrap_or_default();
    for row in &compared.rows {
        sheet.row([
            row.verdict.name().to_owned(),
            row.profile.clone(),
            row.settings.0.clone(),
            row.settings.1.clone(),
            row.metric.name.to_owned(),
            row.metric.unit.to_owned(),
            row.metric.minimum_effect().to_string(),
            row.seeds.to_string(),
            plain(row.means.0),
            plain(row.means.1),
            row.lost.0.to_string(),
            row.lost.1.to_string(),
            plain(row.difference),
            plain(row.interval.map(|(low, _)| low)),
            plain(row.interval.map(|(_, high)| high)),
            row.better_worse.0.to_string(),
            row.better_worse.1.to_string(),
            row.p.to_string(),
            row.p_adjusted.to_string(),
            row.seeds_enough.map(|seeds| seeds.to_string()).unwrap_or_default(),
        ]);
    }
    sheet.csv()
}

/// Whether rows differ in more than profile and metric, so that settings must be named.
fn names_settings(compared: &Compared) -> bool {
    compared.rows.first().is_some_and(|first| compared.rows.iter().any(|row| row.settings != first.settings))
}

fn sheet(rows: &[&Row], settings: bool, verdict: bool) -> Sheet {
    let left = [("verdict", verdict), ("profile", true), ("settings", settings), ("metric", true)];
    let left = left.into_iter().filter(|(_, shown)| *shown).map(|(name, _)| (name, Align::Left));
    let right = ["before", "after", "difference", "95 %", "+/-", "p"].map(|name| (name, Align::Right));
    let open = rows.iter().any(|row| row.verdict == Verdict::TooFewSeeds);
    let enough = open.then_some(("enough", Align::Right));
    let mut sheet = Sheet::new(left.chain(right).chain(enough));
    for row in rows {
        let texts = [
            verdict.then(|| row.verdict.name().to_owned()),
            Some(row.profile.clone()),
            settings.then(|| row.settings.1.clone()),
            Some(format!("{} {}", row.metric.name, row.metric.symbol())),
            Some(value(row, row.means.0)),
            Some(value(row, row.means.1)),
            Some(difference(row)),
            Some(row.interval.map(|ends| interval(row, ends)).unwrap_or_default()),
            Some(format!("{}/{}", row.better_worse.0, row.better_worse.1)),
            Some(p_value(row.p_adjusted)),
            open.then(|| enough_seeds(row)),
        ];
        sheet.row(texts.into_iter().flatten());
    }
    sheet
}

fn value(row: &Row, mean: Option<f64>) -> String {
    mean.map_or_else(|| "lost".to_owned(), |mean| format!("{mean:.*}", row.metric.decimals))
}

fn difference(row: &Row) -> String {
    match row.difference {
        Some(difference) => signed(difference, row.metric.decimals),
        None => "lost".to_owned(),
    }
}

fn interval(row: &Row, (low, high): (f64, f64)) -> String {
    let decimals = row.metric.decimals;
    format!("{}..{}", signed(low, decimals), signed(high, decimals))
}

/// With its sign, which what rounds to nothing does not have.
fn signed(number: f64, decimals: usize) -> String {
    let text = format!("{number:+.decimals$}");
    let digits = &text[1..];
    if digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) { text } else { digits.to_owned() }
}

/// How many seeds would tell, where these do not and that is known.
fn enough_seeds(row: &Row) -> String {
    match row.seeds_enough {
        Some(seeds) => format!("~{seeds}"),
        None if row.verdict == Verdict::TooFewSeeds => "?".to_owned(),
        None => String::new(),
    }
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") }
}

/// What it comes down to, in a line.
pub fn closing(compared: &Compared) -> String {
    let count = |verdict| compared.count(verdict);
    format!(
        "{} pairs of cells, {} results: {} worse, {} too few seeds to tell, {} same, {} better",
        compared.pairs,
        compared.rows.len(),
        count(Verdict::Worse),
        count(Verdict::TooFewSeeds),
        count(Verdict::Same),
        count(Verdict::Better),
    )
}

fn legend(compared: &Compared) -> Vec<String> {
    let mut lines = vec![
        "95 %: bootstrap interval of the mean paired difference, after less before".to_owned(),
        "+/-: seeds that got better/worse; p: sign-flip test, adjusted for all results".to_owned(),
    ];
    if compared.rows.iter().any(|row| row.lost != (0, 0)) {
        lines.push("lost: infinite in at least one seed; what it is measured on never arrived".to_owned());
    }
    if compared.rows.iter().any(|row| row.verdict == Verdict::TooFewSeeds && row.seeds < SEEDS_ENOUGH) {
        lines.push(format!("with fewer than {SEEDS_ENOUGH} seeds the test cannot tell: run more (--seeds)"));
    }
    let open = compared.count(Verdict::TooFewSeeds);
    if open > 0 {
        lines.push(format!(
            "enough: seeds that tell in {:.0} % of cases, if mean and spread are as measured",
            POWER * 100.0
        ));
        lines.push("an estimate, rough with few seeds; ?: with one, or if it took over 1000".to_owned());
    }
    if let Some((seeds, settled)) = compared.seeds_enough() {
        lines.push(format!(
            "about {seeds} seeds would probably settle {settled} of {open}: --seeds 1..{seeds}"
        ));
    }
    lines
}
