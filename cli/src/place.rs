//! Where a run goes: which folder, and whether it can be written, asked before any cell runs.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::args::Crypto;
use crate::failure::Failure;

/// The folder that runs are kept in by default, in the current folder.
pub(crate) const RUNS: &str = "runs";

/// The default run folder: `runs/<scenario>-<hash>`.
///
/// The hash covers everything that decides results: the resolved scenario, what protects the
/// packets, the build, and in real mode the backend. So the same command comes back to the same folder and goes on, and
/// nothing that was measured with other code or other settings is taken for an answer.
pub(crate) fn default_out(
    name: &str,
    resolved: &str,
    crypto: Crypto,
    fingerprint: &str,
    backend: Option<&str>,
) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for part in [resolved, crypto.name(), fingerprint].into_iter().chain(backend) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let hash = hasher.finalize().to_hex();
    Path::new(RUNS).join(format!("{}-{}", file_name(name), &hash[..10]))
}

/// Makes sure that a run folder can be made or gone on with at `out`, without making anything.
pub(crate) fn check_out(out: &Path) -> Result<(), Failure> {
    writable(out).map_err(|reason| {
        Failure::usage(format!("cannot write the run folder `{}`: {reason}", out.display()))
            .help("give another folder with --out; no cell was run")
    })
}

/// Whether `folder` can be written, or made where it does not exist. Says why not.
pub(crate) fn writable(folder: &Path) -> Result<(), String> {
    let mut place = folder;
    loop {
        // An empty path is what remains above a relative one: the current folder.
        let here = if place.as_os_str().is_empty() { Path::new(".") } else { place };
        match fs::metadata(here) {
            Ok(data) if !data.is_dir() => return Err(format!("`{}` is not a folder", here.display())),
            Ok(_) => {
                return access(here, Access::WRITE_OK | Access::EXEC_OK)
                    .map_err(|error| format!("`{}`: {}", here.display(), std::io::Error::from(error)));
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match place.parent() {
                Some(parent) => place = parent,
                None => return Err(error.to_string()),
            },
            Err(error) => return Err(format!("`{}`: {error}", here.display())),
        }
    }
}

/// The nearest folder at or above `folder` that is there.
pub(crate) fn existing(folder: &Path) -> &Path {
    let found = folder.ancestors().find(|place| place.is_dir()).unwrap_or(Path::new(""));
    if found.as_os_str().is_empty() { Path::new(".") } else { found }
}

/// What is not there of `folder`, the folders above it and `names` in it, the innermost first.
pub(crate) fn absent(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    let inner = names.iter().map(|name| folder.join(name));
    let outer = folder.ancestors().filter(|place| !place.as_os_str().is_empty()).map(Path::to_owned);
    let there = |path: &Path| fs::symlink_metadata(path).is_ok();
    inner.chain(outer).filter(|path| !there(path)).collect()
}

/// Removes files and empty folders again, as far as they are there; a folder with something in it
/// stays.
pub(crate) fn remove(paths: &[PathBuf]) {
    for path in paths {
        // What cannot be removed is in nobody's way: the next run takes it for its own.
        let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
    }
}

/// `name` with everything that is awkward in a file name replaced.
fn file_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.chars().map(plain).take(NAME_CHARS_MAX).collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "scenario".to_owned() } else { name.to_owned() }
}

/// A run folder's name is at most this long before its hash.
const NAME_CHARS_MAX: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_folder_changes_with_everything_that_decides_results() {
        let simulated = |name, text, crypto, build| default_out(name, text, crypto, build, None);
        let base = simulated("m", "a = 1", Crypto::Null, "build");
        assert_ne!(base, default_out("m", "a = 1", Crypto::Null, "build", Some("netem")));
        assert_eq!(base, simulated("m", "a = 1", Crypto::Null, "build"));
        assert!(base.to_str().unwrap().starts_with("runs/m-"), "{base:?}");
        assert_ne!(base, simulated("m", "a = 2", Crypto::Null, "build"));
        assert_ne!(base, simulated("m", "a = 1", Crypto::Tls, "build"));
        assert_ne!(base, simulated("m", "a = 1", Crypto::Null, "other build"));
    }

    #[test]
    fn names_stay_in_their_folder() {
        assert_eq!(file_name("../../etc/x y"), "-..-etc-x-y");
        assert_eq!(file_name(".."), "scenario");
        assert_eq!(file_name(""), "scenario");
    }

    #[test]
    fn what_was_made_is_removed_and_what_was_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (old, out) = (folder.path().join("old"), folder.path().join("old/new/newer"));
        fs::create_dir(&old).unwrap();
        assert_eq!(existing(&out), old);
        assert_eq!(existing(Path::new("relative")), Path::new("."));
        let made = absent(&out, &["cells", "manifest.json"]);
        assert_eq!(made.len(), 4, "{made:?}");
        fs::create_dir_all(out.join("cells")).unwrap();
        fs::write(out.join("manifest.json"), "{}").unwrap();
        remove(&made);
        assert!(old.is_dir() && !old.join("new").exists());
        fs::create_dir_all(out.join("cells/kept")).unwrap();
        remove(&made);
        assert!(out.join("cells/kept").is_dir(), "a cell is never removed");
    }

    #[test]
    fn a_file_on_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "x").unwrap();
        for out in [file.clone(), file.join("below"), file.join("far/below")] {
            let reason = writable(&out).unwrap_err();
            assert!(reason.contains("file"), "{reason}");
        }
        assert_eq!(writable(&folder.path().join("new/newer")), Ok(()));
        assert!(!folder.path().join("new").exists(), "asking makes nothing");
    }
}
