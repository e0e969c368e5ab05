//! Whether the link was gone for a while.

use units::Time;

use crate::loss::OUTAGE_MIN;

/// When was sent what is known to have arrived, and what is known not to have.
#[derive(Debug, Default)]
pub(super) struct Silence {
    sent_at: Time,
    /// Since when there was always something to send.
    sending_since: Time,
    /// When the newest packet was sent that arrived.
    arrived: Time,
    /// When the newest packet was sent by which nothing had got through for long, unless something has since.
    lost: Option<Time>,
}

impl Silence {
    pub(super) fn on_sent(&mut self, now: Time) {
        if now.since(self.sent_at) >= OUTAGE_MIN {
            self.sending_since = now;
        }
        self.sent_at = now;
    }

    /// Nothing has got through for long, up to a packet sent at `sent_at`: whether that was known, and goes on.
    pub(super) fn goes_on(&mut self, sent_at: Time) -> bool {
        self.lost.replace(sent_at).is_some()
    }

    /// A packet sent at `sent_at` arrived: whether it is the first since an outage, in which something was sent all the
    /// time and nothing of it arrived.
    pub(super) fn ends_with(&mut self, sent_at: Time) -> bool {
        let before = self.arrived;
        self.arrived = before.max(sent_at);
        let gap = before > Time::ZERO && sent_at.since(before.max(self.sending_since)) >= OUTAGE_MIN;
        let long = self.lost.take_if(|lost| sent_at > *lost).is_some();
        gap || long
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A packet every `step` milliseconds, of which those between `from` and `to` are lost; when an outage ended.
    fn outages(step: usize, from: u64, to: u64) -> Vec<u64> {
        let mut silence = Silence::default();
        let mut found = Vec::new();
        for ms in (10..5_000).step_by(step) {
            silence.on_sent(at(ms));
            if !(from..to).contains(&ms) && silence.ends_with(at(ms)) {
                found.push(ms);
            }
        }
        found
    }

    #[test]
    fn an_outage_is_seen_once_and_a_pause_is_none() {
        assert_eq!(outages(10, 2_000, 2_600), [2_600]);
        assert_eq!(outages(10, 2_000, 2_100), [0_u64; 0], "a burst of loss");
        assert_eq!(outages(400, 0, 0), [0_u64; 0], "a sender that has little to send");
    }

    #[test]
    fn what_arrives_late_or_first_ends_nothing() {
        let mut silence = Silence::default();
        for ms in (10..1_000).step_by(10) {
            silence.on_sent(at(ms));
        }
        assert!(!silence.ends_with(at(900)), "it is the first");
        assert!(!silence.ends_with(at(500)) && !silence.ends_with(at(950)));
    }

    #[test]
    fn a_long_silence_ends_with_what_was_sent_in_it_last() {
        let mut silence = Silence::default();
        assert!(!silence.goes_on(at(1_000)) && silence.goes_on(at(2_000)));
        assert!(!silence.ends_with(at(1_500)), "it was sent before");
        assert!(silence.ends_with(at(2_100)) && !silence.ends_with(at(2_110)));
        assert!(!silence.goes_on(at(4_000)), "the next one is a new one");
    }
}
