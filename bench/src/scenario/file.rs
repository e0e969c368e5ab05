//! The TOML form of a scenario, as read and as written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use netmodel::ProfileFile;
use relay_core::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;
use units::Span;

use super::Scenario;
use super::seeds::{self, BaseSeed};
use crate::named::Named;
use crate::offload::{Offload, RealFile};
use crate::workload::Workload;

/// A scenario file: a matrix of profiles × settings × seeds.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Scenario")]
pub(crate) struct ScenarioFile {
    /// What the scenario is for, for people. Default empty.
    pub(super) description: Option<String>,
    /// How long each cell has traffic. Default `"120 s"`. Range 1 s to 3600 s.
    #[schemars(with = "Option<String>")]
    pub(super) duration: Option<Spanned<Span>>,
    /// Time before the traffic, for the connections to come up. Default `"5 s"`. Range 0 s to 60 s.
    #[schemars(with = "Option<String>")]
    pub(super) warmup: Option<Spanned<Span>>,
    /// Seed indices: `"1..3"` (both included), `"1,4,7"`, `"5"`. Default `"1"`. Each is a cell of
    /// its own for every profile and settings.
    #[schemars(with = "Option<String>")]
    pub(super) seeds: Option<Spanned<String>>,
    /// The seed that all cells share; another one gives other weather everywhere. A whole number,
    /// large ones as text. Default 1.
    #[schemars(with = "Option<u64>")]
    pub(super) base_seed: Option<BaseSeed>,
    /// The profiles of the operator hop: names of `[profile.<name>]` tables in this file or of
    /// built-in profiles, or paths of profile files.
    #[schemars(with = "Vec<String>")]
    pub(super) profiles: Option<Spanned<Vec<Spanned<String>>>>,
    /// The profile of the robot hop, named in the same ways. Default `"robot-hop"`: 1 ms round
    /// trip, 1 Gbit/s, nothing lost.
    #[schemars(with = "Option<String>")]
    pub(super) robot_hop: Option<Spanned<String>>,
    /// What robot and operator send. Default the source's three cameras and 72 poses a second.
    #[schemars(with = "Option<Workload>")]
    pub(super) workload: Option<Spanned<Workload>>,
    /// Relay configurations by name; what one does not say has its default.
    #[schemars(with = "BTreeMap<String, Settings>")]
    #[serde(default)]
    pub(super) settings: BTreeMap<Spanned<String>, Spanned<Settings>>,
    /// What is for real cells alone. Default: everything as it says.
    #[serde(default)]
    pub(super) real: RealFile,
    /// Profiles of this scenario by name, in the form of a profile file.
    #[schemars(with = "BTreeMap<String, ProfileFile>")]
    #[serde(default)]
    pub(super) profile: BTreeMap<Spanned<String>, Spanned<ProfileFile>>,
    /// Figures to print beside the results: profile → settings → metric → number, with the names and
    /// in the units of the grid. Nothing is checked against them.
    #[serde(default)]
    pub(super) reference: Reference,
}

/// Profile → settings → metric → number.
pub type Reference = BTreeMap<String, BTreeMap<String, BTreeMap<String, f64>>>;

/// A resolved scenario on its way to text: every default filled in, profiles inlined.
#[derive(Serialize)]
struct Resolved<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    description: Cow<'a, str>,
    duration: Span,
    warmup: Span,
    seeds: String,
    base_seed: BaseSeed,
    profiles: Vec<&'a str>,
    robot_hop: &'a str,
    workload: &'a Workload,
    settings: Named<&'a Settings>,
    real: ResolvedReal,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    reference: &'a Reference,
    profile: Named<ProfileFile>,
}

/// The `[real]` table of a resolved scenario.
#[derive(Serialize)]
struct ResolvedReal {
    gso: bool,
    gro: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "named")]
    settings: Vec<(String, Offload)>,
}

fn named<S: serde::Serializer>(list: &[(String, Offload)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(list.iter().map(|(name, offload)| (name, offload)))
}

/// The text of a resolved scenario.
pub(super) fn print(scenario: &Scenario) -> String {
    let mut profile: Named<ProfileFile> =
        scenario.profiles.iter().map(|p| (p.name.clone(), p.to_file())).collect();
    if profile.get(&scenario.robot_hop.name).is_none() {
        profile.0.push((scenario.robot_hop.name.clone(), scenario.robot_hop.to_file()));
    }
    let names = scenario.settings.iter().map(|(name, _)| name.as_str());
    let resolved = Resolved {
        description: Cow::Borrowed(&scenario.description),
        duration: scenario.duration,
        warmup: scenario.warmup,
        seeds: seeds::print(&scenario.seeds),
        base_seed: BaseSeed(scenario.base_seed),
        profiles: scenario.profiles.iter().map(|p| p.name.as_str()).collect(),
        robot_hop: &scenario.robot_hop.name,
        workload: &scenario.workload,
        settings: scenario.settings.iter().map(|(name, s)| (name.clone(), &**s)).collect(),
        real: ResolvedReal {
            gso: scenario.real.all.gso,
            gro: scenario.real.all.gro,
            settings: scenario
                .real
                .own(names)
                .into_iter()
                .map(|(name, own)| (name.to_owned(), own))
                .collect(),
        },
        reference: &scenario.reference,
        profile,
    };
    toml::to_string(&resolved).expect("every field of a scenario has a TOML form")
}
