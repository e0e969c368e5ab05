//! The messages of the handshake, as long as those of TLS.
//!
//! Each is a type byte, a length of three bytes and a body, as in TLS (RFC 8446 §4). What TLS has
//! and this has not (key shares, certificate, signature) is padding of the same length.

use super::mix;

/// A message, its variable parts borrowed from the bytes it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Message<'a> {
    /// The client's first flight.
    ClientHello { server_name: &'a str, params: &'a [u8] },
    /// The server's answer in the Initial space.
    ServerHello { random: u64 },
    /// The rest of the server's flight, in the Handshake space; ends in proof of the transcript.
    ServerFlight { params: &'a [u8], proof: u64 },
    /// The client's last flight.
    Finished { proof: u64 },
}

/// Why bytes are no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

impl<'a> Message<'a> {
    /// Appends the message to `out`. Its variable parts must fit: [`NAME_BYTES_MAX`].
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&[self.kind(), 0, 0, 0]);
        let padding = match self {
            Message::ClientHello { server_name, params } => {
                write_variable(out, server_name.as_bytes());
                write_variable(out, params);
                CLIENT_HELLO_PADDING
            }
            Message::ServerHello { random } => {
                out.extend_from_slice(&random.to_le_bytes());
                SERVER_HELLO_PADDING
            }
            Message::ServerFlight { params, proof } => {
                out.extend_from_slice(&proof.to_le_bytes());
                write_variable(out, params);
                SERVER_FLIGHT_PADDING
            }
            Message::Finished { proof } => {
                out.extend_from_slice(&proof.to_le_bytes());
                FINISHED_PADDING
            }
        };
        out.resize(out.len() + padding, 0);
        let body_bytes = (out.len() - start - PREFIX_BYTES) as u32;
        out[start + 1..start + PREFIX_BYTES].copy_from_slice(&body_bytes.to_be_bytes()[1..]);
    }

    /// The message that `data` begins with and its whole length; `None` if more must come first.
    pub(super) fn read(data: &'a [u8]) -> Result<Option<(Self, usize)>, Malformed> {
        let Some(&[kind, high, middle, low]) = data.first_chunk::<PREFIX_BYTES>() else {
            return Ok(None);
        };
        let body_bytes = u32::from_be_bytes([0, high, middle, low]) as usize;
        if body_bytes > BODY_BYTES_MAX {
            return Err(Malformed("a message is too long"));
        }
        let whole = PREFIX_BYTES + body_bytes;
        let Some(body) = data.get(PREFIX_BYTES..whole) else {
            return Ok(None);
        };
        Ok(Some((Self::read_body(kind, body)?, whole)))
    }

    fn read_body(kind: u8, mut body: &'a [u8]) -> Result<Self, Malformed> {
        let message = match kind {
            CLIENT_HELLO => {
                let name = read_variable(&mut body)?;
                let server_name = str::from_utf8(name).map_err(|_| Malformed("a name is not text"))?;
                Message::ClientHello { server_name, params: read_variable(&mut body)? }
            }
            SERVER_HELLO => Message::ServerHello { random: read_word(&mut body)? },
            SERVER_FLIGHT => {
                let proof = read_word(&mut body)?;
                Message::ServerFlight { params: read_variable(&mut body)?, proof }
            }
            FINISHED => Message::Finished { proof: read_word(&mut body)? },
            _ => return Err(Malformed("a message of an unknown type")),
        };
        if body.iter().any(|&byte| byte != 0) {
            return Err(Malformed("padding is not zero"));
        }
        Ok(message)
    }

    fn kind(&self) -> u8 {
        match self {
            Message::ClientHello { .. } => CLIENT_HELLO,
            Message::ServerHello { .. } => SERVER_HELLO,
            Message::ServerFlight { .. } => SERVER_FLIGHT,
            Message::Finished { .. } => FINISHED,
        }
    }
}

/// The digest of everything said so far, from which secrets and proofs follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transcript(u64);

