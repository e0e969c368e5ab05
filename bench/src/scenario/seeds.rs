//! Seed lists as text: `"5"`, `"1,4,7"`, `"1..3"` (both ends included), and mixtures.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Reads a list of seed indices, in its order.
pub(super) fn parse(text: &str) -> Result<Vec<u64>, String> {
    let mut seeds = Vec::new();
    for part in text.split(',').map(str::trim) {
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (number(text, first)?, number(text, last.trim_start_matches('='))?),
            None => (number(text, part)?, number(text, part)?),
        };
        if first > last {
            return Err(format!("`{part}` is empty: a range goes from the smaller seed to the larger"));
        }
        if last - first >= SEEDS_MAX || seeds.len() as u64 + (last - first) >= SEEDS_MAX {
            return Err(format!("`{text}` is more than {SEEDS_MAX} seeds"));
        }
        seeds.extend(first..=last);
    }
    let mut sorted = seeds.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("seed {} is there twice", pair[0])),
        None => Ok(seeds),
    }
}

/// Prints a list of seeds so that [`parse`] gives it back.
pub(super) fn print(seeds: &[u64]) -> String {
    let mut parts = Vec::new();
    let mut rest = seeds;
    while let [first, ..] = rest {
        let run = rest.iter().zip(*first..).take_while(|(seed, expected)| *seed == expected).count();
        if run >= 3 {
            parts.push(format!("{first}..{}", first + run as u64 - 1));
            rest = &rest[run..];
        } else {
            parts.push(first.to_string());
            rest = &rest[1..];
        }
    }
    parts.join(",")
}

fn number(text: &str, part: &str) -> Result<u64, String> {
    let part = part.trim();
    let digits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    part.parse().ok().filter(|_| digits).ok_or_else(|| {
        format!("`{text}` is not a list of seeds; it is like \"1..3\" (both included), \"1,4,7\" or \"5\"")
    })
}

/// A 64-bit seed: a whole number in TOML, or text for what TOML's numbers cannot hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BaseSeed(pub(super) u64);

impl Serialize for BaseSeed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(self.0) {
            Ok(small) => serializer.serialize_i64(small),
            Err(_) => serializer.collect_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for BaseSeed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;

        impl Visitor<'_> for Number {
            type Value = BaseSeed;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a seed: a whole number from 0 to 2^64 - 1, large ones as text")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<BaseSeed, E> {
                u64::try_from(value).map(BaseSeed).map_err(|_| E::custom("a seed cannot be negative"))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<BaseSeed, E> {
                Ok(BaseSeed(value))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<BaseSeed, E> {
                text.parse().map(BaseSeed).map_err(|_| E::custom(format!("`{text}` is not a seed")))
            }
        }

        deserializer.deserialize_any(Number)
    }
}

/// Most seeds of a scenario.
const SEEDS_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_three_forms_and_their_mixture() {
        assert_eq!(parse("1..3"), Ok(vec![1, 2, 3]));
        assert_eq!(parse("1, 4 ,7"), Ok(vec![1, 4, 7]));
        assert_eq!(parse("5"), Ok(vec![5]));
        assert_eq!(parse("9,1..=3"), Ok(vec![9, 1, 2, 3]));
        assert_eq!(print(&[1, 2, 3, 7, 8, 5]), "1..3,7,8,5");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(parse("3..1").unwrap_err().contains("smaller seed to the larger"));
        assert!(parse("1,2,1").unwrap_err().contains("seed 1 is there twice"));
        assert!(parse("1..1000000").unwrap_err().contains("more than 100000"));
        assert!(parse("0..18446744073709551615").unwrap_err().contains("more than"));
        for text in ["", "a", "1,", "..", "1..", "-1", "+1", "1.5", "99999999999999999999"] {
            assert!(parse(text).unwrap_err().contains("not a list of seeds"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printing_then_parsing_gives_the_list_back(seeds in prop::collection::btree_set(0u64..50, 1..30)) {
            let seeds: Vec<u64> = seeds.into_iter().collect();
            prop_assert_eq!(parse(&print(&seeds)), Ok(seeds.clone()));
            let backwards: Vec<u64> = seeds.into_iter().rev().collect();
            prop_assert_eq!(parse(&print(&backwards)), Ok(backwards));
        }

        #[test]
        fn no_text_panics(text in "[0-9,. =-]{0,24}") {
            let _ = parse(&text);
        }
    }
}
