//! How an end joins a session: a fixed-size hello on a stream, and the relay's answer.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::Reader;
use super::{Malformed, WIRE_VERSION};
use crate::access::TOKEN_BYTES_MAX;
use crate::event::Role;
use crate::refusal::Refusal;

/// Bytes of a hello without a token.
pub(crate) const HELLO_BYTES: usize = 16;
/// Bytes of the answer.
pub(crate) const WELCOME_BYTES: usize = 8;

/// The application's code on a connection that is closed because the closing side stops or has what it wanted.
pub(crate) const CLOSE_GOING: u32 = 0;
/// The code on a connection that is in no session: it was refused, or never asked.
pub(crate) const CLOSE_NOT_JOINED: u32 = 1;
/// The code on a connection whose place in its session another end took.
pub(crate) const CLOSE_REPLACED: u32 = 2;

const WELCOME_STATUS_AT: usize = 5;

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

    /// How many bytes the hello has that begins with `start`, as far as that is known. What follows the version is another
    /// version's own.
    pub(crate) fn length(start: &[u8]) -> Result<Option<usize>, Malformed> {
        check_head(start)?;
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

/// Magic and version, which are the same in the hellos and welcomes of every version, as far as they are there.
fn check_head(start: &[u8]) -> Result<(), Malformed> {
    let Some((magic, rest)) = start.split_first_chunk::<4>() else { return Ok(()) };
    if u32::from_be_bytes(*magic) != MAGIC {
        return Err(Malformed::Type);
    }
    if rest.first().is_some_and(|version| *version != WIRE_VERSION) {
        Err(Malformed::Version)
    } else {
        Ok(())
    }
}

/// The relay's verdict on a hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WelcomeStatus {
    /// The end is in the session.
    Joined,
    /// It is not.
    Refused(Refusal),
}

impl WelcomeStatus {
    fn to_byte(self) -> u8 {
        let Self::Refused(why) = self else { return 0 };
        let known = REFUSED.iter().find(|(_, known)| *known == why);
        known.map_or(REFUSED_UNSAID, |(byte, _)| *byte)
    }

    /// A status that this build does not know is a refusal without more.
    fn from_byte(byte: u8) -> Self {
        if byte == 0 {
            return Self::Joined;
        }
        let known = REFUSED.iter().find(|(known, _)| *known == byte);
        Self::Refused(known.map_or(Refusal::Unsaid, |(_, why)| *why))
    }
}

/// The one refusal that there was before there were several.
const REFUSED_UNSAID: u8 = 1;
const REFUSED: [(u8, Refusal); 6] = [
    (2, Refusal::Token),
    (3, Refusal::OtherToken),
    (4, Refusal::RoleTaken),
    (5, Refusal::SessionsFull),
    (6, Refusal::Hello),
    (7, Refusal::Version),
];

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
        out.put_u8(self.status.to_byte());
        out.put_u16(0);
        out.freeze()
    }

    /// Reads what has come of it. `None` while it is not enough.
    pub(crate) fn read(bytes: &[u8]) -> Option<Result<Self, Malformed>> {
        if let Err(error) = check_head(bytes) {
            return Some(Err(error));
        }
        let status = *bytes.get(..WELCOME_BYTES)?.get(WELCOME_STATUS_AT)?;
        Some(Ok(Self { status: WelcomeStatus::from_byte(status) }))
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
        let refused = REFUSED.iter().map(|(_, why)| WelcomeStatus::Refused(*why));
        for status in refused.chain([WelcomeStatus::Joined, WelcomeStatus::Refused(Refusal::Unsaid)]) {
            let welcome = Welcome { status };
            let bytes = welcome.encode();
            assert_eq!(bytes.len(), WELCOME_BYTES);
            assert_eq!(Welcome::read(&bytes[..WELCOME_BYTES - 1]), None);
            assert_eq!(Welcome::read(&bytes), Some(Ok(welcome)));
        }
    }

    #[test]
    fn a_status_that_came_later_is_a_refusal_and_one_without_a_number_goes_as_the_first() {
        let mut bytes = Welcome { status: WelcomeStatus::Joined }.encode().to_vec();
        for status in [1, 8, 255] {
            bytes[WELCOME_STATUS_AT] = status;
            let read = Welcome::read(&bytes).unwrap().unwrap().status;
            assert_eq!(read, WelcomeStatus::Refused(Refusal::Unsaid), "{status}");
        }
        let welcome = Welcome { status: WelcomeStatus::Refused(Refusal::NoHello) };
        assert_eq!(welcome.encode()[WELCOME_STATUS_AT], REFUSED_UNSAID);
    }

    #[test]
    fn another_version_is_known_by_its_first_bytes() {
        let hello = Hello { role: Role::Robot, session: 1, token: Bytes::new() }.encode();
        let welcome = Welcome { status: WelcomeStatus::Joined }.encode();
        for message in [hello, welcome] {
            let mut bytes = message.to_vec();
            bytes[4] = WIRE_VERSION + 1;
            assert_eq!(Hello::length(&bytes[..4]), Ok(None));
            assert_eq!(Hello::length(&bytes[..5]), Err(Malformed::Version));
            assert_eq!(Welcome::read(&bytes[..5]), Some(Err(Malformed::Version)));
            bytes[0] = b'x';
            assert_eq!(Welcome::read(&bytes[..5]), Some(Err(Malformed::Type)));
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
            let _ = Hello::length(&bytes);
            let _ = Welcome::read(&bytes);
            let _ = Hello::decode(Bytes::from(bytes));
        }
    }
}
