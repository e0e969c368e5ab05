//! How fast the path delivers: a sample with every acknowledgement.
//!
//! The estimator of draft-ietf-ccwg-bbr-06 §4.1. Acknowledgements say when their packet was sent
//! and nothing else of it, so what was true then is kept by that moment. Not a law: laws that
//! reckon with a delivery rate own one.

use std::collections::VecDeque;

use units::{Span, Time};

use super::controller::{Acked, Lost, Sent};

/// The estimator's state; names of the draft in brackets.
#[derive(Debug)]
pub(crate) struct Delivery {
    /// Acknowledged so far (`C.delivered`).
    delivered_bytes: u64,
    /// When that last changed (`C.delivered_time`).
    delivered_at: Time,
    /// When what was last acknowledged had been sent (`C.first_send_time`).
    first_sent_at: Time,
    /// Declared lost so far (`C.lost`).
    lost_bytes: u64,
    /// Until more than this is delivered, samples have a gap for lack of data in them
    /// (`C.app_limited`).
    app_limited_until: u64,
    /// The shortest round trip of the path.
    rtt_min: Span,
    moments: VecDeque<Moment>,
}

/// What was true when the packets of one moment were sent.
#[derive(Debug, Clone, Copy)]
struct Moment {
    sent_at: Time,
    first_sent_at: Time,
    delivered_at: Time,
    delivered_bytes: u64,
    lost_bytes: u64,
    in_flight_bytes: u64,
    app_limited: bool,
}

/// A sample (`RS`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sample {
    /// What was delivered when the packet was sent.
    pub(crate) prior_delivered_bytes: u64,
    /// Delivered since.
    pub(crate) delivered_bytes: u64,
    /// Over how long that was sent.
    pub(crate) send_elapsed: Span,
    /// Bytes a second; zero where the interval is too short to tell.
    pub(crate) rate: f64,
    /// In flight when the packet was sent, itself included.
    pub(crate) in_flight_bytes: u64,
    /// Declared lost since.
    pub(crate) lost_bytes: u64,
    /// Whether lack of data may have made the rate low.
    pub(crate) app_limited: bool,
}

impl Delivery {
    pub(crate) fn new(now: Time) -> Self {
        Self {
            delivered_bytes: 0,
            delivered_at: now,
            first_sent_at: now,
            lost_bytes: 0,
            app_limited_until: 0,
            rtt_min: Span::MAX,
            moments: VecDeque::new(),
        }
    }

    pub(crate) fn delivered_bytes(&self) -> u64 {
        self.delivered_bytes
    }

    /// Notes what is true now (`OnPacketSent`, §4.1.2.2).
    pub(crate) fn on_sent(&mut self, now: Time, sent: &Sent) {
        if sent.in_flight_bytes <= sent.bytes {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        if sent.app_limited {
            self.mark_app_limited(sent.in_flight_bytes);
        }
        let moment = Moment {
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered_at: self.delivered_at,
            delivered_bytes: self.delivered_bytes,
            lost_bytes: self.lost_bytes,
            in_flight_bytes: sent.in_flight_bytes,
            app_limited: self.app_limited_until > 0,
        };
        match self.moments.back_mut() {
            Some(last) if last.sent_at >= now => {
                last.in_flight_bytes = last.in_flight_bytes.max(sent.in_flight_bytes);
                last.app_limited |= moment.app_limited;
            }
            _ => {
                if self.moments.len() >= MOMENTS_MAX {
                    self.moments.pop_front();
                }
                self.moments.push_back(moment);
            }
        }
    }

    /// Says that a gap for lack of data is behind what is in flight now
    /// (`MarkConnectionAppLimited`, §4.1.2.4).
    pub(crate) fn mark_app_limited(&mut self, in_flight_bytes: u64) {
        self.app_limited_until = self.delivered_bytes.saturating_add(in_flight_bytes).max(1);
    }

    /// The sample of a packet that was acknowledged (§4.1.2.3); `None` if it was never heard of.
    pub(crate) fn on_acked(&mut self, now: Time, acked: &Acked) -> Option<Sample> {
        self.rtt_min = self.rtt_min.min(acked.rtt);
        self.delivered_bytes = self.delivered_bytes.saturating_add(acked.bytes);
        self.delivered_at = now;
        let moment = self.moment(acked.sent_at);
        if self.delivered_bytes > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let moment = moment?;
        self.first_sent_at = self.first_sent_at.max(moment.sent_at);
        let send_elapsed = moment.sent_at.since(moment.first_sent_at);
        let interval = now.since(moment.delivered_at).max(send_elapsed);
        let delivered_bytes = self.delivered_bytes.saturating_sub(moment.delivered_bytes);
        let rate = if interval < self.rtt_min || interval.is_zero() {
            0.0
        } else {
            delivered_bytes as f64 / interval.as_secs_f64()
        };
        Some(Sample {
            prior_delivered_bytes: moment.delivered_bytes,
            delivered_bytes,
            send_elapsed,
            rate,
            in_flight_bytes: moment.in_flight_bytes,
            lost_bytes: self.lost_bytes.saturating_sub(moment.lost_bytes),
            app_limited: moment.app_limited,
        })
    }

    /// What a loss says: the sample that the packet would have given, without a rate (§5.5.10.2).
    pub(crate) fn on_lost(&mut self, lost: &Lost) -> Option<Sample> {
        self.lost_bytes = self.lost_bytes.saturating_add(lost.bytes);
        let moment = self.moment(lost.sent_at)?;
        Some(Sample {
            prior_delivered_bytes: moment.delivered_bytes,
            delivered_bytes: self.delivered_bytes.saturating_sub(moment.delivered_bytes),
            send_elapsed: moment.sent_at.since(moment.first_sent_at),
            rate: 0.0,
            in_flight_bytes: moment.in_flight_bytes,
            lost_bytes: self.lost_bytes.saturating_sub(moment.lost_bytes),
            app_limited: moment.app_limited,
        })
    }

    fn moment(&self, sent_at: Time) -> Option<Moment> {
        let index = self.moments.binary_search_by_key(&sent_at, |moment| moment.sent_at).ok()?;
        self.moments.get(index).copied()
    }
}

/// Moments remembered, the newest: a second's worth at 8000 packets a second. A packet sent before
/// them gives no sample when it is acknowledged.
const MOMENTS_MAX: usize = 8192;

#[cfg(test)]
mod tests {
    use super::super::properties::ms;
    use super::*;

