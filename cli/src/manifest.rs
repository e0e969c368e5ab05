//! The run folder of a run: opened or begun, with who ran it written down, and never mixed with
//! results of another build.

use std::fs;
use std::path::Path;

use bench::{Cell, Manifest, RunFolder, RunFolderError, Scenario};

use crate::args::Run;
use crate::failure::Failure;
use crate::host::{Build, Host};
use crate::input::Loaded;
use crate::meter;

/// Opens the run at `out`, or begins one there. With `--fresh` its cells are discarded.
pub(crate) fn open(
    out: &Path,
    loaded: &Loaded,
    arguments: &Run,
    fingerprint: &str,
) -> Result<RunFolder, Failure> {
    let manifest = manifest(&loaded.scenario, arguments, fingerprint);
    let open = || RunFolder::open_or_create(out, &loaded.scenario, &manifest).map_err(|e| refused(&e));
    let folder = open()?;
    if !folder.resumed() {
        return Ok(folder);
    }
    if arguments.fresh {
        discard(&folder, &loaded.cells)?;
        return open();
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
        Some(_) => {
            discard(&folder, &loaded.cells)?;
            open()
        }
        None => Ok(folder),
    }
}

/// What makes cells of two runs incomparable, if anything.
fn other_origin(old: &Manifest, new: &Manifest) -> Option<&'static str> {
    let differs = |key| old.versions.get(key) != new.versions.get(key);
    if differs(BUILD) {
        Some("build of arcbench")
    } else if differs(CRYPTO) {
        Some("--crypto")
    } else {
        None
    }
}

/// Forgets the cells of this run and its manifest; anything else in the folder stays.
fn discard(folder: &RunFolder, cells: &[Cell]) -> Result<(), Failure> {
    let gone = |result: std::io::Result<()>, path: &Path| match result {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::usage(format!("cannot discard `{}`: {error}", path.display())))
        }
        _ => Ok(()),
    };
    // The summaries go first: what is half gone must not be taken for done.
    for name in ["summary.json", ""] {
        for cell in cells {
            let path = folder.cell_path(cell).join(name);
            let result = if name.is_empty() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            gone(result, &path)?;
        }
    }
    for name in ["manifest.json", "scenario.resolved.toml"] {
        let path = folder.path().join(name);
        gone(fs::remove_file(&path), &path)?;
    }
    Ok(())
}

fn refused(error: &RunFolderError) -> Failure {
    Failure::usage(format!("failed to {error}")).help("give another folder with --out; no cell was run")
}

fn manifest(scenario: &Scenario, arguments: &Run, fingerprint: &str) -> Manifest {
    let build = Build::this();
    let versions = [
        ("arcbench", build.version),
        ("rustc", build.rustc),
        ("profile", build.profile),
        (BUILD, fingerprint),
        (CRYPTO, arguments.crypto.name()),
    ];
    Manifest {
        format: 1,
        versions: versions.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        commit: build.commit.map(str::to_owned),
        host: Host::look().facts(),
        base_seed: scenario.base_seed().to_string(),
        created: meter::utc_now(),
    }
}

/// Under which name the manifest keeps the hash of the program.
const BUILD: &str = "build";
/// Under which name the manifest keeps what protected the packets.
const CRYPTO: &str = "crypto";

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
