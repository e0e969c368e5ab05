//! What clap says in place of a command being run: help and version, or what is wrong with the command line.
//!
//! Where JSON was asked for, that too is one object on stdout.

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;
use crate::records;

/// Says what clap has to say.
pub(crate) fn end(error: &clap::Error) -> Exit {
    let text = error.render().to_string();
    if error.use_stderr() {
        // Nobody is left to tell if that fails.
        let _ = error.print();
        if failure::json_wanted() {
            failure::print_json(&failure_of(&text));
        }
        return Exit::Usage;
    }
    // Help and version are data.
    if failure::json_wanted() {
        let _ = records::help(&text).and_then(|line| output::data(&line));
    } else {
        let _ = error.print();
    }
    Exit::Ok
}

/// A failure of clap's words: the first paragraph is what is wrong, the others are what to try.
fn failure_of(text: &str) -> Failure {
    let (wrong, rest) = text.trim().split_once("\n\n").unwrap_or((text.trim(), ""));
    let in_a_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let failure = Failure::usage(in_a_line(wrong.strip_prefix("error: ").unwrap_or(wrong)));
    let help: Vec<String> = rest.split("\n\n").map(in_a_line).filter(|line| !line.is_empty()).collect();
    if help.is_empty() { failure } else { failure.help(help.join("\n")) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::Cli;

    fn refused(words: &[&str]) -> Failure {
        let error = Cli::try_parse_from([&["arcbench"], words].concat()).unwrap_err();
        failure_of(&error.render().to_string())
    }

    #[test]
    fn what_is_wrong_and_what_to_try_are_told_apart() {
        for (words, message, help) in [
            (&["chek"][..], "unrecognized subcommand 'chek'", "'check'"),
            (&["run", "--sed", "1"], "unexpected argument '--sed' found", "'--seeds'"),
            (&["run", "--seeds"], "a value is required for '--seeds <SEEDS>'", "try '--help'"),
            (&["run", "--jobs", "no"], "invalid value 'no' for '--jobs <N>'", "try '--help'"),
            (&["run", "--format", "xml"], "invalid value 'xml' for '--format <FORMAT>' [possible", "--help"),
            (&["show"], "the following required arguments were not provided: <CELL>", "Usage: arcbench show"),
            (&["show", "a", "--around", "1s"], "the following required arguments were not", "--at"),
        ] {
            let failure = refused(words);
            assert!(failure.message.starts_with(message), "{words:?}: {failure:?}");
            assert!(failure.help.as_ref().is_some_and(|text| text.contains(help)), "{words:?}: {failure:?}");
        }
    }
}
