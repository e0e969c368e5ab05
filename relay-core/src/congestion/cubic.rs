//! CUBIC as RFC 9438 has it and as quinn-proto runs it.
//!
//! | constant | value | source |
//! |---|---|---|
//! | C | 0.4 packets/s³ | RFC 9438 §5.1 |
//! | β | 0.7 | RFC 9438 §4.6 |
//! | α of the Reno-friendly region | 3 (1 − β) / (1 + β) | RFC 9438 §4.3 |
//! | fast convergence | `W_max` = window × (1 + β) / 2 | RFC 9438 §4.7 |
//! | least window | 2 packets | RFC 9002 §7.2 |
//!
//! Where quinn leaves the RFC, quinn is followed: the Reno-friendly estimate is a function of time
//! (RFC 8312 §4.2) and grows from `W_max` × β, and congestion avoidance adds at most one packet an
//! acknowledgement. quinn's smoothed round trip takes the receiver's waiting out, which is unknown
//! here; ours has it in.
//!
//! It does well where loss means a full queue, and fills that queue; after a cut it is back near
//! the old window within `K` = ∛(0.3 `W_max` / C) seconds. Like `NewReno` it takes every loss for
//! congestion.

use units::{Span, Time};

use super::controller::{Acked, Controller, Lost, Start};
use super::loss_window::LossWindow;
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Cubic {
    window: LossWindow,
    /// What was sent up to here has had its say on the window; growth is reckoned from it.
    recovery_from: Option<Time>,
    /// Window before the last cut, in bytes.
    window_max: f64,
    /// Seconds from a cut until the cubic is at `window_max` again.
    k: f64,
    /// Growth that does not make a packet yet.
    growth_bytes: u64,
    rtt: SmoothedRtt,
}

/// The smoothed round trip: one sample for all that is acknowledged at one moment, that of the
/// packet sent last, and none if a later one was acknowledged before (RFC 9002 §5.1, §5.3).
#[derive(Debug, Default)]
struct SmoothedRtt {
    smoothed: Option<Span>,
    /// What the acknowledgements of this moment say so far.
    latest: Option<Span>,
    moment: Time,
    newest_sent: Time,
}

impl SmoothedRtt {
    /// The estimate before this moment.
    fn update(&mut self, now: Time, acked: &Acked) -> Span {
        if self.moment != now {
            self.moment = now;
            if let Some(rtt) = self.latest.take() {
                self.smoothed = Some(self.smoothed.map_or(rtt, |old| (old - old / 8) + rtt / 8));
            }
        }
        if acked.sent_at >= self.newest_sent {
            self.newest_sent = acked.sent_at;
            self.latest = Some(acked.rtt);
        }
        self.smoothed.unwrap_or(acked.rtt)
    }
}

