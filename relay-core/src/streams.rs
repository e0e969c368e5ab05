//! Frames as QUIC streams: one stream a frame, sent again by QUIC until the frame deadline.

mod receiver;
mod sender;

pub(crate) use receiver::FrameStreams;
pub(crate) use sender::StreamSender;

use bytes::{BufMut, Bytes, BytesMut};

use crate::event::{Camera, FrameId};
use crate::wire::{CAMERAS_MAX, FRAME_BYTES_MAX, Malformed, WIRE_VERSION};

/// Bytes before the frame on its stream.
const HEADER_BYTES: usize = 10;

const TYPE_FRAME_STREAM: u8 = 5;

/// Error code of a stream that was reset at its deadline.
const EXPIRED: u32 = 1;

fn encode_header(frame: FrameId, frame_bytes: u32) -> Bytes {
    let mut out = BytesMut::with_capacity(HEADER_BYTES);
    out.put_u8(WIRE_VERSION << 4 | TYPE_FRAME_STREAM);
    out.put_u8(frame.camera.0);
    out.put_u32(frame.number);
    out.put_u32(frame_bytes);
    out.freeze()
}

fn decode_header(bytes: [u8; HEADER_BYTES]) -> Result<(FrameId, u32), Malformed> {
    let [tag, camera, n0, n1, n2, n3, b0, b1, b2, b3] = bytes;
    if tag >> 4 != WIRE_VERSION {
        return Err(Malformed::Version);
    }
    if tag & 0x0f != TYPE_FRAME_STREAM {
        return Err(Malformed::Type);
    }
    let frame = FrameId { camera: Camera(camera), number: u32::from_be_bytes([n0, n1, n2, n3]) };
    let frame_bytes = u32::from_be_bytes([b0, b1, b2, b3]);
    if usize::from(camera) >= CAMERAS_MAX || !(1..=FRAME_BYTES_MAX).contains(&frame_bytes) {
        return Err(Malformed::Field);
    }
    Ok((frame, frame_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_survive_the_wire_and_nonsense_is_refused() {
        let frame = FrameId { camera: Camera(2), number: 77 };
        let bytes: [u8; HEADER_BYTES] = encode_header(frame, 20_000)[..].try_into().expect("ten bytes");
        assert_eq!(decode_header(bytes), Ok((frame, 20_000)));
        let mut wrong = bytes;
        wrong[1] = 200;
        assert_eq!(decode_header(wrong), Err(Malformed::Field));
        let mut wrong = bytes;
        wrong[6] = 255;
        assert_eq!(decode_header(wrong), Err(Malformed::Field));
        assert_eq!(decode_header([0; HEADER_BYTES]), Err(Malformed::Version));
    }
}
