//! What the parity of the sliding window can still make up for: which lost fragments need not be sent again.
//!
//! The sender's picture of the receiver's equations. Each parity packet that is not known to be lost makes up for
//! one lost fragment of its window. Windows move forward and never back, so that giving each in turn the oldest
//! fragment that nothing before it covers leaves as few as can be.

use std::collections::{BTreeMap, VecDeque};

use crate::event::FrameId;
use crate::wire::WindowParity;

/// A parity packet that was sent.
#[derive(Debug)]
struct Sent {
    number: u32,
    first: u32,
    end: u32,
    missing: bool,
}

/// Lost fragments by their numbers as source symbols, and the parity over them.
#[derive(Debug, Default)]
pub(super) struct Cover {
    lost: BTreeMap<u32, FrameId>,
    sent: VecDeque<Sent>,
    /// Parity packets that are to be sent over what was sent last.
    owed: u32,
}

impl Cover {
    pub(super) fn on_lost(&mut self, source: u32, frame: FrameId) {
        self.lost.insert(source, frame);
    }

    /// The fragment arrived after all, or is sent again.
    pub(super) fn on_found(&mut self, source: u32) {
        self.lost.remove(&source);
    }

    pub(super) fn on_parity_sent(&mut self, number: u32, parity: &WindowParity) {
        let end = parity.first + u32::from(parity.count);
        self.sent.push_back(Sent { number, first: parity.first, end, missing: false });
        if self.sent.len() > PARITY_MAX {
            self.sent.pop_front();
        }
        // The receiver remembers no more than this either.
        self.lost = self.lost.split_off(&end.saturating_sub(REMEMBERED));
    }

    /// A parity packet is missing, or has come after all.
    pub(super) fn set_missing(&mut self, number: u32, missing: bool) {
        if let Ok(index) = self.sent.binary_search_by_key(&number, |sent| sent.number) {
            self.sent[index].missing = missing;
        }
    }

    /// Says what was owed before.
    pub(super) fn set_owed(&mut self, owed: u32) -> u32 {
        std::mem::replace(&mut self.owed, owed)
    }

    /// For each lost fragment that no parity is left for, its frame.
    pub(super) fn uncovered(&self) -> Vec<FrameId> {
        let mut lost = self.lost.iter().peekable();
        let mut uncovered = Vec::new();
        for parity in self.sent.iter().filter(|parity| !parity.missing) {
            while let Some((_, frame)) = lost.next_if(|(source, _)| **source < parity.first) {
                uncovered.push(*frame);
            }
            lost.next_if(|(source, _)| **source < parity.end);
        }
        // What is owed will be about the newest.
        uncovered.extend(lost.skip(self.owed as usize).map(|(_, frame)| *frame));
        uncovered
    }
}

/// Parity packets remembered.
const PARITY_MAX: usize = 512;
/// Source symbols over which losses are remembered, as at the receiver.
const REMEMBERED: u32 = 384;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Camera;

    fn frame(number: u32) -> FrameId {
        FrameId { camera: Camera::MAIN, number }
    }

    fn cover(lost: &[u32], parity: &[(u32, u8)]) -> Cover {
        let mut cover = Cover::default();
        for source in lost {
            cover.on_lost(*source, frame(*source));
        }
        for (number, (first, count)) in (0..).zip(parity) {
            let parity = WindowParity { seq: 0, first: *first, count: *count, row: 0 };
            cover.on_parity_sent(number, &parity);
        }
        cover
    }

    fn uncovered(cover: &Cover) -> Vec<u32> {
        cover.uncovered().iter().map(|frame| frame.number).collect()
    }

    #[test]
    fn each_parity_packet_covers_one_loss_of_its_window() {
        let mut cover = cover(&[3, 4, 5, 40], &[(0, 10), (0, 10), (20, 10)]);
        assert_eq!(uncovered(&cover), [5, 40]);
        cover.set_missing(1, true);
        assert_eq!(uncovered(&cover), [4, 5, 40]);
        cover.set_missing(1, false);
        cover.on_found(4);
        assert_eq!(uncovered(&cover), [40]);
        cover.set_owed(1);
        assert_eq!(uncovered(&cover), [0u32; 0]);
    }

    #[test]
    fn parity_of_later_frames_covers_what_is_still_in_its_window() {
        let cover = cover(&[7, 8, 15], &[(0, 10), (8, 10), (8, 10)]);
        assert_eq!(uncovered(&cover), [0u32; 0]);
    }

    #[test]
    fn memory_is_bounded() {
        let mut cover = Cover::default();
        for number in 0..10_000 {
            cover.on_lost(number, frame(number));
            cover.on_parity_sent(number, &WindowParity { seq: 0, first: number, count: 1, row: 0 });
            cover.set_missing(number, true);
        }
        assert!(cover.lost.len() <= REMEMBERED as usize + 1 && cover.sent.len() <= PARITY_MAX);
    }
}
