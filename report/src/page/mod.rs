//! `report.html`: a whole run in one file that asks the network for nothing.
//!
//! [`render`] makes the page from a [`Run`], the [`Tables`] of its cells and the command that runs
//! each again; it reads no file and no clock, so the same run gives the same bytes. Every text goes
//! through `maud`, which escapes it, or through `facts::inline_json`, which leaves no `<` in it.
//!
//! The page can be read without its script: the grid of the first metric, the curves, the timelines
//! and all tables are in the markup. The script only picks among numbers that the page carries.
//! What a page carries is bounded: it holds aggregates and numbers of every cell, and timelines
//! only until [`TIMELINES_BYTES_MAX`] are used up, which it then says.

mod cells;
mod compare;
mod curves;
mod facts;
mod heat;
mod setup;
mod timeline;

use std::fmt::Write as _;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::data::{Run, Tables};
use crate::delays::Delays;
use crate::svg::mark;

/// The command that runs a cell again, for `profile`, `settings` and `seed`.
pub type Replay<'a> = &'a dyn Fn(&str, &str, &str) -> String;

/// A page, and what is not in it.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The page's text, in HTML.
    pub text: String,
    /// What could not be read, a line for each summary and table, with why. The page says it too.
    pub unread: Vec<String>,
}

/// The page of `run`.
///
/// Tables that cannot be read are left out, and the page says of which cells and why.
pub fn render(run: &Run, tables: &dyn Tables, replay: Replay<'_>) -> Page {
    let mut unread: Vec<String> =
        run.damaged.iter().map(|name| format!("{name}: its summary is damaged")).collect();
    let delays = pooled(run, tables, &mut unread);
    let timelines = timeline::choose(run, tables, &mut unread);
    let body = html! {
        a class="skip" href="#main" { "Skip to the grid" }
        (mark::definitions())
        header class="top" {
            div {
                p class="kicker" { "arcbench report" }
                h1 { (run.id) }
                @if !run.description.is_empty() { p class="lead" { (run.description) } }
                p class="counts" { (counts(run)) }
            }
            (theme())
        }
        nav aria-label="Sections" {
            @for (id, name) in SECTIONS { a href=(format!("#{id}")) { (name) } }
        }
        main id="main" tabindex="-1" {
            (notes(run, &unread))
            (heat::section(run, &timelines))
            (cells::section(run, &timelines, replay))
            (compare::section(run))
            (curves::section(run, &delays))
            (setup::section(run))
            (cells::all(run, replay))
            (about(run))
        }
        script type="application/json" id="data" { (facts::blob(run, &timelines, replay)) }
        script { (PreEscaped(SCRIPT)) }
    };
    Page { text: document(&run.id, &body), unread }
}

fn document(title: &str, body: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src '{SCRIPT_HASH}'; \
        base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " – arcbench report" }
                // Without this a browser asks the server for an icon.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body { (body) }
        }
    };
    page.into_string()
}

/// The delays of all seeds of each profile and settings, profiles outside.
fn pooled(run: &Run, tables: &dyn Tables, unread: &mut Vec<String>) -> Vec<Vec<Delays>> {
    let mut pools = vec![vec![Delays::default(); run.settings.len()]; run.profiles.len()];
    for cell in run.finished() {
        let Some((profile, settings, _)) = run.indices(cell) else { continue };
        // A cell counts wholly or not at all.
        let mut pool = pools[profile][settings].clone();
        match tables.delays(cell, &mut pool) {
            Ok(()) => pools[profile][settings] = pool,
            Err(error) => unread.push(format!("{}: failed to {error}", cell.cell)),
        }
    }
    pools
}

