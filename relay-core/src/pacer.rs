//! Spreads what the window admits over the round trip.
//!
//! A token bucket in bytes. Its rate is what the congestion controller says; its depth bounds the
//! burst. With no rate of the controller's own, both follow quinn-proto's pacer: 1.25 windows a
//! round trip (RFC 9002 §7.7), and bursts of what that is in 2 ms, but 10 to 256 packets.

use units::{Span, Time};

/// A token bucket.
#[derive(Debug)]
pub struct Pacer {
    /// Bytes that may go at once; negative when more went than was there.
    tokens: i64,
    filled_at: Time,
    rate: PacingRate,
}

/// How fast and how bursty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacingRate {
    /// Bytes a second; at least 1.
    pub bytes_per_sec: u64,
    /// Bytes that may go at once after a pause.
    pub burst_bytes: u64,
}

impl PacingRate {
    /// What quinn-proto's pacer does for this window and round trip.
    pub fn from_window(window_bytes: u64, rtt: Span, mtu_bytes: u64) -> Self {
        let rtt_ns = u128::from(rtt.as_nanos().max(1));
        let window = u128::from(window_bytes);
        let bytes_per_sec = window * 1_250_000_000 / rtt_ns;
        let burst = window * BURST_NANOS / rtt_ns;
        Self {
            bytes_per_sec: u64::try_from(bytes_per_sec).unwrap_or(u64::MAX).max(1),
            burst_bytes: u64::try_from(burst)
                .unwrap_or(u64::MAX)
                .clamp(BURST_PACKETS_MIN * mtu_bytes, BURST_PACKETS_MAX * mtu_bytes),
        }
    }
}

const BURST_NANOS: u128 = 2_000_000;
const BURST_PACKETS_MIN: u64 = 10;
const BURST_PACKETS_MAX: u64 = 256;

impl Pacer {
    /// A full bucket.
    pub fn new(now: Time, rate: PacingRate) -> Self {
        Self { tokens: clamp(rate.burst_bytes), filled_at: now, rate }
    }

    /// Changes the rate; tokens gathered so far stay, up to the new depth.
    pub fn set_rate(&mut self, now: Time, rate: PacingRate) {
        if rate != self.rate {
            self.fill(now);
            self.rate = rate;
            self.tokens = self.tokens.min(clamp(rate.burst_bytes));
        }
    }

    /// The rate it keeps.
    pub fn rate(&self) -> PacingRate {
        self.rate
    }

    /// When `bytes` may go: `now` or later.
    pub fn admits_at(&mut self, now: Time, bytes: u64) -> Time {
        if self.tokens >= clamp(bytes) {
            return now;
        }
        self.fill(now);
        // More than the bucket holds may go when the bucket is full.
        let wanted = clamp(bytes.min(self.rate.burst_bytes));
        let short = wanted - self.tokens;
        if short <= 0 {
            return now;
        }
        let wait = short as u128 * 1_000_000_000;
        now + Span::from_nanos(
            u64::try_from(wait.div_ceil(u128::from(self.rate.bytes_per_sec))).unwrap_or(u64::MAX),
        )
    }

    /// Notes that `bytes` went.
    pub fn on_sent(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(clamp(bytes));
    }

    fn fill(&mut self, now: Time) {
        let elapsed = u128::from(now.since(self.filled_at).as_nanos());
        let gained = elapsed * u128::from(self.rate.bytes_per_sec) / 1_000_000_000;
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        if gained > 0 {
            self.tokens = self.tokens.saturating_add(gained).min(clamp(self.rate.burst_bytes));
            // Only the time that the whole bytes took is used up, so that slow rates lose nothing.
            let used = (gained as u128 * 1_000_000_000).div_ceil(u128::from(self.rate.bytes_per_sec));
            self.filled_at =
                (self.filled_at + Span::from_nanos(u64::try_from(used).unwrap_or(u64::MAX))).min(now);
            if self.tokens == clamp(self.rate.burst_bytes) {
                self.filled_at = now;
            }
        }
    }
}

fn clamp(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_rate_is_kept_over_any_time(
            bytes_per_sec in 1_000u64..1_000_000_000, burst in 1_200u64..100_000, packet in 100u64..1_200,
        ) {
            let rate = PacingRate { bytes_per_sec, burst_bytes: burst };
            let mut pacer = Pacer::new(Time::ZERO, rate);
            let mut now = Time::ZERO;
            let mut sent = 0;
            for _ in 0..500 {
                now = pacer.admits_at(now, packet);
                prop_assert_eq!(pacer.admits_at(now, packet), now, "the moment it named is late enough");
                pacer.on_sent(packet);
                sent += packet;
                let admitted = burst as f64 + bytes_per_sec as f64 * now.as_secs_f64();
                prop_assert!(sent as f64 <= admitted + 1.0);
            }
            // And it is reached, not merely kept: what went is within a packet of what was admitted.
            if now > Time::ZERO {
                let admitted = burst as f64 + bytes_per_sec as f64 * now.as_secs_f64();
                prop_assert!(sent as f64 >= admitted - packet as f64 - 500.0);
            }
        }
    }

    #[test]
    fn quinns_numbers() {
        let rate = PacingRate::from_window(12_000, Span::from_millis(100), 1200);
        assert_eq!(rate, PacingRate { bytes_per_sec: 150_000, burst_bytes: 12_000 });
    }
}
