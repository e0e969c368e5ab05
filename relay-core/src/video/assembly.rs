//! Which parts of which frames have come, at a receiving machine.
//!
//! Keeps numbers, not bytes. Bounded per camera: a robot that sends nonsense cannot make it grow.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::event::{Camera, FrameId};
use crate::wire::{CAMERAS_MAX, FrameShape, VideoHeader};

/// What a part meant for its frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// A new part. `first` if it is the first of its frame, `complete` if it was the last missing.
    New { first: bool, complete: bool },
    /// It had come before, or its frame is finished or forgotten.
    Useless,
    /// It contradicts an earlier part of the same frame.
    Contradiction,
}

#[derive(Debug)]
struct Partial {
    number: u32,
    shape: FrameShape,
    parity: u8,
    since: Time,
    /// Pieces that are still needed, of fragments and parity alike.
    missing: u16,
    /// One bit a fragment, then one a parity fragment.
    arrived: Vec<u64>,
}

/// The frames being put together, for all cameras.
#[derive(Debug)]
pub(crate) struct Assembly {
    cameras: [VecDeque<Partial>; CAMERAS_MAX],
    /// Frames below this are finished or forgotten.
    floors: [u32; CAMERAS_MAX],
    keep: Span,
    /// When the next frame is to be forgotten; [`Time::ZERO`] while a camera has too many.
    due: Time,
    spare: Vec<Vec<u64>>,
}

impl Assembly {
    /// Forgets an incomplete frame `keep` after its first part.
    pub(crate) fn new(keep: Span) -> Self {
        Self {
            cameras: std::array::from_fn(|_| VecDeque::new()),
            floors: [0; CAMERAS_MAX],
            keep,
            due: Time::MAX,
            spare: Vec::new(),
        }
    }

    /// Notes a part.
    pub(crate) fn insert(&mut self, now: Time, header: &VideoHeader) -> Progress {
        let camera = usize::from(header.frame.camera.0);
        let number = header.frame.number;
        if camera >= CAMERAS_MAX || number < self.floors[camera] {
            return Progress::Useless;
        }
        let frames = &mut self.cameras[camera];
        let found = frames.iter_mut().rev().find(|partial| partial.number == number);
        let (partial, first) = if let Some(partial) = found {
            (partial, false)
        } else {
            let words = (usize::from(header.shape.count) + usize::from(header.parity)).div_ceil(64);
            let mut arrived = self.spare.pop().unwrap_or_default();
            arrived.clear();
            arrived.resize(words, 0);
            let (shape, parity) = (header.shape, header.parity);
            let partial = Partial { number, shape, parity, since: now, missing: shape.count, arrived };
            frames.push_back(partial);
            let due = if frames.len() > FRAMES_MAX { Time::ZERO } else { now + self.keep + MOMENT };
            self.due = self.due.min(due);
            (frames.back_mut().expect("just pushed"), true)
        };
        if partial.shape != header.shape || partial.parity != header.parity {
            return Progress::Contradiction;
        }
        let (word, bit) = (usize::from(header.index / 64), 1u64 << (header.index % 64));
        if partial.missing == 0 || partial.arrived[word] & bit != 0 {
            return Progress::Useless;
        }
        partial.arrived[word] |= bit;
        partial.missing -= 1;
        Progress::New { first, complete: partial.missing == 0 }
    }

    /// The next frame to forget: finished ones in silence, and those that are too old or too many,
    /// which are returned.
    pub(crate) fn poll_forgotten(&mut self, now: Time) -> Option<FrameId> {
        if now < self.due {
            return None;
        }
        for camera in 0..CAMERAS_MAX {
            while let Some(oldest) = self.cameras[camera].front() {
                let aged = now.since(oldest.since) > self.keep;
                if !aged && self.cameras[camera].len() <= FRAMES_MAX {
                    break;
                }
                let partial = self.cameras[camera].pop_front().expect("there is a front");
                // Numbers grow with time, so nothing below a forgotten one is worth waiting for
                // unless it is being waited for already.
                let waited = self.cameras[camera].iter().map(|p| p.number).min();
                let floor = partial.number.saturating_add(1).min(waited.unwrap_or(u32::MAX));
                self.floors[camera] = self.floors[camera].max(floor);
                self.spare.push(partial.arrived);
                if partial.missing > 0 {
                    return Some(FrameId { camera: Camera(camera as u8), number: partial.number });
                }
            }
        }
        let oldest = self.cameras.iter().filter_map(|frames| frames.front()).map(|partial| partial.since);
        self.due = oldest.min().map_or(Time::MAX, |since| since + self.keep + MOMENT);
        None
    }

