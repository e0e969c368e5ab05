//! A finished cell in a run folder: its summary, and the cell again as it was run.

use std::path::{Path, PathBuf};

use bench::metrics::summary::Mode;
use bench::{Cell, Manifest, RunFolderError, Summary};

use crate::args::{Crypto, Selection};
use crate::failure::Failure;
use crate::host::Build;
use crate::{input, show, text_file};

/// What a run folder keeps of a cell that is looked at again.
pub(crate) struct KeptCell {
    /// The cell, as the run's resolved scenario has it.
    pub(crate) cell: Cell,
    /// Its result.
    pub(crate) summary: Summary,
    /// What protected its packets.
    pub(crate) crypto: Crypto,
    /// Its folder.
    pub(crate) folder: PathBuf,
    manifest: Manifest,
}

impl KeptCell {
    /// The cell that `wanted` means, as [`show::find`] does, of those that can be run again.
    ///
    /// # Errors
    ///
    /// If there is none or several, it was run for real, or the run folder around it does not say how it was run.
    pub(crate) fn find(wanted: &str, run: Option<&Path>) -> Result<Self, Failure> {
        let kept = Self::find_any(wanted, run)?;
        if kept.summary.mode == Mode::Real {
            let message = format!(
                "`{}` was run for real, and nothing runs it again to the same result",
                kept.summary.cell
            );
            return Err(Failure::usage(message)
                .help("`arcbench run --mode real --events` keeps every event of a cell"));
        }
        Ok(kept)
    }

    /// The same, and also a cell that was run for real, which cannot be run again to the same result.
    ///
    /// # Errors
    ///
    /// If there is none or several, or the run folder around it does not say how it was run.
    pub(crate) fn find_any(wanted: &str, run: Option<&Path>) -> Result<Self, Failure> {
        let file = show::find(wanted, run)?;
        let summary = show::summary(&file)?;
        let folder = file.parent().map(Path::to_owned).unwrap_or_default();
        let absolute = std::path::absolute(&folder)
            .map_err(|error| Failure::usage(format!("cannot find `{}`: {error}", folder.display())))?;
        let run = absolute.parent().and_then(Path::parent).unwrap_or(&absolute);
        let scenario = run.join(SCENARIO);
        let selection = Selection { scenario: Some(scenario.display().to_string()), ..Selection::default() };
        let loaded = input::load(&selection).map_err(|failure| {
            failure.help(
                "a cell is run again from the run folder it is in, whose scenario.resolved.toml says how",
            )
        })?;
        let repeat = summary.repeat.max(1);
        let mut cells = loaded.cells.into_iter().map(|cell| Cell { repeat, ..cell });
        let cell = cells.find(|cell| cell.id() == summary.cell).ok_or_else(|| {
            Failure::usage(format!("`{}` has no cell `{}`", scenario.display(), summary.cell))
                .help("the folder may have been moved there from another run")
        })?;
        let manifest = text_file::read(&run.join(MANIFEST))
            .map_err(|reason| Failure::usage(format!("cannot read the run's {MANIFEST}: {reason}")))?;
        let manifest: Manifest = serde_json::from_str(&manifest)
            .map_err(|error| Failure::usage(format!("the run's {MANIFEST} is damaged: {error}")))?;
        let tls = manifest.versions.get("crypto").is_some_and(|name| name == Crypto::Tls.name());
        let crypto = if tls { Crypto::Tls } else { Crypto::Null };
        Ok(Self { cell, summary, crypto, folder, manifest })
    }

    /// What the cell was run with that this process does not have, if anything: name, then and now.
    pub(crate) fn other_versions(&self) -> Vec<(&'static str, String, String)> {
        let build = Build::this();
        let fingerprint = Build::fingerprint().unwrap_or_else(|_| "unknown".to_owned());
        let now = [
            ("arcbench", build.version.to_owned()),
            ("rustc", build.rustc.to_owned()),
            ("profile", build.profile.to_owned()),
            ("build", fingerprint),
        ];
        now.into_iter()
            .filter_map(|(name, now)| {
                let then = self.manifest.versions.get(name).cloned().unwrap_or_else(|| "unknown".to_owned());
                (then != now).then_some((name, then, now))
            })
            .collect()
    }
}

/// What of a cell's folder cannot be read, and what to do about it.
pub(crate) fn unreadable(errors: &[RunFolderError]) -> Failure {
    let errors: Vec<String> = errors.iter().map(|error| format!("failed to {error}")).collect();
    Failure::usage(errors.join("\n  "))
        .help("give the run's command again: it runs a cell anew of which something is missing or damaged")
}

const SCENARIO: &str = "scenario.resolved.toml";
const MANIFEST: &str = "manifest.json";
