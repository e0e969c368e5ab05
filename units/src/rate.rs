//! How fast bits go.

use crate::decimal::{Kind, Unit, quantity};
use crate::error::ParseError;
use crate::size::Size;
use crate::span::Span;

/// A rate in whole bits a second.
///
/// Written `"2.5 Mbit/s"`; units are bit/s, kbit/s, Mbit/s and Gbit/s (powers of 1000).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

const KIND: Kind = Kind {
    noun: "a rate",
    example: "2.5 Mbit/s",
    units: &[
        Unit::new("bit/s", 1),
        Unit::new("kbit/s", 1_000),
        Unit::new("Mbit/s", 1_000_000),
        Unit::new("Gbit/s", 1_000_000_000),
    ],
    decimals: 3,
};

quantity!(Rate, KIND);

impl Rate {
    /// A rate of `bits` bits a second.
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Self(bits)
    }

    /// In bits a second.
    pub const fn as_bits_per_sec(self) -> u64 {
        self.0
    }

    /// How many whole bytes pass in `span`.
    pub fn bytes_in(self, span: Span) -> Size {
        let bits = u128::from(self.0) * u128::from(span.as_nanos()) / 1_000_000_000;
        Size::from_bytes(u64::try_from(bits / 8).unwrap_or(u64::MAX))
    }

    pub(crate) const fn base(self) -> u64 {
        self.0
    }

    #[expect(clippy::unnecessary_wraps, reason = "the shape that the quantity macro calls")]
    pub(crate) fn from_base(base: u64) -> Result<Self, ParseError> {
        Ok(Self(base))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!("2.5 Mbit/s".parse(), Ok(Rate::from_bits_per_sec(2_500_000)));
        assert_eq!(Rate::from_bits_per_sec(2_500_000).to_string(), "2.5 Mbit/s");
        assert_eq!("1 Gbit/s".parse(), Ok(Rate::from_bits_per_sec(1_000_000_000)));
    }

    #[test]
    fn a_negative_rate_is_refused() {
        assert!("-1 Mbit/s".parse::<Rate>().unwrap_err().to_string().contains("cannot be negative"));
    }

    #[test]
    fn bytes_in_a_span() {
        let rate = Rate::from_bits_per_sec(2_500_000);
        assert_eq!(rate.bytes_in(Span::from_millis(300)), Size::from_bytes(93_750));
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_rate_back(bits: u64) {
            let rate = Rate::from_bits_per_sec(bits);
            prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        }
    }
}
