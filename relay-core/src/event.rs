//! What the machines tell their driver: the vocabulary every metric is computed from.
//!
//! Events carry no time: an event happened at the `now` of the call that produced it. They are the
//! only way results leave the core, in the simulator and on real sockets alike.

use units::Share;

use crate::refusal::TurnedAway;

/// A camera of the robot, numbered from 0 in the order of its workload; 0 is the main camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Camera(pub u8);

impl Camera {
    /// The camera that scheduling protects over all others.
    pub const MAIN: Self = Self(0);
}

/// One frame of one camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId {
    /// The camera that made it.
    pub camera: Camera,
    /// Its number within the camera, from 0.
    pub number: u32,
}

/// Who somebody is to the relay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// The end that sends video and executes commands.
    Robot,
    /// The end that sends poses and shows video.
    Operator,
}

/// Why a peer is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaveReason {
    /// It closed the connection.
    Closed,
    /// Nothing was heard from it for the idle timeout.
    TimedOut,
    /// It broke the protocol, or was not let into its session; why is in the [`Event::TurnedAway`] before.
    Refused,
    /// Another end took its place, since it had fallen silent.
    Replaced,
}

/// Where a frame was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropPlace {
    /// At the robot's end, before the relay had it.
    Robot,
    /// In the relay.
    Relay,
    /// At the operator's end: a part is missing and too late to come.
    Operator,
}

/// Why a frame was given up by one of the machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DropReason {
    /// The relay skips frames because of measured loss.
    Skipped,
    /// It grew older than the frame deadline before it was sent.
    Expired,
    /// A newer frame of the same camera took its place in a full queue.
    Superseded,
    /// Nobody was there to send it to.
    NoPeer,
    /// A part of it did not arrive and can no longer come, or no longer fits into the path's packets.
    Incomplete,
}

/// Something a machine did or saw, at the `now` of the call that returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// At the relay: a peer of this role joined a session. At an end: this end joined its session.
    Joined {
        /// The role that joined.
        role: Role,
    },
    /// At the relay: a peer left. At an end: this end lost the relay.
    Left {
        /// The role that left.
        role: Role,
        /// Why.
        reason: LeaveReason,
    },
    /// At the relay: a peer that had joined nothing was turned away. At an end: it was not let into its session.
    TurnedAway(Box<TurnedAway>),
    /// At the relay: every needed byte of the frame has come from the robot.
    FrameAtRelay {
        /// Which frame.
        frame: FrameId,
    },
    /// At the relay: the last byte of the frame was handed to the operator's transport.
    FrameForwarded {
        /// Which frame.
        frame: FrameId,
        /// Datagrams it took, headers included.
        packets: u32,
        /// Bytes it took, headers included.
        bytes: u64,
    },
    /// At any machine: the frame was given up.
    FrameDropped {
        /// Which frame.
        frame: FrameId,
        /// Where.
        place: DropPlace,
        /// Why.
        reason: DropReason,
    },
    /// At the operator: every needed byte of the frame is there.
    FrameDelivered {
        /// Which frame.
        frame: FrameId,
        /// Its size in bytes as the camera made it.
        bytes: u32,
    },
    /// At the relay: a pose came from the operator for the first time and became a command.
    PoseAtRelay {
        /// The pose's number.
        pose: u32,
    },
    /// At the robot: the relay asks for frames of another size from this camera.
    FrameSizeAsked {
        /// Which camera.
        camera: Camera,
        /// The share of its full size that each frame should have.
        share: Share,
    },
    /// At the robot: a command arrived, was newer than every one before it, and was executed.
    CommandExecuted {
        /// The pose it came from.
        pose: u32,
    },
    /// At the robot: a command arrived older than one already executed, or too old, and was not
    /// executed.
    CommandStale {
        /// The pose it came from.
        pose: u32,
    },
}
