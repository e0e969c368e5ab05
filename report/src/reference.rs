//! A scenario's reference figures beside the results, in text and as records.
//!
//! Only what was selected and run is compared, and nothing is judged: a figure is there to be read
//! beside the result.

use std::fmt::Write as _;

use bench::Summary;
use bench::metrics::ReferenceRow;
use bench::scenario::Reference;
use comfy_table::{Cell, CellAlignment, ContentArrangement, TableStyle, presets};

use crate::grid::{TERMINAL, csv_field, legend, lines, text_with};
use crate::metric::Metric;
use crate::table::{Digest, Entry, Shape};

/// Reference figures and the results that they are about.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// How many seeds a full result has.
    seeds: usize,
    /// How often each seed was run.
    repeats: usize,
    rows: Vec<Row>,
}

/// One figure.
#[derive(Debug, Clone)]
struct Row {
    profile: String,
    settings: String,
    metric: &'static Metric,
    reference: f64,
    ours: Entry,
}

impl Comparison {
    /// Sets `reference` beside `cells`: profiles, then settings, in the order of `shape`, then
    /// metrics in the catalogue's.
    ///
    /// A figure for which `shape` has no room, of which no cell has ended, or whose metric does not
    /// exist ([`Metric::find`]) is left out.
    pub fn new(reference: &Reference, shape: &Shape, cells: &[Summary]) -> Self {
        let mut rows = Vec::new();
        for profile in &shape.profiles {
            for settings in &shape.settings {
                let Some(figures) = reference.get(profile).and_then(|of| of.get(settings)) else { continue };
                let cells =
                    || cells.iter().filter(|cell| cell.profile == *profile && cell.settings == *settings);
                if cells().next().is_none() {
                    continue;
                }
                for metric in Metric::all() {
                    let named =
                        |name: &String| Metric::find(name).is_ok_and(|found| found.name == metric.name);
                    for (_, reference) in figures.iter().filter(|(name, _)| named(name)) {
                        let mut ours = Entry::default();
                        cells().for_each(|cell| ours.add(metric, cell));
                        let (profile, settings) = (profile.clone(), settings.clone());
                        rows.push(Row { profile, settings, metric, reference: *reference, ours });
                    }
                }
            }
        }
        Self { seeds: shape.seeds.len(), repeats: shape.repeats(), rows }
    }

    /// Whether there is no figure to show.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table for a terminal, at most `columns` wide. Ends with a line end.
    pub fn human(&self, columns: usize) -> String {
        let mut out = format!("{TITLE}\n  {}\n", self.reading());
        let airy = self.draw(usize::MAX, TERMINAL, 1);
        let fits = airy.lines().all(|line| line.len() <= columns);
        let table = if fits { airy } else { self.draw(columns, TERMINAL, 0) };
        let _ = writeln!(out, "{table}");
        for line in self.legend() {
            let _ = writeln!(out, "  {line}");
        }
        out
    }

    /// The table in Markdown, under a bold title. Ends with a line end.
    pub fn markdown(&self) -> String {
        let mut out = format!("**{TITLE}** ({})\n\n", self.reading());
        let _ = writeln!(out, "{}", self.draw(usize::MAX, presets::ASCII_MARKDOWN, 1));
        let legend = self.legend();
        if !legend.is_empty() {
            let _ = writeln!(out, "\n{}", legend.join("; "));
        }
        out
    }

    /// The table as CSV (RFC 4180 quoting, plain line ends). It rounds nothing; what has no number is
    /// empty, but `ours` says `lost` where it is infinite in any seed.
    pub fn csv(&self) -> String {
        let mut out = String::from("profile,settings,metric,unit,reference,ours,difference\n");
        for row in &self.rows {
            let (ours, difference) = match (row.mean(), row.ours.digest(row.metric.better)) {
                (Some(mean), _) => (mean.to_string(), (mean - row.reference).to_string()),
                (None, Digest::Lost | Digest::LostInSome(_)) => ("lost".to_owned(), String::new()),
                _ => (String::new(), String::new()),
            };
            let _ = writeln!(
                out,
                "{},{},{},{},{},{ours},{difference}",
                csv_field(&row.profile),
                csv_field(&row.settings),
                row.metric.name,
                csv_field(row.metric.unit),
                row.reference,
            );
        }
        out
    }

