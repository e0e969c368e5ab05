//! Why a command stopped, and what its reader can do about it.

use crate::exit::Exit;
use crate::output;
use crate::records::{self, ErrorRecord, ProblemRecord};

/// What ends a command early: the exit code, what is wrong, and what to try.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) exit: Exit,
    /// What is wrong. Starts in lower case unless it is a rendered report.
    pub(crate) message: String,
    /// What to try, if there is something.
    pub(crate) help: Option<String>,
    /// Whether `message` is a whole report that needs no `error:` before it.
    pub(crate) rendered: bool,
    /// What is wrong in files, one by one, where it is that.
    pub(crate) problems: Vec<ProblemRecord>,
}

impl Failure {
    /// The command line, or what it names, is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), help: None, rendered: false, problems: Vec::new() }
    }

    /// Something that should not happen.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Unexpected,
            message: message.into(),
            help: None,
            rendered: false,
            problems: Vec::new(),
        }
    }

    /// The matrix is empty.
    pub(crate) fn nothing_selected(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::NothingSelected,
            message: message.into(),
            help: None,
            rendered: false,
            problems: Vec::new(),
        }
    }

    /// Stopped by a signal; what became of it is said after that.
    pub(crate) fn interrupted(what: &str) -> Self {
        let message = format!("interrupted: {what}");
        Self { exit: Exit::Interrupted, rendered: true, ..Self::unexpected(message) }
    }

    /// Wrong input, already rendered as a report with file, line and caret.
    pub(crate) fn report(text: String) -> Self {
        Self { exit: Exit::Usage, message: text, help: None, rendered: true, problems: Vec::new() }
    }

    /// The same, with each thing that is wrong by itself.
    pub(crate) fn problems(mut self, problems: Vec<ProblemRecord>) -> Self {
        self.problems = problems;
        self
    }

    /// The same, with something to try.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// What goes to stderr.
    pub(crate) fn text(&self) -> String {
        let head = if self.rendered {
            self.message.trim_end().to_owned()
        } else {
            format!("error: {}", self.message)
        };
        match &self.help {
            Some(help) => format!("{head}\n  help: {help}"),
            None => head,
        }
    }
}

/// Whether the command line asks for JSON, by which a failure is to be told too. It is asked of the words
/// themselves, since what is wrong may be the command line.
pub(crate) fn json_wanted() -> bool {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    // What is behind `--` is no flag.
    let words = words.split(|word| word == "--").next().unwrap_or_default();
    words.iter().any(|word| word == "--format=json")
        || words.windows(2).any(|pair| pair == ["--format", "json"])
}

/// Prints `failure` as the one object on stdout, in place of the result that there is not. Where there is one, that stays the
/// only one, and the exit code says that something is wrong.
pub(crate) fn print_json(failure: &Failure) {
    if output::is_written() {
        return;
    }
    let record = ErrorRecord {
        schema: "arcbench.error",
        version: records::VERSION,
        exit_code: failure.exit as u8,
        message: failure.message.trim_end().to_owned(),
        help: failure.help.clone(),
        problems: failure.problems.clone(),
    };
    // It is on stderr in words; nobody is left to tell if this fails.
    let _ = records::line(&record).and_then(|line| output::data(&line));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_problem_then_the_help() {
        let failure = Failure::usage("`x` is not a metric").help("did you mean `y`?");
        assert_eq!(failure.text(), "error: `x` is not a metric\n  help: did you mean `y`?");
        assert_eq!(failure.exit, Exit::Usage);
    }

    #[test]
    fn a_rendered_report_is_not_prefixed() {
        assert_eq!(Failure::report("x wrong\n".into()).text(), "x wrong");
    }
}
