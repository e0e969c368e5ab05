//! Sending again what the receiver misses: which packets of which frames, and whether it is worth it.
//!
//! Driven by the receiver's feedback. A frame needs any `count` of its fragments and parity, so
//! what was lost is sent again only as far as what is still under way cannot complete it, and only
//! while it can arrive before the repair deadline. Where parity is over a sliding window, what is under
//! way is counted over the window and not over the frame.

mod cover;

use std::collections::VecDeque;

use units::{Span, Time};

use crate::event::FrameId;
use crate::settings;
use crate::video::{Finished, FrameBuffer};
use crate::wire::{FrameShape, VideoHeader, WindowParity};

use self::cover::Cover;

#[derive(Debug)]
struct Record {
    frame: FrameId,
    since: Time,
    shape: FrameShape,
    parity: u8,
    /// There once every fragment has been sent for the first time.
    buffer: Option<FrameBuffer>,
    /// Fragments and parity sent, again or not, and neither lost nor known to be lost.
    outstanding: u32,
    /// Parity that is still to be sent for the first time.
    parity_to_come: u32,
    /// Fragments that were lost and have not been sent again.
    lost: Vec<u16>,
    /// Fragments to send again, and so whether it waits in `wanted`.
    due: u32,
    /// The numbers of its fragments as source symbols of the sliding window, where there is one.
    sources: Vec<u32>,
}

/// A fragment to send again.
#[derive(Debug)]
pub(crate) struct Again<'a> {
    pub(crate) frame: FrameId,
    pub(crate) shape: FrameShape,
    pub(crate) parity: u8,
    pub(crate) index: u16,
    pub(crate) source: Option<u32>,
    pub(crate) buffer: &'a FrameBuffer,
}

/// Frames that were sent lately, and what is known to be missing of them.
#[derive(Debug)]
pub(crate) struct Repair {
    settings: settings::Repair,
    records: VecDeque<Record>,
    bytes: u64,
    /// Frames with something to send again, in the order in which that became known.
    wanted: VecDeque<FrameId>,
    /// Where parity is over a sliding window.
    cover: Option<Cover>,
    sent_again: u64,
    limit_hits: u64,
}

impl Repair {
    /// `window` says that parity is over a sliding window.
    pub(crate) fn new(settings: &settings::Repair, window: bool) -> Self {
        Self {
            settings: settings.clone(),
            records: VecDeque::new(),
            bytes: 0,
            wanted: VecDeque::new(),
            cover: (window && settings.enabled).then(Cover::default),
            sent_again: 0,
            limit_hits: 0,
        }
    }

    /// Packets sent again so far.
    pub(crate) fn sent_again(&self) -> u64 {
        self.sent_again
    }

    /// Times a frame was forgotten for lack of room.
    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    /// Notes that a fragment or parity of a frame is sent for the first time.
    pub(crate) fn on_sent(&mut self, now: Time, header: &VideoHeader) {
        if !self.settings.enabled {
            return;
        }
        let VideoHeader { frame, index, shape, parity, source, .. } = *header;
        if let Some(record) = self.record(frame) {
            record.outstanding += 1;
            record.sources.extend(source);
            if index >= shape.count {
                record.parity_to_come = record.parity_to_come.saturating_sub(1);
            }
            return;
        }
        self.forget(now);
        self.records.push_back(Record {
            frame,
            since: now,
            shape,
            parity,
            buffer: None,
            outstanding: 1,
            parity_to_come: u32::from(parity),
            lost: Vec::new(),
            due: 0,
            sources: source.into_iter().collect(),
        });
    }

    /// Takes a frame whose fragments have all been sent.
    pub(crate) fn keep(&mut self, finished: Finished) {
        let Finished { frame, since, buffer, .. } = finished;
        let bytes = u64::from(buffer.frame_bytes());
        let Some(record) = self.record(frame) else { return };
        record.since = since;
        record.buffer = Some(buffer);
        self.bytes += bytes;
        self.consider(frame);
    }