fn counts(run: &Run) -> String {
    let ok = run.finished().count();
    let failed = run.cells.len() - ok;
    let open = run.planned().saturating_sub(run.cells.len());
    let mut text = format!(
        "{} × {} × {}: {ok} of {} cells finished",
        counted(run.profiles.len(), "link", "links"),
        counted(run.settings.len(), "settings", "settings"),
        counted(run.seeds.len() / run.repeats.max(1), "seed", "seeds"),
        run.planned()
    );
    if run.repeats > 1 {
        let _ = write!(text, ", each run {} times", run.repeats);
    }
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    if open > 0 {
        let _ = write!(text, ", {open} not run");
    }
    text
}

/// `1 seed`, `3 seeds`.
fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The switch between light, dark and what the system says. It needs no script.
fn theme() -> Markup {
    html! {
        fieldset class="theme" {
            legend { "Theme" }
            @for (id, name) in [("auto", "System"), ("light", "Light"), ("dark", "Dark")] {
                label {
                    input type="radio" name="theme" id=(format!("theme-{id}")) checked[id == "auto"];
                    span { (name) }
                }
            }
        }
    }
}

/// What a reader should know before reading: warnings of cells, failures, tables that are missing.
fn notes(run: &Run, unread: &[String]) -> Markup {
    let mut lines: Vec<String> = unread.to_vec();
    for cell in &run.cells {
        lines.extend(cell.error.iter().map(|error| format!("{}: {error}", cell.cell)));
        lines.extend(cell.warnings.iter().map(|warning| format!("{}: {warning}", cell.cell)));
        lines.extend(cell.tainted.iter().map(|reason| format!("{}: tainted: {reason}", cell.cell)));
    }
    let more = lines.len().saturating_sub(NOTES_MAX);
    html! {
        @if !lines.is_empty() {
            section class="notes" aria-labelledby="notes-h" {
                h2 id="notes-h" { "Before you read" }
                ul {
                    @for line in lines.iter().take(NOTES_MAX) { li { (line) } }
                    @if more > 0 { li { "and " (more) " more" } }
                }
            }
        }
    }
}

fn about(run: &Run) -> Markup {
    html! {
        section aria-labelledby="about" {
            h2 id="about" { "About this run" }
            dl class="facts" {
                @for (name, value) in &run.facts { div { dt { (name) } dd { (value) } } }
            }
        }
    }
}

/// The classes that give settings their colour and dashes, everywhere: by their place in the scenario.
fn line_class(settings: usize) -> String {
    format!("c{} d{}", settings % COLOURS, (settings + settings / COLOURS) % DASHES)
}

/// A settings' name beside a sample of its line.
fn settings_name(run: &Run, settings: usize) -> Markup {
    let name = run.settings.get(settings).map_or("", |settings| settings.name.as_str());
    html! { span class="who" { (crate::svg::legend::sample(&line_class(settings))) (name) } }
}

/// `value` with so many decimals, rounded as the page's script rounds.
fn number(value: f64, decimals: usize) -> String {
    let rounded = bench::statistics::rounded(value, u32::try_from(decimals).unwrap_or(0));
    // Adding zero takes the sign from a negative one.
    format!("{:.decimals$}", rounded + 0.0)
}

const SECTIONS: [(&str, &str); 7] = [
    ("grid", "Grid"),
    ("cell", "Cell"),
    ("compare", "Before and after"),
    ("delay", "Frame delay"),
    ("setup", "Settings and links"),
    ("cells", "All cells"),
    ("about", "About"),
];

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");
/// What the page's policy lets run: this script and no other. A test in a browser holds it against
/// the script; `openssl dgst -sha256 -binary page.js | base64` has it.
const SCRIPT_HASH: &str = "sha256-Btk2qgc664yKc2XgkU+CVDO+xmvZXi484plD2DWEDdg=";

/// Colours and dashes before they repeat; the style sheet has as many. Their numbers of places are
/// combined so that the first 49 settings all look different.
const COLOURS: usize = 7;
/// See above.
const DASHES: usize = 7;
/// Notes that are listed before it is only said how many more there are.
const NOTES_MAX: usize = 20;
/// Bytes of timelines, with their tables, in a page.
pub const TIMELINES_BYTES_MAX: usize = 900_000;

#[cfg(test)]
mod tests;