    /// The figures for a [`bench::Grid`]; nothing is rounded.
    pub fn records(&self) -> Vec<ReferenceRow> {
        let record = |row: &Row| ReferenceRow {
            profile: row.profile.clone(),
            settings: row.settings.clone(),
            metric: row.metric.name.to_owned(),
            unit: row.metric.unit.to_owned(),
            reference: row.reference,
            ours: row.mean(),
            difference: row.mean().map(|mean| mean - row.reference),
        };
        self.rows.iter().map(record).collect()
    }

    /// How to read it.
    fn reading(&self) -> String {
        let ours = match (self.seeds, self.repeats) {
            (1, _) => "ours: 1 seed".to_owned(),
            (n, 1) => format!("ours: mean of {n} seeds"),
            (n, repeats) => format!("ours: mean of {n} cells, each {repeats} times"),
        };
        format!("{ours}; difference: ours less reference")
    }

    fn legend(&self) -> Vec<String> {
        let entries: Vec<_> = self.rows.iter().map(|row| (&row.ours, row.metric.better)).collect();
        legend(&entries, self.seeds)
    }

    /// The table, at most `columns` wide. On a terminal, `gap` more spaces stand between columns.
    fn draw(&self, columns: usize, style: TableStyle, gap: u16) -> String {
        let mut drawn = comfy_table::Table::new();
        drawn
            .load_style(style)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(u16::try_from(columns).unwrap_or(u16::MAX));
        let right = |text: &str| Cell::new(text).set_alignment(CellAlignment::Right);
        let line = |[profile, settings, metric, reference, ours, difference]: [&str; 6]| {
            let names = [profile, settings, metric].map(Cell::new);
            names.into_iter().chain([reference, ours, difference].map(right))
        };
        drawn.set_header(line(["profile", "settings", "metric", "reference", "ours", "difference"]));
        for row in &self.rows {
            let metric = format!("{} {}", row.metric.name, row.metric.symbol());
            let ours = text_with(row.metric, self.seeds, &row.ours, |mean, _| mean.to_owned());
            let reference = format!("{:.*}", row.metric.decimals, row.reference);
            let difference = row.difference();
            drawn.add_row(line([&row.profile, &row.settings, &metric, &reference, &ours, &difference]));
        }
        if style == TERMINAL {
            for (index, column) in drawn.column_iter_mut().enumerate() {
                column.set_padding((if index == 0 { 1 } else { gap }, 0));
            }
        }
        lines(&drawn)
    }
}

impl Row {
    /// Our mean over the seeds, where there is a finite one.
    fn mean(&self) -> Option<f64> {
        match self.ours.digest(self.metric.better) {
            Digest::Numbers { mean, .. } => Some(mean),
            _ => None,
        }
    }

    /// The difference with its sign, which one that rounds to nothing does not have; empty without one.
    fn difference(&self) -> String {
        let Some(mean) = self.mean() else { return String::new() };
        let text = format!("{:+.*}", self.metric.decimals, mean - self.reference);
        let digits = &text[1..];
        if digits.bytes().any(|b| (b'1'..=b'9').contains(&b)) { text } else { digits.to_owned() }
    }
}

