//! A part of a frame.

use bytes::{BufMut, BytesMut};

use super::codec::Reader;
use super::{CAMERAS_MAX, FRAGMENTS_MAX, FRAME_BYTES_MAX, Malformed, TYPE_SOURCE, TYPE_VIDEO, tag};
use crate::event::{Camera, FrameId};

/// Bytes before the payload of a video datagram.
pub(crate) const VIDEO_HEADER_BYTES: usize = 19;

/// The same where the fragment is a source symbol of the sliding window.
const SOURCE_HEADER_BYTES: usize = 22;

/// How a frame is cut: `count` fragments of equal size, the last one shorter where it must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameShape {
    /// Bytes of the whole frame.
    pub(crate) frame_bytes: u32,
    /// Fragments it is cut into.
    pub(crate) count: u16,
}

impl FrameShape {
    /// Cuts a frame into as few fragments of at most `payload_max` bytes as it takes, balanced.
    /// `None` if that is more than [`FRAGMENTS_MAX`], or the frame is empty or too large.
    pub(crate) fn cut(frame_bytes: u32, payload_max: usize) -> Option<Self> {
        if frame_bytes == 0 || frame_bytes > FRAME_BYTES_MAX || payload_max < 2 {
            return None;
        }
        let count = u16::try_from((frame_bytes as usize).div_ceil(payload_max & !1)).ok()?;
        Self { frame_bytes, count }.checked()
    }

    pub(super) fn checked(self) -> Option<Self> {
        let in_range = (1..=FRAME_BYTES_MAX).contains(&self.frame_bytes)
            && (1..=FRAGMENTS_MAX).contains(&self.count)
            // Every fragment carries something.
            && u32::from(self.count - 1) * self.fragment_bytes() < self.frame_bytes;
        in_range.then_some(self)
    }

    /// Payload bytes of every fragment but the last, and of every parity fragment. Even, since the
    /// parity code works on pairs of bytes.
    pub(crate) fn fragment_bytes(self) -> u32 {
        self.frame_bytes.div_ceil(u32::from(self.count.max(1))).next_multiple_of(2)
    }

    /// Whether its fragments do not fit into a payload of `payload_max` bytes.
    pub(crate) fn is_wider(self, payload_max: usize) -> bool {
        self.fragment_bytes() as usize > payload_max
    }

    /// The bytes of the frame that fragment `index` carries.
    pub(crate) fn range(self, index: u16) -> std::ops::Range<usize> {
        let each = self.fragment_bytes() as usize;
        let start = usize::from(index) * each;
        start..(start + each).min(self.frame_bytes as usize)
    }
}

/// The header of a video datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VideoHeader {
    /// Number of this datagram among all video datagrams of this hop and direction, in the order
    /// they were sent. Feedback speaks of these.
    pub(crate) seq: u32,
    /// The frame.
    pub(crate) frame: FrameId,
    /// Which part of it: below the shape's count a fragment, from there on a parity fragment.
    pub(crate) index: u16,
    /// How it is cut.
    pub(crate) shape: FrameShape,
    /// Parity fragments that belong to the frame.
    pub(crate) parity: u8,
    /// Its number among the source symbols of the sliding window, where there is one; then there is no
    /// parity of the frame.
    pub(crate) source: Option<u32>,
}

impl VideoHeader {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(tag(if self.source.is_some() { TYPE_SOURCE } else { TYPE_VIDEO }));
        out.put_u8(self.frame.camera.0);
        out.put_u32(self.seq);
        out.put_u32(self.frame.number);
        out.put_u32(self.shape.frame_bytes);
        out.put_u16(self.shape.count);
        out.put_u16(self.index);
        match self.source {
            None => out.put_u8(self.parity),
            Some(source) => out.put_u32(source),
        }
    }

    /// Bytes before the payload.
    pub(crate) fn header_bytes(&self) -> usize {
        if self.source.is_some() { SOURCE_HEADER_BYTES } else { VIDEO_HEADER_BYTES }
    }

    pub(super) fn decode(reader: &mut Reader, is_source: bool) -> Result<Self, Malformed> {
        let camera = Camera(reader.u8()?);
        let seq = reader.u32()?;
        let number = reader.u32()?;
        let shape = FrameShape { frame_bytes: reader.u32()?, count: reader.u16()? };
        let index = reader.u16()?;
        let (parity, source) = if is_source { (0, Some(reader.u32()?)) } else { (reader.u8()?, None) };
        let shape = shape.checked().ok_or(Malformed::Field)?;
        if usize::from(camera.0) >= CAMERAS_MAX || index >= shape.count + u16::from(parity) {
            return Err(Malformed::Field);
        }
        Ok(Self { seq, frame: FrameId { camera, number }, index, shape, parity, source })
    }

    /// Whether a payload of `length` is what this fragment must carry.
    pub(super) fn check_payload(&self, length: usize) -> Result<(), Malformed> {
        if self.payload_bytes() == length { Ok(()) } else { Err(Malformed::Field) }
    }

    /// Bytes of this fragment's payload.
    pub(crate) fn payload_bytes(&self) -> usize {
        match self.parity_index() {
            None => self.shape.range(self.index).len(),
            Some(_) => self.shape.fragment_bytes() as usize,
        }
    }

    /// Which of the frame's parity fragments this is, if it is one.
    pub(crate) fn parity_index(&self) -> Option<u8> {
        self.index.checked_sub(self.shape.count).map(|index| index as u8)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::super::Message;
    use super::*;

    proptest! {
        #[test]
        fn fragments_cover_the_frame_exactly(frame_bytes in 1u32..200_000, payload_max in 2usize..1500) {
            let Some(shape) = FrameShape::cut(frame_bytes, payload_max) else {
                let count = (frame_bytes as usize).div_ceil(payload_max & !1);
                let uncuttable = FrameShape { frame_bytes, count: count as u16 }.checked().is_none();
                prop_assert!(count > usize::from(FRAGMENTS_MAX) || uncuttable);
                return Ok(());
            };
            let mut next = 0;
            for index in 0..shape.count {
                let range = shape.range(index);
                prop_assert_eq!(range.start, next);
                prop_assert!(!range.is_empty() && range.len() <= payload_max);
                next = range.end;
            }
            prop_assert_eq!(next, frame_bytes as usize);
        }

        #[test]
        fn headers_survive_the_wire(seq: u32, camera in 0u8..8, number: u32, frame_bytes in 1u32..100_000, pick: u16, parity: u8) {
            let shape = FrameShape::cut(frame_bytes, 1150).expect("in range");
            let header = VideoHeader {
                seq,
                frame: FrameId { camera: Camera(camera), number },
                index: pick % (shape.count + u16::from(parity)),
                shape,
                parity,
                source: None,
            };
            let source = VideoHeader { source: Some(number ^ seq), parity: 0, index: header.index % shape.count, ..header };
            for header in [header, source] {
            let mut out = BytesMut::new();
            header.encode(&mut out);
            prop_assert_eq!(out.len(), header.header_bytes());
            let payload = Bytes::from(vec![7; header.payload_bytes()]);
            out.extend_from_slice(&payload);
            prop_assert_eq!(Message::decode(out.freeze()), Ok(Message::Video(header, payload)));
            }
        }
    }
}
