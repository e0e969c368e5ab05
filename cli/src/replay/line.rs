//! The lines that a person pastes to get something again.

use std::path::Path;

use bench::Cell;

use crate::args::{Crypto, Run, RunMode};
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
    if let Some(crypto) = run.crypto {
        flag("--crypto", crypto.name());
    }
    if run.mode == RunMode::Real {
        arguments.extend(["--mode", "real", "--backend", run.backend.name(), "--events"].map(str::to_owned));
        return joined(arguments);
    }
    arguments.extend(["--jobs".to_owned(), "1".to_owned(), "--events".to_owned()]);
    joined(arguments)
}

/// The command that runs one cell of a finished run again, which is a real cell where there is a `backend`.
pub(crate) fn from_folder(
    folder: &Path,
    crypto: &str,
    backend: Option<&str>,
    (profile, settings, seed): (&str, &str, &str),
) -> String {
    if let Some(backend) = backend {
        // Nothing runs a real cell again to the same result; this runs it once more.
        let scenario = folder.join("scenario.resolved.toml").to_string_lossy().into_owned();
        let seed = seed.split_once(".r").map_or(seed, |(seed, _)| seed);
        let of = [("--profiles", profile), ("--settings", settings), ("--seeds", seed), ("--mode", "real")];
        let of = of.into_iter().chain([("--backend", backend)]);
        let of = of.flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()]);
        return joined(["run".to_owned(), scenario].into_iter().chain(of).chain(["--events".to_owned()]));
    }
    let cell = format!("{profile}--{settings}--s{seed}--");
    let mut arguments =
        vec!["replay".to_owned(), cell, "--run".to_owned(), folder.to_string_lossy().into_owned()];
    if crypto != Crypto::Null.name() {
        arguments.extend(["--crypto".to_owned(), crypto.to_owned()]);
    }
    joined(arguments)
}

/// A command of this program with `arguments`, as a shell reads it.
fn joined(arguments: impl IntoIterator<Item = String>) -> String {
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

    #[test]
    fn a_cell_of_a_folder_is_replayed() {
        let line = |crypto| from_folder(Path::new("my runs/x"), crypto, None, ("bad-india", "best", "2"));
        assert_eq!(line("null"), "arcbench replay bad-india--best--s2-- --run 'my runs/x'");
        assert!(line("tls").ends_with(" --crypto tls"), "{}", line("tls"));
        let real = from_folder(Path::new("x"), "tls", Some("netem"), ("bad-india", "best", "2.r3"));
        let expected = "arcbench run x/scenario.resolved.toml --profiles bad-india --settings best --seeds 2 --mode real \
                        --backend netem --events";
        assert_eq!(real, expected);
    }
}