/// What is shown.
const TITLE: &str = "against the reference";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bench::Named;
    use bench::metrics::summary::{CameraSummary, Status};

    use super::*;

    fn cell(profile: &str, settings: &str, seed: u32, delivered: f64, delay: Option<f64>) -> Summary {
        let mut camera =
            CameraSummary { produced: 1800, delivered_ratio: Some(delivered), ..Default::default() };
        camera.delay_ms.p50 = delay;
        Summary {
            profile: profile.to_owned(),
            settings: settings.to_owned(),
            seed: seed.to_string(),
            cameras: Named(vec![("main".to_owned(), camera)]),
            ..Summary::default()
        }
    }

    fn reference(figures: &[(&str, &str, &str, f64)]) -> Reference {
        let mut reference = Reference::new();
        for (profile, settings, metric, figure) in figures {
            let of: &mut BTreeMap<_, _> = reference.entry((*profile).to_owned()).or_default();
            of.entry((*settings).to_owned()).or_default().insert((*metric).to_owned(), *figure);
        }
        reference
    }

    fn small() -> Comparison {
        let cells = [
            cell("same-region", "before", 1, 1.0, Some(18.0)),
            cell("same-region", "before", 2, 1.0, Some(21.0)),
            cell("bad-india-reorder", "before", 1, 0.25, None),
            cell("bad-india-reorder", "before", 2, 0.125, Some(900.0)),
            cell("bad-india-reorder", "delay-control", 1, 0.5, Some(250.0)),
            Summary { status: Status::Failed, ..cell("bad-india-reorder", "delay-control", 2, 0.0, None) },
        ];
        let figures = [
            ("bad-india-reorder", "before", "delay-p50", 1053.0),
            ("bad-india-reorder", "before", "delivered-main", 10.0),
            ("bad-india-reorder", "delay-control", "delivered", 50.01),
            ("bad-india-reorder", "not-selected", "delivered", 33.0),
            ("same-region", "before", "delivered", 100.0),
            ("same-region", "before", "delay", 19.0),
            ("same-region", "before", "hand-p50", 19.0),
            ("thin-india", "before", "delivered", 100.0),
        ];
        Comparison::new(&reference(&figures), &Shape::of(&cells), &cells)
    }

    #[test]
    fn a_terminal_table_has_a_line_for_every_figure_that_was_run() {
        let expected = "\
against the reference
  ours: mean of 2 seeds; difference: ours less reference
 profile           settings      metric       reference       ours difference
-----------------------------------------------------------------------------
 same-region       before        delivered %      100.0      100.0        0.0
 same-region       before        delay-p50 ms      19.0       19.5       +0.5
 same-region       before        hand-p50 ms       19.0        n/a
 bad-india-reorder before        delivered %       10.0       18.8       +8.8
 bad-india-reorder before        delay-p50 ms    1053.0   lost 1/2
 bad-india-reorder delay-control delivered %       50.0 50.0 [1/2]        0.0
  lost n/m: infinite in n of m seeds; a mean over the others would flatter
  [n/m]: only n of m seeds have a result
  n/a: there is nothing to measure it on
";
        assert_eq!(small().human(80), expected);
    }

    #[test]
    fn csv_rounds_nothing_and_says_what_is_lost() {
        let expected = "\
profile,settings,metric,unit,reference,ours,difference
same-region,before,delivered,% of produced,100,100,0
same-region,before,delay-p50,ms,19,19.5,0.5
same-region,before,hand-p50,ms,19,,
bad-india-reorder,before,delivered,% of produced,10,18.75,8.75
bad-india-reorder,before,delay-p50,ms,1053,lost,
bad-india-reorder,delay-control,delivered,% of produced,50.01,50,-0.00999999999999801
";
        assert_eq!(small().csv(), expected);
    }

    #[test]
    fn markdown_is_a_table() {
        let expected = "\
**against the reference** (ours: mean of 2 seeds; difference: ours less reference)

| profile           | settings      | metric       | reference |       ours | difference |
|-------------------|---------------|--------------|-----------|------------|------------|
| same-region       | before        | delivered %  |     100.0 |      100.0 |        0.0 |
| same-region       | before        | delay-p50 ms |      19.0 |       19.5 |       +0.5 |
| same-region       | before        | hand-p50 ms  |      19.0 |        n/a |            |
| bad-india-reorder | before        | delivered %  |      10.0 |       18.8 |       +8.8 |
| bad-india-reorder | before        | delay-p50 ms |    1053.0 |   lost 1/2 |            |
| bad-india-reorder | delay-control | delivered %  |      50.0 | 50.0 [1/2] |        0.0 |

lost n/m: infinite in n of m seeds; a mean over the others would flatter; \
[n/m]: only n of m seeds have a result; n/a: there is nothing to measure it on
";
        assert_eq!(small().markdown(), expected);
    }

    #[test]
    fn records_have_a_number_or_nothing() {
        let records = small().records();
        let numbers: Vec<_> = records.iter().map(|r| (r.metric.as_str(), r.ours, r.difference)).collect();
        assert_eq!(numbers[1], ("delay-p50", Some(19.5), Some(0.5)));
        assert_eq!(numbers[4], ("delay-p50", None, None));
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        let cells = [cell("a-profile-with-a-long-name", "and-settings-as-well", 1, 0.5, None)];
        let figures = [("a-profile-with-a-long-name", "and-settings-as-well", "delay-all-p50", 1.0)];
        let compared = Comparison::new(&reference(&figures), &Shape::of(&cells), &cells);
        let drawn = compared.human(80);
        assert!(drawn.lines().all(|line| line.len() <= 80), "{drawn}");
    }
}
