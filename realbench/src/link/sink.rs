//! Who is told of every packet.

use std::sync::mpsc::SyncSender;

use netmodel::Verdict;
use netmodel::units::{Span, Time};

use super::plan::Place;

/// What became of a packet. All times are the cell's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEvent {
    /// It came to the link.
    Sent {
        /// When, by the kernel's stamp.
        at: Time,
        /// Where.
        place: Place,
        /// Its number in this direction, from 0.
        id: u64,
        /// Its IP bytes.
        ip_bytes: u32,
        /// Its fate.
        verdict: Verdict,
    },
    /// It had been let into the link's queue, and was dropped there.
    Dropped {
        /// When, by the model.
        at: Time,
        /// Where.
        place: Place,
        /// Its number in this direction, from 0.
        id: u64,
        /// Its IP bytes.
        ip_bytes: u32,
    },
    /// It left the link.
    Exit {
        /// When it was to leave, by the model.
        at: Time,
        /// When it did leave.
        released: Time,
        /// Where.
        place: Place,
        /// Its number in this direction, from 0.
        id: u64,
        /// Its IP bytes.
        ip_bytes: u32,
        /// How long it waited in the bottleneck's queue.
        queued: Span,
        /// Whether it was damaged.
        corrupted: bool,
        /// Whether it is the second copy.
        duplicate: bool,
    },
}

/// Takes packet events on the link's own thread: it must not wait.
pub trait PacketSink: Send {
    /// Takes one.
    fn packet(&mut self, event: PacketEvent);

    /// How many could not be taken.
    fn dropped(&self) -> u64 {
        0
    }
}

/// Takes nothing.
impl PacketSink for () {
    fn packet(&mut self, _: PacketEvent) {}
}

/// Passes events on through a bounded channel; what does not fit is dropped and counted.
#[derive(Debug)]
pub struct ChannelSink {
    sender: SyncSender<PacketEvent>,
    dropped: u64,
}

impl ChannelSink {
    /// Sends to `sender`.
    pub fn new(sender: SyncSender<PacketEvent>) -> Self {
        Self { sender, dropped: 0 }
    }
}

impl PacketSink for ChannelSink {
    fn packet(&mut self, event: PacketEvent) {
        self.dropped += u64::from(self.sender.try_send(event).is_err());
    }

    fn dropped(&self) -> u64 {
        self.dropped
    }
}