    /// When [`poll_forgotten`](Self::poll_forgotten) has something to do at the latest.
    pub(crate) fn timeout(&self) -> Time {
        self.due
    }
}

/// A frame is kept for the whole of its time, and forgotten at the next moment there is.
const MOMENT: Span = Span::from_nanos(1);

/// Most frames of one camera that are remembered, finished ones included.
const FRAMES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn header(number: u32, index: u16, count: u16) -> VideoHeader {
        let shape = FrameShape { frame_bytes: u32::from(count) * 10, count };
        VideoHeader {
            seq: 0,
            frame: FrameId { camera: Camera(2), number },
            index,
            shape,
            parity: 2,
            source: None,
        }
    }

    const T0: Time = Time::from_nanos(5_000_000_000);

    fn assembly() -> Assembly {
        Assembly::new(Span::from_secs(1))
    }

    #[test]
    fn parts_in_any_order_complete_a_frame_once() {
        let mut assembly = assembly();
        let new = |first, complete| Progress::New { first, complete };
        assert_eq!(assembly.insert(T0, &header(7, 1, 3)), new(true, false));
        assert_eq!(assembly.insert(T0, &header(7, 1, 3)), Progress::Useless);
        assert_eq!(assembly.insert(T0, &header(7, 0, 3)), new(false, false));
        assert_eq!(assembly.insert(T0, &header(7, 2, 4)), Progress::Contradiction);
        assert_eq!(assembly.insert(T0, &header(7, 2, 3)), new(false, true));
        assert_eq!(assembly.insert(T0, &header(7, 2, 3)), Progress::Useless);
    }

    #[test]
    fn parity_stands_in_for_fragments() {
        let mut assembly = assembly();
        assembly.insert(T0, &header(7, 3, 3));
        assembly.insert(T0, &header(7, 2, 3));
        let complete = Progress::New { first: false, complete: true };
        assert_eq!(assembly.insert(T0, &header(7, 4, 3)), complete);
        assert_eq!(assembly.insert(T0, &header(7, 0, 3)), Progress::Useless);
    }

    #[test]
    fn what_is_incomplete_for_too_long_is_forgotten_once_and_stays_so() {
        let mut assembly = assembly();
        assembly.insert(T0, &header(1, 0, 2));
        assembly.insert(T0, &header(2, 0, 1));
        assert_eq!(assembly.poll_forgotten(T0 + Span::from_secs(1)), None);
        let late = assembly.timeout();
        let forgotten = FrameId { camera: Camera(2), number: 1 };
        assert_eq!(assembly.poll_forgotten(late), Some(forgotten));
        assert_eq!(assembly.poll_forgotten(late), None, "the finished one goes in silence");
        assert_eq!(assembly.insert(late, &header(1, 1, 2)), Progress::Useless);
        assert_eq!(assembly.timeout(), Time::MAX);
    }

    #[test]
    fn an_older_frame_that_began_later_is_still_waited_for() {
        let mut assembly = assembly();
        assembly.insert(T0, &header(5, 0, 2));
        assembly.insert(T0 + Span::from_millis(500), &header(4, 0, 2));
        let late = T0 + Span::from_millis(1200);
        assert_eq!(assembly.poll_forgotten(late).map(|frame| frame.number), Some(5));
        assert!(matches!(assembly.insert(late, &header(4, 1, 2)), Progress::New { complete: true, .. }));
    }

    #[test]
    fn memory_is_bounded_whatever_comes() {
        let mut assembly = assembly();
        for number in 0..10_000 {
            assembly.insert(T0, &header(number, 0, 100));
            while assembly.poll_forgotten(T0).is_some() {}
        }
        assert!(assembly.cameras[2].len() <= FRAMES_MAX);
    }
}
