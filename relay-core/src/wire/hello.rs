//! How an end joins a session: a fixed-size hello on a stream, and the relay's answer.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::Reader;
use super::{Malformed, WIRE_VERSION};
use crate::access::TOKEN_BYTES_MAX;
use crate::event::Role;

/// Bytes of a hello without a token.
pub(crate) const HELLO_BYTES: usize = 16;
/// Bytes of the answer.
pub(crate) const WELCOME_BYTES: usize = 8;

/// The application's code on a connection that is closed because the closing side stops or has what it wanted.
pub(crate) const CLOSE_GOING: u32 = 0;
/// The code on a connection that is in no session: it was refused, or never asked.
pub(crate) const CLOSE_NOT_JOINED: u32 = 1;

const MAGIC: u32 = u32::from_be_bytes(*b"arcb");

/// What an end says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) role: Role,
    pub(crate) session: u64,
    /// The secret of the session and role; empty when there is none.
    pub(crate) token: Bytes,
}

impl Hello {
    pub(crate) fn encode(&self) -> Bytes {
        debug_assert!(self.token.len() <= TOKEN_BYTES_MAX);
        let mut out = BytesMut::with_capacity(HELLO_BYTES + self.token.len());
        out.put_u32(MAGIC);
        out.put_u8(WIRE_VERSION);
        out.put_u8(match self.role {
            Role::Robot => 1,
            Role::Operator => 2,
        });
        out.put_u16(self.token.len() as u16);
        out.put_u64(self.session);
        out.extend_from_slice(&self.token);
        out.freeze()
    }

    /// How many bytes the hello has that begins with `start`, as far as that is known.
    pub(crate) fn length(start: &[u8]) -> Result<Option<usize>, Malformed> {
        let Some(token) = start.get(6..8) else { return Ok(None) };
        let token = usize::from(u16::from_be_bytes([token[0], token[1]]));
        if token > TOKEN_BYTES_MAX { Err(Malformed::Field) } else { Ok(Some(HELLO_BYTES + token)) }
    }

    pub(crate) fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u32()? != MAGIC {
            return Err(Malformed::Type);
        }
        if reader.u8()? != WIRE_VERSION {
            return Err(Malformed::Version);
        }
        let role = match reader.u8()? {
            1 => Role::Robot,
            2 => Role::Operator,
            _ => return Err(Malformed::Field),
        };
        let token_bytes = usize::from(reader.u16()?);
        let session = reader.u64()?;
        let token = reader.rest();
        let fits = token.len() == token_bytes && token_bytes <= TOKEN_BYTES_MAX;
        if fits { Ok(Self { role, session, token }) } else { Err(Malformed::Field) }
    }
}

/// The relay's verdict on a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WelcomeStatus {
    /// The end is in the session.
    Joined,
    /// Another end holds this role in this session, or the relay has no room.
    Refused,
}

/// The relay's answer to a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Welcome {
    pub(crate) status: WelcomeStatus,
}

impl Welcome {
    pub(crate) fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(WELCOME_BYTES);
        out.put_u32(MAGIC);
        out.put_u8(WIRE_VERSION);
        out.put_u8(match self.status {
            WelcomeStatus::Joined => 0,
            WelcomeStatus::Refused => 1,
        });
        out.put_u16(0);
        out.freeze()
    }

    pub(crate) fn decode(bytes: Bytes) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u32()? != MAGIC {
            return Err(Malformed::Type);
        }
        if reader.u8()? != WIRE_VERSION {
            return Err(Malformed::Version);
        }
        let status = match reader.u8()? {
            0 => WelcomeStatus::Joined,
            1 => WelcomeStatus::Refused,
            _ => return Err(Malformed::Field),
        };
        reader.u16()?;
        if reader.is_empty() { Ok(Self { status }) } else { Err(Malformed::Field) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hello_and_welcome_survive_the_wire() {
        for role in [Role::Robot, Role::Operator] {
            for token in [&[][..], &[3; 16], &[4; TOKEN_BYTES_MAX]] {
                let hello = Hello { role, session: 0x0123_4567_89ab_cdef, token: Bytes::from(token) };
                let bytes = hello.encode();
                assert_eq!(bytes.len(), HELLO_BYTES + token.len());
                assert_eq!(Hello::length(&bytes), Ok(Some(bytes.len())));
                assert_eq!(Hello::decode(bytes.slice(..bytes.len() - 1)).ok(), None, "cut short");
                assert_eq!(Hello::decode(bytes), Ok(hello));
            }
        }
        for status in [WelcomeStatus::Joined, WelcomeStatus::Refused] {
            let welcome = Welcome { status };
            assert_eq!(welcome.encode().len(), WELCOME_BYTES);
            assert_eq!(Welcome::decode(welcome.encode()), Ok(welcome));
        }
    }

    #[test]
    fn a_token_over_the_limit_is_malformed_before_it_is_read() {
        let hello = Hello { role: Role::Robot, session: 1, token: Bytes::from_static(&[1; 16]) };
        let mut bytes = BytesMut::from(&hello.encode()[..]);
        (bytes[6], bytes[7]) = (0, 65);
        assert_eq!(Hello::length(&bytes[..5]), Ok(None));
        assert_eq!(Hello::length(&bytes), Err(Malformed::Field));
        assert_eq!(Hello::decode(bytes.freeze()), Err(Malformed::Field));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes: Vec<u8>) {
            let _ = Hello::decode(Bytes::from(bytes.clone()));
            let _ = Welcome::decode(Bytes::from(bytes));
        }
    }
}
