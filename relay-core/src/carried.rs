//! What a packet carries: which part of which frame, or which pose.
//!
//! Told beside the packet to whoever sends it, and never part of it: with this a driver can say which packets a
//! frame was lost with, though it sees only protected bytes. Nothing in the machines depends on it.

use std::collections::VecDeque;

use crate::event::FrameId;

/// What one packet carries for the application. All empty for a packet of handshake, acknowledgements,
/// probes or streams alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// The part of a frame. Of several, which no packet of ordinary size has room for, the first.
    pub video: Option<VideoPart>,
    /// The newest pose, on its way to the relay.
    pub pose: Option<u32>,
    /// The newest pose of a command, on its way to the robot.
    pub command: Option<u32>,
    /// Whether it reports what video came.
    pub feedback: bool,
    /// Whether it asks the robot for other frame sizes.
    pub resize: bool,
}

/// A part of a frame sent as datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VideoPart {
    /// Which frame.
    pub frame: FrameId,
    /// What part it is.
    pub kind: PartKind,
    /// Which one, from 0: fragments first, then parity.
    pub index: u16,
    /// Parts that the frame needs; any so many will do.
    pub count: u16,
}

/// What a part of a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// A piece of the frame, for the first time.
    Fragment,
    /// Parity, which stands in for any piece.
    Parity,
    /// A piece that is sent again.
    Again,
}

impl Carried {
    /// A part of a frame alone.
    pub(crate) fn video(part: VideoPart) -> Self {
        Self { video: Some(part), ..Self::default() }
    }

    fn add(&mut self, other: &Self) {
        self.video = self.video.or(other.video);
        self.pose = self.pose.max(other.pose);
        self.command = self.command.max(other.command);
        self.feedback |= other.feedback;
        self.resize |= other.resize;
    }
}

/// What lies in quinn's own datagram queue, which says only how full it is.
#[derive(Debug, Default)]
pub(crate) struct Handed {
    waiting: VecDeque<(usize, Carried)>,
    /// Room that the waiting ones take in quinn's queue.
    used: usize,
}

impl Handed {
    /// Notes a datagram that takes this much of quinn's queue.
    pub(crate) fn push(&mut self, used: usize, carries: Carried) {
        self.used += used;
        self.waiting.push_back((used, carries));
    }

    /// Whether all that was handed over has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What has left quinn's queue, of which this much is in use now.
    pub(crate) fn take_left(&mut self, used_now: usize) -> Carried {
        let mut left = Carried::default();
        while self.used > used_now
            && let Some((used, carries)) = self.waiting.pop_front()
        {
            self.used -= used;
            left.add(&carries);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Camera;

    #[test]
    fn what_has_left_is_told_once_and_in_order() {
        let part = |number| VideoPart {
            frame: FrameId { camera: Camera::MAIN, number },
            kind: PartKind::Fragment,
            index: 0,
            count: 1,
        };
        let mut handed = Handed::default();
        handed.push(100, Carried { pose: Some(3), ..Carried::default() });
        handed.push(50, Carried { feedback: true, ..Carried::default() });
        handed.push(70, Carried::video(part(9)));
        assert_eq!(handed.take_left(220), Carried::default());
        assert_eq!(handed.take_left(70), Carried { pose: Some(3), feedback: true, ..Carried::default() });
        assert!(!handed.is_empty());
        assert_eq!(handed.take_left(0), Carried::video(part(9)));
        assert_eq!(handed.take_left(0), Carried::default());
        assert!(handed.is_empty());
    }
}