impl Cubic {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            window: LossWindow::new(start),
            recovery_from: None,
            window_max: 0.0,
            k: 0.0,
            growth_bytes: 0,
            rtt: SmoothedRtt::default(),
        }
    }

    fn in_recovery(&self, sent_at: Time) -> bool {
        self.recovery_from.is_some_and(|from| sent_at <= from)
    }

    /// The cubic, in bytes, `seconds` after the cut (RFC 9438 §4.2, equation 1).
    fn cubic_bytes(&self, seconds: f64) -> f64 {
        let packet = self.window.packet_bytes as f64;
        let past = seconds - self.k;
        (C * past * past * past + self.window_max / packet) * packet
    }

    /// What Reno with the same cut would have by now (RFC 9438 §4.3).
    fn reno_bytes(&self, seconds: f64, rtt: f64) -> f64 {
        let packet = self.window.packet_bytes as f64;
        let alpha = 3.0 * (1.0 - BETA) / (1.0 + BETA);
        (self.window_max / packet * BETA + alpha * seconds / rtt) * packet
    }

    /// Grows by what an acknowledgement is worth after slow start.
    fn avoid_congestion(&mut self, now: Time, rtt: Span) {
        let from = *self.recovery_from.get_or_insert_with(|| {
            self.window_max = self.window.bytes as f64;
            self.k = 0.0;
            now
        });
        let elapsed = now.since(from).as_secs_f64();
        let rtt = rtt.max(RTT_MIN).as_secs_f64();
        let cubic = self.cubic_bytes(elapsed + rtt);
        let reno = self.reno_bytes(elapsed, rtt);
        let window = self.window.bytes as f64;
        let growth = if cubic < reno {
            (reno - window).max(0.0)
        } else if window < cubic {
            (cubic - window) / window * self.window.packet_bytes as f64
        } else {
            0.0
        };
        // The conversion saturates, so that no stretch of time is too long.
        self.growth_bytes = self.growth_bytes.saturating_add(growth as u64);
        if self.growth_bytes >= self.window.packet_bytes {
            self.window.bytes += self.window.packet_bytes;
            self.growth_bytes = 0;
        }
    }

    fn on_congestion(&mut self, now: Time, sent_at: Time, persistent: bool) {
        if self.in_recovery(sent_at) {
            return;
        }
        self.recovery_from = Some(now);
        let window = self.window.bytes as f64;
        self.window_max = if window < self.window_max { window * (1.0 + BETA) / 2.0 } else { window };
        self.window.cut_to((window * BETA) as u64);
        self.k = libm::cbrt(self.window_max / self.window.packet_bytes as f64 * (1.0 - BETA) / C);
        self.growth_bytes = (self.growth_bytes as f64 * BETA) as u64;
        if persistent {
            self.recovery_from = None;
            self.window_max = self.window.bytes as f64;
            self.window.cut_to((self.window_max * BETA) as u64);
            self.growth_bytes = 0;
            self.window.bytes = self.window.min_bytes();
        }
    }
}

impl Controller for Cubic {
    fn on_acked(&mut self, now: Time, acked: &Acked) {
        let rtt = self.rtt.update(now, acked);
        if acked.app_limited_now || self.in_recovery(acked.sent_at) {
            return;
        }
        if self.window.in_slow_start() {
            self.window.bytes += acked.bytes;
        } else {
            self.avoid_congestion(now, rtt);
        }
        self.window.hold();
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.on_congestion(now, lost.sent_at, lost.persistent);
    }

    fn on_marked(&mut self, now: Time, sent_at: Time) {
        self.on_congestion(now, sent_at, false);
    }

    fn on_path_change(&mut self, _now: Time) {
        self.window.restart();
        self.recovery_from = None;
        self.window_max = 0.0;
        self.k = 0.0;
        self.growth_bytes = 0;
        self.rtt = SmoothedRtt::default();
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

const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// Below this a round trip is no measure of anything.
const RTT_MIN: Span = Span::from_micros(1);

#[cfg(test)]
mod tests {
    use super::super::properties::{acked, lost, ms, start};
    use super::*;

    #[test]
    fn a_cut_is_by_three_tenths_and_a_second_one_converges_faster() {
        let mut law = Cubic::new(&start());
        law.on_lost(ms(100), &lost(ms(10)));
        assert_eq!(law.window_bytes(), 8_400);
        assert!((law.window_max - 12_000.0).abs() < 1e-9);
        law.on_lost(ms(101), &lost(ms(99)));
        assert_eq!(law.window_bytes(), 8_400);
        law.on_lost(ms(300), &lost(ms(200)));
        assert_eq!(law.window_bytes(), 5_880);
        assert!((law.window_max - 8_400.0 * 0.85).abs() < 1e-9);
    }

    #[test]
    fn the_window_is_back_after_k_seconds() {
        let mut law = Cubic::new(&start());
        law.on_lost(ms(100), &lost(ms(10)));
        // Ten packets: the cube root of 0.3 × 10 / 0.4.
        assert!((law.k - 1.957_433_820_584_42).abs() < 1e-9);
        // A round trip so long that Reno would be slower.
        for step in 0..400 {
            let now = ms(700 + step * 10);
            law.on_acked(now, &acked(ms(200 + step * 10), now));
            if now < ms(1_300) {
                assert!(law.window_bytes() <= 12_000);
            }
        }
        assert!(law.window_bytes() >= 12_000);
    }
}
