//! Making parity, and making fragments from parity.

use bytes::{Bytes, BytesMut};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use crate::video::FrameBuffer;
use crate::wire::FrameShape;

/// An encoder and a decoder whose working memory is used again.
#[derive(Default)]
pub(crate) struct Codec {
    encoder: Option<ReedSolomonEncoder>,
    decoder: Option<ReedSolomonDecoder>,
    padded: BytesMut,
}

/// The parity fragments of one frame.
pub(crate) type Shards = Vec<Bytes>;

impl Codec {
    /// `parity` parity fragments for a frame that is there as a whole. Empty if the code cannot do
    /// that many.
    pub(crate) fn encode(&mut self, shape: FrameShape, parity: u8, frame: &FrameBuffer) -> Shards {
        self.try_encode(shape, parity, frame).unwrap_or_default()
    }

    fn try_encode(
        &mut self,
        shape: FrameShape,
        parity: u8,
        frame: &FrameBuffer,
    ) -> Result<Shards, reed_solomon_simd::Error> {
        let (count, parity, bytes) = counts(shape, parity);
        if parity == 0 {
            return Ok(Vec::new());
        }
        let encoder = match &mut self.encoder {
            Some(encoder) => {
                encoder.reset(count, parity, bytes)?;
                encoder
            }
            none => none.insert(ReedSolomonEncoder::new(count, parity, bytes)?),
        };
        for index in 0..shape.count {
            self.padded.clear();
            frame.copy(&shape.range(index), &mut self.padded);
            self.padded.resize(bytes, 0);
            encoder.add_original_shard(&self.padded)?;
        }
        let result = encoder.encode()?;
        let mut block = BytesMut::with_capacity(parity * bytes);
        let shards = result.recovery_iter().map(|shard| {
            block.extend_from_slice(shard);
            block.split().freeze()
        });
        Ok(shards.collect())
    }

    /// Puts the missing fragments of a frame in place, from any `count` of fragments and parity.
    /// Says whether the frame is whole now.
    pub(crate) fn decode(
        &mut self,
        shape: FrameShape,
        parity: u8,
        frame: &mut FrameBuffer,
        shards: &[(u8, Bytes)],
    ) -> bool {
        self.try_decode(shape, parity, frame, shards).is_ok() && frame.is_complete()
    }

    fn try_decode(
        &mut self,
        shape: FrameShape,
        parity: u8,
        frame: &mut FrameBuffer,
        shards: &[(u8, Bytes)],
    ) -> Result<(), reed_solomon_simd::Error> {
        let (count, parity, bytes) = counts(shape, parity);
        let decoder = match &mut self.decoder {
            Some(decoder) => {
                decoder.reset(count, parity, bytes)?;
                decoder
            }
            none => none.insert(ReedSolomonDecoder::new(count, parity, bytes)?),
        };
        for index in 0..shape.count {
            let range = shape.range(index);
            if frame.has(&range) {
                self.padded.clear();
                frame.copy(&range, &mut self.padded);
                self.padded.resize(bytes, 0);
                decoder.add_original_shard(usize::from(index), &self.padded)?;
            }
        }
        for (index, shard) in shards {
            decoder.add_recovery_shard(usize::from(*index), shard)?;
        }
        let result = decoder.decode()?;
        for (index, shard) in result.restored_original_iter() {
            let index = index as u16;
            frame.insert(index, Bytes::copy_from_slice(&shard[..shape.range(index).len()]));
        }
        Ok(())
    }
}

impl std::fmt::Debug for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Codec").finish_non_exhaustive()
    }
}

fn counts(shape: FrameShape, parity: u8) -> (usize, usize, usize) {
    (usize::from(shape.count), usize::from(parity), shape.fragment_bytes() as usize)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_count_of_fragments_and_parity_make_the_frame(
            frame_bytes in 1u32..40_000, payload_max in 200usize..1400, parity in 1u8..12, order: u64,
        ) {
            let shape = FrameShape::cut(frame_bytes, payload_max).expect("in range");
            let data: Bytes = (0..frame_bytes).map(|i| (i * 7 % 251) as u8).collect::<Vec<_>>().into();
            let mut codec = Codec::default();
            let shards = codec.encode(shape, parity, &FrameBuffer::whole(data.clone()));
            prop_assert_eq!(shards.len(), usize::from(parity));
            // Some `count` of all pieces, by a shuffle of its own.
            let mut pieces: Vec<u16> = (0..shape.count + u16::from(parity)).collect();
            let mut state = order;
            for at in (1..pieces.len()).rev() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                pieces.swap(at, (state >> 33) as usize % (at + 1));
            }
            let mut buffer = FrameBuffer::new(shape);
            let mut received = Vec::new();
            for &piece in &pieces[..usize::from(shape.count)] {
                match piece.checked_sub(shape.count) {
                    None => buffer.insert(piece, data.slice(shape.range(piece))),
                    Some(index) => received.push((index as u8, shards[usize::from(index)].clone())),
                }
            }
            prop_assert!(codec.decode(shape, parity, &mut buffer, &received));
            prop_assert_eq!(buffer.into_bytes(), data);
        }
    }

    #[test]
    fn too_few_pieces_make_nothing() {
        let shape = FrameShape::cut(5_000, 1_000).expect("in range");
        let mut codec = Codec::default();
        let mut buffer = FrameBuffer::new(shape);
        assert!(!codec.decode(shape, 2, &mut buffer, &[(0, Bytes::from(vec![0; 1000]))]));
    }
}