    /// Notes that parity over a sliding window is sent.
    pub(crate) fn on_window_parity_sent(&mut self, number: u32, parity: &WindowParity) {
        if let Some(cover) = &mut self.cover {
            cover.on_parity_sent(number, parity);
        }
    }

    /// Notes that parity over a sliding window is missing, or came after all.
    pub(crate) fn set_window_parity_missing(&mut self, number: u32, missing: bool) {
        if let Some(cover) = &mut self.cover {
            cover.set_missing(number, missing);
            self.consider_window();
        }
    }

    /// Notes how much parity over a sliding window is still to be sent.
    pub(crate) fn set_window_parity_owed(&mut self, owed: u32) {
        if let Some(cover) = &mut self.cover
            && cover.set_owed(owed) > owed
        {
            self.consider_window();
        }
    }

    /// Notes that parity of a frame will not be sent after all.
    pub(crate) fn on_parity_given_up(&mut self, frame: FrameId) {
        if let Some(record) = self.record(frame) {
            record.parity_to_come = record.parity_to_come.saturating_sub(1);
            self.consider(frame);
        }
    }

    /// Notes that a packet of a frame was lost.
    pub(crate) fn on_lost(&mut self, frame: FrameId, index: u16) {
        let Some(record) = self.record(frame) else { return };
        record.outstanding = record.outstanding.saturating_sub(1);
        if index < record.shape.count && !record.lost.contains(&index) {
            record.lost.push(index);
        }
        let source = record.source(index);
        if let (Some(source), Some(cover)) = (source, &mut self.cover) {
            cover.on_lost(source, frame);
        }
        self.consider(frame);
    }

    /// Notes that a packet arrived that had been taken for lost.
    pub(crate) fn on_found(&mut self, frame: FrameId, index: u16) {
        if let Some(record) = self.record(frame) {
            record.outstanding += 1;
            record.lost.retain(|lost| *lost != index);
            if record.short_by() <= 0 {
                record.due = 0;
            }
            let source = record.source(index);
            if let (Some(source), Some(cover)) = (source, &mut self.cover) {
                cover.on_found(source);
                self.consider_window();
            }
        }
    }

    /// Whether there is something to send again that can arrive in time.
    pub(crate) fn is_ready(&mut self, now: Time, one_way: Span) -> bool {
        while let Some(&frame) = self.wanted.front() {
            let deadline = self.settings.deadline;
            let Some(record) = self.record(frame) else {
                self.wanted.pop_front();
                continue;
            };
            if record.due > 0 && !record.lost.is_empty() && now + one_way <= record.since + deadline {
                return true;
            }
            record.due = 0;
            self.wanted.pop_front();
        }
        false
    }

    /// Gives up frames whose pieces have more than `payload_max` bytes.
    pub(crate) fn give_up_wider(&mut self, payload_max: usize) {
        for record in self.records.iter_mut().filter(|record| record.shape.is_wider(payload_max)) {
            if let Some(buffer) = record.buffer.take() {
                self.bytes -= u64::from(buffer.frame_bytes());
            }
            record.due = 0;
            record.lost.clear();
        }
    }

