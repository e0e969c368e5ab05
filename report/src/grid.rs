//! A [`Table`] in text: for a terminal, as Markdown, as CSV.
//!
//! Terminal and Markdown show for each profile and settings the mean over seeds and, where it prints
//! differently, the worst seed in brackets. Only ASCII and no colour, so that it reads the same in
//! every terminal, log and pipe.

use std::fmt::Write as _;

use comfy_table::{
    Cell, CellAlignment, ContentArrangement, ContentLineStyle, LineStyle, TableStyle, presets,
};

use crate::metric::{Better, Metric};
use crate::table::{Digest, Entry, Table};

/// The table for a terminal, at most `columns` wide where the names allow it: settings that do not
/// fit beside each other go into blocks below. Ends with a line end.
pub fn human(table: &Table, columns: usize) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n  {}", title(table), reading(table));
    for block in blocks(table, columns) {
        let _ = writeln!(out, "{}", draw(table, block, columns, TERMINAL));
    }
    for line in legend(&entries(table), table.seeds) {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The table in Markdown, under a bold title. Ends with a line end.
pub fn markdown(table: &Table) -> String {
    let all = 0..table.settings.len();
    let mut out = format!("**{}** ({})\n\n", title(table), reading(table));
    let _ = writeln!(out, "{}", draw(table, all, usize::from(u16::MAX), presets::ASCII_MARKDOWN));
    let legend = legend(&entries(table), table.seeds);
    if !legend.is_empty() {
        let _ = writeln!(out, "\n{}", legend.join("; "));
    }
    out
}

/// The tables as CSV (RFC 4180 quoting, plain line ends): a row for each metric, profile and
/// settings. Unlike the others it rounds nothing; what has no number is empty, and `lost` counts
/// the seeds in which the value is infinite; of cells that are repeated, `seeds` counts each time, and `noise` is the most
/// by which repeats of one seed are apart.
pub fn csv(tables: &[Table]) -> String {
    let mut out =
        String::from("metric,unit,profile,settings,seeds,ok,failed,lost,mean,worst,repeats,noise\n");
    for table in tables {
        for (profile, row) in table.profiles.iter().zip(&table.rows) {
            for (settings, entry) in table.settings.iter().zip(row) {
                csv_row(&mut out, table, profile, settings, entry);
            }
        }
    }
    out
}

fn csv_row(out: &mut String, table: &Table, profile: &str, settings: &str, entry: &Entry) {
    let lost = entry.values.iter().filter(|value| value.is_lost()).count();
    let numbers = match entry.digest(table.metric.better) {
        Digest::Numbers { mean, worst } => format!("{mean},{worst}"),
        _ => ",".to_owned(),
    };
    let _ = writeln!(
        out,
        "{},{},{},{},{},{},{},{lost},{numbers},{},{}",
        table.metric.name,
        csv_field(table.metric.unit),
        csv_field(profile),
        csv_field(settings),
        table.seeds,
        entry.values.len(),
        entry.failed,
        table.repeats,
        entry.noise().map(|noise| noise.to_string()).unwrap_or_default(),
    );
}

/// `text` as a field of CSV.
pub(crate) fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// What is shown.
fn title(table: &Table) -> String {
    let metric = table.metric;
    format!("{}: {}, {}", metric.name, metric.title, metric.unit)
}

/// How to read it.
fn reading(table: &Table) -> String {
    let direction = match table.metric.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    };
    let seeds = match (table.seeds, table.repeats) {
        (1, _) => "1 seed".to_owned(),
        (n, 1) => format!("mean of {n} seeds (worst seed)"),
        (n, repeats) => format!("mean of {} x {repeats} repeats (worst)", seeds(n.div_ceil(repeats))),
    };
    format!("{direction}; {seeds}")
}

fn seeds(count: usize) -> String {
    if count == 1 { "1 seed".to_owned() } else { format!("{count} seeds") }
}

/// All entries of the table, with what the legend needs of the metric.
fn entries(table: &Table) -> Vec<(&Entry, Better)> {
    table.rows.iter().flatten().map(|entry| (entry, table.metric.better)).collect()
}

/// One line for each mark that occurs among `entries`.
pub(crate) fn legend(entries: &[(&Entry, Better)], seeds: usize) -> Vec<String> {
    let digests: Vec<Digest> = entries.iter().map(|(entry, better)| entry.digest(*better)).collect();
    let mut lines = Vec::new();
    let mut line = |wanted: bool, text: &str| {
        if wanted {
            lines.push(text.to_owned());
        }
    };
    line(digests.contains(&Digest::Lost), "lost: infinite; what it is measured on never arrived");
    line(
        digests.iter().any(|digest| matches!(digest, Digest::LostInSome(_))),
        "lost n/m: infinite in n of m seeds; a mean over the others would flatter",
    );
    line(
        entries.iter().any(|(entry, _)| !entry.values.is_empty() && entry.values.len() < seeds),
        "[n/m]: only n of m seeds have a result",
    );
    line(
        entries.iter().any(|(entry, _)| entry.noise().is_some()),
        "~x: repeats of one seed are up to x apart; that much the machine makes",
    );
    line(digests.contains(&Digest::Failed), "failed: no seed could be run to its end");
    line(digests.contains(&Digest::Missing), "-: not run");
    line(digests.contains(&Digest::Absent), "n/a: there is nothing to measure it on");
    lines
}

