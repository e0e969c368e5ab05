//! How `show` writes what happens over time: the seconds of a cell, and the moments around one of them.

use std::fmt::Write as _;

use bench::SecondRow;

use crate::args::Format;
use crate::failure::Failure;
use crate::kept_cell::KeptCell;
use crate::records::{self, MomentRecord, MomentsRecord};
use crate::replay::at::Entry;

/// A table of texts with its head, for Markdown and CSV.
pub(crate) struct Rows {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Rows {
    /// As a table of Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let rule = format!("|{}\n", "---|".repeat(self.head.len()));
        self.rows.iter().fold(line(&self.head) + &rule, |text, row| text + &line(row))
    }

    /// As CSV (RFC 4180).
    pub(crate) fn csv(&self) -> String {
        let quoted = |cell: &String| {
            if cell.contains([',', '"', '\n']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        };
        let line = |cells: &[String]| cells.iter().map(quoted).collect::<Vec<_>>().join(",") + "\n";
        self.rows.iter().fold(line(&self.head), |text, row| text + &line(row))
    }
}

/// The moments around one, in `format`.
pub(crate) fn moments(
    kept: &KeptCell,
    from_ns: u64,
    to_ns: u64,
    entries: &[Entry],
    format: Format,
) -> Result<String, Failure> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let (from, to) = (seconds(from_ns), seconds(to_ns));
    let text = match format {
        Format::Human => {
            let mut out = format!("{}\n  {from:.3} s to {to:.3} s of the traffic\n\n", kept.summary.cell);
            let _ = writeln!(out, "  {:>10}  {:<7} what happened", "time, s", "");
            for Entry { at_ns, what, text } in entries {
                let _ = writeln!(out, "  {:>10.4}  {what:<7} {text}", seconds(*at_ns));
            }
            out
        }
        Format::Json => {
            let moment = |Entry { at_ns, what, text }: &Entry| MomentRecord {
                t_s: seconds(*at_ns),
                what,
                text: text.clone(),
            };
            records::line(&MomentsRecord {
                schema: "arcbench.moments",
                version: records::VERSION,
                cell: kept.summary.cell.clone(),
                folder: kept.folder.display().to_string(),
                from_s: from,
                to_s: to,
                moments: entries.iter().map(moment).collect(),
            })?
        }
        Format::Markdown | Format::Csv => {
            let head = ["t_s", "what", "text"].map(str::to_owned).to_vec();
            let row = |Entry { at_ns, what, text }: &Entry| {
                vec![format!("{:.6}", seconds(*at_ns)), (*what).to_owned(), text.clone()]
            };
            let rows = Rows { head, rows: entries.iter().map(row).collect() };
            if format == Format::Csv { rows.csv() } else { rows.markdown() }
        }
    };
    Ok(text)
}

/// The seconds as a table.
pub(crate) fn seconds(rows: &[SecondRow]) -> Rows {
    let mut head = vec!["second".to_owned()];
    let cameras: Vec<&String> =
        rows.first().map(|row| row.cameras.0.iter().map(|(name, _)| name).collect()).unwrap_or_default();
    for name in &cameras {
        head.extend(["produced", "delivered", "frozen_s"].map(|what| format!("{name}.{what}")));
    }
    let rest = [
        "down.packets",
        "down.lost",
        "down.queue_ms_max",
        "up.packets",
        "up.lost",
        "window_bytes",
        "commands",
    ];
    head.extend(rest.map(str::to_owned));
    let row = |row: &SecondRow| {
        let mut cells = vec![row.second.to_string()];
        for (_, camera) in &row.cameras.0 {
            cells.extend([
                camera.produced.to_string(),
                camera.delivered.to_string(),
                camera.frozen_s.to_string(),
            ]);
        }
        let window = row.relay.map(|relay| relay.window_bytes.to_string()).unwrap_or_default();
        cells.extend([row.down.packets, row.down.lost].map(|n| n.to_string()));
        cells.push(row.down.queue_ms_max.to_string());
        cells.extend([row.up.packets, row.up.lost].map(|n| n.to_string()));
        cells.extend([window, row.commands.to_string()]);
        cells
    };
    Rows { head, rows: rows.iter().map(row).collect() }
}

