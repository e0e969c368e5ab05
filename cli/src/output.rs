//! stdout for data, stderr for everything else.
//!
//! Both go through `anstream`, which drops colours where they are not wanted (`NO_COLOR`, files,
//! pipes). A reader that has gone away, as `head` does, ends the output quietly.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Failure;

/// Whether anything went to stdout.
static WRITTEN: AtomicBool = AtomicBool::new(false);

/// Whether a result went to stdout, after which there is no room for another.
pub(crate) fn is_written() -> bool {
    WRITTEN.load(Ordering::Relaxed)
}

/// Writes `text` to stdout, with a line end if it has none.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    WRITTEN.store(true, Ordering::Relaxed);
    let mut out = anstream::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end.as_bytes()))
        .and_then(|()| out.flush());
    tolerate_closed_pipe(written)
}

/// Writes `text` and a line end to stderr. There is nobody to tell if that fails.
pub(crate) fn note(text: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{text}");
}

/// How many columns the terminal behind stdout has; 80 where there is none.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    match size {
        Ok(size) if size.ws_col >= COLUMNS_MIN => usize::from(size.ws_col),
        _ => COLUMNS,
    }
}

/// `argument` as a shell reads it back.
pub(crate) fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@%+".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

fn tolerate_closed_pipe(written: io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::unexpected(format!("writing to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Columns where there is no terminal, so that output in files and logs is the same everywhere.
const COLUMNS: usize = 80;
/// A terminal that claims to be narrower than this is not believed.
const COLUMNS_MIN: u16 = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_survives_a_shell() {
        assert_eq!(quoted("--seeds=1..3"), "--seeds=1..3");
        assert_eq!(quoted("10 s"), "'10 s'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
        assert_eq!(quoted("skip.threshold=\"3 %\""), "'skip.threshold=\"3 %\"'");
    }

    #[test]
    fn a_closed_pipe_is_not_a_failure_and_a_full_disk_is() {
        assert!(tolerate_closed_pipe(Err(io::ErrorKind::BrokenPipe.into())).is_ok());
        assert!(tolerate_closed_pipe(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
