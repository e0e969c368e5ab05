//! The grid as a heat map: a table whose cells have a colour, and a mark that says the same.

use maud::{Markup, html};

use super::timeline::Timelines;
use super::{number, settings_name};
use crate::data::Run;
use crate::metric::{Better, Metric, Value};
use crate::svg::mark;
use crate::table::{Digest, Entry, Shape, Table};

/// The section with the metric's picker.
pub(super) fn section(run: &Run, timelines: &Timelines) -> Markup {
    let metric = first_metric();
    html! {
        section aria-labelledby="grid" {
            h2 id="grid" { "Grid" }
            form class="pick" aria-label="What the grid shows" {
                label { "Metric "
                    select id="metric" aria-controls="heat" autocomplete="off" {
                        @for metric in Metric::all() {
                            option value=(metric.name) { (metric.name) ": " (metric.title) ", " (metric.unit) }
                        }
                    }
                }
                label { "Colour by "
                    select id="scale" aria-controls="heat" autocomplete="off" {
                        option value="grid" { "the whole grid" }
                        option value="row" { "each link by itself" }
                    }
                }
            }
            p id="reading" class="reading" aria-live="polite" { (reading(metric, run.repeats)) }
            (heat_table(run, timelines, metric))
            (key())
        }
    }
}

/// The metric that is shown before one is picked: the first of those that the terminal prints.
fn first_metric() -> &'static Metric {
    Metric::all().first().expect("the catalogue is not empty")
}

/// How to read the metric.
fn reading(metric: &Metric, repeats: usize) -> String {
    let better = match metric.better {
        Better::Higher => "Higher",
        Better::Lower => "Lower",
    };
    let (title, unit) = (metric.title, metric.unit);
    format!(
        "{title}, {unit}. {better} is better. Mean over the seeds{}; below it the worst seed and every seed{}",
        if repeats > 1 { " and their repeats" } else { "" },
        if repeats > 1 {
            ", in the order of the repeats, and after ± by how much repeats of one seed differ at the most: that much \
             the machine makes."
        } else {
            "."
        }
    )
}

