//! Whether two runs can be compared at all: whether their cells met the same links and cameras for the
//! same time, and their metrics mean the same.

use bench::Cell;
use bench::netmodel::Profile;

use crate::failure::Failure;
use crate::kept::Kept;
use crate::output;

/// Refuses two runs whose difference would not be that of their settings or their builds, and says
/// everything in which they differ.
pub(crate) fn check(before: &Kept, after: &Kept) -> Result<(), Failure> {
    let differences = differences(before, after);
    if !differences.is_empty() {
        let (a, b) = (before.path.display(), after.path.display());
        let lines = differences.join("\n  ");
        return Err(Failure::usage(format!("`{a}` and `{b}` cannot be compared:\n  {lines}"))
            .help("run both with the same profiles, workload and duration, by the same version"));
    }
    if let (Some(a), Some(b)) = (&before.crypto, &after.crypto)
        && a != b
    {
        output::note(&format!("note: packets were protected by {a} before and by {b} after"));
    }
    Ok(())
}

fn differences(before: &Kept, after: &Kept) -> Vec<String> {
    let mut found = Vec::new();
    let mut differ = |what: &str, a: String, b: String| {
        if a != b {
            found.push(format!("{what} differs: {a} before, {b} after"));
        }
    };
    differ("the version of the metrics", before.metrics.to_string(), after.metrics.to_string());
    differ("the base seed", before.scenario.base_seed().to_string(), after.scenario.base_seed().to_string());
    differ("the duration", before.scenario.duration().to_string(), after.scenario.duration().to_string());
    if let (Some(a), Some(b)) = (before.cells.first(), after.cells.first()) {
        differ("the warm-up", a.warmup.to_string(), b.warmup.to_string());
        differ("the workload", workload(a), workload(b));
        differ("the robot hop", profile(&a.robot_hop), profile(&b.robot_hop));
    }
    for a in before.scenario.profiles() {
        if let Some(b) = after.scenario.profiles().iter().find(|b| b.name == a.name) {
            differ(&format!("the profile `{}`", a.name), profile(a), profile(b));
        }
    }
    for a in &before.summaries {
        let same = |b: &&bench::Summary| (&b.profile, &b.seed) == (&a.profile, &a.seed);
        let other = after.summaries.iter().filter(same).find(|b| b.mode != a.mode);
        if let Some(b) = other {
            differ("how cells were run", format!("{:?}", a.mode), format!("{:?}", b.mode));
            break;
        }
    }
    found
}

/// The hash of a profile's resolved text.
fn profile(profile: &Profile) -> String {
    hash(profile.to_toml().as_bytes())
}

/// The hash of the workload, with every default.
fn workload(cell: &Cell) -> String {
    hash(&serde_json::to_vec(&*cell.workload).unwrap_or_default())
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex()[..8].to_owned()
}
