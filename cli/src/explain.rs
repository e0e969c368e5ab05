//! `arcbench explain`: what limited one finished cell, in words, with the numbers that say so.

use std::fmt::Write as _;
use std::path::Path;

use report::explain::{Evidence, Explanation, Fact, Finding, Kind, explain};
use report::{Align, Sheet};

use crate::args::{Explain, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::kept_cell::{self, KeptCell};
use crate::output::{self, quoted};
use crate::records;

/// Finds the cell and explains it.
pub(crate) fn run(arguments: &Explain) -> Result<Exit, Failure> {
    let kept = KeptCell::find_any(&arguments.cell, arguments.run.as_deref())?;
    let explanation = of(&kept)?;
    match arguments.format {
        Format::Human => output::data(&human(&explanation, output::columns()))?,
        Format::Json => output::data(&records::line(&explanation)?)?,
        Format::Markdown => {
            output::data(&format!(
                "{}\n{}",
                findings(&explanation).markdown(),
                evidence(&explanation).markdown()
            ))?;
        }
        Format::Csv => {
            output::data(&format!("{}\n{}", findings(&explanation).csv(), evidence(&explanation).csv()))?;
        }
    }
    Ok(Exit::Ok)
}

/// The explanation of a kept cell, from its tables.
fn of(kept: &KeptCell) -> Result<Explanation, Failure> {
    let folder = bench::CellFolder::at(&kept.folder);
    let unreadable = |error: bench::RunFolderError| kept_cell::unreadable(&[error]);
    let (frames, freezes) = (folder.frames().map_err(unreadable)?, folder.freezes().map_err(unreadable)?);
    let seconds = folder.seconds().map_err(unreadable)?;
    let cell_argument = quoted(&kept.folder.display().to_string());
    let run = kept.folder.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    let scenario_argument = quoted(&run.join(crate::kept::SCENARIO).display().to_string());
    Ok(explain(&Evidence {
        cell: &kept.cell,
        summary: &kept.summary,
        frames: &frames,
        freezes: &freezes,
        seconds: &seconds,
        cell_argument: &cell_argument,
        scenario_argument: &scenario_argument,
    }))
}

fn human(explanation: &Explanation, columns: usize) -> String {
    let Explanation { cell, produced, missing, late, frozen_s, freezes, findings, .. } = explanation;
    let mut out = format!(
        "{cell}\n  {produced} frames: {missing} missing, {late} late; pictures stood for {frozen_s:.2} s in {}, \
         added up over cameras\n",
        in_freezes(*freezes)
    );
    for (index, finding) in findings.iter().enumerate() {
        let _ = writeln!(out, "\n{}. {}", index + 1, finding.what.name());
        wrapped(&mut out, "   ", &finding.text, columns);
        if let Some(cost) = cost(finding) {
            wrapped(&mut out, "   ", &cost, columns);
        }
        if !finding.worst_seconds.is_empty() {
            let seconds: Vec<String> = finding.worst_seconds.iter().map(u64::to_string).collect();
            let _ = writeln!(out, "   worst in second {}", seconds.join(", "));
        }
        let _ = writeln!(out, "   evidence");
        for fact in &finding.evidence {
            let _ = writeln!(out, "     {} = {}  [{}]", fact.what, value(fact), place(fact));
        }
        for command in &finding.next {
            let _ = writeln!(out, "   look: {command}");
        }
        if let Some(setting) = &finding.setting {
            wrapped(
                &mut out,
                "   ",
                &format!(
                    "try {} = {} in place of {}: {}",
                    setting.key, setting.value, setting.now, setting.why
                ),
                columns,
            );
            let _ = writeln!(out, "   try: {}", setting.command);
        }
    }
    out
}

/// What a finding cost, if it cost frames or time.
fn cost(finding: &Finding) -> Option<String> {
    let Finding { missing, late, frozen_s, freezes, covers, .. } = finding;
    if missing + late + freezes == 0 && covers.is_empty() {
        return None;
    }
    let mut text = format!(
        "cost: {missing} frames missing, {late} late; {frozen_s:.2} s frozen in {}",
        in_freezes(*freezes)
    );
    if !covers.is_empty() {
        let names: Vec<&str> = covers.iter().copied().map(Kind::name).collect();
        let _ = write!(text, " (counted under {} too)", names.join(", "));
    }
    Some(text)
}

fn in_freezes(count: u64) -> String {
    if count == 1 { "1 freeze".to_owned() } else { format!("{count} freezes") }
}

fn value(fact: &Fact) -> String {
    match (&fact.word, fact.value) {
        (Some(word), _) => word.clone(),
        (None, Some(value)) if fact.unit.is_empty() => value.to_string(),
        (None, Some(value)) => format!("{value} {}", fact.unit),
        (None, None) => "nothing".to_owned(),
    }
}

/// Where a fact stands; queries are in the other formats, being long.
fn place(fact: &Fact) -> String {
    fact.field.as_ref().map_or_else(
        || fact.file.clone(),
        |field| {
            let file = fact.file.rsplit('/').next().unwrap_or(&fact.file);
            format!("{file}: {field}")
        },
    )
}

/// `text` in lines of at most `columns` that begin with `indent`.
fn wrapped(out: &mut String, indent: &str, text: &str, columns: usize) {
    let mut line = indent.to_owned();
    for word in text.split_whitespace() {
        let begun = line.len() > indent.len();
        if begun && line.chars().count() + 1 + word.chars().count() > columns {
            let _ = writeln!(out, "{line}");
            line.truncate(indent.len());
        } else if begun {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{line}");
}

/// A row for each finding.
fn findings(explanation: &Explanation) -> Sheet {
    let (left, right) = (Align::Left, Align::Right);
    let mut sheet = Sheet::new([
        ("rank", right),
        ("what", left),
        ("missing", right),
        ("late", right),
        ("frozen_s", right),
        ("freezes", right),
        ("delay_ms_p99", right),
        ("covers", left),
        ("worst_seconds", left),
        ("setting", left),
        ("text", left),
    ]);
    for (index, finding) in explanation.findings.iter().enumerate() {
        let covers: Vec<&str> = finding.covers.iter().copied().map(Kind::name).collect();
        let seconds: Vec<String> = finding.worst_seconds.iter().map(u64::to_string).collect();
        let setting = finding.setting.as_ref().map(|setting| format!("{}={}", setting.key, setting.value));
        sheet.row([
            (index + 1).to_string(),
            finding.what.name().to_owned(),
            finding.missing.to_string(),
            finding.late.to_string(),
            finding.frozen_s.to_string(),
            finding.freezes.to_string(),
            finding.delay_ms_p99.map(|ms| ms.to_string()).unwrap_or_default(),
            covers.join(" "),
            seconds.join(" "),
            setting.unwrap_or_default(),
            finding.text.clone(),
        ]);
    }
    sheet
}

/// A row for each fact of each finding.
fn evidence(explanation: &Explanation) -> Sheet {
    let (left, right) = (Align::Left, Align::Right);
    let mut sheet = Sheet::new([
        ("finding", left),
        ("what", left),
        ("value", right),
        ("unit", left),
        ("file", left),
        ("field", left),
        ("query", left),
    ]);
    for finding in &explanation.findings {
        for fact in &finding.evidence {
            sheet.row([
                finding.what.name().to_owned(),
                fact.what.clone(),
                fact.word.clone().or_else(|| fact.value.map(|value| value.to_string())).unwrap_or_default(),
                fact.unit.clone(),
                fact.file.clone(),
                fact.field.clone().unwrap_or_default(),
                fact.query.clone().unwrap_or_default(),
            ]);
        }
    }
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let mut out = String::new();
        wrapped(&mut out, "  ", "one two three four", 11);
        assert_eq!(out, "  one two\n  three\n  four\n");
    }
}