fn heat_table(run: &Run, timelines: &Timelines, metric: &'static Metric) -> Markup {
    let mut shape = Shape::default();
    shape.profiles.extend(run.profiles.iter().map(|profile| profile.name.clone()));
    shape.settings.extend(run.settings.iter().map(|settings| settings.name.clone()));
    shape.seeds.extend(run.seeds.iter().cloned());
    let table = Table::new(metric, &shape, &run.cells);
    let extent = extent(&table);
    html! {
        div class="scroll" role="region" aria-label="Grid" tabindex="0" {
            table id="heat" class="heat" {
                caption class="vh" { "Links down, relay settings across" }
                thead {
                    tr {
                        td {}
                        @for settings in 0..run.settings.len() { th scope="col" { (settings_name(run, settings)) } }
                    }
                }
                tbody {
                    @for (row, entries) in table.rows.iter().enumerate() {
                        tr {
                            th scope="row" { (table.profiles[row]) }
                            @for (column, entry) in entries.iter().enumerate() {
                                (heat_cell(&table, entry, extent, &timelines.target(row, column), (row, column)))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One profile under one settings. The script writes the same parts for another metric.
fn heat_cell(
    table: &Table,
    entry: &Entry,
    extent: Option<(f64, f64)>,
    target: &str,
    (row, column): (usize, usize),
) -> Markup {
    let face = Face::of(table, entry, extent);
    html! {
        td class=(face.class) {
            a href=(target) data-p=(row) data-s=(column) {
                (mark::of(face.level))
                b { (face.value) }
                span class="vh" { (face.grade) }
                span class="w" { (face.worst) }
                span class="s" { (face.seeds) }
            }
        }
    }
}

/// What a heat cell shows.
struct Face {
    class: String,
    level: Option<u8>,
    value: String,
    grade: String,
    worst: String,
    seeds: String,
}

impl Face {
    fn of(table: &Table, entry: &Entry, extent: Option<(f64, f64)>) -> Self {
        let metric = table.metric;
        let digest = entry.digest(metric.better);
        let level = match digest {
            Digest::Numbers { mean, .. } => extent.map(|extent| level(mean, extent, metric.better)),
            _ => None,
        };
        let (value, worst) = match digest {
            Digest::Numbers { mean, worst } => {
                (number(mean, metric.decimals), format!("worst {}", number(worst, metric.decimals)))
            }
            Digest::Lost => ("lost".to_owned(), "never arrived".to_owned()),
            Digest::LostInSome(lost) => {
                (format!("lost {lost}/{}", entry.values.len()), "never arrived".to_owned())
            }
            Digest::Absent => ("n/a".to_owned(), String::new()),
            Digest::Failed => ("failed".to_owned(), String::new()),
            Digest::Missing => ("–".to_owned(), "not run".to_owned()),
        };
        let several = table.seeds > 1;
        Self {
            class: level.map_or_else(|| "lvx".to_owned(), |level| format!("lv{level}")),
            level,
            value,
            grade: level.map_or_else(String::new, |level| format!("grade {} of {}", level + 1, mark::LEVELS)),
            worst: if several || level.is_none() { worst } else { String::new() },
            seeds: if several { seeds(metric, entry) + &noise(metric, entry) } else { String::new() },
        }
    }
}

/// Each seed's value; of many only how far they reach.
fn seeds(metric: &Metric, entry: &Entry) -> String {
    let text = |value: &Value| match value {
        Value::Number(value) => number(*value, metric.decimals),
        Value::Lost => "lost".to_owned(),
        Value::Absent => "n/a".to_owned(),
    };
    if entry.values.len() <= SEEDS_LISTED_MAX {
        return entry.values.iter().map(text).collect::<Vec<_>>().join(" ");
    }
    let numbers = || entry.values.iter().filter_map(|value| value.number());
    let (Some(least), Some(most)) = (numbers().reduce(f64::min), numbers().reduce(f64::max)) else {
        return String::new();
    };
    format!("{} to {}", number(least, metric.decimals), number(most, metric.decimals))
}

/// By how much repeats of one seed differ, where there are any.
fn noise(metric: &Metric, entry: &Entry) -> String {
    entry.noise().map_or_else(String::new, |noise| format!(" ±{}", number(noise, metric.decimals)))
}

/// The smallest and the largest mean of a table.
fn extent(table: &Table) -> Option<(f64, f64)> {
    let means = table.rows.iter().flatten().filter_map(|entry| match entry.digest(table.metric.better) {
        Digest::Numbers { mean, .. } => Some(mean),
        _ => None,
    });
    means.fold(None, |extent, mean| {
        let (least, most) = extent.unwrap_or((mean, mean));
        Some((least.min(mean), most.max(mean)))
    })
}

/// How good a mean is among those of an extent: 0 is worst and 4 best. Where all are the same to 1 %,
/// all are best.
fn level(mean: f64, (least, most): (f64, f64), better: Better) -> u8 {
    if most - least <= 0.01 * most.abs().max(least.abs()) {
        return mark::LEVELS - 1;
    }
    let share = (mean - least) / (most - least);
    let good = match better {
        Better::Higher => share,
        Better::Lower => 1.0 - share,
    };
    ((good * f64::from(mark::LEVELS)).floor() as u8).min(mark::LEVELS - 1)
}

fn key() -> Markup {
    html! {
        ul class="key" aria-label="Marks" {
            @for (level, name) in [(Some(0), "worst fifth of the range"), (Some(2), "middle"), (Some(4), "best fifth")] {
                li { (mark::of(level)) (name) }
            }
            li { (mark::of(None)) "no number: lost, failed or not run" }
            li class="hint" { "Follow a cell to its numbers and its timeline." }
        }
    }
}

/// Seeds that are listed one by one.
const SEEDS_LISTED_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_follow_the_direction_and_the_ends_are_the_ends() {
        assert_eq!(level(0.0, (0.0, 100.0), Better::Higher), 0);
        assert_eq!(level(100.0, (0.0, 100.0), Better::Higher), 4);
        assert_eq!(level(50.0, (0.0, 100.0), Better::Higher), 2);
        assert_eq!(level(0.0, (0.0, 100.0), Better::Lower), 4);
        assert_eq!(level(100.0, (0.0, 100.0), Better::Lower), 0);
    }

    #[test]
    fn what_is_the_same_has_the_same_level() {
        assert_eq!(level(99.9, (99.5, 100.0), Better::Higher), 4);
        assert_eq!(level(0.0, (0.0, 0.0), Better::Lower), 4);
    }
}
