//! How many bytes.

use crate::decimal::{Kind, Unit, quantity};
use crate::error::ParseError;

/// A size in whole bytes.
///
/// Written `"20 kB"`; units are B, kB, MB and GB (powers of 1000) and KiB and MiB (powers of 1024).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(u64);

const KIND: Kind = Kind {
    noun: "a size",
    example: "20 kB",
    units: &[
        Unit::new("B", 1),
        Unit::new("kB", 1_000),
        Unit::read_only("KiB", 1_024),
        Unit::new("MB", 1_000_000),
        Unit::read_only("MiB", 1_048_576),
        Unit::new("GB", 1_000_000_000),
    ],
    decimals: 3,
};

quantity!(Size, KIND);

impl Size {
    /// A size of `bytes` bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// In bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
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
    fn both_kinds_of_kilo_are_read_and_the_decimal_one_is_printed() {
        assert_eq!("1 KiB".parse(), Ok(Size::from_bytes(1024)));
        assert_eq!(Size::from_bytes(1024).to_string(), "1.024 kB");
        assert_eq!(Size::from_bytes(20_000).to_string(), "20 kB");
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_size_back(bytes: u64) {
            let size = Size::from_bytes(bytes);
            prop_assert_eq!(size.to_string().parse::<Size>(), Ok(size));
        }
    }
}
