//! The three signs of congestion that C4 heeds (draft-huitema-ccwg-c4-spec-04 §5).

use units::Span;

/// Averages of loss and of marks, one step a packet.
#[derive(Debug, Default)]
pub(super) struct Signals {
    /// `smoothed_loss_rate`.
    loss: f64,
    /// `ecn_alpha`.
    marks: f64,
    marks_seen: bool,
}

impl Signals {
    pub(super) fn on_acked(&mut self) {
        self.loss -= self.loss / WEIGHT;
        self.marks -= self.marks / WEIGHT;
    }

    /// Takes in losses; whether there are too many (§5.3).
    pub(super) fn on_lost(&mut self, packets: u64, rate: f64) -> bool {
        for _ in 0..packets.min(PACKETS_MAX) {
            self.loss += (1.0 - self.loss) / WEIGHT;
        }
        self.loss > 0.02 + 0.5 * (1.0 - sensitivity(rate))
    }

    /// Takes in a mark, which stands for one packet; by how much to cut, if at all (§5.4, §5.5.1).
    pub(super) fn on_marked(&mut self, rate: f64) -> f64 {
        self.marks_seen = true;
        self.marks += (1.0 - self.marks) / WEIGHT;
        let threshold = (2.0 - sensitivity(rate)) * 3.0 / 32.0;
        ((self.marks - threshold) / threshold).min(BETA_MAX)
    }

    pub(super) fn marks_seen(&self) -> bool {
        self.marks_seen
    }

    pub(super) fn on_recovered(&mut self) {
        self.marks = 0.0;
    }
}

/// How readily a flow at `rate` bytes a second backs off, 0 to 1 (§5.1).
fn sensitivity(rate: f64) -> f64 {
    if rate <= 50e3 {
        0.0
    } else if rate <= 1e6 {
        0.92 * (rate - 50e3) / 950e3
    } else {
        (0.92 + 0.08 * (rate - 1e6) / 9e6).min(1.0)
    }
}

/// By how much to cut the rate for a round trip of `rtt`; zero or less if it is short enough (§5.2,
/// §5.5.1).
pub(super) fn delay_beta(rtt: Span, nominal: Span, rate: f64) -> f64 {
    let nominal = nominal.as_secs_f64();
    let share = 1.0 / 16.0 + (1.0 - sensitivity(rate)) * 3.0 / 16.0;
    let threshold = (share * nominal).min(DELAY_MAX_S);
    ((rtt.as_secs_f64() - nominal - threshold) / threshold).min(BETA_MAX)
}

/// The deepest cut.
pub(super) const BETA_MAX: f64 = 0.25;
const WEIGHT: f64 = 16.0;
const DELAY_MAX_S: f64 = 0.025;
/// More losses at once leave the average where these leave it, within 0.03 %.
const PACKETS_MAX: u64 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensitivity_has_the_corners_of_the_draft() {
        let corners = [(0.0, 0.0), (50e3, 0.0), (1e6, 0.92), (10e6, 1.0), (1e9, 1.0)];
        for (rate, expected) in corners {
            assert!((sensitivity(rate) - expected).abs() < 1e-9, "{rate}");
        }
    }

    #[test]
    fn delay_beyond_the_threshold_cuts_in_proportion_and_by_a_quarter_at_most() {
        let ms = Span::from_millis;
        // At full sensitivity the threshold of 160 ms is 10 ms.
        assert!(delay_beta(ms(169), ms(160), 1e7) < 0.0);
        assert!((delay_beta(ms(171), ms(160), 1e7) - 0.1).abs() < 1e-9);
        assert!((delay_beta(ms(500), ms(160), 1e7) - 0.25).abs() < 1e-9);
        // At none it would be 40 ms, were it not for the 25.
        assert!(delay_beta(ms(184), ms(160), 1e4) < 0.0);
        assert!(delay_beta(ms(186), ms(160), 1e4) > 0.0);
    }

    #[test]
    fn a_fast_flow_heeds_one_loss_and_a_slow_one_does_not() {
        let mut signals = Signals::default();
        assert!(!signals.on_lost(1, 50e3));
        let mut signals = Signals::default();
        assert!(signals.on_lost(1, 1e7));
        for _ in 0..40 {
            signals.on_acked();
        }
        assert!(signals.loss < 0.02);
        assert!(signals.on_lost(u64::MAX, 50e3));
    }
}
