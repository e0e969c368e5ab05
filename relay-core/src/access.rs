//! Who may join which session: secret tokens, of which the relay keeps hashes alone.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;

use crate::event::Role;
use crate::refusal::Refusal;

/// A secret by which an end shows that it may take its role in a session. Draw it at random, 16 bytes or more: its hash is
/// a fast one, which protects nothing that can be guessed.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Bytes);

/// Why some bytes are no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session token has {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} bytes")]
pub struct TokenError;

impl Token {
    /// A token of these bytes.
    ///
    /// # Errors
    ///
    /// If there are fewer than 16 or more than 64.
    pub fn new(bytes: impl Into<Bytes>) -> Result<Self, TokenError> {
        let bytes = bytes.into();
        let fits = (TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&bytes.len());
        if fits { Ok(Self(bytes)) } else { Err(TokenError) }
    }

    /// What a relay keeps of it.
    pub fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }

    pub(crate) fn bytes(&self) -> Bytes {
        self.0.clone()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(secret)")
    }
}

/// The hash of a token (BLAKE3 in its key derivation mode). Comparing takes the same time whatever differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenHash(blake3::Hash);

impl TokenHash {
    fn of(bytes: &[u8]) -> Self {
        Self(blake3::Hash::from_bytes(blake3::derive_key("arcbench session token v1", bytes)))
    }

    /// Reads 64 hexadecimal digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(Self)
    }

    /// 64 hexadecimal digits.
    pub fn to_hex(self) -> String {
        self.0.to_hex().as_str().to_owned()
    }
}

/// Whom a relay lets into which session, of those who got through the cryptographic handshake.
#[derive(Debug, Clone, Default)]
pub enum Access {
    /// Anybody, into any session. For the bench, and where certificates say enough.
    #[default]
    Anybody,
    /// Only who shows the token of its session and role.
    Tokens(BTreeMap<(u64, Role), TokenHash>),
}

impl Access {
    /// Whether an end with `token` (empty: none) may take `role` in `session`, or why not. Unknown sessions take as long as
    /// wrong tokens. Who shows the token of another session or role is told that it is one: it is no stranger.
    pub(crate) fn judge(&self, session: u64, role: Role, token: &[u8]) -> Result<(), Refusal> {
        match self {
            Self::Anybody => Ok(()),
            Self::Tokens(tokens) => {
                let shown = TokenHash::of(token);
                let expected = tokens.get(&(session, role));
                // The comparison is made in any case; a hash of nothing is nobody's.
                let equal = shown == expected.copied().unwrap_or_else(|| TokenHash::of(b"nobody"));
                if equal && expected.is_some() && !token.is_empty() {
                    return Ok(());
                }
                // Over all of them, so that it takes as long whichever it is: less than a handshake costs.
                let others = tokens.values().filter(|hash| **hash == shown).count();
                Err(if others > 0 && !token.is_empty() { Refusal::OtherToken } else { Refusal::Token })
            }
        }
    }
}

const TOKEN_BYTES_MIN: usize = 16;
/// Longest token.
pub(crate) const TOKEN_BYTES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_opens_its_own_session_and_role() {
        let token = Token::new(vec![7; 16]).unwrap();
        let access = Access::Tokens(BTreeMap::from([((1, Role::Robot), token.hash())]));
        assert_eq!(access.judge(1, Role::Robot, &[7; 16]), Ok(()));
        for (session, role, token, why) in [
            (1, Role::Operator, &[7; 16][..], Refusal::OtherToken),
            (2, Role::Robot, &[7; 16], Refusal::OtherToken),
            (1, Role::Robot, &[8; 16], Refusal::Token),
            (1, Role::Robot, &[], Refusal::Token),
            (2, Role::Robot, b"nobody", Refusal::Token),
        ] {
            assert_eq!(access.judge(session, role, token), Err(why), "{session} {role:?} {token:?}");
        }
        assert_eq!(Access::Anybody.judge(9, Role::Robot, &[]), Ok(()));
    }

    #[test]
    fn tokens_are_bounded_and_hashes_read_back() {
        assert_eq!(Token::new(vec![1; 15]), Err(TokenError));
        assert_eq!(Token::new(vec![1; 65]), Err(TokenError));
        let hash = Token::new(vec![1; 64]).unwrap().hash();
        assert_eq!(TokenHash::from_hex(&hash.to_hex()), Some(hash));
        assert_eq!(TokenHash::from_hex("12"), None);
        assert_eq!(format!("{:?}", Token::new(vec![1; 64]).unwrap()), "Token(secret)");
    }
}
