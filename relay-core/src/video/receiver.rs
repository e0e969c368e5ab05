//! The receiving side of frames as datagrams: fragments and parity in, whole frames out.

use std::collections::BTreeMap;

use bytes::Bytes;
use units::{Span, Time};

use super::{Assembly, FrameBuffer, Progress};
use crate::event::FrameId;
use crate::fec::Codec;
use crate::wire::VideoHeader;

#[derive(Debug)]
struct Partial {
    buffer: FrameBuffer,
    shards: Vec<(u8, Bytes)>,
}

/// Puts frames together.
#[derive(Debug)]
pub(crate) struct FrameReceiver {
    assembly: Assembly,
    partials: BTreeMap<FrameId, Partial>,
    codec: Codec,
    bytes: u64,
    restored: u64,
    limit_hits: u64,
}

/// What a datagram did.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It completed its frame.
    Complete(FrameBuffer),
    /// It did not.
    More,
    /// It contradicts an earlier one.
    Contradiction,
}

impl FrameReceiver {
    /// Forgets an incomplete frame `keep` after its first part.
    pub(crate) fn new(keep: Span) -> Self {
        Self {
            assembly: Assembly::new(keep),
            partials: BTreeMap::new(),
            codec: Codec::default(),
            bytes: 0,
            restored: 0,
            limit_hits: 0,
        }
    }

    /// Frames that parity made whole.
    pub(crate) fn restored(&self) -> u64 {
        self.restored
    }

    /// Times something was discarded for lack of room.
    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    /// Takes a fragment or parity.
    pub(crate) fn insert(&mut self, now: Time, header: &VideoHeader, payload: Bytes) -> Outcome {
        let (first, complete) = match self.assembly.insert(now, header) {
            Progress::New { first, complete } => (first, complete),
            Progress::Useless => return Outcome::More,
            Progress::Contradiction => return Outcome::Contradiction,
        };
        if first {
            if self.bytes >= BYTES_MAX {
                self.limit_hits += 1;
                return Outcome::More;
            }
            self.bytes += u64::from(header.shape.frame_bytes);
            let partial = Partial { buffer: FrameBuffer::new(header.shape), shards: Vec::new() };
            self.partials.insert(header.frame, partial);
        }
        let Some(partial) = self.partials.get_mut(&header.frame) else { return Outcome::More };
        match header.parity_index() {
            None => partial.buffer.insert(header.index, payload),
            Some(index) => partial.shards.push((index, payload)),
        }
        if !complete {
            return Outcome::More;
        }
        let Some(Partial { mut buffer, shards }) = self.remove(header.frame) else { return Outcome::More };
        if !buffer.is_complete() {
            if !self.codec.decode(header.shape, header.parity, &mut buffer, &shards) {
                return Outcome::Contradiction;
            }
            self.restored += 1;
        }
        Outcome::Complete(buffer)
    }

    /// The next frame that is given up.
    pub(crate) fn poll_forgotten(&mut self, now: Time) -> Option<FrameId> {
        let frame = self.assembly.poll_forgotten(now)?;
        self.remove(frame);
        Some(frame)
    }

    /// When [`poll_forgotten`](Self::poll_forgotten) has something to do at the latest.
    pub(crate) fn timeout(&self) -> Time {
        self.assembly.timeout()
    }

    fn remove(&mut self, frame: FrameId) -> Option<Partial> {
        let partial = self.partials.remove(&frame)?;
        self.bytes -= u64::from(partial.buffer.frame_bytes());
        Some(partial)
    }
}

/// Bytes of frames being put together, by the sizes that their headers state.
const BYTES_MAX: u64 = 64 << 20;