/// What the terminal and Markdown show for an entry: its mean and, where it prints differently, its
/// worst seed.
fn text(table: &Table, entry: &Entry) -> String {
    let shown = text_with(table.metric, table.seeds, entry, |mean, worst| {
        if mean == worst { mean.to_owned() } else { format!("{mean} ({worst})") }
    });
    let decimals = table.metric.decimals;
    entry.noise().map_or(shown.clone(), |noise| format!("{shown} ~{noise:.decimals$}"))
}

/// What is shown for an entry, of whose mean and worst seed `numbers` makes one text.
pub(crate) fn text_with(
    metric: &Metric,
    seeds: usize,
    entry: &Entry,
    numbers: fn(&str, &str) -> String,
) -> String {
    let decimals = metric.decimals;
    let with_result = entry.values.len();
    let shown = match entry.digest(metric.better) {
        Digest::Missing => return "-".to_owned(),
        Digest::Failed => return "failed".to_owned(),
        Digest::Absent => "n/a".to_owned(),
        Digest::Lost => "lost".to_owned(),
        Digest::LostInSome(lost) => format!("lost {lost}/{with_result}"),
        Digest::Numbers { mean, worst } => {
            numbers(&format!("{mean:.decimals$}"), &format!("{worst:.decimals$}"))
        }
    };
    if with_result < seeds { format!("{shown} [{with_result}/{seeds}]") } else { shown }
}

/// Columns of the table that fit beside each other, in order.
fn blocks(table: &Table, columns: usize) -> Vec<std::ops::Range<usize>> {
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0) + COLUMN_OVERHEAD;
    let names = width(&mut table.profiles.iter().map(|name| name.chars().count()).chain([CORNER.len()]));
    let mut blocks = Vec::new();
    let (mut start, mut used) = (0, names);
    for (index, settings) in table.settings.iter().enumerate() {
        let texts = table.rows.iter().map(|row| text(table, &row[index]).len());
        let needed = width(&mut texts.chain([settings.chars().count()]));
        if index > start && used + needed > columns {
            blocks.push(start..index);
            (start, used) = (index, names);
        }
        used += needed;
    }
    blocks.push(start..table.settings.len());
    blocks
}

fn draw(table: &Table, block: std::ops::Range<usize>, columns: usize, style: TableStyle) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn
        .load_style(style)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(columns).unwrap_or(u16::MAX));
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let header = table.settings[block.clone()].iter().cloned().map(right);
    drawn.set_header(std::iter::once(Cell::new(CORNER)).chain(header));
    for (profile, row) in table.profiles.iter().zip(&table.rows) {
        let entries = row[block.clone()].iter().map(|entry| right(text(table, entry)));
        drawn.add_row(std::iter::once(Cell::new(profile)).chain(entries));
    }
    lines(&drawn)
}

/// The drawn lines, without the padding that they end in.
pub(crate) fn lines(drawn: &comfy_table::Table) -> String {
    drawn.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// No borders: a line under the header and columns set apart by space.
pub(crate) const TERMINAL: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction('-'))
    .content_lines(ContentLineStyle::none().junction(' '));

/// Above the names of the profiles.
const CORNER: &str = "profile";
/// A space on either side of a column and the line beside it.
const COLUMN_OVERHEAD: usize = 3;

#[cfg(test)]
mod tests {
    use bench::metrics::summary::{CameraSummary, Status};
    use bench::{Named, Summary};

    use super::*;
    use crate::table::Shape;

    fn cell(profile: &str, settings: &str, seed: u32, delivered: Option<f64>, delay: Option<f64>) -> Summary {
        let mut camera = CameraSummary { produced: 1800, delivered_ratio: delivered, ..Default::default() };
        camera.delay_all_ms.p99 = delay;
        Summary {
            profile: profile.to_owned(),
            settings: settings.to_owned(),
            seed: seed.to_string(),
            cameras: Named(vec![("main".to_owned(), camera)]),
            ..Summary::default()
        }
    }

    fn failed(profile: &str, settings: &str, seed: u32) -> Summary {
        Summary { status: Status::Failed, ..cell(profile, settings, seed, None, None) }
    }

    fn table(metric: &str, cells: &[Summary]) -> Table {
        Table::new(Metric::find(metric).unwrap(), &Shape::of(cells), cells)
    }

