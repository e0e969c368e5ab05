//! How an end joins a session: a fixed-size hello on a stream, and the relay's answer.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::Reader;
use super::{Malformed, WIRE_VERSION};
use crate::event::Role;

/// Bytes of a hello.
pub(crate) const HELLO_BYTES: usize = 16;
/// Bytes of the answer.
pub(crate) const WELCOME_BYTES: usize = 8;

const MAGIC: u32 = u32::from_be_bytes(*b"arcb");

/// What an end says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) role: Role,
    pub(crate) session: u64,
}

impl Hello {
    pub(crate) fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(HELLO_BYTES);
        out.put_u32(MAGIC);
        out.put_u8(WIRE_VERSION);
        out.put_u8(match self.role {
            Role::Robot => 1,
            Role::Operator => 2,
        });
        out.put_u16(0);
        out.put_u64(self.session);
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
        let role = match reader.u8()? {
            1 => Role::Robot,
            2 => Role::Operator,
            _ => return Err(Malformed::Field),
        };
        reader.u16()?;
        let session = reader.u64()?;
        if reader.is_empty() { Ok(Self { role, session }) } else { Err(Malformed::Field) }
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
            let hello = Hello { role, session: 0x0123_4567_89ab_cdef };
            assert_eq!(hello.encode().len(), HELLO_BYTES);
            assert_eq!(Hello::decode(hello.encode()), Ok(hello));
        }
        for status in [WelcomeStatus::Joined, WelcomeStatus::Refused] {
            let welcome = Welcome { status };
            assert_eq!(welcome.encode().len(), WELCOME_BYTES);
            assert_eq!(Welcome::decode(welcome.encode()), Ok(welcome));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes: Vec<u8>) {
            let _ = Hello::decode(Bytes::from(bytes.clone()));
            let _ = Welcome::decode(Bytes::from(bytes));
        }
    }
}
