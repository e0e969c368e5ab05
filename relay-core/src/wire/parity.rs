//! Parity over a sliding window of fragments, and the symbols that it is made of.

use bytes::{BufMut, BytesMut};

use super::codec::Reader;
use super::{CAMERAS_MAX, FrameShape, Malformed, TYPE_PARITY, VideoHeader, WINDOW_MAX, tag};
use crate::event::{Camera, FrameId};

/// Bytes before the symbol of a parity datagram.
pub(crate) const WINDOW_PARITY_BYTES: usize = 11;

/// Bytes of a source symbol before the fragment's payload.
pub(crate) const SYMBOL_HEAD_BYTES: usize = 13;

/// Longest symbol: a jumbo frame of Ethernet. Bounds what a receiver keeps.
const SYMBOL_BYTES_MAX: usize = 9_000;

/// The header of a parity datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowParity {
    /// Its number among the video datagrams of this hop.
    pub(crate) seq: u32,
    /// The first source symbol that it protects.
    pub(crate) first: u32,
    /// How many it protects: 1 to [`WINDOW_MAX`].
    pub(crate) count: u8,
    /// Which row of the code it is: below [`WINDOW_MAX`].
    pub(crate) row: u8,
}

impl WindowParity {
    pub(crate) fn encode(&self, out: &mut BytesMut) {
        out.put_u8(tag(TYPE_PARITY));
        out.put_u32(self.seq);
        out.put_u32(self.first);
        out.put_u8(self.count);
        out.put_u8(self.row);
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let parity =
            Self { seq: reader.u32()?, first: reader.u32()?, count: reader.u8()?, row: reader.u8()? };
        let in_range = (1..=WINDOW_MAX).contains(&parity.count)
            && parity.row < WINDOW_MAX
            && parity.first.checked_add(parity.count.into()).is_some();
        if in_range { Ok(parity) } else { Err(Malformed::Field) }
    }

    /// Whether a symbol can be `length` bytes long.
    pub(super) fn check_symbol(length: usize) -> Result<(), Malformed> {
        let in_range = (SYMBOL_HEAD_BYTES + 1..=SYMBOL_BYTES_MAX).contains(&length);
        if in_range { Ok(()) } else { Err(Malformed::Field) }
    }
}

impl VideoHeader {
    /// What a fragment's source symbol begins with; its payload follows. A receiver that has no other
    /// part of the frame needs all of it, and the payload's length follows from it.
    pub(crate) fn symbol_head(&self) -> [u8; SYMBOL_HEAD_BYTES] {
        let mut head = [0; SYMBOL_HEAD_BYTES];
        head[0] = self.frame.camera.0;
        head[1..5].copy_from_slice(&self.frame.number.to_be_bytes());
        head[5..9].copy_from_slice(&self.shape.frame_bytes.to_be_bytes());
        head[9..11].copy_from_slice(&self.shape.count.to_be_bytes());
        head[11..13].copy_from_slice(&self.index.to_be_bytes());
        head
    }

    /// The header of the fragment that symbol `source` is. `None` if it is no fragment: a field out of range,
    /// a payload that is not all there, or something other than zeros after it.
    pub(crate) fn from_symbol(source: u32, symbol: &[u8]) -> Option<Self> {
        let (head, rest) = symbol.split_first_chunk::<SYMBOL_HEAD_BYTES>()?;
        let [camera, n0, n1, n2, n3, b0, b1, b2, b3, c0, c1, i0, i1] = *head;
        let frame = FrameId { camera: Camera(camera), number: u32::from_be_bytes([n0, n1, n2, n3]) };
        let (frame_bytes, count) = (u32::from_be_bytes([b0, b1, b2, b3]), u16::from_be_bytes([c0, c1]));
        let shape = FrameShape { frame_bytes, count }.checked()?;
        let index = u16::from_be_bytes([i0, i1]);
        let header = Self { seq: 0, frame, index, shape, parity: 0, source: Some(source) };
        if usize::from(camera) >= CAMERAS_MAX || index >= count {
            return None;
        }
        let padding = rest.get(header.payload_bytes()..)?;
        padding.iter().all(|byte| *byte == 0).then_some(header)
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
        fn parity_survives_the_wire(
            seq: u32, first in 0..u32::MAX - 128, count in 1..=WINDOW_MAX, row in 0..WINDOW_MAX, length in 14usize..2_000,
        ) {
            let parity = WindowParity { seq, first, count, row };
            let mut out = BytesMut::new();
            parity.encode(&mut out);
            prop_assert_eq!(out.len(), WINDOW_PARITY_BYTES);
            let symbol = Bytes::from(vec![9; length]);
            out.extend_from_slice(&symbol);
            prop_assert_eq!(Message::decode(out.freeze()), Ok(Message::Parity(parity, symbol)));
        }

        #[test]
        fn fields_out_of_range_are_refused(seq: u32, first: u32, count: u8, row: u8, length in 0usize..12_000) {
            let mut out = BytesMut::new();
            WindowParity { seq, first, count, row }.encode(&mut out);
            out.resize(WINDOW_PARITY_BYTES + length, 0);
            let good = (1..=128).contains(&count) && row < 128 && (14..=9_000).contains(&length)
                && first.checked_add(count.into()).is_some();
            let decoded = Message::decode(out.freeze());
            prop_assert_eq!(decoded.is_ok(), good, "{:?}", decoded.map(drop));
        }

        #[test]
        fn symbols_hold_their_fragment(camera in 0u8..8, number: u32, frame_bytes in 1u32..100_000, pick: u16, pad in 0usize..9) {
            let shape = FrameShape::cut(frame_bytes, 1150).expect("in range");
            let frame = FrameId { camera: Camera(camera), number };
            let header = VideoHeader { seq: 0, frame, index: pick % shape.count, shape, parity: 0, source: Some(4) };
            let mut symbol = header.symbol_head().to_vec();
            symbol.resize(symbol.len() + header.payload_bytes(), 7);
            prop_assert_eq!(VideoHeader::from_symbol(4, &symbol[..symbol.len() - 1]), None);
            symbol.resize(symbol.len() + pad, 0);
            prop_assert_eq!(VideoHeader::from_symbol(4, &symbol), Some(header));
            symbol.push(1);
            prop_assert_eq!(VideoHeader::from_symbol(4, &symbol), None);
        }
    }
}
