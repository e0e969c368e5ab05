//! Files of session tokens: the secret at an end, and hashes at the relay.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use bench::relay_core::{Access, Role, Token, TokenHash};

use super::app::name;
use crate::error::RealError;
use crate::tls::{random, read_text};

/// A new token: 64 hexadecimal digits, of 256 random bits.
///
/// # Errors
///
/// If the system has no randomness.
pub fn new_token() -> Result<String, RealError> {
    let mut text = String::new();
    for byte in random()? {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// Reads an end's token: the file's text without white space around it.
///
/// # Errors
///
/// If the file cannot be read, or its text is shorter than 16 bytes or longer than 64.
pub fn read_token(path: &Path) -> Result<Token, RealError> {
    let text = read_text(path)?;
    Token::new(text.trim().to_owned()).map_err(|error| failed(path, &error.to_string()))
}

/// Reads a relay's list: a line for each session and role, `SESSION robot|operator HASH`. Empty lines and what follows a `#`
/// are passed over.
///
/// # Errors
///
/// If the file cannot be read, or a line is wrong; the first one is named.
pub fn read_access(path: &Path) -> Result<Access, RealError> {
    let mut tokens = BTreeMap::new();
    for (number, line) in read_text(path)?.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |what: &str| failed(path, &format!("line {}: {what}", number + 1));
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [session, role, hash] = *words.as_slice() else {
            return Err(wrong("it is not `SESSION robot|operator HASH`"));
        };
        let session = session.parse().map_err(|_| wrong("the session is not a number"))?;
        let role = match role {
            "robot" => Role::Robot,
            "operator" => Role::Operator,
            _ => return Err(wrong("the role is neither `robot` nor `operator`")),
        };
        let hash = TokenHash::from_hex(hash).ok_or_else(|| wrong("the hash is not 64 hexadecimal digits"))?;
        if tokens.insert((session, role), hash).is_some() {
            return Err(wrong("the session and role have a token already"));
        }
        if tokens.len() > TOKENS_MAX {
            return Err(wrong("there are more tokens than a relay takes"));
        }
    }
    if tokens.is_empty() {
        return Err(failed(path, "there are none in it, so that nobody could join"));
    }
    Ok(Access::Tokens(tokens))
}

/// The line of a relay's list for a token.
pub fn token_line(session: u64, role: Role, token: &Token) -> String {
    format!("{session} {} {}\n", name(role), token.hash().to_hex())
}

fn failed(path: &Path, reason: &str) -> RealError {
    RealError::File { action: "read tokens from", path: path.to_owned(), reason: reason.to_owned() }
}

/// Tokens that a relay takes.
const TOKENS_MAX: usize = 65_536;
