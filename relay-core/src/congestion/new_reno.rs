//! `NewReno` as RFC 9002 §7 has it and as quinn-proto runs it.
//!
//! | constant | value | source |
//! |---|---|---|
//! | least window | 2 packets | RFC 9002 §7.2 |
//! | reduction on loss | one half | RFC 9002 §7.3.2, `kLossReductionFactor` |
//! | growth in slow start | what was acknowledged | RFC 9002 §7.3.1 |
//! | growth afterwards | one packet a window, counted in bytes | RFC 9002 §7.3.3, RFC 3465 |
//!
//! Acknowledgements that find the sender without data do not grow the window (RFC 9002 §7.8). As in
//! quinn that is judged when they come. A cut is not undone when the packet arrives after all.
//!
//! It does well where loss means a full queue, and fills that queue. It takes every loss for
//! congestion: at a loss share of p its window is about 1.22 / √p packets whatever the link, and
//! reordering that loss detection takes for loss brings it to its floor of two packets.

use units::Time;

use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct NewReno {
    initial_window_bytes: u64,
    packet_bytes: u64,
    window_bytes: u64,
    /// Window at which slow start ends.
    threshold_bytes: u64,
    /// What was sent up to here has had its say on the window.
    recovery_from: Time,
    /// Acknowledged since the window last grew, after slow start.
    acked_bytes: u64,
}

impl NewReno {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            window_bytes: start.initial_window_bytes,
            threshold_bytes: u64::MAX,
            recovery_from: start.now,
            acked_bytes: 0,
        }
    }

    fn window_bytes_min(&self) -> u64 {
        WINDOW_PACKETS_MIN * self.packet_bytes
    }

    /// Halves the window, once for everything sent before this moment.
    fn on_congestion(&mut self, now: Time, sent_at: Time, persistent: bool) {
        if sent_at <= self.recovery_from {
            return;
        }
        self.recovery_from = now;
        self.window_bytes = (self.window_bytes / 2).max(self.window_bytes_min());
        self.threshold_bytes = self.window_bytes;
        if persistent {
            self.window_bytes = self.window_bytes_min();
        }
    }
}

impl Controller for NewReno {
    fn on_sent(&mut self, _now: Time, _sent: &Sent) {}

    fn on_acked(&mut self, _now: Time, acked: &Acked) {
        if acked.app_limited_now || acked.sent_at <= self.recovery_from {
            return;
        }
        if self.window_bytes < self.threshold_bytes {
            self.window_bytes += acked.bytes;
            if self.window_bytes >= self.threshold_bytes {
                // What goes beyond the threshold counts for congestion avoidance.
                self.acked_bytes = self.window_bytes - self.threshold_bytes;
            }
        } else {
            self.acked_bytes += acked.bytes;
            if self.acked_bytes >= self.window_bytes {
                self.acked_bytes -= self.window_bytes;
                self.window_bytes += self.packet_bytes;
            }
        }
        self.window_bytes = self.window_bytes.min(WINDOW_BYTES_MAX);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.on_congestion(now, lost.sent_at, lost.persistent);
    }

    fn on_marked(&mut self, now: Time, sent_at: Time) {
        self.on_congestion(now, sent_at, false);
    }

    fn on_tick(&mut self, _now: Time) {}

    fn on_path_change(&mut self, now: Time) {
        self.window_bytes = self.initial_window_bytes.max(self.window_bytes_min());
        self.threshold_bytes = u64::MAX;
        self.recovery_from = now;
        self.acked_bytes = 0;
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
        self.window_bytes = self.window_bytes.max(self.window_bytes_min());
    }

    fn window_bytes(&self) -> u64 {
        self.window_bytes
    }

    fn pacing(&self) -> Option<PacingRate> {
        None
    }
}

const WINDOW_PACKETS_MIN: u64 = 2;

#[cfg(test)]
mod tests {
    use units::Span;

    use super::super::properties::{acked, lost, start};
    use super::*;

    #[test]
    fn it_halves_once_for_a_round_trip_of_losses() {
        let ms = |ms| Time::ZERO + Span::from_millis(ms);
        let mut law = NewReno::new(&start());
        law.on_lost(ms(100), &lost(ms(10)));
        assert_eq!(law.window_bytes(), 6_000);
        law.on_lost(ms(101), &lost(ms(99)));
        law.on_acked(ms(101), &acked(ms(99), ms(101)));
        assert_eq!(law.window_bytes(), 6_000);
        law.on_lost(ms(200), &lost(ms(150)));
        law.on_lost(ms(300), &Lost { persistent: true, ..lost(ms(250)) });
        assert_eq!(law.window_bytes(), 2_400);
    }
}
