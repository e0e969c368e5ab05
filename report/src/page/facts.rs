//! The numbers that the page's script picks from, as JSON in the page.
//!
//! Everything is by column, with what is the same in all cells said once, since most of a page with
//! thousands of cells is this.

use bench::Summary;
use bench::metrics::summary::Status;
use maud::PreEscaped;
use serde_json::{Value as Json, json};

use super::timeline::Timelines;
use super::{Replay, line_class};
use crate::data::{Run, flatten};
use crate::metric::{Better, Metric, Value};

/// All of it.
pub(super) fn blob(run: &Run, timelines: &Timelines, replay: Replay<'_>) -> PreEscaped<String> {
    let cells: Vec<(&Summary, (usize, usize, usize))> =
        run.cells.iter().filter_map(|cell| Some((cell, run.indices(cell)?))).collect();
    let summaries: Vec<&Summary> = cells.iter().map(|(cell, _)| *cell).collect();
    let defaults: Vec<usize> = Metric::defaults().iter().filter_map(|metric| place(metric)).collect();
    let drawn: Vec<String> =
        timelines.iter().map(|(profile, settings, ..)| format!("{profile}-{settings}")).collect();
    let (head, middles, tail) = factored(
        &cells
            .iter()
            .map(|(cell, _)| replay(&cell.profile, &cell.settings, &cell.seed_label()))
            .collect::<Vec<_>>(),
    );
    inline_json(&json!({
        "profiles": run.profiles.iter().map(|profile| &profile.name).collect::<Vec<_>>(),
        "settings": run.settings.iter().map(|settings| &settings.name).collect::<Vec<_>>(),
        "lines": (0..run.settings.len()).map(line_class).collect::<Vec<_>>(),
        "seeds": run.seeds,
        "repeats": run.repeats.max(1),
        "metrics": Metric::all().iter().map(|metric| metric_column(metric, &summaries)).collect::<Vec<_>>(),
        "defaults": defaults,
        "cells": cells.iter().map(|(cell, (p, s, n))| json!([p, s, n, u8::from(cell.status == Status::Ok)])).collect::<Vec<_>>(),
        "ids": summaries.iter().map(|cell| &cell.cell).collect::<Vec<_>>(),
        "errors": summaries.iter().enumerate().filter_map(|(i, cell)| Some(json!([i, cell.error.as_ref()?]))).collect::<Vec<_>>(),
        "replay": [head, tail],
        "replays": middles,
        "counters": counters(&summaries),
        "drawn": drawn,
        "worst": worst(&summaries),
    }))
}

fn place(metric: &Metric) -> Option<usize> {
    Metric::all().iter().position(|other| other.name == metric.name)
}

/// What a metric is, and its value in each cell: a number, `"x"` where it is infinite, or `null`.
fn metric_column(metric: &Metric, cells: &[&Summary]) -> Json {
    let digits = u32::try_from(metric.decimals).unwrap_or(0) + SPARE_DIGITS;
    let value = |cell: &&Summary| match metric.of(cell) {
        _ if cell.status != Status::Ok => Json::Null,
        Value::Number(value) => short(bench::statistics::rounded(value, digits)),
        Value::Lost => json!("x"),
        Value::Absent => Json::Null,
    };
    json!({
        "name": metric.name,
        "title": metric.title,
        "unit": metric.unit,
        "symbol": metric.symbol(),
        "better": if metric.better == Better::Higher { 1 } else { -1 },
        "decimals": metric.decimals,
        "of": cells.iter().map(value).collect::<Vec<_>>(),
    })
}

/// A number in its shortest form: `3` and not `3.0`.
fn short(value: f64) -> Json {
    // Beyond 2^53 not every whole number is a double.
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

/// Every number of a summary by its dotted name: one value where all cells have the same, else a
/// list.
fn counters(cells: &[&Summary]) -> Vec<Json> {
    let mut names: Vec<String> = Vec::new();
    let mut columns: std::collections::BTreeMap<String, Vec<Json>> = std::collections::BTreeMap::new();
    for (index, cell) in cells.iter().enumerate() {
        let json = serde_json::to_value(cell).unwrap_or(Json::Null);
        flatten("", &json, &mut |key, value| {
            if !value.is_number() || IDENTITY.contains(&key) {
                return;
            }
            let column = columns.entry(key.to_owned()).or_insert_with(|| {
                names.push(key.to_owned());
                Vec::new()
            });
            column.resize(index, Json::Null);
            column.push(value.as_f64().map_or(Json::Null, short));
        });
    }
    names.sort_unstable();
    let one = |name: &String| {
        let mut column = columns.remove(name).unwrap_or_default();
        column.resize(cells.len(), Json::Null);
        match column.first() {
            Some(first) if column.iter().all(|value| value == first) => json!([name, first]),
            _ => json!([name, column]),
        }
    };
    names.iter().map(one).collect()
}

/// The cell that stood longest, which the page opens with.
fn worst(cells: &[&Summary]) -> usize {
    let frozen = |cell: &Summary| cell.all.frozen_s_per_min.unwrap_or(-1.0);
    let mut worst = 0;
    for (index, cell) in cells.iter().enumerate() {
        if frozen(cell) > frozen(cells[worst]) {
            worst = index;
        }
    }
    worst
}

/// What all texts begin with, what is left of each, and what all end with.
fn factored(texts: &[String]) -> (String, Vec<String>, String) {
    let Some(first) = texts.first() else { return (String::new(), Vec::new(), String::new()) };
    let common = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>| -> usize {
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
    };
    let head = texts.iter().map(|text| common(&mut first.chars(), &mut text.chars())).min().unwrap_or(0);
    let ends = |text: &String| common(&mut first[head..].chars().rev(), &mut text[head..].chars().rev());
    let tail = texts.iter().map(ends).min().unwrap_or(0);
    let middles = texts.iter().map(|text| text[head..text.len() - tail].to_owned()).collect();
    (first[..head].to_owned(), middles, first[first.len() - tail..].to_owned())
}

/// JSON that can stand in a page: without the characters by which markup could end or begin, and
/// without the two line ends that JSON has and scripts had not.
fn inline_json(value: &Json) -> PreEscaped<String> {
    let text = value.to_string();
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("\\u003c"),
            '>' => safe.push_str("\\u003e"),
            '&' => safe.push_str("\\u0026"),
            '\u{2028}' => safe.push_str("\\u2028"),
            '\u{2029}' => safe.push_str("\\u2029"),
            c => safe.push(c),
        }
    }
    PreEscaped(safe)
}

/// Numbers that say which cell it is and not what happened.
const IDENTITY: [&str; 1] = ["duration_s"];
/// Digits of a metric beyond those that are printed, so that means and differences print right.
const SPARE_DIGITS: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_texts_share_is_said_once() {
        let texts = ["run a --x", "run ab --x", "run --x"].map(str::to_owned).to_vec();
        let (head, middles, tail) = factored(&texts);
        let again: Vec<String> = middles.iter().map(|middle| format!("{head}{middle}{tail}")).collect();
        assert_eq!(again, texts);
        assert_eq!(factored(&["é".to_owned(), "è".to_owned()]).1, ["é", "è"]);
        assert_eq!(factored(&["same".to_owned()]).0, "same");
    }

    #[test]
    fn nothing_in_the_json_ends_its_element() {
        let text = inline_json(&json!(["</script><!--", "&\u{2028}"])).0;
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Json>(&text).unwrap(), json!(["</script><!--", "&\u{2028}"]));
    }
}
