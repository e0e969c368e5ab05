//! All that is wrong with a scenario, where it stands.

use std::fmt;

use netmodel::document::{self, Problem};

/// Everything that is wrong with a scenario, its profile files or the overrides given for it.
///
/// Each problem has its place in the text of its source, so that whoever shows it can show the
/// line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioErrors {
    /// Whether something is wrong, or just nothing left to run.
    pub kind: ErrorKind,
    /// The sources that have problems: the scenario, then the others in the order they were met.
    pub sources: Vec<SourceProblems>,
}

/// What kind of failure it is; they have different exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Something is wrong.
    Invalid,
    /// Nothing is wrong, but the selection leaves no cell.
    NothingSelected,
}

/// The problems of one text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceProblems {
    /// A file's name, or the argument the text was given to.
    pub name: String,
    /// The text that the spans of the problems are in.
    pub text: String,
    /// At least one.
    pub problems: Vec<Problem>,
}

impl SourceProblems {
    /// Line and column, from 1, of the start of a problem of this source.
    pub fn line_column(&self, problem: &Problem) -> Option<(usize, usize)> {
        let before = self.text.get(..problem.span.as_ref()?.start)?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        Some((line, column))
    }
}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.sources.iter().flat_map(|source| source.problems.iter().map(move |p| (source, p)));
        for (index, (source, problem)) in lines.enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            f.write_str(&source.name)?;
            if let Some((line, column)) = source.line_column(problem) {
                write!(f, ":{line}:{column}")?;
            }
            write!(f, ": {}", problem.message)?;
            if let Some(help) = &problem.help {
                write!(f, " ({help})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioErrors {}

/// Problems as they are found, sorted into their sources.
#[derive(Debug)]
pub(super) struct Findings {
    sources: Vec<SourceProblems>,
}

impl Findings {
    pub(super) fn new(name: &str, text: &str) -> Self {
        let main = SourceProblems { name: name.to_owned(), text: text.to_owned(), problems: Vec::new() };
        Self { sources: vec![main] }
    }

    /// A problem of the scenario itself.
    pub(super) fn push(&mut self, problem: Problem) {
        self.sources[0].problems.push(problem);
    }

    pub(super) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        self.sources[0].problems.extend(problems);
    }

    /// Problems of another text.
    pub(super) fn other(&mut self, name: &str, text: &str, problems: Vec<Problem>) {
        // The first is the scenario, which another text may be called like.
        if !self.sources[1..].iter().any(|source| source.name == name && source.text == text) {
            self.sources.push(SourceProblems { name: name.to_owned(), text: text.to_owned(), problems });
        }
    }

    /// Nothing if nothing was found; else all of it, in the order of the text, cut short where it is
    /// very much.
    pub(super) fn into_result(self) -> Result<(), ScenarioErrors> {
        let mut sources = self.sources;
        sources.retain(|source| !source.problems.is_empty());
        for source in &mut sources {
            source.problems.sort_by_key(|p| p.span.as_ref().map_or(usize::MAX, |span| span.start));
            source.problems = document::capped(std::mem::take(&mut source.problems));
        }
        if sources.is_empty() { Ok(()) } else { Err(ScenarioErrors { kind: ErrorKind::Invalid, sources }) }
    }
}
