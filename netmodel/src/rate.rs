//! The bottleneck: when the last bit of a packet has left, at a rate that may change.
//!
//! All of it is integer arithmetic. Work is counted in bit-nanoseconds a second (a packet of b bits
//! is b × 10⁹, a rate of r does r a nanosecond), so that what is left of the nanosecond in which
//! a packet ends is kept for the next one, and n packets in a row take the time of n packets exactly,
//! whatever the rate.

use units::{Rate, Span, Time};

use crate::profile::{Change, RateCounts, RateModel};
use crate::trace::Trace;

/// The bottleneck of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Bottleneck {
    segments: Vec<Segment>,
    counts: RateCounts,
    origin: Time,
    state: State,
}

/// What sends from a time on, until the next segment.
#[derive(Debug, Clone)]
struct Segment {
    from: Time,
    sender: Sender,
}

#[derive(Debug, Clone)]
enum Sender {
    Unlimited,
    Constant(u64),
    Trace(Trace),
}

/// When a packet gets through the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passage {
    /// How long it waits before it is being sent; for a trace, which has no sending time, until it left.
    pub(crate) queued: Span,
    /// When its last bit has left; [`Time::MAX`] if the rate stays zero.
    pub(crate) departure: Time,
    after: State,
}

/// How far the bottleneck has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    segment: usize,
    /// When everything admitted has left, rounded up.
    free_at: Time,
    /// The work that the bottleneck could still have done by `free_at`: within its last nanosecond, or in
    /// its last opportunity. Only for a packet that was waiting.
    spare: u64,
    /// The next opportunity of a trace.
    opportunity: i64,
}

impl Bottleneck {
    /// The bottleneck that `model`, and what `schedule` changes of it, make of times after `origin`.
    pub(crate) fn new(model: &RateModel, counts: RateCounts, schedule: &[Change], origin: Time) -> Self {
        let mut segments = Vec::new();
        append(&mut segments, model, Time::ZERO, origin);
        for change in schedule {
            if let Some(model) = &change.rate {
                append(&mut segments, model, origin + change.at, origin);
            }
        }
        let state = State { segment: 0, free_at: Time::ZERO, spare: 0, opportunity: ANY };
        Self { segments, counts, origin, state }
    }

    /// When a packet that arrives `now` would get through. Nothing changes until it is [admitted].
    ///
    /// [admitted]: Bottleneck::admit
    #[inline]
    pub(crate) fn passage(&self, now: Time, ip_bytes: u32) -> Passage {
        let mut state = self.state;
        let start = if now < state.free_at {
            state.free_at
        } else {
            state.spare = 0;
            state.opportunity = ANY;
            now
        };
        let mut queued = start.since(now);
        let mut left = u64::from(self.counted_bytes(ip_bytes)) * BIT_NS_PER_BYTE;
        let mut at = start;
        let departure = loop {
            let until = self.enter_segment(&mut state, at);
            let done = match &self.segments[state.segment].sender {
                Sender::Unlimited => Some(at),
                Sender::Constant(rate) => send(&mut left, &mut state, *rate, at, until),
                Sender::Trace(trace) => self.take_opportunities(&mut left, &mut state, trace, at, until),
            };
            if let Some(departure) = done {
                break departure;
            }
            if until == Time::MAX {
                break Time::MAX;
            }
            at = until;
        };
        if matches!(self.segments[state.segment].sender, Sender::Trace(_)) {
            queued = departure.since(now);
        }
        state.free_at = departure;
        Passage { queued, departure, after: state }
    }

    /// Takes the packet of this passage, the last that was asked for.
    #[inline]
    pub(crate) fn admit(&mut self, passage: &Passage) {
        self.state = passage.after;
    }

    /// When everything admitted has left.
    pub(crate) fn free_at(&self) -> Time {
        self.state.free_at
    }

