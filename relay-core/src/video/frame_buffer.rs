//! The bytes of one frame, as far as they are there.

use bytes::{BufMut, Bytes, BytesMut};

use crate::wire::FrameShape;

/// A frame held as the fragments it came in. At the robot that is one, the frame itself.
#[derive(Debug)]
pub(crate) struct FrameBuffer {
    shape: FrameShape,
    parts: Vec<Option<Bytes>>,
    missing: u16,
}

impl FrameBuffer {
    /// A frame of which nothing is there yet.
    pub(crate) fn new(shape: FrameShape) -> Self {
        Self { shape, parts: vec![None; usize::from(shape.count)], missing: shape.count }
    }

    /// A frame that is there as a whole.
    pub(crate) fn whole(data: Bytes) -> Self {
        let shape = FrameShape { frame_bytes: data.len() as u32, count: 1 };
        Self { shape, parts: vec![Some(data)], missing: 0 }
    }

    pub(crate) fn frame_bytes(&self) -> u32 {
        self.shape.frame_bytes
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Puts a part in its place. The caller has checked `index` and the length against the shape.
    pub(crate) fn insert(&mut self, index: u16, payload: Bytes) {
        if let Some(slot @ None) = self.parts.get_mut(usize::from(index)) {
            *slot = Some(payload);
            self.missing -= 1;
        }
    }

    /// Whether every byte of `range` is there.
    pub(crate) fn has(&self, range: &std::ops::Range<usize>) -> bool {
        self.is_complete() || self.covering(range).all(|index| self.parts[index].is_some())
    }

    /// Appends the bytes of `range` to `out`; parts that are not there are left out.
    pub(crate) fn copy(&self, range: &std::ops::Range<usize>, out: &mut BytesMut) {
        let each = self.shape.fragment_bytes() as usize;
        for index in self.covering(range) {
            let Some(part) = &self.parts[index] else { continue };
            let start = index * each;
            let from = range.start.saturating_sub(start).min(part.len());
            let to = (range.end - start).min(part.len());
            out.put_slice(&part[from..to]);
        }
    }

    /// The whole frame in one piece; without a copy if it came so.
    pub(crate) fn into_bytes(self) -> Bytes {
        if let [Some(only)] = self.parts.as_slice() {
            return only.clone();
        }
        let mut out = BytesMut::with_capacity(self.shape.frame_bytes as usize);
        self.copy(&(0..self.shape.frame_bytes as usize), &mut out);
        out.freeze()
    }

    fn covering(&self, range: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let each = self.shape.fragment_bytes() as usize;
        range.start / each..range.end.div_ceil(each).min(self.parts.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_cut_of_a_frame_can_be_read_back_in_any_other_cut(
            frame_bytes in 1u32..20_000, cut_in in 100usize..1500, cut_out in 100usize..1500,
        ) {
            let data: Bytes = (0..frame_bytes).map(|i| (i % 251) as u8).collect::<Vec<_>>().into();
            let (Some(come), Some(go)) =
                (FrameShape::cut(frame_bytes, cut_in), FrameShape::cut(frame_bytes, cut_out)) else { return Ok(()) };
            let mut buffer = FrameBuffer::new(come);
            for index in (0..come.count).rev() {
                prop_assert!(!buffer.is_complete());
                prop_assert!(!buffer.has(&(0..frame_bytes as usize)));
                buffer.insert(index, data.slice(come.range(index)));
            }
            let mut out = BytesMut::new();
            for index in 0..go.count {
                prop_assert!(buffer.has(&go.range(index)));
                buffer.copy(&go.range(index), &mut out);
            }
            prop_assert_eq!(&out[..], &data[..]);
            prop_assert_eq!(buffer.into_bytes(), data);
        }
    }
}
