//! Before and after: two settings beside each other, paired by seed.
//!
//! Two settings with the same profile and seed met the same link and the same cameras, so the
//! difference of each pair is of the settings alone. Here nothing is inferred from them: the pairs
//! are counted as they are.

use bench::Summary;
use bench::metrics::summary::Status;
use maud::{Markup, html};

use super::number;
use crate::data::Run;
use crate::metric::{Better, Metric, Value};

/// The section with the two pickers, which shows the first settings against the last.
pub(super) fn section(run: &Run) -> Markup {
    let (before, after) = (0, run.settings.len().saturating_sub(1));
    html! {
        section aria-labelledby="compare" {
            h2 id="compare" { "Before and after" }
            @if run.settings.len() < 2 {
                p { "There is only one settings in this run." }
            } @else {
                form class="pick" aria-label="Which settings are compared" {
                    (picker(run, "before", "Before", before))
                    (picker(run, "after", "After", after))
                    label { "Metrics "
                        select id="compare-metrics" aria-controls="compare-table" autocomplete="off" {
                            option value="some" { "the main ones" }
                            option value="all" { "all" }
                        }
                    }
                }
                p class="reading" {
                    "Means over the seeds that both have, the mean difference of the pairs, and in how many pairs \
                     the second was better or worse by what can be printed. A count is no proof: look at the seeds."
                }
                div class="scroll" role="region" aria-label="Before and after" tabindex="0" {
                    (table(run, before, after))
                }
            }
        }
    }
}

fn picker(run: &Run, id: &str, name: &str, chosen: usize) -> Markup {
    html! {
        label { (name) " "
            select id=(id) aria-controls="compare-table" autocomplete="off" {
                @for (index, settings) in run.settings.iter().enumerate() {
                    option value=(index) selected[index == chosen] { (settings.name) }
                }
            }
        }
    }
}

fn table(run: &Run, before: usize, after: usize) -> Markup {
    let metrics = Metric::defaults();
    html! {
        table id="compare-table" class="compare" {
            caption class="vh" { "Differences by link and metric" }
            thead {
                tr {
                    th scope="col" { "link" }
                    th scope="col" { "metric" }
                    th scope="col" { (super::settings_name(run, before)) }
                    th scope="col" { (super::settings_name(run, after)) }
                    th scope="col" { "difference" }
                    th scope="col" { "pairs" }
                }
            }
            @for (index, profile) in run.profiles.iter().enumerate() {
                tbody {
                    @for (place, metric) in metrics.iter().enumerate() {
                        tr {
                            @if place == 0 { th scope="rowgroup" rowspan=(metrics.len()) { (profile.name) } }
                            th scope="row" { (metric.title) " " span class="unit" { (metric.symbol()) } }
                            (row(&Pairs::of(run, metric, index, (before, after)), metric))
                        }
                    }
                }
            }
        }
    }
}

fn row(pairs: &Pairs, metric: &Metric) -> Markup {
    let decimals = metric.decimals;
    let text = |mean: Option<f64>| mean.map_or("–".to_owned(), |mean| number(mean, decimals));
    html! {
        td { (text(pairs.before)) }
        td { (text(pairs.after)) }
        td { (pairs.difference.map_or("–".to_owned(), |difference| signed(difference, decimals))) }
        td class=(pairs.class()) { (pairs.verdict()) }
    }
}

/// `+1.5`, `-0.3`, and `0.0` without a sign.
fn signed(value: f64, decimals: usize) -> String {
    let text = number(value, decimals);
    let nothing = text.bytes().all(|byte| !byte.is_ascii_digit() || byte == b'0');
    if nothing {
        text.trim_start_matches('-').to_owned()
    } else if value > 0.0 {
        format!("+{text}")
    } else {
        text
    }
}

/// One metric of one profile under two settings.
#[derive(Debug, Default, PartialEq)]
struct Pairs {
    before: Option<f64>,
    after: Option<f64>,
    difference: Option<f64>,
    better: usize,
    worse: usize,
    same: usize,
}