    /// Whether there is never a limit.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.segments.iter().all(|segment| matches!(segment.sender, Sender::Unlimited))
    }

    /// The rate at `now`, the mean one for a trace; `None` without a limit.
    pub(crate) fn rate_at(&self, now: Time) -> Option<Rate> {
        let after = self.segments.partition_point(|segment| segment.from <= now);
        match &self.segments[after.max(1) - 1].sender {
            Sender::Unlimited => None,
            Sender::Constant(rate) => Some(Rate::from_bits_per_sec(*rate)),
            Sender::Trace(trace) => Some(trace.mean_rate()),
        }
    }

    fn counted_bytes(&self, ip_bytes: u32) -> u32 {
        match self.counts {
            RateCounts::Ip => ip_bytes,
            RateCounts::Ethernet => ip_bytes.max(ETHERNET_PAYLOAD_MIN) + ETHERNET_OVERHEAD_BYTES,
        }
    }

    /// Moves to the segment at `at` and says when it ends.
    #[inline]
    fn enter_segment(&self, state: &mut State, at: Time) -> Time {
        loop {
            let until = self.segments.get(state.segment + 1).map_or(Time::MAX, |next| next.from);
            if at < until || until == Time::MAX {
                return until;
            }
            state.segment += 1;
            state.spare = 0;
            state.opportunity = ANY;
        }
    }

    /// Sends what is left with the opportunities later than `at` and not later than `until`.
    fn take_opportunities(
        &self,
        left: &mut u64,
        state: &mut State,
        trace: &Trace,
        at: Time,
        until: Time,
    ) -> Option<Time> {
        if state.spare >= *left {
            state.spare -= *left;
            return Some(at);
        }
        *left -= std::mem::take(&mut state.spare);
        let origin = self.origin.as_nanos() as i64;
        if state.opportunity == ANY {
            state.opportunity = trace.first_after((at.as_nanos() as i64).saturating_sub(origin));
        }
        loop {
            let time_ns = trace.time_ns(state.opportunity).saturating_add(origin);
            let time = Time::from_nanos(time_ns.max(0) as u64);
            if time > until || time_ns == i64::MAX {
                return None;
            }
            state.opportunity += 1;
            if *left <= OPPORTUNITY_BIT_NS {
                state.spare = OPPORTUNITY_BIT_NS - *left;
                return Some(time);
            }
            *left -= OPPORTUNITY_BIT_NS;
        }
    }
}

/// Sends what is left at `rate` from `at`, if that is done by `until`.
#[inline]
fn send(left: &mut u64, state: &mut State, rate: u64, at: Time, until: Time) -> Option<Time> {
    if state.spare >= *left {
        state.spare -= *left;
        return Some(at);
    }
    *left -= std::mem::take(&mut state.spare);
    let most = until.since(at).as_nanos();
    if rate > 0 {
        let takes = left.div_ceil(rate);
        if takes <= most {
            // Less than `rate`, since the work is more than `rate × (takes − 1)`; so it may wrap between.
            state.spare = rate.wrapping_mul(takes).wrapping_sub(*left);
            return Some(at + Span::from_nanos(takes));
        }
    }
    // Less than the work, since it is not done by then.
    *left -= rate.saturating_mul(most).min(*left);
    None
}

/// Adds the segments of `model` from `from` on, in place of what was there.
fn append(segments: &mut Vec<Segment>, model: &RateModel, from: Time, origin: Time) {
    segments.retain(|segment| segment.from < from);
    let mut add = |at: Time, sender: Sender| segments.push(Segment { from: at, sender });
    match model {
        RateModel::Unlimited => add(from, Sender::Unlimited),
        RateModel::Constant(rate) => add(from, Sender::Constant(rate.as_bits_per_sec())),
        RateModel::Trace(trace) => add(from, Sender::Trace(trace.clone())),
        RateModel::Steps(steps) => {
            // The step in force at `from` starts there; so does the first, before the origin.
            let passed = steps.partition_point(|step| origin + step.at <= from).max(1) - 1;
            for (index, step) in steps.iter().enumerate().skip(passed) {
                let at = if index == passed { from } else { origin + step.at };
                add(at, Sender::Constant(step.rate.as_bits_per_sec()));
            }
        }
    }
}