    /// Hands the next fragment to `send`. After [`is_ready`](Self::is_ready) only.
    pub(crate) fn pop(&mut self, send: impl FnOnce(Again<'_>)) {
        let Some(&frame) = self.wanted.front() else { return };
        let Some(record) = self.record(frame) else { return };
        let Some(buffer) = &record.buffer else { return };
        let index = record.lost.remove(0);
        let source = record.source(index);
        send(Again { frame, shape: record.shape, parity: record.parity, index, source, buffer });
        record.outstanding += 1;
        record.due = record.due.saturating_sub(1);
        if let (Some(source), Some(cover)) = (source, &mut self.cover) {
            cover.on_found(source);
        }
        self.sent_again += 1;
    }

    fn consider(&mut self, frame: FrameId) {
        if self.cover.is_some() {
            return self.consider_window();
        }
        let spare = self.settings.spare;
        let Some(record) = self.record(frame) else { return };
        let short_by = u32::try_from(record.short_by()).unwrap_or(0);
        if record.buffer.is_none() || short_by == 0 {
            return;
        }
        let was_wanted = record.due > 0;
        record.due = short_by + spare;
        if !was_wanted {
            self.wanted.push_back(frame);
        }
    }

    /// Works out anew what the window's parity leaves to be sent again.
    fn consider_window(&mut self) {
        let Some(cover) = &self.cover else { return };
        let uncovered = cover.uncovered();
        for record in self.records.iter_mut().filter(|record| record.buffer.is_some()) {
            if record.lost.is_empty() {
                continue;
            }
            let due = uncovered.iter().filter(|frame| **frame == record.frame).count() as u32;
            let was_wanted = record.due > 0;
            record.due = if due > 0 { due + self.settings.spare } else { 0 };
            if !was_wanted && due > 0 {
                self.wanted.push_back(record.frame);
            }
        }
    }

    fn record(&mut self, frame: FrameId) -> Option<&mut Record> {
        self.records.iter_mut().rev().find(|record| record.frame == frame)
    }

    /// Forgets frames that are past repair, and the oldest ones when there are too many.
    fn forget(&mut self, now: Time) {
        while let Some(oldest) = self.records.front() {
            let past = now.since(oldest.since) > self.settings.deadline;
            let full = self.records.len() >= RECORDS_MAX || self.bytes > BYTES_MAX;
            if !past && !full {
                break;
            }
            self.limit_hits += u64::from(!past);
            let bytes = oldest.buffer.as_ref().map_or(0, FrameBuffer::frame_bytes);
            self.bytes -= u64::from(bytes);
            self.records.pop_front();
        }
    }
}

impl Record {
    /// Packets that the frame lacks beyond those under way or to come; negative when there are more
    /// of these than it needs.
    fn short_by(&self) -> i64 {
        i64::from(self.shape.count) - i64::from(self.outstanding) - i64::from(self.parity_to_come)
    }

    /// The number of a fragment as a source symbol.
    fn source(&self, index: u16) -> Option<u32> {
        self.sources.get(usize::from(index)).copied()
    }
}

/// Frames remembered: over ten seconds of the default workload.
const RECORDS_MAX: usize = 512;
/// Bytes of frames remembered.
const BYTES_MAX: u64 = 32 << 20;

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::event::Camera;

    const T0: Time = Time::from_nanos(1_000_000_000);
    const ONE_WAY: Span = Span::from_millis(135);

    fn id(number: u32) -> FrameId {
        FrameId { camera: Camera::MAIN, number }
    }

    fn sent(repair: &mut Repair, number: u32, parity: u8) {
        let data = Bytes::from(vec![1; 10_000]);
        let shape = FrameShape::cut(10_000, 1_000).expect("in range");
        for index in 0..shape.count {
            repair.on_sent(T0, &header(number, shape, parity, index));
        }
        let buffer = FrameBuffer::whole(data);
        repair.keep(Finished { frame: id(number), since: T0, shape, parity, buffer });
        for index in 0..u16::from(parity) {
            repair.on_sent(T0, &header(number, shape, parity, shape.count + index));
        }
    }

    fn header(number: u32, shape: FrameShape, parity: u8, index: u16) -> VideoHeader {
        VideoHeader { seq: 0, frame: id(number), index, shape, parity, source: None }
    }

    fn again(repair: &mut Repair, now: Time) -> Vec<u16> {
        let mut indices = Vec::new();
        while repair.is_ready(now, ONE_WAY) {
            repair.pop(|again| indices.push(again.index));
        }
        indices
    }

    fn repair(spare: u32) -> Repair {
        Repair::new(&settings::Repair { spare, ..settings::Repair::default() }, false)
    }

