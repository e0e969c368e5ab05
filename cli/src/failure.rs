//! Why a command stopped, and what its reader can do about it.

use crate::exit::Exit;

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
}

impl Failure {
    /// The command line, or what it names, is wrong.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into(), help: None, rendered: false }
    }

    /// Something that should not happen.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self { exit: Exit::Unexpected, message: message.into(), help: None, rendered: false }
    }

    /// The matrix is empty.
    pub(crate) fn nothing_selected(message: impl Into<String>) -> Self {
        Self { exit: Exit::NothingSelected, message: message.into(), help: None, rendered: false }
    }

    /// Wrong input, already rendered as a report with file, line and caret.
    pub(crate) fn report(text: String) -> Self {
        Self { exit: Exit::Usage, message: text, help: None, rendered: true }
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
