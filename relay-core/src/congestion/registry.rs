//! Every congestion control law, listed once.
//!
//! The gate builds what the settings name from this list, and the tests run every law in it. It is
//! not the list of settings: that is [`CongestionKind`], and a test compares the two.

use super::controller::{Controller, Start};
use super::{bbr3, c4, copa, cubic, delay, gcc, nada, new_reno, open, scream};
use crate::settings::CongestionKind;

/// Makes a law.
pub(crate) type Build = fn(&Start<'_>) -> Box<dyn Controller>;

/// The laws.
pub(crate) const LAWS: &[(CongestionKind, Build)] = &[
    (CongestionKind::NewReno, |start| Box::new(new_reno::NewReno::new(start))),
    (CongestionKind::Cubic, |start| Box::new(cubic::Cubic::new(start))),
    (CongestionKind::Delay, |start| Box::new(delay::Delay::new(start))),
    (CongestionKind::Nada, |start| Box::new(nada::Nada::new(start))),
    (CongestionKind::Scream, |start| Box::new(scream::Scream::new(start))),
    (CongestionKind::Gcc, |start| Box::new(gcc::Gcc::new(start))),
    (CongestionKind::Copa, |start| Box::new(copa::Copa::new(start))),
    (CongestionKind::C4, |start| Box::new(c4::C4::new(start))),
    (CongestionKind::Bbr3, |start| Box::new(bbr3::Bbr3::new(start))),
    (CongestionKind::Open, |_| Box::new(open::Open)),
];

/// Makes the law that the settings name.
///
/// # Panics
///
/// If the list lacks what the settings can name, which a test rules out.
pub fn build(start: &Start<'_>) -> Box<dyn Controller> {
    let kind = start.settings.kind;
    let (_, build) = LAWS.iter().find(|(listed, _)| *listed == kind).expect("every kind is listed");
    build(start)
}

/// Every law by what the settings call it, in the order of the list.
pub fn kinds() -> impl Iterator<Item = CongestionKind> {
    LAWS.iter().map(|(kind, _)| *kind)
}

/// The laws to test: all, or the one that `ARCBENCH_LAW` names as its settings do.
#[cfg(test)]
pub(crate) fn tested() -> Vec<(CongestionKind, Build)> {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StringDeserializer};

    #[expect(clippy::disallowed_methods, reason = "how a person tests one law")]
    let Ok(name) = std::env::var("ARCBENCH_LAW") else { return LAWS.to_vec() };
    let name: StringDeserializer<Error> = name.into_deserializer();
    let kind = CongestionKind::deserialize(name).expect("the name of a law");
    LAWS.iter().copied().filter(|(listed, _)| *listed == kind).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    /// The values that the schema admits for `congestion.kind`.
    fn kinds() -> Vec<CongestionKind> {
        let schema = schemars::schema_for!(CongestionKind);
        let variants = schema.get("oneOf").and_then(|list| list.as_array()).expect("documented variants");
        let names = variants.iter().map(|variant| variant["const"].as_str().expect("a name"));
        let kind = |name: &str| {
            let name: StrDeserializer<'_, Error> = name.into_deserializer();
            CongestionKind::deserialize(name).expect("its own schema")
        };
        names.map(kind).collect()
    }

    #[test]
    fn every_kind_is_listed_once() {
        let mut listed: Vec<_> = LAWS.iter().map(|(kind, _)| *kind).collect();
        listed.sort_unstable();
        let mut kinds = kinds();
        kinds.sort_unstable();
        assert_eq!(listed, kinds);
    }
}
