//! Exact decimal text to integer and back, shared by every quantity.
//!
//! No floating point: `"2.5 Mbit/s"` is 2,500,000 exactly, and a value that would need a fraction
//! of the base unit is refused rather than rounded.

use crate::error::ParseError;

/// One unit of a quantity: how it is written, and how many base units it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    pub(crate) scale: u64,
    /// Whether it is printed, and not only read.
    pub(crate) printed: bool,
}

impl Unit {
    pub(crate) const fn new(name: &'static str, scale: u64) -> Self {
        Self { name, scale, printed: true }
    }

    pub(crate) const fn read_only(name: &'static str, scale: u64) -> Self {
        Self { name, scale, printed: false }
    }
}

/// What a quantity is called and the units it may have, the smallest first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    pub(crate) noun: &'static str,
    pub(crate) example: &'static str,
    /// The first is what values are kept in, unless the only unit is larger than that.
    pub(crate) units: &'static [Unit],
    /// Most decimals when printing.
    pub(crate) decimals: u32,
}

impl Kind {
    /// Reads `text` as a decimal number followed by a unit, with or without a space between.
    pub(crate) fn parse(&self, text: &str) -> Result<u64, ParseError> {
        let trimmed = text.trim();
        let split =
            trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let (number, unit) = (number.trim(), unit.trim());
        if number.is_empty() {
            return Err(self.malformed(trimmed));
        }
        if unit.is_empty() {
            return Err(self.missing_unit(number));
        }
        let Some(unit) = self.units.iter().find(|u| u.name == unit) else {
            return Err(ParseError::new(format!(
                "`{unit}` is not a unit of {}; it can be {}, for example \"{}\"",
                self.noun,
                self.unit_names(),
                self.example
            )));
        };
        self.scaled(trimmed, number, unit.scale)
    }

    /// The error for a number without a unit.
    pub(crate) fn missing_unit(&self, number: &str) -> ParseError {
        ParseError::new(format!(
            "`{number}` has no unit; {} is written with {}, for example \"{}\"",
            self.noun,
            self.unit_names(),
            self.example
        ))
    }

    fn malformed(&self, text: &str) -> ParseError {
        let why = if text.starts_with('-') { "cannot be negative" } else { "is a number and a unit" };
        ParseError::new(format!(
            "`{text}` is not {}; it {why} ({}), for example \"{}\"",
            self.noun,
            self.unit_names(),
            self.example
        ))
    }

    fn unit_names(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|u| u.name).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
            None => String::new(),
        }
    }

    fn scaled(&self, text: &str, number: &str, scale: u64) -> Result<u64, ParseError> {
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if fraction.contains('.') || (whole.is_empty() && fraction.is_empty()) || fraction.len() > 18 {
            return Err(self.malformed(text));
        }
        let too_large = || ParseError::new(format!("`{text}` is too large for {}", self.noun));
        let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
        let digits: u128 =
            if fraction.is_empty() { 0 } else { fraction.parse().map_err(|_| self.malformed(text))? };
        let divisor = 10u128.pow(fraction.len() as u32);
        let part = digits * u128::from(scale);
        if !part.is_multiple_of(divisor) {
            return Err(ParseError::new(format!(
                "`{text}` is finer than the {} that {} is kept in",
                self.units[0].name, self.noun
            )));
        }
        whole
            .checked_mul(u128::from(scale))
            .and_then(|w| w.checked_add(part / divisor))
            .and_then(|v| u64::try_from(v).ok())
            .ok_or_else(too_large)
    }

    /// Prints `value` in the largest printed unit that leaves at most `decimals` decimals, else in
    /// the base unit.
    pub(crate) fn print(&self, value: u64) -> String {
        let base = self.units[0];
        let fits = |unit: &&Unit| {
            let step = unit.scale / 10u64.pow(self.decimals);
            unit.printed && value >= unit.scale && (step == 0 || value.is_multiple_of(step))
        };
        let unit = self.units.iter().rev().find(fits).unwrap_or(&base);
        let (whole, rest) = (value / unit.scale, value % unit.scale);
        if rest == 0 {
            return format!("{whole} {}", unit.name);
        }
        // In billionths of the unit, which is finer than any unit's step.
        let fraction = u128::from(rest) * 1_000_000_000 / u128::from(unit.scale);
        let fraction = format!("{fraction:09}");
        format!("{whole}.{} {}", fraction.trim_end_matches('0'), unit.name)
    }
}

/// Writes `FromStr`, `Display`, `Serialize` and `Deserialize` for a newtype over a [`Kind`].
macro_rules! quantity {
    ($type:ident, $kind:expr) => {
        impl std::str::FromStr for $type {
            type Err = $crate::ParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $kind.parse(text).and_then(Self::from_base)
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&$kind.print(self.base()))
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        write!(f, "{} as text, for example \"{}\"", $kind.noun, $kind.example)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }

                    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<$type, E> {
                        Err(E::custom($kind.missing_unit(&value.to_string())))
                    }

                    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<$type, E> {
                        Err(E::custom($kind.missing_unit(&value.to_string())))
                    }

                    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<$type, E> {
                        Err(E::custom($kind.missing_unit(&value.to_string())))
                    }
                }

                deserializer.deserialize_any(Visitor)
            }
        }
    };
}

pub(crate) use quantity;
