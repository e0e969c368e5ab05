//! Cell by cell: the picker with its panel, which the script fills, the timelines, and the list of
//! all cells for whoever has no script.

use bench::Summary;
use bench::metrics::summary::Status;
use maud::{Markup, html};

use super::timeline::Timelines;
use super::{Replay, number, settings_name};
use crate::data::Run;
use crate::metric::Metric;

/// The section of one cell.
pub(super) fn section(run: &Run, timelines: &Timelines, replay: Replay<'_>) -> Markup {
    html! {
        section aria-labelledby="cell" {
            h2 id="cell" tabindex="-1" { "Cell" }
            form class="pick js" aria-label="Which cell" hidden {
                (picker("cell-p", "Link", run.profiles.iter().map(|profile| &profile.name)))
                (picker("cell-s", "Settings", run.settings.iter().map(|settings| &settings.name)))
                (picker("cell-n", "Seed", run.seeds.iter()))
            }
            div id="panel" aria-live="polite" {}
            noscript {
                p {
                    "Picking a cell needs the page's script. Every cell's counters are in its "
                    code { "summary.json" } "; a cell is run again by a line like this:"
                }
                pre class="wrap" { (example(run, replay)) }
            }
            h3 { "Second by second" }
            p id="timeline-note" class="reading" {
                "Of each link and settings the seed with the most frozen time."
                @if timelines.omitted > 0 {
                    " The page has room for " (timelines.iter().count()) " timelines, the most frozen ones; "
                    (timelines.omitted) " are left out. The tables in the cells' folders have all."
                }
            }
            div id="timelines" {
                @for (profile, settings, seed, drawing) in timelines.iter() {
                    details class="timeline" id=(format!("t-{profile}-{settings}")) data-seed=(seed) {
                        summary {
                            (run.profiles[profile].name) ", " (settings_name(run, settings)) ", seed " (seed)
                        }
                        (drawing)
                    }
                }
            }
        }
    }
}

fn picker<'a>(id: &str, name: &str, options: impl Iterator<Item = &'a String>) -> Markup {
    html! {
        label { (name) " "
            select id=(id) aria-controls="panel" autocomplete="off" {
                @for (index, option) in options.enumerate() { option value=(index) { (option) } }
            }
        }
    }
}

fn example(run: &Run, replay: Replay<'_>) -> String {
    let cell = run.cells.first();
    cell.map_or_else(String::new, |cell| replay(&cell.profile, &cell.settings, &cell.seed_label()))
}

/// The list of all cells, where they are not too many.
pub(super) fn all(run: &Run, replay: Replay<'_>) -> Markup {
    html! {
        section aria-labelledby="cells" {
            h2 id="cells" { "All cells" }
            @if run.cells.len() > CELLS_LISTED_MAX {
                p {
                    "With " (run.cells.len()) " cells a list would make the page slow. Pick one above; "
                    "each has its numbers in its own folder below " code { "cells/" } "."
                }
            } @else if run.cells.is_empty() {
                p { "No cell has ended yet." }
            } @else {
                details {
                    summary { "Every cell with its main numbers and the line that runs it again" }
                    (list(run, replay))
                }
            }
        }
    }
}

fn list(run: &Run, replay: Replay<'_>) -> Markup {
    let metrics = Metric::defaults();
    html! {
        div class="scroll" role="region" aria-label="All cells" tabindex="0" {
            table {
                caption class="vh" { "All cells with their main numbers" }
                thead {
                    tr {
                        th scope="col" { "cell" }
                        @for metric in &metrics { th scope="col" { (metric.name) ", " (metric.symbol()) } }
                        th scope="col" class="left" { "again" }
                    }
                }
                tbody {
                    @for cell in &run.cells {
                        tr {
                            th scope="row" { (cell.cell) }
                            @for metric in &metrics { td { (value(metric, cell)) } }
                            td class="left" { code { (replay(&cell.profile, &cell.settings, &cell.seed_label())) } }
                        }
                    }
                }
            }
        }
    }
}

/// A metric of a cell as text.
fn value(metric: &Metric, cell: &Summary) -> String {
    use crate::metric::Value;
    if cell.status != Status::Ok {
        return "failed".to_owned();
    }
    match metric.of(cell) {
        Value::Number(value) => number(value, metric.decimals),
        Value::Lost => "lost".to_owned(),
        Value::Absent => "n/a".to_owned(),
    }
}

/// Cells in the list.
const CELLS_LISTED_MAX: usize = 200;