    fn small() -> Vec<Summary> {
        vec![
            cell("same-region", "before", 1, Some(1.0), Some(19.0)),
            cell("same-region", "before", 2, Some(1.0), Some(21.0)),
            cell("same-region", "tuned", 1, Some(1.0), Some(19.0)),
            cell("bad-india", "before", 1, Some(0.1), None),
            cell("bad-india", "before", 2, Some(0.2), Some(1053.04)),
            failed("bad-india", "tuned", 1),
            failed("bad-india", "tuned", 2),
        ]
    }

    #[test]
    fn a_terminal_grid_shows_mean_worst_and_marks() {
        let expected = "\
delivered: main frames delivered, % of produced
  higher is better; mean of 2 seeds (worst seed)
 profile            before         tuned
-----------------------------------------
 same-region         100.0   100.0 [1/2]
 bad-india     15.0 (10.0)        failed
  [n/m]: only n of m seeds have a result
  failed: no seed could be run to its end
";
        assert_eq!(human(&table("delivered", &small()), 80), expected);
    }

    #[test]
    fn a_lost_percentile_is_said_and_not_averaged() {
        let drawn = human(&table("delay-all-p99", &small()), 80);
        assert!(drawn.contains("lost 1/2"), "{drawn}");
        assert!(drawn.contains("20.0 (21.0)"), "{drawn}");
        assert!(!drawn.contains("1053"), "{drawn}");
        assert!(drawn.contains("lost n/m:"), "{drawn}");
    }

    #[test]
    fn repeats_are_told_apart_from_seeds_and_their_spread_is_said() {
        let twice = |seed, delivered: f64| {
            let cell = cell("a", "b", seed, Some(delivered), None);
            [Summary { repeat: 1, ..cell.clone() }, Summary { repeat: 2, ..cell }]
        };
        let mut cells: Vec<Summary> = [twice(1, 0.5), twice(2, 1.0)].concat();
        let again = cell("a", "b", 1, Some(0.48), None);
        cells[1] = Summary { repeat: 2, ..again };
        let table = table("delivered", &cells);
        let drawn = human(&table, 80);
        assert!(drawn.contains("mean of 2 seeds x 2 repeats (worst)"), "{drawn}");
        assert!(drawn.contains("74.5 (48.0) ~2.0"), "{drawn}");
        assert!(drawn.contains("~x: repeats of one seed are up to x apart"), "{drawn}");
        let row = csv(&[table]).lines().nth(1).unwrap().to_owned();
        assert!(row.starts_with("delivered,% of produced,a,b,4,4,0,0,74.5,48,2,2"), "{row}");
    }

    #[test]
    fn one_seed_has_no_brackets() {
        let drawn = human(&table("delivered", &[cell("a", "b", 1, Some(0.5), None)]), 80);
        assert!(drawn.contains("50.0") && !drawn.contains('('), "{drawn}");
        assert!(drawn.contains("; 1 seed\n"), "{drawn}");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal_and_no_settings_are_dropped() {
        let settings: Vec<String> = (0..17).map(|n| format!("settings-number-{n}")).collect();
        let mut cells = Vec::new();
        for name in &settings {
            for seed in 1..=3 {
                cells.push(cell("good-india-reorder", name, seed, Some(f64::from(seed) / 10.0), None));
            }
        }
        for columns in [60, 80, 200] {
            let drawn = human(&table("delay-all-p99", &cells), columns);
            assert!(drawn.lines().all(|line| line.len() <= columns), "{drawn}");
            assert!(settings.iter().all(|name| drawn.matches(name.as_str()).count() >= 1), "{drawn}");
            assert!(drawn.is_ascii());
        }
    }

    #[test]
    fn a_row_without_any_result_is_marked_not_run() {
        let mut shape = Shape::default();
        shape.add("a", "x", "1");
        let drawn = human(&Table::new(Metric::find("delivered").unwrap(), &shape, &[]), 80);
        assert!(drawn.contains("-: not run"), "{drawn}");
    }

    #[test]
    fn markdown_is_a_table() {
        let drawn = markdown(&table("delivered", &small()));
        let lines: Vec<&str> = drawn.lines().collect();
        assert!(lines[0].starts_with("**delivered: main frames delivered"), "{drawn}");
        assert!(lines[2].starts_with("| profile "), "{drawn}");
        assert!(lines[3].starts_with("|---"), "{drawn}");
        assert!(lines[4].contains("100.0"), "{drawn}");
    }

    #[test]
    fn csv_has_a_row_for_every_entry_and_quotes() {
        let mut cells = small();
        cells.push(cell("a,\"b", "before", 1, Some(0.123_456), None));
        let text = csv(&[table("delivered", &cells)]);
        assert_eq!(text.lines().count(), 1 + 3 * 2, "{text}");
        assert!(text.contains("delivered,% of produced,bad-india,tuned,2,0,2,0,,,1,\n"), "{text}");
        assert!(text.contains("\"a,\"\"b\",before,2,1,0,0,12.3456"), "{text}");
    }
}