impl Transcript {
    pub(super) const EMPTY: Self = Self(0x7472_616e_7363_7270);

    /// The transcript with one more message.
    #[must_use]
    pub(super) fn with(self, message: &[u8]) -> Self {
        Self(mix::bytes(self.0, message))
    }

    /// A word that only who knows the transcript can tell, for one purpose.
    pub(super) fn derive(self, purpose: Purpose) -> u64 {
        mix::word(self.0, purpose as u64)
    }
}

/// What a word derived from the transcript is for.
#[derive(Debug, Clone, Copy)]
#[repr(u64)]
pub(super) enum Purpose {
    ServerRandom = 1,
    HandshakeSecret,
    DataSecret,
    ServerProof,
    ClientProof,
    Exporter,
}

fn write_variable(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
}

fn read_variable<'a>(body: &mut &'a [u8]) -> Result<&'a [u8], Malformed> {
    let (length, rest) = body.split_first_chunk::<2>().ok_or(CUT_SHORT)?;
    let (data, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or(CUT_SHORT)?;
    *body = rest;
    Ok(data)
}

fn read_word(body: &mut &[u8]) -> Result<u64, Malformed> {
    let (word, rest) = body.split_first_chunk::<8>().ok_or(CUT_SHORT)?;
    *body = rest;
    Ok(u64::from_le_bytes(*word))
}

const CUT_SHORT: Malformed = Malformed("a message is cut short");

/// Longest server name that fits a client hello, that of a DNS name.
pub(super) const NAME_BYTES_MAX: usize = 255;

/// Longest body that is read; real ones are under 1 kB.
const BODY_BYTES_MAX: usize = 8 * 1024;

/// A type and a length.
const PREFIX_BYTES: usize = 4;

// The types of TLS where there is one (RFC 8446 §4).
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_FLIGHT: u8 = 8;
const FINISHED: u8 = 20;

// Padding that makes each flight as long as that of rustls with ring and an Ed25519 certificate;
// a test compares them.
const CLIENT_HELLO_PADDING: usize = 181;
const SERVER_HELLO_PADDING: usize = 78;
const SERVER_FLIGHT_PADDING: usize = 425;
const FINISHED_PADDING: usize = 40;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(message: Message<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        message.write(&mut out);
        out
    }

    #[test]
    fn what_was_written_is_read() {
        let messages = [
            Message::ClientHello { server_name: "relay", params: b"params" },
            Message::ServerHello { random: 5 },
            Message::ServerFlight { params: b"", proof: u64::MAX },
            Message::Finished { proof: 1 },
        ];
        for message in messages {
            let bytes = written(message);
            assert_eq!(Message::read(&bytes), Ok(Some((message, bytes.len()))));
            for cut in 0..bytes.len() {
                assert_eq!(Message::read(&bytes[..cut]), Ok(None), "{message:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn malformed_messages_are_told_apart() {
        assert_eq!(Message::read(&[9, 0, 0, 0]), Err(Malformed("a message of an unknown type")));
        assert_eq!(Message::read(&[1, 0xff, 0, 0]), Err(Malformed("a message is too long")));
        assert_eq!(Message::read(&[20, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]), Err(CUT_SHORT));
        assert_eq!(Message::read(&[1, 0, 0, 2, 0, 9]), Err(CUT_SHORT));
        assert_eq!(Message::read(&[1, 0, 0, 3, 0, 1, 0xff]), Err(Malformed("a name is not text")));
        let mut padded = written(Message::Finished { proof: 1 });
        *padded.last_mut().unwrap() = 1;
        assert_eq!(Message::read(&padded), Err(Malformed("padding is not zero")));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(data in proptest::collection::vec(any::<u8>(), 0..600)) {
            let _ = Message::read(&data);
        }

        #[test]
        fn no_body_makes_the_reader_panic(kind: u8, body in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = Message::read_body(kind, &body);
        }
    }
}
