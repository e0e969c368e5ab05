//! Parity that waits to be sent: after every fragment, and not for long.
//!
//! Parity yields. It goes only when no frame waits, and what has not gone after a while is given up: by
//! then its frame has made do without, or is being repaired.

use std::collections::VecDeque;

use bytes::Bytes;
use units::{Span, Time};

use super::Shards;
use crate::event::FrameId;
use crate::wire::FrameShape;

/// The parity of one frame that is still to be sent.
#[derive(Debug)]
struct Waiting {
    since: Time,
    frame: FrameId,
    shape: FrameShape,
    parity: u8,
    shards: std::vec::IntoIter<Bytes>,
    next: u8,
}

/// A parity fragment to send.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) frame: FrameId,
    pub(crate) shape: FrameShape,
    pub(crate) parity: u8,
    pub(crate) index: u8,
    pub(crate) payload: Bytes,
}

/// Parity of all frames, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Trailing {
    waiting: VecDeque<Waiting>,
}

impl Trailing {
    pub(crate) fn push(&mut self, now: Time, frame: FrameId, shape: FrameShape, parity: u8, shards: Shards) {
        self.waiting.push_back(Waiting {
            since: now,
            frame,
            shape,
            parity,
            shards: shards.into_iter(),
            next: 0,
        });
    }

    /// A frame whose parity waited too long, with the number of fragments given up.
    pub(crate) fn poll_given_up(&mut self, now: Time) -> Option<(FrameId, u32)> {
        let oldest = self.waiting.front()?;
        if now.since(oldest.since) <= KEPT && self.waiting.len() <= FRAMES_MAX {
            return None;
        }
        let Waiting { frame, shards, .. } = self.waiting.pop_front()?;
        Some((frame, shards.len() as u32))
    }

    /// Gives up parity in pieces of more than `payload_max` bytes.
    pub(crate) fn give_up_wider(&mut self, payload_max: usize) {
        self.waiting.retain(|waiting| !waiting.shape.is_wider(payload_max));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<Shard> {
        while let Some(first) = self.waiting.front_mut() {
            if let Some(payload) = first.shards.next() {
                let index = first.next;
                first.next += 1;
                return Some(Shard {
                    frame: first.frame,
                    shape: first.shape,
                    parity: first.parity,
                    index,
                    payload,
                });
            }
            self.waiting.pop_front();
        }
        None
    }
}

/// How long parity waits: the time between two main frames. Later, a round trip's repair is as good.
const KEPT: Span = Span::from_millis(67);
/// Frames whose parity waits.
const FRAMES_MAX: usize = 16;