/// The seconds as small charts, one line each, at most `columns` wide.
pub(crate) fn sparklines(rows: &[SecondRow], columns: usize) -> String {
    let mut out = String::new();
    let Some(first) = rows.first() else { return out };
    let width = columns.saturating_sub(LABEL + VALUE).max(10);
    let per_column = rows.len().div_ceil(width).max(1);
    let each = if per_column == 1 { "second".to_owned() } else { format!("{per_column} seconds") };
    let _ =
        writeln!(out, "\nover time: one column for each {each}, the worst of it; beside it the worst of all");
    let mut line = |label: &str, values: Vec<f64>, low_is_bad: bool, top: f64, unit: &str| {
        let worst = |chunk: &[f64]| {
            let pick = if low_is_bad { f64::min } else { f64::max };
            chunk.iter().copied().reduce(pick).unwrap_or(0.0)
        };
        let bars: String = values.chunks(per_column).map(|chunk| bar(worst(chunk), top)).collect();
        let _ = writeln!(out, "  {label:<width$}{bars} {:.0} {unit}", worst(&values), width = LABEL - 2);
    };
    let traffic: Vec<&SecondRow> =
        rows.iter().filter(|row| row.cameras.0.iter().any(|(_, c)| c.produced > 0)).collect();
    for (index, (name, _)) in first.cameras.0.iter().enumerate() {
        let share = |row: &&SecondRow| {
            let camera = &row.cameras.0[index].1;
            if camera.produced == 0 {
                100.0
            } else {
                (100.0 * camera.delivered as f64 / camera.produced as f64).min(100.0)
            }
        };
        line(&format!("{name}, delivered"), traffic.iter().map(share).collect(), true, 100.0, "%");
    }
    let frozen =
        |row: &SecondRow| row.cameras.0.iter().map(|(_, camera)| camera.frozen_s).fold(0.0, f64::max);
    line("frozen", rows.iter().map(|row| 100.0 * frozen(row)).collect(), false, 100.0, "%");
    let lost = |row: &SecondRow| 100.0 * row.down.lost as f64 / row.down.packets.max(1) as f64;
    let losses: Vec<f64> = rows.iter().map(lost).collect();
    let top = losses.iter().copied().fold(1.0, f64::max);
    line("lost, down", losses, false, top, "%");
    let queues: Vec<f64> = rows.iter().map(|row| row.down.queue_ms_max).collect();
    let top = queues.iter().copied().fold(1.0, f64::max);
    line("queue, down", queues, false, top, "ms");
    out
}

/// A bar of an eighth to the whole of a line's height; nothing for nothing.
fn bar(value: f64, top: f64) -> char {
    let eighths = (value / top * 8.0).round().clamp(0.0, 8.0) as usize;
    [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][eighths]
}

/// Columns of a label, and of the value after the bars.
const LABEL: usize = 26;
const VALUE: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_quoted() {
        let rows = Rows {
            head: vec!["a".to_owned(), "b".to_owned()],
            rows: vec![vec!["1, 2".to_owned(), "x|\"y\"".to_owned()]],
        };
        assert_eq!(rows.csv(), "a,b\n\"1, 2\",\"x|\"\"y\"\"\"\n");
        assert_eq!(rows.markdown(), "| a | b |\n|---|---|\n| 1, 2 | x\\|\"y\" |\n");
    }

    #[test]
    fn bars_fill_from_below() {
        assert_eq!((bar(0.0, 1.0), bar(0.5, 1.0), bar(1.0, 1.0), bar(9.0, 1.0)), (' ', '▄', '█', '█'));
    }
}
