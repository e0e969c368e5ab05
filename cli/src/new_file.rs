//! Files that a verb writes where it is told to: beside their place under a name of their own, and renamed when
//! all of them are whole. What is not renamed is removed, and so are folders that were made for it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::{interrupt, place};

/// A file on its way.
pub(crate) struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    out: Option<Out>,
    /// The first thing that went wrong.
    error: Option<io::Error>,
}

enum Out {
    Plain(BufWriter<File>),
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl NewFile {
    /// Begins the file that will be at `path`. With a name that ends in `.zst` it is compressed.
    ///
    /// # Errors
    ///
    /// If it cannot be made, or is there and `force` is not set.
    pub(crate) fn create(path: &Path, force: bool) -> Result<Self, Failure> {
        check_free(path, force)?;
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(name);
        interrupt::remove_when_stopped(&temporary);
        let compressed = path.extension().is_some_and(|ending| ending == "zst");
        let out = File::create(&temporary).and_then(|file| {
            let file = BufWriter::with_capacity(BUFFER_BYTES, file);
            Ok(if compressed { Out::Zstd(zstd::Encoder::new(file, LEVEL)?) } else { Out::Plain(file) })
        });
        let out =
            out.map_err(|error| Failure::usage(format!("cannot write `{}`: {error}", path.display())))?;
        Ok(Self { path: path.to_owned(), temporary, out: Some(out), error: None })
    }

    /// Makes what was written safe on disk: how many bytes the file has.
    ///
    /// # Errors
    ///
    /// The first thing that went wrong since it was made.
    pub(crate) fn close(&mut self) -> Result<u64, Failure> {
        let ended = match (self.error.take(), self.out.take()) {
            (Some(error), _) => Err(error),
            (None, Some(out)) => end(out),
            (None, None) => Ok(0),
        };
        ended.map_err(|error| {
            Failure::unexpected(format!("writing `{}`: {error}", self.path.display()))
                .help("nothing was written; the files that were there are as they were")
        })
    }

    /// Gives the file its name. Close it before.
    pub(crate) fn rename(self) -> Result<PathBuf, Failure> {
        fs::rename(&self.temporary, &self.path).map_err(|error| {
            Failure::unexpected(format!("renaming `{}`: {error}", self.temporary.display()))
        })?;
        Ok(self.path.clone())
    }
}

impl Write for NewFile {
    /// Never fails: what goes wrong is told by [`close`](Self::close), and the rest passed over.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.error.is_none() {
            let written = match &mut self.out {
                Some(Out::Plain(out)) => out.write_all(bytes),
                Some(Out::Zstd(out)) => out.write_all(bytes),
                None => Ok(()),
            };
            self.error = written.err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Folders that were made for files. Those in which nothing is are removed again; so keep this for longer than the
/// files on their way into them.
pub(crate) struct NewFolders {
    /// The innermost first.
    made: Vec<PathBuf>,
}

impl NewFolders {
    /// Makes `folder`, and those above it, as far as they are not there.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub(crate) fn create(folder: &Path) -> Result<Self, Failure> {
        let folders = Self { made: place::absent(folder, &[]) };
        // What is told last is removed first: files, then the folder they are in, then those above.
        folders.made.iter().rev().for_each(|folder| interrupt::remove_when_stopped(folder));
        fs::create_dir_all(folder).map_err(|error| {
            Failure::usage(format!("cannot make the folder `{}`: {error}", folder.display()))
        })?;
        Ok(folders)
    }
}

impl Drop for NewFolders {
    fn drop(&mut self) {
        place::remove(&self.made);
    }
}

/// Files that belong together: written into a folder of their own within the one they are for, and given their places
/// all or none.
pub(crate) struct NewSet {
    temporary: PathBuf,
}

impl NewSet {
    /// Begins files for `folder`, which is there.
    ///
    /// # Errors
    ///
    /// If it cannot be written in.
    pub(crate) fn begin(folder: &Path) -> Result<Self, Failure> {
        let temporary = folder.join(format!("files.{}.tmp", std::process::id()));
        interrupt::remove_when_stopped(&temporary);
        fs::create_dir(&temporary)
            .map_err(|error| Failure::usage(format!("cannot write in `{}`: {error}", folder.display())))?;
        Ok(Self { temporary })
    }

    /// Where the files are written meanwhile.
    pub(crate) fn folder(&self) -> &Path {
        &self.temporary
    }

