//! The delay-based controller: additive or multiplicative increase, multiplicative decrease
//! (draft-ietf-rmcat-gcc-02 §5.5).

use units::{Span, Time};

use super::trendline::Usage;
use super::{RATE_MAX, RATE_MIN};

/// What arrives at the receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct Throughput {
    /// Unknown until half a second has been seen.
    pub(super) bytes_per_sec: Option<f64>,
    /// Whether it is less than the path can carry, for lack of data.
    pub(super) app_limited: bool,
}

/// The controller.
#[derive(Debug)]
pub(super) struct Aimd {
    /// In bytes a second.
    rate: f64,
    state: State,
    /// Whether the path has never been found over-used.
    starting: bool,
    capacity: Capacity,
    changed_at: Time,
    decreased_at: Option<Time>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

impl Aimd {
    pub(super) fn new(now: Time, rate: f64) -> Self {
        Self {
            rate,
            state: State::Hold,
            starting: true,
            capacity: Capacity::default(),
            changed_at: now,
            decreased_at: None,
        }
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// Ends the fast start.
    pub(super) fn end_start(&mut self) {
        self.starting = false;
    }

    /// Takes the detector's word on another group of packets.
    pub(super) fn update(&mut self, now: Time, usage: Usage, throughput: Throughput, rtt: Span) {
        match (usage, self.state) {
            (Usage::Over, _) => self.decrease(now, throughput, rtt),
            (Usage::Under, _) => self.state = State::Hold,
            (Usage::Normal, State::Hold) => {
                self.state = State::Increase;
                self.changed_at = now;
            }
            (Usage::Normal, State::Increase) => self.increase(now, throughput, rtt),
        }
    }

    fn increase(&mut self, now: Time, throughput: Throughput, rtt: Span) {
        let Some(arriving) = throughput.bytes_per_sec else {
            self.changed_at = now;
            return;
        };
        self.capacity.forget_if_above(arriving);
        let response = RESPONSE_TIME + rtt;
        let elapsed = now.since(self.changed_at);
        let ceiling = CEILING * arriving + CEILING_EXTRA;
        let wanted = if self.starting {
            if elapsed < response {
                return;
            }
            ceiling
        } else if self.capacity.is_known() {
            let share = (elapsed.as_secs_f64() / response.as_secs_f64()).min(1.0);
            self.rate + (ADDITIVE_MIN * share).max(0.5 * share * expected_packet_bytes(self.rate))
        } else {
            self.rate * libm::pow(INCREASE, elapsed.as_secs_f64().min(1.0))
        };
        self.changed_at = now;
        self.rate = wanted.min(ceiling).max(self.rate).min(RATE_MAX);
    }

    fn decrease(&mut self, now: Time, throughput: Throughput, rtt: Span) {
        let again = rtt.max(REDUCE_AGAIN_MIN).min(REDUCE_AGAIN_MAX);
        if self.decreased_at.is_some_and(|at| now.since(at) < again) {
            return;
        }
        let arriving = throughput.bytes_per_sec.filter(|_| !throughput.app_limited);
        if let Some(arriving) = arriving {
            self.capacity.learn(arriving);
        }
        self.rate = (BETA * arriving.unwrap_or(self.rate)).min(self.rate).max(RATE_MIN);
        self.starting = false;
        self.state = State::Hold;
        self.changed_at = now;
        self.decreased_at = Some(now);
    }
}

/// The packet of a video of 30 frames a second at this rate (§5.5).
fn expected_packet_bytes(rate: f64) -> f64 {
    let frame = rate / 30.0;
    frame / (frame / 1_200.0).ceil().max(1.0)
}

/// At what rate the path was over-used (§5.5; the variance is over the mean as in WebRTC's
/// `link_capacity_estimator.cc`), in kbit/s.
#[derive(Debug, Default)]
struct Capacity {
    mean: Option<f64>,
    variance: f64,
}

impl Capacity {
    fn is_known(&self) -> bool {
        self.mean.is_some()
    }

    fn deviation(&self) -> f64 {
        libm::sqrt(self.variance * self.mean.unwrap_or(0.0))
    }

    /// The path has become faster.
    fn forget_if_above(&mut self, bytes_per_sec: f64) {
        if self.mean.is_some_and(|mean| kbit(bytes_per_sec) > mean + DEVIATIONS * self.deviation()) {
            self.mean = None;
        }
    }

