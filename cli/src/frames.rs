//! The frames of one cell, read from its folder.

use std::path::Path;

use bench::FrameRow;

use crate::failure::Failure;
use crate::text_file;

/// What became of each frame of the cell in `folder`. Whoever needs frames asks here, so that one
/// place knows how they are kept.
pub(crate) fn frames_of(folder: &Path) -> Result<Vec<FrameRow>, Failure> {
    let file = folder.join(FRAMES);
    let shown = file.display();
    let text = text_file::read(&file)
        .map_err(|reason| Failure::usage(format!("cannot read the frames `{shown}`: {reason}")))?;
    let row = |(line, text): (usize, &str)| {
        serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("`{shown}`, line {}: {error}", line + 1)))
    };
    text.lines().enumerate().map(row).collect()
}

const FRAMES: &str = "frames.jsonl";
