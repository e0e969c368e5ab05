//! The receiving side of frames as datagrams: fragments and parity in, whole frames out.

use std::collections::BTreeMap;

use bytes::Bytes;
use units::{Span, Time};

use super::{Assembly, FrameBuffer, Progress};
use crate::event::FrameId;
use crate::fec::{Codec, WindowDecoder};
use crate::wire::{VideoHeader, WindowParity};

#[derive(Debug)]
struct Partial {
    buffer: FrameBuffer,
    shards: Vec<(u8, Bytes)>,
    /// Whether a fragment came out of the sliding window's parity.
    recovered: bool,
}

/// A frame of which enough is there. Parity is worked out only when somebody wants the bytes.
#[derive(Debug)]
pub(crate) struct Whole {
    header: VideoHeader,
    partial: Partial,
}

/// Puts frames together.
#[derive(Debug)]
pub(crate) struct FrameReceiver {
    assembly: Assembly,
    partials: BTreeMap<FrameId, Partial>,
    window: WindowDecoder,
    bytes: u64,
    restored: u64,
    limit_hits: u64,
}

/// What a datagram did.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It completed its frame.
    Complete(Whole),
    /// It did not.
    More,
    /// It contradicts an earlier one.
    Contradiction,
}

impl Whole {
    /// The frame's bytes. `None` if its parity does not fit its fragments, which an honest sender never
    /// makes happen.
    pub(crate) fn into_bytes(self, codec: &mut Codec) -> Option<Bytes> {
        let Self { header, partial: Partial { mut buffer, shards, .. } } = self;
        let whole = buffer.is_complete() || codec.decode(header.shape, header.parity, &mut buffer, &shards);
        whole.then(|| buffer.into_bytes())
    }
}

impl FrameReceiver {
    /// Forgets an incomplete frame `keep` after its first part.
    pub(crate) fn new(keep: Span) -> Self {
        Self {
            assembly: Assembly::new(keep),
            partials: BTreeMap::new(),
            window: WindowDecoder::default(),
            bytes: 0,
            restored: 0,
            limit_hits: 0,
        }
    }

    /// Frames that were whole only with parity.
    pub(crate) fn restored(&self) -> u64 {
        self.restored
    }

    /// Times something was discarded for lack of room.
    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits + self.window.limit_hits()
    }

    /// Takes a fragment, or parity of a frame. A fragment may make
    /// [others](Self::poll_recovered) known.
    pub(crate) fn insert(&mut self, now: Time, header: &VideoHeader, payload: Bytes) -> Outcome {
        if let Some(source) = header.source {
            self.window.insert_source(source, header, &payload);
        }
        self.place(now, header, payload, false)
    }

    /// Takes parity over the sliding window, which may make fragments [known](Self::poll_recovered).
    pub(crate) fn insert_parity(&mut self, parity: &WindowParity, symbol: &[u8]) {
        self.window.insert_parity(parity, symbol);
    }

    /// Parity over the sliding window that contradicted what had come, since the last call.
    pub(crate) fn take_contradictions(&mut self) -> u64 {
        self.window.take_contradictions()
    }

    /// The next fragment that parity over the sliding window made known: from here on it is as one that
    /// arrived.
    pub(crate) fn poll_recovered(&mut self, now: Time) -> Option<(VideoHeader, Outcome)> {
        let (header, payload) = self.window.poll_recovered()?;
        Some((header, self.place(now, &header, payload, true)))
    }

    fn place(&mut self, now: Time, header: &VideoHeader, payload: Bytes, recovered: bool) -> Outcome {
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
            let partial = Partial { buffer: FrameBuffer::new(header.shape), shards: Vec::new(), recovered };
            self.partials.insert(header.frame, partial);
        }
        let Some(partial) = self.partials.get_mut(&header.frame) else { return Outcome::More };
        partial.recovered |= recovered;
        match header.parity_index() {
            None => partial.buffer.insert(header.index, payload),
            Some(index) => partial.shards.push((index, payload)),
        }
        if !complete {
            return Outcome::More;
        }
        let Some(partial) = self.remove(header.frame) else { return Outcome::More };
        self.restored += u64::from(partial.recovered || !partial.buffer.is_complete());
        Outcome::Complete(Whole { header: *header, partial })
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
