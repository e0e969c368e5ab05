//! Frames that wait to be handed to a transport, and the order in which they go.
//!
//! The transport underneath keeps datagrams in one first-in-first-out queue without expiry, so
//! nothing is put there before it can leave: all waiting is here, where a frame can still be
//! overtaken or given up. A frame may be begun before all of it has arrived.

use std::collections::VecDeque;

use bytes::Bytes;
use units::{Span, Time};

use super::FrameBuffer;
use crate::event::{Camera, DropPlace, DropReason, Event, FrameId};
use crate::settings::{FrameOrder, Priority};
use crate::wire::{CAMERAS_MAX, FrameShape};

/// What bounds a queue, and its order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Age at which a frame is given up.
    pub(crate) deadline: Span,
    /// Most frames of one camera.
    pub(crate) frames_max: usize,
    pub(crate) main_first: bool,
    pub(crate) order: FrameOrder,
    /// Which machine this is, for the events.
    pub(crate) place: DropPlace,
}

impl Limits {
    pub(crate) fn new(deadline: Span, priority: &Priority, place: DropPlace) -> Self {
        Self {
            deadline,
            frames_max: priority.frames_waiting_max as usize,
            main_first: priority.main_first,
            order: priority.frames,
            place,
        }
    }
}

/// A piece of a frame that goes out next.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    pub(crate) frame: FrameId,
    pub(crate) shape: FrameShape,
    pub(crate) parity: u8,
    pub(crate) index: u16,
    pub(crate) buffer: &'a FrameBuffer,
}

/// A frame whose last piece has just gone out.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) frame: FrameId,
    pub(crate) since: Time,
    pub(crate) shape: FrameShape,
    pub(crate) parity: u8,
    pub(crate) buffer: FrameBuffer,
}

#[derive(Debug)]
struct Waiting {
    number: u32,
    since: Time,
    buffer: FrameBuffer,
    /// How it is cut for this hop; fixed when the first piece goes.
    shape: Option<FrameShape>,
    parity: u8,
    next_index: u16,
    bytes_sent: u64,
}

impl Waiting {
    fn begun(&self) -> bool {
        self.next_index > 0
    }

    /// Whether the next piece is there, if pieces carry `payload_max` bytes.
    fn ready(&self, payload_max: usize) -> bool {
        let shape = self.shape.or_else(|| FrameShape::cut(self.buffer.frame_bytes(), payload_max));
        shape.is_some_and(|shape| self.buffer.has(&shape.range(self.next_index)))
    }
}

/// The waiting frames of all cameras of one hop.
#[derive(Debug)]
pub(crate) struct VideoQueue {
    limits: Limits,
    cameras: [VecDeque<Waiting>; CAMERAS_MAX],
    /// The camera whose turn is next among equals.
    turn: usize,
    /// Until then nothing is too old; it may be earlier than the first deadline, never later.
    fresh_until: Time,
    queued_bytes: u64,
    frames_expired: u64,
    limit_hits: u64,
    events: VecDeque<Event>,
}

impl VideoQueue {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            cameras: std::array::from_fn(|_| VecDeque::new()),
            turn: 0,
            fresh_until: Time::MAX,
            queued_bytes: 0,
            frames_expired: 0,
            limit_hits: 0,
            events: VecDeque::new(),
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    pub(crate) fn queued_bytes(&self) -> u64 {
        self.queued_bytes
    }

    pub(crate) fn queued_frames(&self) -> u64 {
        self.cameras.iter().map(|camera| camera.len() as u64).sum()
    }

    pub(crate) fn frames_expired(&self) -> u64 {
        self.frames_expired
    }

    pub(crate) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    /// Takes a frame, or the beginning of one.
    pub(crate) fn push(&mut self, now: Time, frame: FrameId, buffer: FrameBuffer) {
        self.expire(now);
        let index = usize::from(frame.camera.0);
        if index >= CAMERAS_MAX {
            return;
        }
        if self.cameras[index].len() >= self.limits.frames_max {
            self.limit_hits += 1;
            let oldest = self.cameras[index].iter().position(|waiting| !waiting.begun()).unwrap_or(0);
            self.drop_frame(index, oldest, DropReason::Superseded);
        }
        self.queued_bytes += u64::from(buffer.frame_bytes());
        self.fresh_until = self.fresh_until.min(now + self.limits.deadline);
        self.cameras[index].push_back(Waiting {
            number: frame.number,
            since: now,
            buffer,
            shape: None,
            parity: 0,
            next_index: 0,
            bytes_sent: 0,
        });
    }

    /// Adds a part to a frame that is waiting; a frame that is not is left alone.
    pub(crate) fn extend(&mut self, frame: FrameId, index: u16, payload: Bytes) {
        let Some(camera) = self.cameras.get_mut(usize::from(frame.camera.0)) else { return };
        // The frame in question is nearly always the newest.
        if let Some(waiting) = camera.iter_mut().rev().find(|waiting| waiting.number == frame.number) {
            waiting.buffer.insert(index, payload);
        }
    }

