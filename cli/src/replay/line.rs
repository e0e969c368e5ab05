//! The lines that a person pastes to get something again.

use bench::Cell;

use crate::args::{Crypto, Run};
use crate::output::quoted;

/// The command that is running, to go on with: without `--fresh`, which would begin anew.
pub(crate) fn again() -> String {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    joined(arguments.filter(|argument| argument != "--fresh"))
}

/// The command that runs one cell of a run again, alone and with its events.
pub(crate) fn line(run: &Run, cell: &Cell) -> String {
    let selection = &run.selection;
    let mut arguments = vec!["run".to_owned()];
    arguments.extend(selection.scenario.clone());
    let mut flag = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
    flag("--profiles", &cell.profile.name);
    flag("--settings", &cell.settings_name);
    flag("--seeds", &cell.seed.to_string());
    if let Some(duration) = &selection.duration {
        flag("--duration", duration);
    }
    for set in &selection.set {
        flag("--set", set);
    }
    if run.crypto != Crypto::Null {
        flag("--crypto", run.crypto.name());
    }
    arguments.extend(["--jobs".to_owned(), "1".to_owned(), "--events".to_owned()]);
    joined(arguments)
}

/// A command of this program with `arguments`, as a shell reads it.
pub(crate) fn joined(arguments: impl IntoIterator<Item = String>) -> String {
    let mut line = "arcbench".to_owned();
    for argument in arguments {
        line.push(' ');
        line.push_str(&quoted(&argument));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_spaces_is_quoted() {
        let arguments = ["run", "--duration", "10 s"].map(str::to_owned);
        assert_eq!(joined(arguments), "arcbench run --duration '10 s'");
    }
}
