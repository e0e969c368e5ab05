//! What can be wrong with a quantity that somebody wrote.

use std::fmt;

/// Why a text is not a quantity of the kind that was asked for.
///
/// The message names the units that are possible and gives an example, since it is shown as it is
/// to the person who wrote the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    message: String,
}

impl ParseError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ParseError {}
