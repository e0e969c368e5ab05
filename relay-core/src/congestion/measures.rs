//! What several laws measure of a path: the least of late, the queueing delay, the delivery rate.
//!
//! They hold measurements only; what follows from them is each law's own matter.

use std::collections::VecDeque;

use units::{Span, Time};

use super::controller::Acked;

/// The least of what was seen in the last ten minutes, by the minute: `BASE_HISTORY` and the
/// roll-over of RFC 6817 §2.4.2.
#[derive(Debug, Default)]
pub(crate) struct MinuteLeast {
    /// The minute and the least in it, the oldest first.
    minutes: VecDeque<(u64, i64)>,
}

impl MinuteLeast {
    /// Takes a value in, and says what is the least now.
    pub(crate) fn sample(&mut self, now: Time, value: i64) -> i64 {
        let minute = now.as_nanos() / MINUTE.as_nanos();
        match self.minutes.back_mut() {
            Some((newest, least)) if *newest == minute => *least = value.min(*least),
            _ => self.minutes.push_back((minute, value)),
        }
        if self.minutes.len() > MINUTES_MAX {
            self.minutes.pop_front();
        }
        self.least().unwrap_or(value)
    }

    pub(crate) fn least(&self) -> Option<i64> {
        self.minutes.iter().map(|(_, least)| *least).min()
    }
}

/// How much longer than the least packets take one way (RFC 6817 §2.4.2).
///
/// It goes by the receiver's clock where there is one; otherwise the round trip stands in for the
/// way there (RFC 8698 §6.1), and what the acknowledgements wait is in it.
#[derive(Debug, Default)]
pub(crate) struct QueueDelay {
    by_receiver: bool,
    base: MinuteLeast,
}

impl QueueDelay {
    /// The queueing delay that an acknowledged packet met.
    pub(crate) fn sample(&mut self, now: Time, acked: &Acked) -> Span {
        let by_receiver = acked.received_at.is_some();
        if by_receiver != self.by_receiver {
            *self = Self { by_receiver, base: MinuteLeast::default() };
        }
        let one_way = one_way_nanos(acked);
        let base = self.base.sample(now, one_way);
        Span::from_nanos(one_way.abs_diff(base))
    }
}

/// How long a packet took one way, up to an unknown but steady offset.
pub(crate) fn one_way_nanos(acked: &Acked) -> i64 {
    let nanos = match acked.received_at {
        Some(received_at) => i128::from(received_at.as_nanos()) - i128::from(acked.sent_at.as_nanos()),
        None => i128::from(acked.rtt.as_nanos()),
    };
    nanos.clamp(-NANOS_MAX, NANOS_MAX) as i64
}

/// Bytes over a sliding stretch of time.
#[derive(Debug)]
pub(crate) struct SlidingSum {
    window_buckets: u64,
    /// The bucket and what is in it, the oldest first.
    buckets: VecDeque<(u64, u64)>,
}

impl SlidingSum {
    pub(crate) fn new(window: Span) -> Self {
        Self { window_buckets: window.as_nanos() / BUCKET.as_nanos(), buckets: VecDeque::new() }
    }

    /// Adds `bytes` at `at`, which may be a little before what was added last.
    pub(crate) fn add(&mut self, at: Time, bytes: u64) {
        let bucket = at.as_nanos() / BUCKET.as_nanos();
        let newest = self.buckets.back().map_or(bucket, |(newest, _)| *newest);
        if bucket + self.window_buckets < newest {
            return;
        }
        match self.buckets.binary_search_by_key(&bucket, |(index, _)| *index) {
            Ok(place) => self.buckets[place].1 = self.buckets[place].1.saturating_add(bytes),
            Err(place) => self.buckets.insert(place, (bucket, bytes)),
        }
        let newest = newest.max(bucket);
        while self.buckets.front().is_some_and(|(oldest, _)| oldest + self.window_buckets < newest) {
            self.buckets.pop_front();
        }
    }

    /// The sum of the window that ends with `now`.
    pub(crate) fn sum(&self, now: Time) -> u64 {
        let end = now.as_nanos() / BUCKET.as_nanos() + 1;
        self.sum_before(end)
    }