    fn learn(&mut self, bytes_per_sec: f64) {
        let sample = kbit(bytes_per_sec);
        if self.mean.is_some_and(|mean| sample < mean - DEVIATIONS * self.deviation()) {
            self.mean = None;
        }
        let mean = match self.mean {
            Some(mean) => (1.0 - WEIGHT) * mean + WEIGHT * sample,
            None => sample,
        };
        self.mean = Some(mean);
        let error = mean - sample;
        let variance = (1.0 - WEIGHT) * self.variance + WEIGHT * error * error / mean.max(1.0);
        self.variance = variance.clamp(VARIANCE_MIN, VARIANCE_MAX);
    }
}

fn kbit(bytes_per_sec: f64) -> f64 {
    bytes_per_sec * 8.0 / 1_000.0
}

const INCREASE: f64 = 1.08;
const RESPONSE_TIME: Span = Span::from_millis(100);
/// 1 kbit/s.
const ADDITIVE_MIN: f64 = 125.0;
const CEILING: f64 = 1.5;
/// 10 kbit/s.
const CEILING_EXTRA: f64 = 1_250.0;
const BETA: f64 = 0.85;
const REDUCE_AGAIN_MIN: Span = Span::from_millis(10);
const REDUCE_AGAIN_MAX: Span = Span::from_millis(200);
const WEIGHT: f64 = 0.05;
const DEVIATIONS: f64 = 3.0;
const VARIANCE_MIN: f64 = 0.4;
const VARIANCE_MAX: f64 = 2.5;

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    const RTT: Span = Span::from_millis(100);

    fn arriving(bytes_per_sec: f64) -> Throughput {
        Throughput { bytes_per_sec: Some(bytes_per_sec), app_limited: false }
    }

    fn app_limited(bytes_per_sec: f64) -> Throughput {
        Throughput { app_limited: true, ..arriving(bytes_per_sec) }
    }

    #[test]
    fn over_use_goes_below_what_arrives_and_once_a_round_trip() {
        let mut aimd = Aimd::new(ms(0), 200_000.0);
        aimd.update(ms(100), Usage::Over, arriving(100_000.0), RTT);
        assert!((aimd.rate() - 85_000.0).abs() < 1e-6);
        aimd.update(ms(150), Usage::Over, arriving(80_000.0), RTT);
        assert!((aimd.rate() - 85_000.0).abs() < 1e-6);
        aimd.update(ms(200), Usage::Over, arriving(80_000.0), RTT);
        assert!((aimd.rate() - 68_000.0).abs() < 1e-6);
    }

    #[test]
    fn without_data_over_use_costs_fifteen_hundredths_and_no_more() {
        let mut aimd = Aimd::new(ms(0), 200_000.0);
        aimd.update(ms(100), Usage::Over, app_limited(10_000.0), RTT);
        assert!((aimd.rate() - 170_000.0).abs() < 1e-6);
        assert!(!aimd.capacity.is_known());
    }

    #[test]
    fn it_grows_by_eight_hundredths_a_second_up_to_the_ceiling() {
        let mut aimd = Aimd::new(ms(0), 100_000.0);
        aimd.end_start();
        for step in 0..=100 {
            aimd.update(ms(step * 10), Usage::Normal, arriving(90_000.0), RTT);
        }
        // The first step only leaves the state of holding.
        assert!((aimd.rate() / 100_000.0 - 1.08).abs() < 1e-3, "{}", aimd.rate());
        for step in 101..10_000 {
            aimd.update(ms(step * 10), Usage::Normal, app_limited(90_000.0), RTT);
        }
        assert!((aimd.rate() - 136_250.0).abs() < 1e-6);
    }

    #[test]
    fn near_the_rate_of_the_last_over_use_it_grows_by_half_a_packet_a_response_time() {
        let mut aimd = Aimd::new(ms(0), 144_000.0);
        aimd.update(ms(0), Usage::Over, arriving(144_000.0), RTT);
        for step in 1..=101 {
            aimd.update(ms(step * 10), Usage::Normal, arriving(120_000.0), RTT);
        }
        // Frames of 4080 bytes, in four packets; five response times of 200 ms a second.
        let grown = aimd.rate() - 0.85 * 144_000.0;
        assert!((grown - 5.0 * 510.0).abs() < 30.0, "{grown}");
    }
}
