//! Reading and writing the small files of a deployment: PEM, and tokens.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::error::RealError;

/// The text of a small file.
///
/// # Errors
///
/// If it cannot be read, is no text, or is over a megabyte.
pub fn read_text(path: &Path) -> Result<String, RealError> {
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text));
    read.map_err(|error| failed("read", path, &error))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(failed("read", path, &"it is over a megabyte"));
    }
    Ok(text)
}

/// Writes a file that must not be there yet, wholly or not at all; `secret` files can be read by their owner alone.
///
/// # Errors
///
/// If it is there, or cannot be written.
pub fn write_new(path: &Path, text: &str, secret: bool) -> Result<(), RealError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(format!(".{}.tmp", std::process::id()));
    let mode = if secret { 0o600 } else { 0o644 };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        // Unlike a rename, a link does not replace what is there.
        .and_then(|()| fs::hard_link(&unfinished, path));
    let _ = fs::remove_file(&unfinished);
    written.map_err(|error| failed("write", path, &error))
}

/// Whether users other than its owner and its group can read the file. False where that cannot be found out.
pub fn others_can_read(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|data| data.permissions().mode() & 0o004 != 0)
}

pub(super) fn certificates(path: &Path, text: &str) -> Result<Vec<CertificateDer<'static>>, RealError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    match found {
        Ok(found) if found.is_empty() => Err(failed("read", path, &"there is no certificate in it")),
        Ok(found) => Ok(found),
        Err(error) => Err(failed("read", path, &error)),
    }
}

pub(super) fn private_key(path: &Path, text: &str) -> Result<PrivateKeyDer<'static>, RealError> {
    PrivateKeyDer::from_pem_slice(text.as_bytes())
        .map_err(|error| failed("read a private key from", path, &error))
}

pub(super) fn failed(action: &'static str, path: &Path, reason: &dyn std::fmt::Display) -> RealError {
    RealError::File { action, path: path.to_owned(), reason: reason.to_string() }
}

const FILE_BYTES_MAX: u64 = 1 << 20;
