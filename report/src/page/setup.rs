//! What was compared: the settings beside each other, and the links.

use maud::{Markup, html};

use super::settings_name;
use crate::data::Run;

/// The section of settings and links.
pub(super) fn section(run: &Run) -> Markup {
    let keys = keys(run);
    let (differing, same): (Vec<_>, Vec<_>) = keys.into_iter().partition(Row::differs);
    html! {
        section aria-labelledby="setup" {
            h2 id="setup" { "Settings and links" }
            @if run.settings.len() > 1 {
                h3 { "Where the settings differ" }
                @if differing.is_empty() { p { "They are all the same." } }
                @else { (table(run, "Settings that differ", &differing)) }
                details { summary { "Settings that are the same in all (" (same.len()) ")" } (table(run, "Settings that are the same", &same)) }
            } @else {
                (table(run, "Settings", &same))
            }
            h3 { "Links" }
            @for (index, link) in run.profiles.iter().enumerate() {
                details id=(format!("link-{index}")) {
                    summary { b { (link.name) } @if !link.description.is_empty() { " – " (link.description) } }
                    div class="scroll" role="region" aria-label=(format!("Profile {}", link.name)) tabindex="0" {
                        pre { (link.toml) }
                    }
                }
            }
        }
    }
}

/// A key and its value in each settings.
struct Row<'a> {
    key: &'a str,
    values: Vec<Option<&'a str>>,
}

impl Row<'_> {
    fn differs(&self) -> bool {
        self.values.windows(2).any(|pair| pair[0] != pair[1])
    }
}

/// Every key that any settings has, in the order in which they are first met.
fn keys(run: &Run) -> Vec<Row<'_>> {
    let mut names: Vec<&str> = Vec::new();
    for (key, _) in run.settings.iter().flat_map(|settings| &settings.values) {
        if !names.contains(&key.as_str()) {
            names.push(key);
        }
    }
    let value = |settings: usize, key: &str| {
        let values = &run.settings[settings].values;
        values.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    };
    let row = |key| Row { key, values: (0..run.settings.len()).map(|index| value(index, key)).collect() };
    names.into_iter().map(row).collect()
}

fn table(run: &Run, label: &str, rows: &[Row<'_>]) -> Markup {
    html! {
        div class="scroll" role="region" aria-label=(label) tabindex="0" {
            table class="text" {
                caption class="vh" { (label) }
                thead {
                    tr {
                        th scope="col" { "setting" }
                        @for index in 0..run.settings.len() { th scope="col" { (settings_name(run, index)) } }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" { code { (row.key) } }
                            @for value in &row.values { td { (value.unwrap_or("–")) } }
                        }
                    }
                }
            }
        }
    }
}
