//! A length of time.

use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::time::Duration;

use crate::decimal::{Kind, Unit, quantity};
use crate::error::ParseError;

/// A length of time in whole nanoseconds, never negative; at most about 584 years.
///
/// Written `"250 ms"`; units are ns, us, ms, s, min and h. Arithmetic saturates: a length that
/// would pass either end stays there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

const KIND: Kind = Kind {
    noun: "a duration",
    example: "120 s",
    units: &[
        Unit::new("ns", 1),
        Unit::new("us", 1_000),
        Unit::new("ms", 1_000_000),
        Unit::new("s", 1_000_000_000),
        Unit::new("min", 60_000_000_000),
        Unit::new("h", 3_600_000_000_000),
    ],
    decimals: 3,
};

quantity!(Span, KIND);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest span there is.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us.saturating_mul(1_000))
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000))
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(1_000_000_000))
    }

    /// The nearest span to `s` seconds; negative and not-a-number give zero.
    pub fn from_secs_f64(s: f64) -> Self {
        Self((s * 1e9).round() as u64)
    }

    /// In nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// In whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// In milliseconds, for reporting.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// In seconds, for reporting.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether it is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn base(self) -> u64 {
        self.0
    }

    #[expect(clippy::unnecessary_wraps, reason = "the shape that the quantity macro calls")]
    pub(crate) fn from_base(base: u64) -> Result<Self, ParseError> {
        Ok(Self(base))
    }
}

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        Self::from_nanos(span.0)
    }
}

impl From<Duration> for Span {
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl Div<u64> for Span {
    type Output = Self;

    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn space_before_the_unit_is_optional() {
        assert_eq!("120s".parse(), Ok(Span::from_secs(120)));
        assert_eq!("120 s".parse(), Ok(Span::from_secs(120)));
        assert_eq!("0.3 ms".parse(), Ok(Span::from_micros(300)));
    }

    #[test]
    fn errors_name_the_units() {
        let bare = "120".parse::<Span>().unwrap_err().to_string();
        assert!(bare.contains("has no unit") && bare.contains("\"120 s\""), "{bare}");
        let wrong = "3 sec".parse::<Span>().unwrap_err().to_string();
        assert!(wrong.contains("`sec` is not a unit of a duration"), "{wrong}");
        let negative = "-3 s".parse::<Span>().unwrap_err().to_string();
        assert!(negative.contains("cannot be negative"), "{negative}");
        let fine = "0.5 ns".parse::<Span>().unwrap_err().to_string();
        assert!(fine.contains("finer than the ns"), "{fine}");
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_span_back(ns: u64) {
            let span = Span::from_nanos(ns);
            prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in ".*") {
            let _ = text.parse::<Span>();
        }
    }
}
