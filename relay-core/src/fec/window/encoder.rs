//! The sending side of the sliding window: the fragments sent last, and the parity that is still owed.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};
use units::{Span, Time};

use super::coefficient;
use crate::fec::gf256::Sum;
use crate::wire::{SYMBOL_HEAD_BYTES, VideoHeader, WINDOW_MAX, WindowParity};

/// The parity that a frame asked for and that has not been sent.
#[derive(Debug)]
struct Owed {
    since: Time,
    packets: u32,
}

/// Makes parity over the last fragments.
#[derive(Debug)]
pub(crate) struct WindowEncoder {
    /// Most fragments that one parity packet protects.
    packets: usize,
    /// The source symbols in the window, the newest last.
    symbols: VecDeque<(VideoHeader, Bytes)>,
    next_source: u32,
    next_row: u8,
    owed: VecDeque<Owed>,
    sum: Sum,
}

impl WindowEncoder {
    /// `packets` is from 2 to [`WINDOW_MAX`].
    pub(crate) fn new(packets: u32) -> Self {
        Self {
            packets: packets.clamp(1, WINDOW_MAX.into()) as usize,
            symbols: VecDeque::new(),
            next_source: 0,
            next_row: 0,
            owed: VecDeque::new(),
            sum: Sum::default(),
        }
    }

    /// The newest symbol in the window.
    pub(crate) fn newest(&self) -> Option<&VideoHeader> {
        self.symbols.back().map(|(header, _)| header)
    }

    /// The number for the fragment that is sent next.
    pub(crate) fn next_source(&self) -> u32 {
        self.next_source
    }

    /// Takes a fragment that is sent for the first time, numbered as
    /// [`next_source`](Self::next_source) said.
    pub(crate) fn push(&mut self, header: VideoHeader, payload: Bytes) {
        if self.symbols.len() >= self.packets {
            self.symbols.pop_front();
        }
        self.symbols.push_back((header, payload));
        self.next_source = self.next_source.wrapping_add(1);
        if self.next_source == 0 {
            // A window never goes over the end of the numbers.
            self.symbols.clear();
        }
    }

    /// A frame has been sent that asks for this many parity packets.
    pub(crate) fn owe(&mut self, now: Time, packets: u8) {
        if packets > 0 {
            self.owed.push_back(Owed { since: now, packets: packets.into() });
        }
    }

    /// Parity packets that are still to be sent.
    pub(crate) fn owed(&self) -> u32 {
        self.owed.iter().map(|owed| owed.packets).sum()
    }

    /// Gives up what waited too long, and says whether there was any. Parity yields: it goes only when no
    /// frame waits.
    pub(crate) fn give_up(&mut self, now: Time) -> bool {
        let before = self.owed.len();
        while let Some(oldest) = self.owed.front()
            && (now.since(oldest.since) > KEPT || self.owed.len() > FRAMES_MAX)
        {
            self.owed.pop_front();
        }
        self.owed.len() < before
    }

    /// The next parity packet, of at most `payload_max` bytes of the longest fragment that it protects:
    /// its header, but for the `seq`, and what writes the symbol.
    pub(crate) fn pop(&mut self, payload_max: usize) -> Option<(WindowParity, Symbol<'_>)> {
        let owed = self.owed.front_mut()?;
        owed.packets -= 1;
        if owed.packets == 0 {
            self.owed.pop_front();
        }
        // Where the path's packets have become smaller, what was sent before cannot be protected.
        let fits = self.symbols.iter().rev().take_while(|(_, payload)| payload.len() <= payload_max).count();
        self.symbols.drain(..self.symbols.len() - fits);
        let longest = self.symbols.iter().map(|(_, payload)| payload.len()).max()?;
        let count = self.symbols.len() as u32;
        let first = self.next_source.wrapping_sub(count);
        let row = self.next_row;
        self.next_row = (row + 1) % WINDOW_MAX;
        self.sum.begin(SYMBOL_HEAD_BYTES + longest);
        for (source, (header, payload)) in (first..).zip(&self.symbols) {
            let factor = coefficient(row, source);
            self.sum.add(factor, 0, &header.symbol_head());
            self.sum.add(factor, SYMBOL_HEAD_BYTES, payload);
        }
        Some((WindowParity { seq: 0, first, count: count as u8, row }, Symbol(self.sum.finish())))
    }
}

/// The payload of a parity packet.
#[derive(Debug)]
pub(crate) struct Symbol<'a>(&'a [u8]);

impl Symbol<'_> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn write(&self, out: &mut BytesMut) {
        out.put_slice(self.0);
    }
}

/// How long parity waits: the time between two main frames, as for parity within a frame.
const KEPT: Span = Span::from_millis(67);
/// Frames whose parity waits.
const FRAMES_MAX: usize = 16;