    fn sent(in_flight_bytes: u64, app_limited: bool) -> Sent {
        Sent { bytes: 1_000, in_flight_bytes, app_limited }
    }

    fn acked(sent_at: Time, now: Time) -> Acked {
        let rtt = now.since(sent_at);
        let (in_flight_bytes, app_limited, app_limited_now) = (0, false, false);
        Acked { bytes: 1_000, sent_at, received_at: None, rtt, in_flight_bytes, app_limited, app_limited_now }
    }

    #[test]
    fn a_steady_stream_is_measured_exactly() {
        let mut delivery = Delivery::new(Time::ZERO);
        for n in 0..300 {
            let now = ms(n * 10);
            if n >= 5 {
                let sample = delivery.on_acked(now, &acked(ms(n * 10 - 50), now)).unwrap();
                if n >= 20 {
                    assert!((sample.rate - 100_000.0).abs() < 1e-6, "{sample:?}");
                    assert!(!sample.app_limited);
                }
            }
            delivery.on_sent(now, &sent((n + 1).min(5) * 1_000, false));
        }
    }

    #[test]
    fn a_gap_marks_samples_until_it_is_delivered() {
        let mut delivery = Delivery::new(Time::ZERO);
        delivery.on_sent(ms(0), &sent(1_000, true));
        delivery.on_sent(ms(1), &sent(2_000, false));
        assert!(delivery.on_acked(ms(50), &acked(ms(0), ms(50))).unwrap().app_limited);
        assert!(delivery.on_acked(ms(51), &acked(ms(1), ms(51))).unwrap().app_limited);
        delivery.on_sent(ms(52), &sent(1_000, false));
        assert!(!delivery.on_acked(ms(102), &acked(ms(52), ms(102))).unwrap().app_limited);
    }

    #[test]
    fn acknowledgements_that_come_in_one_lump_do_not_raise_the_rate_above_that_of_sending() {
        let mut delivery = Delivery::new(Time::ZERO);
        for n in 0..100 {
            delivery.on_sent(ms(n * 10), &sent((n + 1) * 1_000, false));
        }
        for n in 0..100 {
            let sample = delivery.on_acked(ms(1_000), &acked(ms(n * 10), ms(1_000))).unwrap();
            assert!(sample.rate <= 100_000.0 + 1e-6, "{sample:?}");
        }
    }

    #[test]
    fn what_was_never_sent_gives_no_sample() {
        let mut delivery = Delivery::new(Time::ZERO);
        assert_eq!(delivery.on_acked(ms(50), &acked(ms(7), ms(50))), None);
        assert_eq!(delivery.delivered_bytes(), 1_000);
    }
}