    #[test]
    fn what_is_lost_is_sent_again_once_until_it_is_lost_again() {
        let mut repair = repair(0);
        sent(&mut repair, 0, 0);
        repair.on_lost(id(0), 3);
        repair.on_lost(id(0), 4);
        assert_eq!(again(&mut repair, T0), [3, 4]);
        assert!(again(&mut repair, T0).is_empty());
        repair.on_lost(id(0), 4);
        assert_eq!(again(&mut repair, T0), [4]);
        assert_eq!(repair.sent_again(), 3);
    }

    #[test]
    fn parity_spares_the_repair_as_far_as_it_goes() {
        let mut repair = repair(0);
        sent(&mut repair, 0, 2);
        repair.on_lost(id(0), 0);
        repair.on_lost(id(0), 1);
        assert!(again(&mut repair, T0).is_empty());
        repair.on_lost(id(0), 2);
        assert_eq!(again(&mut repair, T0), [0], "any one of the three will do");
    }

    #[test]
    fn the_spare_goes_along_where_there_is_more_that_was_lost() {
        let mut repair = repair(1);
        sent(&mut repair, 0, 2);
        for index in 0..3 {
            repair.on_lost(id(0), index);
        }
        assert_eq!(again(&mut repair, T0), [0, 1]);
    }

    #[test]
    fn what_cannot_arrive_in_time_is_not_sent() {
        let mut repair = repair(0);
        sent(&mut repair, 0, 0);
        repair.on_lost(id(0), 3);
        assert!(again(&mut repair, T0 + Span::from_millis(866)).is_empty());
        repair.on_lost(id(0), 5);
        assert_eq!(again(&mut repair, T0 + Span::from_millis(865)), [3, 5]);
    }

    #[test]
    fn what_turns_up_after_all_is_not_sent_again() {
        let mut repair = repair(0);
        sent(&mut repair, 0, 0);
        repair.on_lost(id(0), 3);
        repair.on_found(id(0), 3);
        assert!(again(&mut repair, T0).is_empty());
    }

    #[test]
    fn parity_of_a_later_frame_spares_the_repair_of_an_earlier_one() {
        let mut repair = Repair::new(&settings::Repair { spare: 0, ..settings::Repair::default() }, true);
        let shape = FrameShape::cut(10_000, 1_000).expect("in range");
        let parity = |end: u8| WindowParity { seq: 0, first: 0, count: end, row: 0 };
        let mut source = 0;
        for number in 0..2 {
            for index in 0..shape.count {
                repair.on_sent(T0, &VideoHeader { source: Some(source), ..header(number, shape, 0, index) });
                source += 1;
            }
            let buffer = FrameBuffer::whole(Bytes::from(vec![1; 10_000]));
            repair.keep(Finished { frame: id(number), since: T0, shape, parity: 0, buffer });
            repair.on_window_parity_sent(number, &parity(source as u8));
        }
        repair.on_lost(id(0), 3);
        repair.on_lost(id(0), 4);
        assert!(again(&mut repair, T0).is_empty(), "the second frame's parity is under way");
        repair.set_window_parity_missing(1, true);
        assert_eq!(again(&mut repair, T0), [3], "either will do");
        repair.on_found(id(0), 4);
        repair.on_lost(id(1), 0);
        assert_eq!(again(&mut repair, T0), [0], "the first frame's parity is not over the second");
        repair.on_lost(id(0), 3);
        assert!(again(&mut repair, T0).is_empty(), "now the first frame's parity is free");
        repair.on_lost(id(0), 5);
        assert_eq!(again(&mut repair, T0).len(), 1);
    }

    #[test]
    fn memory_is_bounded() {
        let mut repair = repair(0);
        for number in 0..2_000 {
            sent(&mut repair, number, 0);
        }
        assert!(repair.records.len() <= RECORDS_MAX);
        assert!(repair.limit_hits() > 1_000);
    }
}
