//! The run folder of a run: opened or begun, with who ran it written down, and never mixed with
//! results of another build.

use std::path::Path;

use bench::{Manifest, RunFolder, RunFolderError, Scenario};

use crate::args::{Run, RunMode};
use crate::failure::Failure;
use crate::host::{Build, Host};
use crate::input::Loaded;
use crate::{meter, place};

/// Opens the run at `out`, or begins one there. With `--fresh` its cells are discarded.
pub(crate) fn open(
    out: &Path,
    loaded: &Loaded,
    arguments: &Run,
    fingerprint: &str,
) -> Result<RunFolder, Failure> {
    let manifest = manifest(&loaded.scenario, arguments, fingerprint);
    let open = |fresh: bool| {
        let begin = if fresh { RunFolder::open_fresh } else { RunFolder::open_or_create };
        let absent = place::absent(out, &[CELLS, MANIFEST, SCENARIO, LOCK]);
        begin(out, &loaded.scenario, &manifest).map_err(|error| {
            // A disk that is full or the like: the folder is left as it was found. After any other
            // error nothing was made, and what there is may be another process's.
            if matches!(error, RunFolderError::Io { .. }) {
                place::remove(&absent);
            }
            refused(out, &error)
        })
    };
    let folder = open(arguments.fresh)?;
    if !folder.resumed() {
        return Ok(folder);
    }
    let anything_done = || loaded.cells.iter().any(|cell| folder.done(cell).is_some());
    match folder.manifest().as_ref().and_then(|old| other_origin(old, &manifest)) {
        Some(what) if anything_done() => Err(Failure::usage(format!(
            "`{}` holds cells that were run with another {what}; mixing them would compare what cannot be \
             compared",
            out.display()
        ))
        .help("give another folder with --out, or run them again with --fresh")),
        // Nothing is lost by beginning anew, and the manifest then tells the truth.
        Some(_) => open(true),
        None => Ok(folder),
    }
}

/// What makes cells of two runs incomparable, if anything.
fn other_origin(old: &Manifest, new: &Manifest) -> Option<&'static str> {
    let differs = |key| old.versions.get(key) != new.versions.get(key);
    if differs(BUILD) {
        Some("build of arcbench")
    } else if differs(BACKEND) {
        // Before the other, since real cells always have TLS.
        Some("--mode or --backend")
    } else if differs(CRYPTO) {
        Some("--crypto")
    } else {
        None
    }
}

fn refused(out: &Path, error: &RunFolderError) -> Failure {
    let message = match error {
        // The permission bits were looked at before: it is the file system that has no room for one.
        RunFolderError::Io { action: "create", source, .. } => format!(
            "cannot make the run folder `{}`: `{}` takes no new folder ({source})",
            out.display(),
            place::existing(out).display()
        ),
        error => format!("failed to {error}"),
    };
    Failure::usage(message).help("give another folder with --out; no cell was run")
}

fn manifest(scenario: &Scenario, arguments: &Run, fingerprint: &str) -> Manifest {
    let build = Build::this();
    let mut versions = vec![
        ("arcbench", build.version),
        ("rustc", build.rustc),
        ("profile", build.profile),
        (BUILD, fingerprint),
        (CRYPTO, arguments.crypto().name()),
    ];
    if arguments.mode == RunMode::Real {
        versions.push((BACKEND, arguments.backend.name()));
    }
    Manifest {
        format: Manifest::FORMAT,
        versions: versions.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        commit: build.commit.map(str::to_owned),
        host: Host::look().facts(),
        base_seed: scenario.base_seed().to_string(),
        created: meter::utc_now(),
        metrics: bench::metrics::VERSION,
    }
}

/// What a run folder has of its own, besides what is in its cells.
const CELLS: &str = "cells";
const MANIFEST: &str = "manifest.json";
const SCENARIO: &str = "scenario.resolved.toml";
const LOCK: &str = "lock";
/// Under which name the manifest keeps the hash of the program.
const BUILD: &str = "build";
/// Under which name the manifest keeps what protected the packets.
const CRYPTO: &str = "crypto";
/// Under which name it keeps what carried the packets of real cells.
const BACKEND: &str = "backend";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn another_build_or_crypto_is_another_origin() {
        let of = |build: &str, crypto: &str| Manifest {
            versions: BTreeMap::from([
                (BUILD.to_owned(), build.to_owned()),
                (CRYPTO.to_owned(), crypto.to_owned()),
            ]),
            ..Manifest::default()
        };
        assert_eq!(other_origin(&of("a", "null"), &of("a", "null")), None);
        assert_eq!(other_origin(&of("a", "null"), &of("b", "null")), Some("build of arcbench"));
        assert_eq!(other_origin(&of("a", "null"), &of("a", "tls")), Some("--crypto"));
        assert_eq!(other_origin(&Manifest::default(), &of("a", "null")), Some("build of arcbench"));
    }
}