impl Pairs {
    fn of(run: &Run, metric: &Metric, profile: usize, (before, after): (usize, usize)) -> Self {
        let name = &run.profiles[profile].name;
        let value = |settings: usize, seed: &str| {
            let settings = &run.settings[settings].name;
            let is = |cell: &&Summary| {
                cell.profile == *name && cell.settings == *settings && cell.seed_label() == seed
            };
            let cell = run.cells.iter().find(is)?;
            (cell.status == Status::Ok).then(|| metric.of(cell))
        };
        let seeds = run.seeds.iter().filter_map(|seed| Some((value(before, seed)?, value(after, seed)?)));
        Self::count(metric, seeds)
    }

    fn count(metric: &Metric, pairs: impl Iterator<Item = (Value, Value)>) -> Self {
        let mut result = Self::default();
        let (mut numbers, mut lost) = (Vec::new(), false);
        for (before, after) in pairs {
            let difference = match (before, after) {
                (Value::Number(before), Value::Number(after)) => {
                    numbers.push((before, after));
                    let printed = number(after - before, metric.decimals);
                    printed.parse::<f64>().unwrap_or(0.0)
                }
                // Infinite is worse than any number, whatever the metric's direction.
                (Value::Lost, Value::Number(_)) => toward(metric.better),
                (Value::Number(_), Value::Lost) => -toward(metric.better),
                (Value::Lost, Value::Lost) => 0.0,
                _ => continue,
            };
            lost |= before.is_lost() || after.is_lost();
            match difference * toward(metric.better) {
                good if good > 0.0 => result.better += 1,
                good if good < 0.0 => result.worse += 1,
                _ => result.same += 1,
            }
        }
        // A mean over the pairs that are left would flatter.
        if !lost {
            let of = |pick: fn(&(f64, f64)) -> f64| {
                bench::statistics::mean(&numbers.iter().map(pick).collect::<Vec<_>>())
            };
            result.before = of(|pair| pair.0);
            result.after = of(|pair| pair.1);
            result.difference = of(|pair| pair.1 - pair.0);
        }
        result
    }

    fn verdict(&self) -> String {
        let parts = [("▲", self.better, "better"), ("▼", self.worse, "worse"), ("=", self.same, "same")];
        let said = parts.iter().filter(|(_, count, _)| *count > 0);
        let said: Vec<String> = said.map(|(mark, count, word)| format!("{mark} {count} {word}")).collect();
        if said.is_empty() { "no pair".to_owned() } else { said.join(", ") }
    }

    fn class(&self) -> &'static str {
        match (self.better, self.worse) {
            (0, 0) => "even",
            (_, 0) => "good",
            (0, _) => "bad",
            _ => "mixed",
        }
    }
}

/// The sign of a change for the better.
fn toward(better: Better) -> f64 {
    match better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(metric: &str, pairs: &[(Value, Value)]) -> Pairs {
        Pairs::count(Metric::find(metric).unwrap(), pairs.iter().copied())
    }

    #[test]
    fn better_follows_the_direction() {
        let pairs = [(Value::Number(1.0), Value::Number(2.0)), (Value::Number(3.0), Value::Number(3.001))];
        let delivered = count("delivered", &pairs);
        assert_eq!((delivered.better, delivered.worse, delivered.same), (1, 0, 1));
        let frozen = count("frozen", &pairs);
        assert_eq!((frozen.better, frozen.worse, frozen.class()), (0, 1, "bad"));
    }

    #[test]
    fn what_is_lost_is_worse_than_any_number_and_has_no_mean() {
        let pairs = count("delay-p50", &[(Value::Lost, Value::Number(9.0)), (Value::Lost, Value::Lost)]);
        assert_eq!((pairs.better, pairs.worse, pairs.same), (1, 0, 1));
        assert_eq!((pairs.before, pairs.difference), (None, None));
        assert_eq!(count("delay-p50", &[(Value::Absent, Value::Lost)]).verdict(), "no pair");
    }

    #[test]
    fn differences_have_their_sign() {
        assert_eq!(signed(1.25, 1), "+1.3");
        assert_eq!(signed(-1.25, 1), "-1.3");
        assert_eq!(signed(-0.001, 1), "0.0");
    }
}
