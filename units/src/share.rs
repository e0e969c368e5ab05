//! A part of a whole.

use crate::decimal::{Kind, Unit, quantity};
use crate::error::ParseError;

/// A share between none and all, in whole parts per billion.
///
/// Written `"1.5 %"`; the unit is always %, with up to seven decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

const PER_PERCENT: u64 = 10_000_000;

const KIND: Kind =
    Kind { noun: "a share", example: "1.5 %", units: &[Unit::new("%", PER_PERCENT)], decimals: 7 };

quantity!(Share, KIND);

impl Share {
    /// None of it.
    pub const ZERO: Self = Self(0);
    /// All of it.
    pub const ALL: Self = Self(1_000_000_000);

    /// A share of `parts` in a billion; more than all is all.
    pub const fn from_parts_per_billion(parts: u32) -> Self {
        if parts > Self::ALL.0 { Self::ALL } else { Self(parts) }
    }

    /// The share nearest to `value` between 0 and 1.
    pub fn from_f64(value: f64) -> Self {
        Self((value.clamp(0.0, 1.0) * 1e9).round() as u32)
    }

    /// In parts per billion.
    pub const fn as_parts_per_billion(self) -> u32 {
        self.0
    }

    /// Between 0 and 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1e9
    }

    pub(crate) fn base(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) fn from_base(base: u64) -> Result<Self, ParseError> {
        match u32::try_from(base) {
            Ok(parts) if parts <= Self::ALL.0 => Ok(Self(parts)),
            _ => Err(ParseError::new("a share is at most 100 %")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn percent_is_the_unit() {
        assert_eq!("1.5 %".parse(), Ok(Share::from_parts_per_billion(15_000_000)));
        assert_eq!("0.1%".parse(), Ok(Share::from_parts_per_billion(1_000_000)));
        assert!("101 %".parse::<Share>().unwrap_err().to_string().contains("at most 100 %"));
        assert!("0.5".parse::<Share>().unwrap_err().to_string().contains("has no unit"));
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_share_back(parts in 0u32..=1_000_000_000) {
            let share = Share::from_parts_per_billion(parts);
            prop_assert_eq!(share.to_string().parse::<Share>(), Ok(share));
        }
    }
}
