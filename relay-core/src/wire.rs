//! The wire format: what travels inside QUIC between the ends and the relay.
//!
//! `WIRE.md` beside this crate is the specification; this module is its only implementation.
//! Decoding takes hostile bytes: it allocates nothing that a length field asked for, and a
//! malformed message is an error, never a panic.

mod codec;
mod feedback;
mod hello;
mod parity;
mod pose;
mod resize;
mod video;

pub(crate) use feedback::{Arrival, Feedback, SeqRange};
pub(crate) use hello::{
    CLOSE_GOING, CLOSE_NOT_JOINED, CLOSE_REPLACED, HELLO_BYTES, Hello, WELCOME_BYTES, Welcome, WelcomeStatus,
};
pub(crate) use parity::{SYMBOL_HEAD_BYTES, WINDOW_PARITY_BYTES, WindowParity};
pub(crate) use pose::{PoseBatch, PoseEntry};
pub(crate) use resize::ResizeRequest;
pub(crate) use video::{FrameShape, VIDEO_HEADER_BYTES, VideoHeader};

use bytes::Bytes;

/// The version of everything in this module, carried in the first byte of every message.
pub const WIRE_VERSION: u8 = 1;

/// Cameras that a robot can have.
pub const CAMERAS_MAX: usize = 8;

/// Largest frame, in bytes.
pub const FRAME_BYTES_MAX: u32 = 4 << 20;

/// Fragments that a frame can be cut into.
pub const FRAGMENTS_MAX: u16 = 8192;

/// Fragments that one parity packet of the sliding window can protect, and rows of its code.
pub const WINDOW_MAX: u8 = 128;

/// What is wrong with received bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Fewer bytes than the message needs.
    #[error("message is cut short")]
    Truncated,
    /// A version that this build does not speak.
    #[error("unknown wire version")]
    Version,
    /// A message type that does not exist.
    #[error("unknown message type")]
    Type,
    /// A field outside its limits, or fields that contradict each other.
    #[error("field out of range")]
    Field,
}

/// A datagram message, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Message {
    /// A part of a frame.
    Video(VideoHeader, Bytes),
    /// Parity over a sliding window of fragments.
    Parity(WindowParity, Bytes),
    /// Poses from the operator.
    Poses(PoseBatch),
    /// Commands for the robot.
    Commands(PoseBatch),
    /// What the receiver of video got.
    Feedback(Feedback),
    /// Other frame sizes for the robot.
    Resize(ResizeRequest),
}

const TYPE_VIDEO: u8 = 1;
const TYPE_POSES: u8 = 2;
const TYPE_COMMANDS: u8 = 3;
const TYPE_FEEDBACK: u8 = 4;
const TYPE_RESIZE: u8 = 6;
const TYPE_SOURCE: u8 = 7;
const TYPE_PARITY: u8 = 8;

/// The first byte of a message of type `kind`.
const fn tag(kind: u8) -> u8 {
    WIRE_VERSION << 4 | kind
}

impl Message {
    /// Reads one application datagram.
    pub(crate) fn decode(datagram: Bytes) -> Result<Self, Malformed> {
        let first = *datagram.first().ok_or(Malformed::Truncated)?;
        if first >> 4 != WIRE_VERSION {
            return Err(Malformed::Version);
        }
        let mut reader = codec::Reader::new(datagram);
        reader.u8()?;
        match first & 0x0f {
            kind @ (TYPE_VIDEO | TYPE_SOURCE) => {
                let header = VideoHeader::decode(&mut reader, kind == TYPE_SOURCE)?;
                let payload = reader.rest();
                header.check_payload(payload.len())?;
                Ok(Self::Video(header, payload))
            }
            TYPE_PARITY => {
                let parity = WindowParity::decode(&mut reader)?;
                let symbol = reader.rest();
                WindowParity::check_symbol(symbol.len())?;
                Ok(Self::Parity(parity, symbol))
            }
            TYPE_POSES => PoseBatch::decode(&mut reader).map(Self::Poses),
            TYPE_COMMANDS => PoseBatch::decode(&mut reader).map(Self::Commands),
            TYPE_FEEDBACK => Feedback::decode(&mut reader).map(Self::Feedback),
            TYPE_RESIZE => ResizeRequest::decode(&mut reader).map(Self::Resize),
            _ => Err(Malformed::Type),
        }
    }
}

/// Whether `bytes` is a valid datagram message. For fuzzing the decoder from outside.
///
/// # Errors
/// What is wrong with it.
pub fn validate_datagram(bytes: Bytes) -> Result<(), Malformed> {
    Message::decode(bytes).map(drop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_datagram_makes_the_decoder_panic(mut bytes: Vec<u8>, kind in 0u8..16) {
            if let Some(first) = bytes.first_mut() {
                *first = tag(kind);
            }
            let _ = validate_datagram(Bytes::from(bytes));
        }
    }

    #[test]
    fn other_versions_and_types_are_refused() {
        assert_eq!(validate_datagram(Bytes::from_static(&[0x21])), Err(Malformed::Version));
        assert_eq!(validate_datagram(Bytes::from_static(&[0x1f])), Err(Malformed::Type));
        assert_eq!(validate_datagram(Bytes::new()), Err(Malformed::Truncated));
    }
}