    /// Gives all files their places in `folder`.
    ///
    /// # Errors
    ///
    /// If one of them is there already, or cannot be made; then none of the others is made either.
    pub(crate) fn name(self, folder: &Path) -> Result<(), Failure> {
        let mut named: Vec<PathBuf> = Vec::new();
        for from in entries(&self.temporary) {
            let Some(name) = from.file_name() else { continue };
            let to = folder.join(name);
            // Unlike a rename, a link does not replace what is there.
            if let Err(error) = fs::hard_link(&from, &to) {
                place::remove(&named);
                let shown = to.display();
                return Err(Failure::usage(format!("cannot write `{shown}`: {error}"))
                    .help("give another folder; nothing was written"));
            }
            interrupt::remove_when_stopped(&to);
            named.push(to);
        }
        interrupt::keep_all();
        Ok(())
    }
}

impl Drop for NewSet {
    fn drop(&mut self) {
        place::remove(&entries(&self.temporary));
        place::remove(std::slice::from_ref(&self.temporary));
    }
}

/// What is directly in a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort_unstable();
    paths
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After a rename there is nothing of that name.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Refuses a path at which there is something, unless it may be replaced.
pub(crate) fn check_free(path: &Path, force: bool) -> Result<(), Failure> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => Err(Failure::usage(format!("cannot write `{shown}`: it is a folder"))),
        // Renaming over a device, a pipe or a link would put a file in its place.
        Ok(data) if !data.is_file() => {
            Err(Failure::usage(format!("cannot write `{shown}`: it is no ordinary file"))
                .help("give the name of a file; nothing was written"))
        }
        Ok(_) if !force => Err(Failure::usage(format!("`{shown}` is already there"))
            .help("give another name, or --force to replace it; nothing was written")),
        _ => Ok(()),
    }
}

fn end(out: Out) -> io::Result<u64> {
    let buffer = match out {
        Out::Plain(buffer) => buffer,
        Out::Zstd(encoder) => encoder.finish()?,
    };
    let file = buffer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

const BUFFER_BYTES: usize = 256 * 1024;
/// Fast, and such lines compress tenfold all the same.
const LEVEL: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.tsv");
        let mut dropped = NewFile::create(&path, false).unwrap();
        dropped.write_all(b"half").unwrap();
        drop(dropped);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let mut file = NewFile::create(&path, false).unwrap();
        file.write_all(b"whole").unwrap();
        assert_eq!(file.close().unwrap(), 5);
        assert!(!path.exists());
        file.rename().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert!(NewFile::create(&path, false).is_err_and(|failure| failure.text().contains("--force")));
        assert!(NewFile::create(&path, true).is_ok());
        assert_eq!(fs::read(&path).unwrap(), b"whole", "what was there stays until the new one is whole");
    }

    #[test]
    fn folders_stay_for_what_is_in_them_and_for_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        let folders = NewFolders::create(&inner).unwrap();
        assert!(inner.is_dir());
        drop(folders);
        assert!(!folder.path().join("a").exists());
        let folders = NewFolders::create(&inner).unwrap();
        let mut file = NewFile::create(&inner.join("x"), false).unwrap();
        file.close().unwrap();
        file.rename().unwrap();
        drop(folders);
        drop(NewFolders::create(&inner).unwrap());
        assert!(inner.join("x").is_file());
        fs::write(folder.path().join("file"), "").unwrap();
        assert!(NewFolders::create(&folder.path().join("file/x")).is_err());
    }

    #[test]
    fn a_set_is_there_wholly_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let begun = || {
            let set = NewSet::begin(folder.path()).unwrap();
            for name in ["a", "b", "c"] {
                fs::write(set.folder().join(name), name).unwrap();
            }
            set
        };
        let names = || entries(folder.path()).len();
        drop(begun());
        assert_eq!(names(), 0);
        fs::write(folder.path().join("b"), "mine").unwrap();
        let refused = begun().name(folder.path()).unwrap_err();
        assert!(refused.text().contains("/b`"), "{}", refused.text());
        assert_eq!((names(), fs::read(folder.path().join("b")).unwrap()), (1, b"mine".to_vec()));
        fs::remove_file(folder.path().join("b")).unwrap();
        begun().name(folder.path()).unwrap();
        assert_eq!(names(), 3);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_told_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        assert!(NewFile::create(&folder.path().join("no/such/x"), false).is_err());
        let mut file = NewFile::create(&folder.path().join("x"), false).unwrap();
        file.out = Some(Out::Plain(BufWriter::new(File::create("/dev/full").unwrap())));
        file.write_all(&vec![0; 2 * BUFFER_BYTES]).unwrap();
        assert!(file.close().unwrap_err().text().contains("No space"));
    }
}