    /// Whether there is something that could go out now.
    pub(crate) fn is_ready(&mut self, now: Time, payload_max: usize) -> bool {
        self.expire(now);
        self.queued_bytes > 0 && self.pick(payload_max).is_some()
    }

    /// Hands the next piece to `send`, which says how many bytes it made of it. `plan` says how much
    /// parity a frame gets, when its first piece goes. A frame whose last piece went is returned.
    pub(crate) fn pop(
        &mut self,
        payload_max: usize,
        plan: impl FnOnce(FrameId, FrameShape) -> u8,
        send: impl FnOnce(Cut<'_>) -> u64,
    ) -> Option<Finished> {
        let (camera, position) = self.pick(payload_max)?;
        let waiting = &mut self.cameras[camera][position];
        let frame = FrameId { camera: Camera(camera as u8), number: waiting.number };
        let shape = waiting.shape.or_else(|| FrameShape::cut(waiting.buffer.frame_bytes(), payload_max))?;
        if waiting.shape.is_none() {
            waiting.shape = Some(shape);
            waiting.parity = plan(frame, shape);
        }
        let (index, parity) = (waiting.next_index, waiting.parity);
        waiting.bytes_sent += send(Cut { frame, shape, parity, index, buffer: &waiting.buffer });
        waiting.next_index += 1;
        self.turn = camera + 1;
        if waiting.next_index < shape.count {
            return None;
        }
        let (packets, bytes) = (u32::from(shape.count), waiting.bytes_sent);
        let Waiting { since, buffer, .. } = self.remove(camera, position)?;
        self.events.push_back(Event::FrameForwarded { frame, packets, bytes });
        Some(Finished { frame, since, shape, parity, buffer })
    }

    /// Takes the next whole frame that has not begun, for a transport that cuts by itself.
    pub(crate) fn pop_whole(&mut self, now: Time) -> Option<(FrameId, Time, FrameBuffer)> {
        self.expire(now);
        let found = self.camera_order().find_map(|camera| {
            let complete = |waiting: &Waiting| waiting.buffer.is_complete();
            let position = match self.limits.order {
                FrameOrder::Newest => self.cameras[camera].iter().rposition(complete),
                FrameOrder::Oldest => self.cameras[camera].iter().position(complete),
            };
            position.map(|position| (camera, position))
        });
        let (camera, position) = found?;
        let waiting = self.remove(camera, position)?;
        self.turn = camera + 1;
        let frame = FrameId { camera: Camera(camera as u8), number: waiting.number };
        Some((frame, waiting.since, waiting.buffer))
    }

    /// Gives up everything, since there is nobody to send it to.
    pub(crate) fn clear(&mut self) {
        for camera in 0..CAMERAS_MAX {
            while !self.cameras[camera].is_empty() {
                self.drop_frame(camera, 0, DropReason::NoPeer);
            }
        }
    }

    /// Gives up frames that have begun in pieces of more than `payload_max` bytes.
    pub(crate) fn give_up_wider(&mut self, payload_max: usize) {
        for camera in 0..CAMERAS_MAX {
            let wider = |waiting: &Waiting| {
                waiting.begun() && waiting.shape.is_some_and(|shape| shape.is_wider(payload_max))
            };
            while let Some(position) = self.cameras[camera].iter().position(wider) {
                self.drop_frame(camera, position, DropReason::Incomplete);
            }
        }
    }

    /// The cameras in the order in which they are asked. Where the main camera is first it comes
    /// again in its turn, and has nothing then either.
    fn camera_order(&self) -> impl Iterator<Item = usize> {
        let main = self.limits.main_first.then_some(usize::from(Camera::MAIN.0));
        let turn = self.turn;
        main.into_iter().chain((0..CAMERAS_MAX).map(move |offset| (turn + offset) % CAMERAS_MAX))
    }

    fn pick(&self, payload_max: usize) -> Option<(usize, usize)> {
        self.camera_order().find_map(|camera| {
            let frames = &self.cameras[camera];
            if frames.is_empty() {
                return None;
            }
            let ready = |position: &usize| frames[*position].ready(payload_max);
            let begun = (0..frames.len()).filter(|position| frames[*position].begun()).find(ready);
            let position = begun.or_else(|| match self.limits.order {
                FrameOrder::Newest => (0..frames.len()).rev().find(ready),
                FrameOrder::Oldest => (0..frames.len()).find(ready),
            });
            position.map(|position| (camera, position))
        })
    }

    fn expire(&mut self, now: Time) {
        if now <= self.fresh_until {
            return;
        }
        for camera in 0..CAMERAS_MAX {
            // In order of arrival, so the first that is young enough ends it.
            while self.cameras[camera]
                .front()
                .is_some_and(|waiting| now.since(waiting.since) > self.limits.deadline)
            {
                self.frames_expired += 1;
                self.drop_frame(camera, 0, DropReason::Expired);
            }
        }
        let oldest = self.cameras.iter().filter_map(|camera| camera.front()).map(|waiting| waiting.since);
        self.fresh_until = oldest.min().map_or(Time::MAX, |since| since + self.limits.deadline);
    }

    fn drop_frame(&mut self, camera: usize, position: usize, reason: DropReason) {
        if let Some(waiting) = self.remove(camera, position) {
            let frame = FrameId { camera: Camera(camera as u8), number: waiting.number };
            self.events.push_back(Event::FrameDropped { frame, place: self.limits.place, reason });
        }
    }

    fn remove(&mut self, camera: usize, position: usize) -> Option<Waiting> {
        let waiting = self.cameras[camera].remove(position)?;
        self.queued_bytes -= u64::from(waiting.buffer.frame_bytes());
        Some(waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(order: FrameOrder, frames_max: usize) -> VideoQueue {
        VideoQueue::new(Limits {
            deadline: Span::from_millis(1000),
            frames_max,
            main_first: true,
            order,
            place: DropPlace::Relay,
        })
    }

    fn id(camera: u8, number: u32) -> FrameId {
        FrameId { camera: Camera(camera), number }
    }

    fn whole(bytes: usize) -> FrameBuffer {
        FrameBuffer::whole(Bytes::from(vec![1; bytes]))
    }

    fn next(queue: &mut VideoQueue, now: Time) -> Option<(u8, u32, u16)> {
        let mut popped = None;
        if queue.is_ready(now, 1000) {
            let send = |cut: Cut<'_>| {
                popped = Some((cut.frame.camera.0, cut.frame.number, cut.index));
                1
            };
            queue.pop(1000, |_, _| 0, send);
        }
        popped
    }

    const T0: Time = Time::from_nanos(1_000_000_000);

    #[test]
    fn a_begun_frame_is_finished_then_the_newest_goes() {
        let mut queue = queue(FrameOrder::Newest, 8);
        queue.push(T0, id(0, 0), whole(1500));
        assert_eq!(next(&mut queue, T0), Some((0, 0, 0)));
        queue.push(T0, id(0, 1), whole(500));
        queue.push(T0, id(0, 2), whole(500));
        assert_eq!(next(&mut queue, T0), Some((0, 0, 1)));
        assert_eq!(next(&mut queue, T0), Some((0, 2, 0)));
        assert_eq!(next(&mut queue, T0), Some((0, 1, 0)));
        assert_eq!(next(&mut queue, T0), None);
        assert_eq!(queue.queued_bytes(), 0);
    }

    #[test]
    fn the_main_camera_goes_before_a_begun_wrist_frame() {
        let mut queue = queue(FrameOrder::Newest, 8);
        queue.push(T0, id(1, 0), whole(3000));
        assert_eq!(next(&mut queue, T0), Some((1, 0, 0)));
        queue.push(T0, id(0, 0), whole(500));
        assert_eq!(next(&mut queue, T0), Some((0, 0, 0)));
        assert_eq!(next(&mut queue, T0), Some((1, 0, 1)));
    }

    #[test]
    fn wrist_cameras_take_turns() {
        let mut queue = queue(FrameOrder::Newest, 8);
        queue.push(T0, id(1, 0), whole(2000));
        queue.push(T0, id(2, 0), whole(2000));
        let order: Vec<_> = std::iter::from_fn(|| next(&mut queue, T0)).map(|(camera, ..)| camera).collect();
        assert_eq!(order, [1, 2, 1, 2]);
    }

    #[test]
    fn old_frames_expire_and_full_queues_drop_the_oldest_not_begun() {
        let mut queue = queue(FrameOrder::Oldest, 2);
        queue.push(T0, id(0, 0), whole(1500));
        assert_eq!(next(&mut queue, T0), Some((0, 0, 0)));
        queue.push(T0, id(0, 1), whole(500));
        queue.push(T0, id(0, 2), whole(500));
        let superseded =
            Event::FrameDropped { frame: id(0, 1), place: DropPlace::Relay, reason: DropReason::Superseded };
        assert_eq!(queue.poll_event(), Some(superseded));
        assert_eq!(queue.limit_hits(), 1);
        let later = T0 + Span::from_millis(1001);
        assert_eq!(next(&mut queue, later), None);
        assert_eq!(queue.frames_expired(), 2);
        assert_eq!(queue.queued_bytes(), 0);
    }

    #[test]
    fn a_frame_goes_as_far_as_it_has_come() {
        let mut queue = queue(FrameOrder::Newest, 8);
        let shape = FrameShape::cut(2500, 1000).expect("in range");
        let data = Bytes::from(vec![9; 2500]);
        queue.push(T0, id(0, 0), FrameBuffer::new(shape));
        assert_eq!(next(&mut queue, T0), None);
        queue.extend(id(0, 0), 1, data.slice(shape.range(1)));
        assert_eq!(next(&mut queue, T0), None, "the first part is still missing");
        queue.extend(id(0, 0), 0, data.slice(shape.range(0)));
        assert_eq!(next(&mut queue, T0), Some((0, 0, 0)));
        assert_eq!(next(&mut queue, T0), Some((0, 0, 1)));
        assert_eq!(next(&mut queue, T0), None);
    }
}