    fn sum_before(&self, end: u64) -> u64 {
        let inside = self
            .buckets
            .iter()
            .filter(|(index, _)| *index < end && index.saturating_add(self.window_buckets) >= end);
        inside.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

/// At what rate packets arrive: bytes over the last half second of arrivals, on the receiver's clock
/// where there is one (`LOGWIN` of RFC 8698, the least `T` of draft-ietf-rmcat-gcc-02).
///
/// Half a second must have gone by without a pause as long as that before it says anything, so that
/// the first packet after a pause is not taken for a slow link.
#[derive(Debug)]
pub(crate) struct DeliveryRate {
    by_receiver: bool,
    arrived: SlidingSum,
    /// The bytes of these that were sent while the sender lacked data.
    app_limited: SlidingSum,
    /// The first and the newest arrival since the last pause.
    run: Option<(Time, Time)>,
}

impl DeliveryRate {
    pub(crate) fn new() -> Self {
        Self {
            by_receiver: false,
            arrived: SlidingSum::new(RATE_WINDOW),
            app_limited: SlidingSum::new(RATE_WINDOW),
            run: None,
        }
    }

    pub(crate) fn on_acked(&mut self, now: Time, acked: &Acked) {
        let at = acked.received_at.unwrap_or(now);
        let by_receiver = acked.received_at.is_some();
        let fresh = match self.run {
            Some((_, newest)) => {
                by_receiver != self.by_receiver
                    || at.since(newest) > RATE_WINDOW
                    || newest.since(at) > CLOCK_BACK_MAX
            }
            None => true,
        };
        if fresh {
            *self = Self { by_receiver, run: Some((at, at)), ..Self::new() };
        }
        if let Some((_, newest)) = &mut self.run {
            *newest = at.max(*newest);
        }
        self.arrived.add(at, acked.bytes);
        if acked.app_limited {
            self.app_limited.add(at, acked.bytes);
        }
    }

    /// In bytes a second, if there is enough to tell.
    pub(crate) fn bytes_per_sec(&self) -> Option<f64> {
        let (first, newest) = self.run?;
        // The newest bucket is still filling, so the window ends before it.
        let end = newest.as_nanos() / BUCKET.as_nanos();
        let known = newest.since(first) > RATE_WINDOW;
        known.then(|| self.arrived.sum_before(end) as f64 / RATE_WINDOW.as_secs_f64())
    }

    /// Whether anything in the window was sent while the sender lacked data, so that the rate says
    /// less than what the path can carry.
    pub(crate) fn app_limited(&self) -> bool {
        self.run.is_some_and(|(_, newest)| self.app_limited.sum(newest) > 0)
    }
}

const MINUTE: Span = Span::from_secs(60);
const MINUTES_MAX: usize = 10;
/// Differences of times are kept to this, so that differences of those still fit: 73 years.
const NANOS_MAX: i128 = 1 << 61;
const BUCKET: Span = Span::from_millis(10);
const RATE_WINDOW: Span = Span::from_millis(500);
/// A receiver's clock that goes back further than this is a new one.
const CLOCK_BACK_MAX: Span = Span::from_secs(10);

#[cfg(test)]
mod tests {
    use super::super::properties::{acked, ms};
    use super::*;

    #[test]
    fn the_least_is_forgotten_after_ten_minutes() {
        let mut least = MinuteLeast::default();
        assert_eq!(least.sample(ms(0), 5), 5);
        for minute in 1..10 {
            assert_eq!(least.sample(ms(minute * 60_000), 9), 5);
        }
        assert_eq!(least.sample(ms(10 * 60_000), 9), 9);
    }

    #[test]
    fn the_queue_is_measured_on_the_receivers_clock_when_there_is_one() {
        let mut queue = QueueDelay::default();
        // The receiver's clock is 70 s ahead, and the way back got slower meanwhile.
        let mut at = |sent: u64, one_way: u64, rtt: u64| {
            let mut acked = acked(ms(sent), ms(sent + rtt));
            acked.received_at = Some(ms(sent + 70_000 + one_way));
            queue.sample(ms(sent + rtt), &acked)
        };
        assert_eq!(at(0, 50, 100), Span::ZERO);
        assert_eq!(at(10, 58, 300), Span::from_millis(8));
        let mut queue = QueueDelay::default();
        assert_eq!(queue.sample(ms(100), &acked(ms(0), ms(100))), Span::ZERO);
        assert_eq!(queue.sample(ms(220), &acked(ms(100), ms(220))), Span::from_millis(20));
    }

    #[test]
    fn the_rate_is_that_of_arrivals_whatever_the_acknowledgements_do() {
        let mut rate = DeliveryRate::new();
        for packet in 0..200 {
            let mut acked = acked(ms(packet * 10), ms(packet * 10 + 50));
            acked.received_at = Some(ms(packet * 10 + 5_000));
            // Acknowledged in bunches of fifty.
            rate.on_acked(ms(packet / 50 * 500 + 600), &acked);
            assert_eq!(rate.bytes_per_sec().is_some(), packet > 50);
        }
        assert_eq!(rate.bytes_per_sec(), Some(120_000.0));
        assert!(!rate.app_limited());
        let mut late = acked(ms(4_000), ms(4_050));
        late.received_at = Some(ms(9_000));
        late.app_limited = true;
        rate.on_acked(ms(4_050), &late);
        assert_eq!(rate.bytes_per_sec(), None, "a pause says nothing of the path");
        assert!(rate.app_limited());
    }
}
