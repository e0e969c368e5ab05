//! What a link is like: the resolved form that the models take, and its TOML form.
//!
//! # The file
//!
//! ```toml
//! description = "A long link with bursts of loss"
//! rtt = "270 ms"                     # halved into both directions; or `delay`, for each
//! jitter = { sigma = "15 ms" }       # everything here is for both directions ...
//! loss = { kind = "gilbert-elliott", mean = "1.5 %", burst = 3 }
//! rate = "1 Gbit/s"
//!
//! [down]                             # ... and a direction may replace any key for itself
//! rate = "2.5 Mbit/s"
//! queue = { time = "300 ms" }
//!
//! [[down.schedule]]                  # and change it later
//! at = "60 s"
//! outage = "2 s"
//! ```
//!
//! A key that a direction states replaces the shared key as a whole (a `jitter` under `[up]` does not
//! take its `order` from the shared `jitter`). `up` is towards the relay on the robot's hop and from
//! the operator to the relay on the operator's; `down` is the other way. All keys are described on
//! [`ProfileFile`], which is also what [`profile_schema`] is made of.
//!
//! # What jitter means
//!
//! `sigma` is the standard deviation of the **one-way** delay of a packet **in one direction**,
//! around that direction's `delay`, before anything bounds it. Written once for both directions,
//! each direction has that `sigma`, drawn independently: it is not divided between them, so the
//! round trip varies by √2 × `sigma`.

mod file;
mod loss;
mod netem;
mod print;
mod resolve;
mod short;
mod types;

pub use file::{
    ChangeFile, ClockKind, DirectionFile, JitterFile, LossFile, LossKind, ProfileFile, QueueFile,
    QueueKindFile, RateFile, RateKind, RateStepFile, profile_schema,
};
pub use netem::{KernelLoss, Netem, NetemFile};
pub use short::{MaybeShort, Short};
pub use types::{
    Change, CodelParameters, DirectionProfile, Distribution, DualPi2Parameters, GilbertElliott, Jitter, Loss,
    LossClock, LossModel, Moves, Order, Queue, QueueKind, QueueLimit, RateCounts, RateModel, RateStep,
};

use crate::document::{self, Problem};

/// The conditions of a link in both directions, with every default filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// What it is called; not part of the file, which is called that.
    pub name: String,
    /// What it stands for, for people.
    pub description: String,
    /// Towards the relay on the robot's hop; from the operator to the relay on the operator's.
    pub up: DirectionProfile,
    /// The other way.
    pub down: DirectionProfile,
}

impl Profile {
    /// Reads the profile `name` from the text of its file.
    ///
    /// A rate that is a trace must have it inline: see [`Profile::parse_with`].
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the text, in its order.
    pub fn parse(name: &str, text: &str) -> Result<Self, Vec<Problem>> {
        Self::parse_with(name, text, &|_| None)
    }

    /// Reads the profile `name` from the text of its file; `load` gives the text of a trace file by
    /// the path that the profile has for it, or `None` if there is no such file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the text, in its order.
    pub fn parse_with(
        name: &str,
        text: &str,
        load: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<Problem>> {
        let (file, mut problems) = document::recover::<ProfileFile>(text);
        let Some(file) = file else { return Err(problems) };
        let (profile, found) = resolve::resolve(name, &file, load);
        // What is absent may be absent because it was faulty, and has its own problem then.
        let absence_counts = problems.is_empty();
        problems.extend(found.into_iter().filter(|p| absence_counts || !p.absent).map(|p| p.problem));
        problems.sort_by_key(|p| p.span.as_ref().map_or(0, |s| s.start));
        if problems.is_empty() { Ok(profile) } else { Err(document::capped(problems)) }
    }

    /// Resolves a profile that was part of another document; spans are in that document's text.
    ///
    /// # Errors
    ///
    /// Everything that the types of the file do not rule out.
    pub fn from_file(
        name: &str,
        file: &ProfileFile,
        load: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Vec<Problem>> {
        let (profile, found) = resolve::resolve(name, file, load);
        if found.is_empty() { Ok(profile) } else { Err(found.into_iter().map(|p| p.problem).collect()) }
    }

    /// What is wrong with a profile that was [recovered](document::recover) from a document with
    /// problems of its own: nothing about what is absent, which may have been faulty.
    pub fn problems_of_recovered(
        name: &str,
        file: &ProfileFile,
        load: &dyn Fn(&str) -> Option<String>,
    ) -> Vec<Problem> {
        let (_, found) = resolve::resolve(name, file, load);
        found.into_iter().filter(|p| !p.absent).map(|p| p.problem).collect()
    }

    /// The file form with everything filled in: both directions in full, nothing shared.
    pub fn to_file(&self) -> ProfileFile {
        print::to_file(self)
    }

    /// The text of [`Profile::to_file`]. Parsing it under the same name gives the profile back.
    ///
    /// # Panics
    ///
    /// If the profile was not parsed but put together with a number in it that TOML cannot hold (2⁶³ and
    /// more).
    pub fn to_toml(&self) -> String {
        toml::to_string(&self.to_file()).expect("every field of the file form has a TOML form")
    }
}

#[cfg(test)]
mod tests;