const BIT_NS_PER_BYTE: u64 = 8 * 1_000_000_000;
const OPPORTUNITY_BIT_NS: u64 = Trace::OPPORTUNITY_BYTES as u64 * BIT_NS_PER_BYTE;
/// No opportunity is next yet: it is the first after the packet.
const ANY: i64 = i64::MIN;
/// The smallest payload of a frame (IEEE 802.3); a shorter one is padded.
const ETHERNET_PAYLOAD_MIN: u32 = 46;
/// Preamble and start of frame 8, header 14, check sequence 4, gap between frames 12 (IEEE 802.3).
const ETHERNET_OVERHEAD_BYTES: u32 = 38;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::profile::RateStep;

    fn constant(bits_per_sec: u64) -> RateModel {
        RateModel::Constant(Rate::from_bits_per_sec(bits_per_sec))
    }

    fn steps(steps: &[(u64, u64)]) -> RateModel {
        let step = |(ms, bits): &(u64, u64)| RateStep {
            at: Span::from_millis(*ms),
            rate: Rate::from_bits_per_sec(*bits),
        };
        RateModel::Steps(steps.iter().map(step).collect())
    }

    fn trace(text: &str) -> RateModel {
        RateModel::Trace(Trace::parse(text).unwrap())
    }

    fn bottleneck(model: &RateModel) -> Bottleneck {
        Bottleneck::new(model, RateCounts::Ip, &[], Time::ZERO)
    }

    fn us(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn ms(ms: u64) -> Time {
        us(ms * 1000)
    }

    fn pass(bottleneck: &mut Bottleneck, now: Time, ip_bytes: u32) -> Passage {
        let passage = bottleneck.passage(now, ip_bytes);
        bottleneck.admit(&passage);
        passage
    }

    #[test]
    fn a_packet_takes_its_bits_over_the_rate() {
        let mut link = bottleneck(&constant(2_500_000));
        // 1250 bytes are 10,000 bits: 4 ms.
        let first = pass(&mut link, ms(1), 1250);
        assert_eq!((first.queued, first.departure), (Span::ZERO, ms(5)));
        let second = pass(&mut link, ms(2), 1250);
        assert_eq!((second.queued, second.departure), (Span::from_millis(3), ms(9)));
        let third = pass(&mut link, ms(20), 1250);
        assert_eq!((third.queued, third.departure), (Span::ZERO, ms(24)));
    }

    #[test]
    fn remainders_are_carried() {
        // 1 byte at 7 Gbit/s is 8/7 ns; a million in a row are 8,000,000/7 ns, rounded up once.
        let mut link = bottleneck(&constant(7_000_000_000));
        let last = (0..1_000_000).map(|_| pass(&mut link, Time::ZERO, 1).departure).last().unwrap();
        assert_eq!(last.as_nanos(), 8_000_000u64.div_ceil(7));
    }

    #[test]
    fn what_was_not_waiting_gets_no_remainder() {
        let mut link = bottleneck(&constant(7_000_000_000));
        assert_eq!(pass(&mut link, Time::ZERO, 1).departure.as_nanos(), 2);
        assert_eq!(pass(&mut link, Time::from_nanos(2), 1).departure.as_nanos(), 4);
    }

    #[test]
    fn ethernet_counts_the_wire() {
        let mut link = Bottleneck::new(&constant(8_000_000), RateCounts::Ethernet, &[], Time::ZERO);
        assert_eq!(pass(&mut link, Time::ZERO, 1000).departure, us(1038));
        assert_eq!(pass(&mut link, ms(5), 20).departure, ms(5) + Span::from_micros(84));
    }

    #[test]
    fn a_step_takes_effect_in_the_middle_of_a_packet() {
        // 4000 bits: 2 ms at 1 Mbit/s are 2000, nothing for 3 ms, the other 2000 in 1 ms.
        let mut link = bottleneck(&steps(&[(0, 1_000_000), (2, 0), (5, 2_000_000)]));
        assert_eq!(pass(&mut link, Time::ZERO, 500).departure, ms(6));
        assert_eq!(link.rate_at(ms(3)), Some(Rate::from_bits_per_sec(0)));
        assert_eq!(link.rate_at(ms(5)), Some(Rate::from_bits_per_sec(2_000_000)));
    }

    #[test]
    fn a_rate_that_stays_zero_never_ends() {
        let mut link = bottleneck(&steps(&[(0, 1_000_000), (1, 0)]));
        assert_eq!(pass(&mut link, Time::ZERO, 500).departure, Time::MAX);
        assert_eq!(pass(&mut link, ms(1), 500).departure, Time::MAX);
    }

    #[test]
    fn a_schedule_replaces_the_rate_and_times_count_from_the_origin() {
        let origin = Time::ZERO + Span::from_secs(5);
        let change = |s: u64, rate: RateModel| Change {
            at: Span::from_secs(s),
            rate: Some(rate),
            ..Change::default()
        };
        let schedule = [change(1, constant(500)), change(3, steps(&[(0, 1), (2000, 2), (4000, 3)]))];
        let model = steps(&[(0, 100), (500, 200), (2000, 300)]);
        let link = Bottleneck::new(&model, RateCounts::Ip, &schedule, origin);
        let rate = |ms: u64| link.rate_at(Time::ZERO + Span::from_millis(ms)).unwrap().as_bits_per_sec();
        let rates = [0, 5000, 5499, 5500, 6000, 7500, 8000, 9000].map(rate);
        assert_eq!(rates, [100, 100, 100, 200, 500, 500, 2, 3]);
    }

    #[test]
    fn a_trace_carries_what_its_opportunities_carry() {
        // Opportunities at 1, 3, 3 and then 4, 6, 6, ... ms.
        let mut link = bottleneck(&trace("1\n3\n3\n"));
        let mut send = |now: Time, bytes| pass(&mut link, now, bytes).departure;
        assert_eq!(send(Time::ZERO, 1500), ms(1));
        assert_eq!(send(us(500), 1000), ms(3));
        assert_eq!(send(us(500), 500), ms(3), "the rest of the same opportunity");
        assert_eq!(send(us(500), 2000), ms(4), "one opportunity and a third of the next");
        assert_eq!(send(us(500), 1000), ms(4), "the rest of that");
        assert_eq!(send(us(4500), 100), ms(6));
        assert_eq!(send(us(6500), 100), ms(7), "what was left at 6 ms is gone");
        assert_eq!(send(ms(7), 100), ms(9), "an opportunity at the same moment is gone");
    }

    #[test]
    fn a_saturated_trace_sends_every_byte_of_every_opportunity() {
        let mut link = bottleneck(&trace("2\n5\n5\n11\n20\n"));
        let sizes = [1500u32, 40, 1200, 999, 1, 3000].into_iter().cycle();
        let mut sent = Vec::new();
        for bytes in sizes.take(5000) {
            let at = pass(&mut link, Time::ZERO, bytes).departure;
            sent.push((at, u64::from(bytes)));
        }
        for until in (0..400).map(|k| ms(k * 7)) {
            let period = 20_000_000;
            let [cycles, phase] = [until.as_nanos() / period, until.as_nanos() % period / 1_000_000];
            let passed = cycles * 5 + [2, 5, 5, 11, 20].iter().filter(|t| **t <= phase).count() as u64;
            let bytes: u64 = sent.iter().filter(|(at, _)| *at <= until).map(|(_, bytes)| bytes).sum();
            let capacity = passed * 1500;
            // All but a part of the packet that is half sent.
            assert!(bytes <= capacity && capacity < bytes + 3000, "{until:?}: {bytes} of {capacity}");
        }
    }

    proptest! {
        #[test]
        fn in_a_row_n_packets_take_the_time_of_their_sum(
            rate in 1_000u64..100_000_000_000, sizes in prop::collection::vec(1u32..65_535, 1..100),
        ) {
            let mut link = bottleneck(&constant(rate));
            let mut bits = 0u128;
            for size in sizes {
                bits += u128::from(size) * 8;
                let departure = pass(&mut link, Time::ZERO, size).departure;
                let exact = (bits * 1_000_000_000).div_ceil(u128::from(rate));
                prop_assert_eq!(u128::from(departure.as_nanos()), exact);
            }
        }

        #[test]
        fn no_window_carries_more_than_the_rate(
            rate in 10_000u64..1_000_000_000,
            packets in prop::collection::vec((0u64..2_000_000, 40u32..1500), 1..60),
        ) {
            let mut link = bottleneck(&constant(rate));
            let mut now = Time::ZERO;
            let mut left = Vec::new();
            for (gap, bytes) in packets {
                now += Span::from_nanos(gap);
                left.push((pass(&mut link, now, bytes).departure, u128::from(bytes)));
            }
            for (i, (from, _)) in left.iter().enumerate() {
                let mut bits = 0;
                for (to, bytes) in &left[i + 1..] {
                    bits += bytes * 8;
                    // Departures are rounded up to whole nanoseconds.
                    let span = u128::from(to.since(*from).as_nanos() + 1);
                    prop_assert!(bits * 1_000_000_000 <= span * u128::from(rate));
                }
            }
        }

        #[test]
        fn steps_of_one_rate_are_that_rate(
            rate in 1_000u64..1_000_000_000, at in 1u64..50,
            packets in prop::collection::vec((0u64..2_000_000, 40u32..1500), 1..60),
        ) {
            let mut plain = bottleneck(&constant(rate));
            let mut stepped = bottleneck(&steps(&[(0, rate), (at, rate), (at + 1, rate)]));
            let mut now = Time::ZERO;
            for (gap, bytes) in packets {
                now += Span::from_nanos(gap);
                let (a, b) = (pass(&mut plain, now, bytes), pass(&mut stepped, now, bytes));
                // A step may cost the remainder within one nanosecond.
                prop_assert!(b.departure >= a.departure);
                prop_assert!(b.departure.since(a.departure) <= Span::from_nanos(2));
            }
        }
    }
}
