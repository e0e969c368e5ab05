//! The freezes of a kept cell, for `show`: when the picture stood and why, with the command that looks closer.

use std::fmt::Write as _;
use std::path::Path;

use bench::{Cause, FreezeRow};

use crate::output::quoted;

/// The longest of `all` freezes of the cell in `folder`, as text; nothing if there were none. A cell that `repeats` comes to the
/// same again, so that one can look closer.
pub(crate) fn text(folder: &Path, mut all: Vec<FreezeRow>, repeats: bool) -> String {
    let mut out = String::new();
    if all.is_empty() {
        return out;
    }
    let length = |freeze: &FreezeRow| freeze.to_us.saturating_sub(freeze.from_us);
    all.sort_by_key(|freeze| (u64::MAX - length(freeze), freeze.from_us));
    let longest = all[0].clone();
    let more = all.len().saturating_sub(SHOWN_MAX);
    all.truncate(SHOWN_MAX);
    all.sort_by_key(|freeze| freeze.from_us);
    let _ = writeln!(
        out,
        "\nfreezes{}",
        if more > 0 { format!(", the longest {SHOWN_MAX}") } else { String::new() }
    );
    for freeze in &all {
        let (from, length) = (freeze.from_us as f64 / 1e6, length(freeze) as f64 / 1e6);
        let FreezeRow { camera, missing, late, .. } = freeze;
        let why = freeze.cause.map_or("no frame was made", Cause::name);
        let _ = writeln!(
            out,
            "  {camera:<14}{from:>9.3} s for {length:.3} s: {why} ({missing} frames missing, {late} late)"
        );
    }
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
    if repeats {
        let folder = quoted(&folder.display().to_string());
        let at = longest.from_us as f64 / 1e6;
        let _ = writeln!(out, "  packet by packet: arcbench show {folder} --at {at:.1}s");
    }
    out
}

/// Freezes that are listed.
const SHOWN_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_to_the_same_again_is_looked_at_closer() {
        let freeze = FreezeRow {
            camera: "main".to_owned(),
            from_us: 1_000_000,
            to_us: 2_000_000,
            cause: Some(Cause::Outage),
            missing: 3,
            late: 1,
            first_frame: None,
            last_frame: None,
        };
        let of = |repeats| text(Path::new("cell"), vec![freeze.clone()], repeats);
        assert!(of(true).contains("arcbench show cell --at 1.0s"), "{}", of(true));
        assert!(of(false).contains("1.000 s for 1.000 s") && !of(false).contains("--at"), "{}", of(false));
    }
}
