//! The freezes of a kept cell, for `show`: when the picture stood and what became of the frames meanwhile,
//! with the command that looks closer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use bench::FrameRow;

use crate::kept_cell::{self, KeptCell};
use crate::output::quoted;
use crate::replay::spans::{Freeze, freezes};

/// The longest freezes as text; nothing if there were none, or the folder does not have what it takes.
pub(crate) fn text(summary_file: &Path) -> String {
    let mut out = String::new();
    let Some(shown) = summary_file.to_str() else { return out };
    let Ok(kept) = KeptCell::find(shown, None) else { return out };
    let Some(frames) = kept_cell::frames(&kept.folder) else { return out };
    let mut all = freezes(&kept.cell, &frames);
    if all.is_empty() {
        return out;
    }
    all.sort_by_key(|freeze| (u64::MAX - (freeze.to_ns - freeze.from_ns), freeze.from_ns));
    let longest = all[0].clone();
    let more = all.len().saturating_sub(SHOWN_MAX);
    all.truncate(SHOWN_MAX);
    all.sort_by_key(|freeze| freeze.from_ns);
    let _ = writeln!(
        out,
        "\nfreezes{}",
        if more > 0 { format!(", the longest {SHOWN_MAX}") } else { String::new() }
    );
    for freeze in &all {
        let (from, length) = (freeze.from_ns as f64 / 1e9, (freeze.to_ns - freeze.from_ns) as f64 / 1e9);
        let meanwhile = meanwhile(freeze, &frames);
        let _ = writeln!(out, "  {:<14}{from:>9.3} s for {length:.3} s: {meanwhile}", freeze.camera);
    }
    if more > 0 {
        let _ = writeln!(out, "  and {more} more");
    }
    let folder = quoted(&kept.folder.display().to_string());
    let at = longest.from_ns as f64 / 1e9;
    let _ = writeln!(out, "  packet by packet: arcbench show {folder} --at {at:.1}s");
    out
}

/// What became of the frames that could have been shown in a freeze.
fn meanwhile(freeze: &Freeze, frames: &[FrameRow]) -> String {
    let mut fates: BTreeMap<&str, usize> = BTreeMap::new();
    let (from_us, to_us) = (freeze.from_ns / 1000, freeze.to_ns / 1000);
    let of_camera = frames.iter().filter(|frame| frame.camera == freeze.camera);
    // What was on screen at its beginning was made before what is missing.
    let on_screen =
        of_camera.clone().filter(|frame| frame.shown_us == Some(from_us)).map(|frame| frame.frame).max();
    for frame in of_camera {
        let older = on_screen.is_some_and(|number| frame.frame <= number);
        if older || frame.produced_us >= to_us {
            continue;
        }
        let fate = match (frame.cause, frame.shown_us) {
            (Some(cause), _) => cause.name(),
            (None, Some(_)) => "slow",
            (None, None) => "overtaken",
        };
        // Those made in its last moments are still on their way.
        if frame.shown_us.is_none_or(|at| at <= to_us) {
            *fates.entry(fate).or_default() += 1;
        }
    }
    let fates: Vec<String> = fates.iter().map(|(fate, count)| format!("{count} {fate}")).collect();
    if fates.is_empty() { "no frame was made".to_owned() } else { format!("frames {}", fates.join(", ")) }
}

/// Freezes that are listed.
const SHOWN_MAX: usize = 8;
