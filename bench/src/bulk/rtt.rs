//! The sender's estimate of the round trip (RFC 9002 §5) and the timers that follow from it.

use units::Span;

/// The estimate.
#[derive(Debug)]
pub(super) struct Rtt {
    smoothed: Span,
    variation: Span,
    latest: Span,
    least: Option<Span>,
}

impl Rtt {
    pub(super) fn new() -> Self {
        Self { smoothed: FIRST, variation: FIRST / 2, latest: FIRST, least: None }
    }

    /// Takes a sample, of which the receiver waited `delay`.
    pub(super) fn sample(&mut self, rtt: Span, delay: Span) {
        self.latest = rtt;
        let Some(least) = self.least else {
            (self.least, self.smoothed, self.variation) = (Some(rtt), rtt, rtt / 2);
            return;
        };
        self.least = Some(least.min(rtt));
        let delay = delay.min(super::ACK_DELAY_MAX);
        let adjusted = if rtt >= least.min(rtt) + delay { rtt - delay } else { rtt };
        let off = adjusted.max(self.smoothed) - adjusted.min(self.smoothed);
        self.variation = self.variation - self.variation / 4 + off / 4;
        self.smoothed = self.smoothed - self.smoothed / 8 + adjusted / 8;
    }

    pub(super) fn is_measured(&self) -> bool {
        self.least.is_some()
    }

    pub(super) fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// How long after a later packet was acknowledged an earlier one counts as lost (§6.1.2).
    pub(super) fn loss_delay(&self) -> Span {
        let rtt = self.smoothed.max(self.latest);
        (rtt + rtt / 8).max(GRANULARITY)
    }

    /// How long nothing may be heard before something is sent to provoke an answer (§6.2.1).
    pub(super) fn probe_timeout(&self) -> Span {
        self.smoothed + (self.variation * 4).max(GRANULARITY) + super::ACK_DELAY_MAX
    }
}

/// RFC 9002 §6.2.2.
const FIRST: Span = Span::from_millis(333);
/// RFC 9002 §6.1.2.
const GRANULARITY: Span = Span::from_millis(1);
