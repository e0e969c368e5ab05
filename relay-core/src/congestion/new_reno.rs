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

use super::controller::{Acked, Controller, Lost, Start};
use super::loss_window::LossWindow;
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct NewReno {
    window: LossWindow,
    /// What was sent up to here has had its say on the window.
    recovery_from: Time,
    /// Acknowledged since the window last grew, after slow start.
    acked_bytes: u64,
}

impl NewReno {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self { window: LossWindow::new(start), recovery_from: start.now, acked_bytes: 0 }
    }

    /// Halves the window, once for everything sent before this moment.
    fn on_congestion(&mut self, now: Time, sent_at: Time, persistent: bool) {
        if sent_at <= self.recovery_from {
            return;
        }
        self.recovery_from = now;
        self.window.cut_to(self.window.bytes / 2);
        if persistent {
            self.window.bytes = self.window.min_bytes();
        }
    }
}

impl Controller for NewReno {
    fn on_acked(&mut self, _now: Time, acked: &Acked) {
        if acked.app_limited_now || acked.sent_at <= self.recovery_from {
            return;
        }
        let window = &mut self.window;
        if window.in_slow_start() {
            window.bytes += acked.bytes;
            if !window.in_slow_start() {
                // What goes beyond the threshold counts for congestion avoidance.
                self.acked_bytes = window.bytes - window.threshold_bytes;
            }
        } else {
            self.acked_bytes += acked.bytes;
            if self.acked_bytes >= window.bytes {
                self.acked_bytes -= window.bytes;
                window.bytes += window.packet_bytes;
            }
        }
        window.hold();
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.on_congestion(now, lost.sent_at, lost.persistent);
    }

    fn on_marked(&mut self, now: Time, sent_at: Time) {
        self.on_congestion(now, sent_at, false);
    }

    fn on_path_change(&mut self, now: Time) {
        self.window.restart();
        self.recovery_from = now;
        self.acked_bytes = 0;
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.window.resize(packet_bytes);
    }

    fn window_bytes(&self) -> u64 {
        self.window.bytes
    }

    fn pacing(&self) -> Option<PacingRate> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::properties::{acked, lost, ms, start};
    use super::*;

    #[test]
    fn it_halves_once_for_a_round_trip_of_losses() {
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
