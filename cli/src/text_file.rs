//! Text files that a user names: read only if they are what they should be, and if not, why not.
//!
//! Only regular files are opened: a pipe would be waited for, a device read without end.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use bench::netmodel::document::suggest;

/// Why a file is not read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is not there; perhaps one beside it was meant.
    Missing {
        /// The file that was looked for.
        path: PathBuf,
        /// One of the same folder with nearly that name.
        nearest: Option<PathBuf>,
    },
    /// Its folder is not there.
    MissingFolder(PathBuf),
    /// It is a folder.
    Folder,
    /// It is a pipe, a device or a socket.
    NotRegular,
    /// It is larger than so many bytes.
    TooLarge(u64),
    /// The byte at this place, from 0, is not UTF-8.
    NotUtf8(usize),
    /// The operating system refuses.
    Refused(io::Error),
}

impl Unreadable {
    /// Whether there is nothing of that name.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::MissingFolder(_))
    }

    /// What to try, if there is something.
    pub(crate) fn help(&self) -> Option<String> {
        match self {
            Self::Missing { nearest: Some(near), .. } => {
                Some(format!("did you mean the file `{}`?", near.display()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { path, .. } => write!(f, "there is no file `{}`", path.display()),
            Self::MissingFolder(path) => write!(f, "there is no folder `{}`", path.display()),
            Self::Folder => f.write_str("it is a folder"),
            Self::NotRegular => f.write_str("it is not a regular file"),
            Self::TooLarge(bytes_max) => write!(f, "it is larger than {} MB", bytes_max / 1_000_000),
            Self::NotUtf8(at) => write!(f, "it is not UTF-8 text (byte {at})"),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// The text of the regular file at `path`.
pub(crate) fn read(path: &Path) -> Result<String, Unreadable> {
    read_limited(path, BYTES_MAX)
}

fn read_limited(path: &Path, bytes_max: u64) -> Result<String, Unreadable> {
    let data = fs::metadata(path).map_err(|error| refused(path, error))?;
    if data.is_dir() {
        return Err(Unreadable::Folder);
    }
    if !data.is_file() {
        return Err(Unreadable::NotRegular);
    }
    let file = File::open(path).map_err(|error| refused(path, error))?;
    let mut bytes = Vec::new();
    // What a file says of its length need not be true: those of /proc say 0.
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(Unreadable::Refused)?;
    if bytes.len() as u64 > bytes_max {
        return Err(Unreadable::TooLarge(bytes_max));
    }
    String::from_utf8(bytes).map_err(|error| Unreadable::NotUtf8(error.utf8_error().valid_up_to()))
}

fn refused(path: &Path, error: io::Error) -> Unreadable {
    if error.kind() != ErrorKind::NotFound {
        return Unreadable::Refused(error);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Unreadable::MissingFolder(folder.to_owned()),
        _ => Unreadable::Missing { path: path.to_owned(), nearest: nearest(path, folder) },
    }
}

/// The regular file beside `path` whose name is most like its own, if one is like it.
fn nearest(path: &Path, folder: Option<&Path>) -> Option<PathBuf> {
    let wanted = path.file_name()?.to_str()?;
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let mut names: Vec<String> = entries
        .take(LOOKED_AT_MAX)
        .filter_map(Result::ok)
        .filter(|entry| entry.path().is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    let near = suggest(wanted, names.iter().map(String::as_str))?;
    Some(path.with_file_name(near))
}

/// A larger file is refused. Hours of a Mahimahi trace are a few megabytes.
const BYTES_MAX: u64 = 64_000_000;
/// Names of a folder that are looked at for one that was meant.
const LOOKED_AT_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> String {
        read_limited(path, 10).unwrap_err().to_string()
    }

    #[test]
    fn each_reason_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let whole = file("ten.toml", b"0123456789");
        assert_eq!(read_limited(&whole, 10).unwrap(), "0123456789");
        assert_eq!(reason(&file("eleven.toml", b"0123456789a")), "it is larger than 0 MB");
        assert_eq!(reason(&file("latin.toml", b"ab\xe9")), "it is not UTF-8 text (byte 2)");
        assert_eq!(reason(folder.path()), "it is a folder");
        let below = folder.path().join("no/such.toml");
        assert_eq!(reason(&below), format!("there is no folder `{}`", folder.path().join("no").display()));
        assert!(reason(&whole.join("below")).contains("ot a directory"), "{}", reason(&whole.join("below")));
    }

    #[test]
    fn a_name_that_is_nearly_there_is_suggested() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("scenario.toml"), "").unwrap();
        fs::create_dir(folder.path().join("scenari.toml")).unwrap();
        let missing = read(&folder.path().join("scnario.toml")).unwrap_err();
        assert!(missing.is_missing());
        let near = folder.path().join("scenario.toml");
        assert_eq!(missing.help(), Some(format!("did you mean the file `{}`?", near.display())));
        let other = read(&folder.path().join("elsewhere.txt")).unwrap_err();
        assert_eq!(other.help(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_files_of_unknown_length_end() {
        assert_eq!(reason(Path::new("/dev/zero")), "it is not a regular file");
        assert_eq!(reason(Path::new("/proc/self/maps")), "it is larger than 0 MB");
    }
}
