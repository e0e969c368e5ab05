//! Problem input as a report a person can act on: file, line, the place itself, and what to try.

use std::io::IsTerminal;
use std::ops::Range;

use bench::netmodel::document::Problem;
use bench::scenario::SourceProblems;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report};

use crate::failure::Failure;
use crate::output;
use crate::records::ProblemRecord;

/// Everything that is wrong in one text, rendered.
pub(crate) fn render(name: &str, text: &str, wrong: &[Problem]) -> String {
    let terminal = std::io::stderr().is_terminal();
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let theme = match (terminal, colour) {
        (true, true) => GraphicalTheme::unicode(),
        (true, false) => GraphicalTheme::unicode_nocolor(),
        (false, _) => GraphicalTheme::none(),
    };
    render_with(name, text, wrong, theme)
}

fn render_with(name: &str, text: &str, wrong: &[Problem], theme: GraphicalTheme) -> String {
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(output::columns())
        .with_links(false)
        // Wrapping would break names at their hyphens.
        .with_wrap_lines(false)
        .with_context_lines(CONTEXT_LINES);
    let mut out = String::new();
    for (index, one) in wrong.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let mut diagnostic = MietteDiagnostic::new(match one.span {
            Some(_) => one.message.clone(),
            // Without a place there is no snippet to carry the name of the file.
            None => format!("{name}: {}", one.message),
        });
        if let Some(help) = &one.help {
            diagnostic = diagnostic.with_help(help);
        }
        if let Some(span) = &one.span {
            diagnostic = diagnostic.with_label(LabeledSpan::underline(within(span, text)));
        }
        let report = Report::new(diagnostic).with_source_code(NamedSource::new(name, text.to_owned()));
        // Writing into a string does not fail.
        let _ = handler.render_report(&mut out, report.as_ref());
    }
    out
}

/// Everything that is wrong in several texts, as one failure.
pub(crate) fn failure(sources: &[SourceProblems]) -> Failure {
    let reports: Vec<String> =
        sources.iter().map(|source| render(&source.name, &source.text, &source.problems)).collect();
    let problems =
        sources.iter().flat_map(|source| source.problems.iter().map(move |problem| record(source, problem)));
    Failure::report(reports.join("\n")).problems(problems.collect())
}

fn record(source: &SourceProblems, problem: &Problem) -> ProblemRecord {
    let place = source.line_column(problem);
    ProblemRecord {
        file: source.name.clone(),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        message: problem.message.clone(),
        help: problem.help.clone(),
    }
}

/// `span`, made to fit `text` and to hold at least one byte where there is one.
fn within(span: &Range<usize>, text: &str) -> Range<usize> {
    let start = span.start.min(text.len());
    let end = span.end.clamp(start, text.len());
    start..end.max((start + 1).min(text.len()))
}

/// A file that cannot be read.
pub(crate) fn unreadable(what: &str, path: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot read {what} `{path}`: {error}"))
}

/// Lines shown above and below what is wrong.
const CONTEXT_LINES: usize = 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(span: Option<Range<usize>>) -> String {
        let wrong = Problem::new("unknown key `durations`").help("did you mean `duration`?");
        let wrong = Problem { span, ..wrong };
        render_with("my.toml", "seeds = \"1\"\ndurations = \"5 s\"\n", &[wrong], GraphicalTheme::none())
    }

    #[test]
    fn a_report_has_file_line_place_and_suggestion() {
        let text = rendered(Some(12..21));
        assert!(text.contains("unknown key `durations`"), "{text}");
        assert!(text.contains("my.toml:2:1"), "{text}");
        assert!(text.contains("^^^^"), "{text}");
        assert!(text.contains("did you mean `duration`?"), "{text}");
    }

    #[test]
    fn without_a_place_the_file_is_still_named() {
        assert!(rendered(None).contains("my.toml: unknown key"), "{}", rendered(None));
    }

    #[test]
    fn spans_that_do_not_fit_are_made_to() {
        assert_eq!(within(&(0..0), "ab"), 0..1);
        assert_eq!(within(&(5..9), "ab"), 2..2);
        assert_eq!(within(&(1..9), "ab"), 1..2);
        rendered(Some(500..600));
    }
}
