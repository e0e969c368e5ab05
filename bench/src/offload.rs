//! How the ends of a real cell hand datagrams to the kernel, as a scenario's `[real]` table says.
//!
//! A cell keeps it since it decides what a real cell comes to. The simulator has no sockets and takes no notice.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// Whether the kernel takes and gives several datagrams at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Offload {
    /// Generic segmentation offload: datagrams of one size to one address go to the kernel in one call.
    pub gso: bool,
    /// Generic receive offload: the kernel may hand over several datagrams of one flow in one piece.
    pub gro: bool,
}

impl Default for Offload {
    fn default() -> Self {
        Self { gso: true, gro: true }
    }
}

impl Offload {
    /// What it is where nobody says otherwise; such a cell's id does not mention it.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls takes a reference")]
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    fn with(self, said: OffloadFile) -> Self {
        Self { gso: said.gso.unwrap_or(self.gso), gro: said.gro.unwrap_or(self.gro) }
    }
}

/// The two switches as they are written; what is not said is as around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OffloadFile {
    /// Whether the ends give the kernel several datagrams in one call (generic segmentation offload). Default true.
    /// False: one call a datagram, which costs processor time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gso: Option<bool>,
    /// Whether the kernel may hand an end several datagrams in one piece (generic receive offload). Default true.
    /// False: each by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gro: Option<bool>,
}

/// What a scenario says about real cells (`run --mode real`, `confirm`). Nothing in it changes a simulated cell.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RealFile {
    /// Whether the ends of every cell give the kernel several datagrams in one call (generic segmentation offload).
    /// Default true. False: one call a datagram, which costs processor time.
    gso: Option<bool>,
    /// Whether the kernel may hand the ends of every cell several datagrams in one piece (generic receive offload).
    /// Default true. False: each by itself.
    gro: Option<bool>,
    /// The same for the cells of one settings, by its name, to compare a column with and one without.
    #[schemars(with = "BTreeMap<String, OffloadFile>")]
    #[serde(default)]
    pub(crate) settings: BTreeMap<Spanned<String>, OffloadFile>,
}

/// The `[real]` table, resolved.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Real {
    /// For settings that are not in `settings`.
    pub(crate) all: Offload,
    /// By the name of the settings.
    pub(crate) settings: BTreeMap<String, Offload>,
}

impl Real {
    pub(crate) fn of_file(file: &RealFile) -> Self {
        let all = Offload::default().with(OffloadFile { gso: file.gso, gro: file.gro });
        let own = file.settings.iter().map(|(name, said)| (name.get_ref().clone(), all.with(*said)));
        Self { all, settings: own.collect() }
    }

    /// What holds for the cells of these settings.
    pub(crate) fn of(&self, settings: &str) -> Offload {
        self.settings.get(settings).copied().unwrap_or(self.all)
    }

    /// Changes it for one settings.
    pub(crate) fn set(&mut self, settings: &str, said: OffloadFile) {
        let changed = self.of(settings).with(said);
        self.settings.insert(settings.to_owned(), changed);
    }

    /// What differs from the rest, of these settings.
    pub(crate) fn own<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, Offload)> {
        let own = names.map(|name| (name, self.of(name)));
        own.filter(|(_, offload)| *offload != self.all).collect()
    }
}
