//! A Mahimahi trace: a link's chances to send, as somebody recorded them.

use std::fmt;
use std::sync::Arc;

use units::{Rate, Span};

/// Delivery opportunities over time, in the format of Mahimahi (R. Netravali et al., "Mahimahi:
/// Accurate Record-and-Replay for HTTP", USENIX ATC 2015): a line for each opportunity with its time in whole
/// milliseconds, not falling. An opportunity carries [`Trace::OPPORTUNITY_BYTES`], of one packet or
/// several, or a part of one. What is not used is gone. After the last line the trace starts again, with
/// the last time as its period.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    times_ms: Arc<[u32]>,
}

/// Why a text is not a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A line is not a whole number of milliseconds below 2³².
    #[error("line {line} of the trace is `{text}`, not a time in whole milliseconds")]
    NotATime {
        /// Its number, from 1.
        line: usize,
        /// The line, cut if it is long.
        text: String,
    },
    /// A time is before the one above it.
    #[error("line {line} of the trace has an earlier time than the line above it")]
    Falling {
        /// Its number, from 1.
        line: usize,
    },
    /// There is no opportunity, or all are at 0 ms, which leaves no period.
    #[error("the trace has no time above 0 ms")]
    Empty,
    /// There are more opportunities than [`Trace::LINES_MAX`].
    #[error("the trace has more than {} lines", Trace::LINES_MAX)]
    TooLong,
}

impl Trace {
    /// What one opportunity carries: a full-size IP packet. Mahimahi counts 1504, of which 4 are its
    /// own tunnel header on each packet.
    pub const OPPORTUNITY_BYTES: u32 = 1500;

    /// The most opportunities that a trace may have: over an hour at 30 Mbit/s.
    pub const LINES_MAX: usize = 10_000_000;

    /// Reads the text of a trace file. Empty lines do not count.
    ///
    /// # Errors
    ///
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut times_ms = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if line.is_empty() {
                continue;
            }
            let Ok(time) = line.parse::<u32>() else {
                return Err(TraceError::NotATime { line: number, text: line.chars().take(20).collect() });
            };
            times_ms.push((number, time));
        }
        Self::checked(times_ms)
    }

    /// A trace with opportunities at these times.
    ///
    /// # Errors
    ///
    /// The times fall, the last is zero, or there are none or too many.
    pub fn from_times_ms(times_ms: impl IntoIterator<Item = u32>) -> Result<Self, TraceError> {
        Self::checked((1..).zip(times_ms))
    }

    /// A trace from times and the numbers of their lines.
    fn checked(lines: impl IntoIterator<Item = (usize, u32)>) -> Result<Self, TraceError> {
        let mut times_ms = Vec::new();
        for (line, time) in lines {
            if times_ms.last().is_some_and(|last| time < *last) {
                return Err(TraceError::Falling { line });
            }
            if times_ms.len() == Self::LINES_MAX {
                return Err(TraceError::TooLong);
            }
            times_ms.push(time);
        }
        match times_ms.last() {
            Some(last) if *last > 0 => Ok(Self { times_ms: times_ms.into() }),
            _ => Err(TraceError::Empty),
        }
    }

    /// After how long it repeats.
    #[expect(clippy::missing_panics_doc, reason = "a trace has at least one line")]
    pub fn period(&self) -> Span {
        Span::from_millis(u64::from(*self.times_ms.last().expect("a trace has a line")))
    }

    /// Its mean rate.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.times_ms.len() as u128 * u128::from(Self::OPPORTUNITY_BYTES) * 8;
        let bits_per_sec = bits * 1_000_000_000 / u128::from(self.period().as_nanos());
        Rate::from_bits_per_sec(u64::try_from(bits_per_sec).unwrap_or(u64::MAX))
    }

    /// The time of the opportunity `number` in nanoseconds after the start of the first period; the
    /// periods before it have negative numbers.
    pub(crate) fn time_ns(&self, number: i64) -> i64 {
        let count = self.times_ms.len() as i64;
        let (cycle, index) = (number.div_euclid(count), number.rem_euclid(count));
        let within = i64::from(self.times_ms[index as usize]) * NS_PER_MS;
        cycle.saturating_mul(self.period().as_nanos() as i64).saturating_add(within)
    }

    /// The number of the first opportunity that is later than `time_ns`.
    pub(crate) fn first_after(&self, time_ns: i64) -> i64 {
        let period = self.period().as_nanos() as i64;
        let (cycle, phase) = (time_ns.div_euclid(period), time_ns.rem_euclid(period));
        let index = self.times_ms.partition_point(|ms| i64::from(*ms) * NS_PER_MS <= phase);
        cycle.saturating_mul(self.times_ms.len() as i64).saturating_add(index as i64)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.times_ms.iter().try_for_each(|ms| writeln!(f, "{ms}"))
    }
}

const NS_PER_MS: i64 = 1_000_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_say_the_line() {
        let error = |text: &str| Trace::parse(text).unwrap_err().to_string();
        assert!(error("1\n2\nx").contains("line 3 of the trace is `x`"));
        assert!(error("1\n-2").contains("line 2"));
        assert!(error("5\n\n4").contains("line 3 of the trace has an earlier time"));
        assert_eq!(Trace::parse("\n"), Err(TraceError::Empty));
        assert_eq!(Trace::parse("0\n0\n"), Err(TraceError::Empty));
    }

    #[test]
    fn the_mean_rate_is_the_bits_over_the_period() {
        // Two opportunities in 3 ms: 24,000 bits.
        assert_eq!(Trace::parse("1\n3\n").unwrap().mean_rate(), Rate::from_bits_per_sec(8_000_000));
    }

    #[test]
    fn opportunities_go_on_after_the_period_and_before_the_start() {
        let trace = Trace::parse("1\n3\n").unwrap();
        let times: Vec<i64> = (-2..4).map(|n| trace.time_ns(n) / NS_PER_MS).collect();
        assert_eq!(times, [-2, 0, 1, 3, 4, 6]);
        assert_eq!(trace.first_after(NS_PER_MS), 1);
        assert_eq!(trace.first_after(NS_PER_MS - 1), 0);
        assert_eq!(trace.first_after(3 * NS_PER_MS), 2);
        assert_eq!(trace.first_after(-1), -1);
    }

    proptest! {
        #[test]
        fn the_first_after_is_later_and_the_one_before_it_is_not(
            mut times in prop::collection::vec(0u32..50, 1..20), at in -200_000_000i64..200_000_000,
        ) {
            times.push(50);
            times.sort_unstable();
            let trace = Trace::from_times_ms(times).unwrap();
            let first = trace.first_after(at);
            prop_assert!(trace.time_ns(first) > at);
            prop_assert!(trace.time_ns(first - 1) <= at);
            prop_assert_eq!(Trace::parse(&trace.to_string()), Ok(trace));
        }
    }
}
