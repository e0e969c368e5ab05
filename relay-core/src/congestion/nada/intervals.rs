//! How long the last loss is remembered: by the mean interval between losses (RFC 8698 §4.2,
//! RFC 5348 §5.4).

use std::collections::VecDeque;

use units::{Span, Time};

/// How many packets lie between losses (RFC 5348 §5.4).
#[derive(Debug, Default)]
pub(super) struct LossIntervals {
    /// The last intervals that ended, the newest first.
    closed: VecDeque<f64>,
    /// Packets since the last loss event began.
    open: f64,
    /// Packets since the last loss.
    since_loss: f64,
    event_sent_at: Option<Time>,
}

impl LossIntervals {
    pub(super) fn on_delivered(&mut self) {
        self.open += 1.0;
        self.since_loss += 1.0;
    }

    /// Losses within a round trip are one event (RFC 5348 §5.2).
    pub(super) fn on_lost(&mut self, packets: u64, sent_at: Time, rtt: Span) {
        self.since_loss = 0.0;
        if self.event_sent_at.is_some_and(|event| sent_at <= event + rtt) {
            self.open += packets as f64;
            return;
        }
        if self.event_sent_at.is_some() {
            self.closed.push_front(self.open);
            self.closed.truncate(INTERVAL_WEIGHTS.len());
        }
        self.event_sent_at = Some(sent_at);
        self.open = 0.0;
    }

    pub(super) fn mean(&self) -> f64 {
        let weighted = |intervals: &mut dyn Iterator<Item = f64>| {
            let (sum, weights) =
                intervals.zip(INTERVAL_WEIGHTS).fold((0.0, 0.0), |(sum, weights), (packets, weight)| {
                    (sum + packets * weight, weights + weight)
                });
            if weights > 0.0 { sum / weights } else { 0.0 }
        };
        let closed = weighted(&mut self.closed.iter().copied());
        closed.max(weighted(&mut std::iter::once(self.open).chain(self.closed.iter().copied())))
    }

    /// 1 while the last loss has not expired, falling to 0 within another mean interval.
    pub(super) fn recency(&self) -> f64 {
        if self.event_sent_at.is_none() {
            return 0.0;
        }
        let mean = self.mean().max(1.0);
        (1.0 + MULTILOSS - self.since_loss / mean).clamp(0.0, 1.0)
    }
}

const MULTILOSS: f64 = 7.0;
const INTERVAL_WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn losses_of_one_round_trip_are_one_event() {
        let mut intervals = LossIntervals::default();
        let rtt = Span::from_millis(100);
        for sent_at in [0, 50, 100, 101] {
            intervals.on_lost(1, ms(sent_at), rtt);
            for _ in 0..5 {
                intervals.on_delivered();
            }
        }
        // The first event took 15 delivered and two lost packets.
        assert_eq!(intervals.closed, [17.0]);
        assert!((intervals.mean() - 17.0).abs() < 1e-9);
    }
}
