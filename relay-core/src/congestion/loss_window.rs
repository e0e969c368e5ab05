//! The window of a law that grows until something is lost, with what every such law does alike to it: `NewReno`'s and
//! CUBIC's. How it grows, by how much a loss cuts it and which losses count is each law's own.

use super::controller::{Start, WINDOW_BYTES_MAX};

/// A window in bytes, the one at which slow start ends, and what both are reckoned in.
#[derive(Debug)]
pub(super) struct LossWindow {
    initial_bytes: u64,
    /// The largest packet of the path.
    pub(super) packet_bytes: u64,
    /// The window. Whoever grows it calls [`hold`](Self::hold) after that.
    pub(super) bytes: u64,
    /// Window at which slow start ends.
    pub(super) threshold_bytes: u64,
}

impl LossWindow {
    pub(super) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            bytes: start.initial_window_bytes,
            threshold_bytes: u64::MAX,
        }
    }

    /// The least window (RFC 9002 §7.2).
    pub(super) fn min_bytes(&self) -> u64 {
        WINDOW_PACKETS_MIN * self.packet_bytes
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.bytes < self.threshold_bytes
    }

    /// Holds the window to the most that there may be.
    pub(super) fn hold(&mut self) {
        self.bytes = self.bytes.min(WINDOW_BYTES_MAX);
    }

    /// Cuts the window to `bytes`, or the least, and ends slow start there.
    pub(super) fn cut_to(&mut self, bytes: u64) {
        self.bytes = bytes.max(self.min_bytes());
        self.threshold_bytes = self.bytes;
    }

    /// Starts again on a new path.
    pub(super) fn restart(&mut self) {
        self.bytes = self.initial_bytes.max(self.min_bytes());
        self.threshold_bytes = u64::MAX;
    }

    /// Reckons in packets of another size.
    pub(super) fn resize(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
        self.bytes = self.bytes.max(self.min_bytes());
    }
}

const WINDOW_PACKETS_MIN: u64 = 2;
