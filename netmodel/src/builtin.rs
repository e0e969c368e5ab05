//! The profiles that come with the project, built in so that they work from any folder.

use crate::profile::Profile;

/// The names of the profiles to choose from, the plain ones first.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// The text of the file of a built-in profile, `robot-hop` included.
pub fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

/// A built-in profile, `robot-hop` included.
#[expect(clippy::missing_panics_doc, reason = "a test reads every built-in profile")]
pub fn profile(name: &str) -> Option<Profile> {
    let text = text(name)?;
    Some(Profile::parse(name, text).expect("the built-in profiles are tested to be without problems"))
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../profiles/", $name, ".toml")))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "same-region",
    "brazil",
    "good-india",
    "bad-india",
    "thin-india",
    "same-region-reorder",
    "brazil-reorder",
    "good-india-reorder",
    "bad-india-reorder",
    "thin-india-reorder",
    "robot-hop",
];

const NAMES: &[&str] = &[
    "same-region",
    "brazil",
    "good-india",
    "bad-india",
    "thin-india",
    "same-region-reorder",
    "brazil-reorder",
    "good-india-reorder",
    "bad-india-reorder",
    "thin-india-reorder",
];
