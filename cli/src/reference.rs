//! The metric names in a scenario's reference tables, checked where they stand.
//!
//! `bench` reads those tables and knows no metric by name; the names are the catalogue's.

use bench::netmodel::document::Problem;
use bench::scenario::SourceProblems;
use bench::{ErrorKind, Scenario, ScenarioErrors};
use report::Metric;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// `parsed`, with every unknown metric of `text` among the errors.
pub(crate) fn checked(
    parsed: Result<Scenario, ScenarioErrors>,
    name: &str,
    text: &str,
) -> Result<Scenario, ScenarioErrors> {
    let unknown = unknown_metrics(text);
    if unknown.is_empty() {
        return parsed;
    }
    let mut errors = parsed.err().unwrap_or(ScenarioErrors { kind: ErrorKind::Invalid, sources: Vec::new() });
    match errors.sources.iter_mut().find(|source| source.name == name) {
        Some(source) => {
            source.problems.extend(unknown);
            source.problems.sort_by_key(|p| p.span.as_ref().map_or(usize::MAX, |span| span.start));
        }
        None => errors
            .sources
            .insert(0, SourceProblems { name: name.to_owned(), text: text.to_owned(), problems: unknown }),
    }
    Err(errors)
}

/// A problem for each key in a reference table that is no metric, in the order of the text. What is
/// no TOML or no such table is for `bench` to complain about.
fn unknown_metrics(text: &str) -> Vec<Problem> {
    let Ok(root) = DeTable::parse(text) else { return Vec::new() };
    let reference = root.get_ref().get("reference").and_then(table);
    let metrics = reference.into_iter().flat_map(tables).flat_map(tables);
    let mut problems = Vec::new();
    for metrics in metrics {
        for key in metrics.keys() {
            if let Err(unknown) = Metric::find(key.get_ref()) {
                let help = match unknown.nearest {
                    Some(nearest) => format!("did you mean `{nearest}`?"),
                    None => "`arcbench run --metric help` lists them".to_owned(),
                };
                problems.push(Problem::new(unknown.to_string()).at(key.span()).help(help));
            }
        }
    }
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    problems
}

fn table<'a, 'i>(value: &'a Spanned<DeValue<'i>>) -> Option<&'a DeTable<'i>> {
    match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// The tables directly in `within`.
fn tables<'a, 'i>(within: &'a DeTable<'i>) -> impl Iterator<Item = &'a DeTable<'i>> {
    within.values().filter_map(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_metric_is_placed_and_gets_the_nearest() {
        let text =
            "[reference.p.s]\ndelivered = 1\ndeliverd = 2\nhand = 3\n[reference.a]\nb = { zzzzzz = 1 }\n";
        let found: Vec<(usize, String)> = unknown_metrics(text)
            .into_iter()
            .map(|p| (p.span.clone().unwrap().start, p.to_string()))
            .collect();
        let expected = [
            (30, "`deliverd` is not a metric (did you mean `delivered`?)"),
            (72, "`zzzzzz` is not a metric (`arcbench run --metric help` lists them)"),
        ];
        assert_eq!(found, expected.map(|(at, said)| (at, said.to_owned())));
    }

    #[test]
    fn what_is_no_table_is_left_to_others() {
        for text in ["[", "reference = 3", "reference = { a = 1, b = { c = 2 } }", ""] {
            assert_eq!(unknown_metrics(text), [], "{text}");
        }
    }
}
