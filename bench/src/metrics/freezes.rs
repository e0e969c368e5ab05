//! Each freeze with its cause.

use serde::{Deserialize, Serialize};
use units::Time;

use super::cause::{Cause, CauseCounts};
use super::frames::Frame;
use super::playout::{Freeze, Seen};
use super::why::Circumstances;

/// One freeze of a cell: a row of the freezes table. Times are microseconds since the start of the traffic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreezeRow {
    /// The camera's name.
    pub camera: String,
    /// When the last frame before it was shown, or the traffic started.
    pub from_us: u64,
    /// When the next frame was shown, or the traffic ended.
    pub to_us: u64,
    /// What most of the frames that were missing or late in it owe it to; where none was, what made
    /// the slowest one slow. `null` if the camera made no frame that could have been shown.
    pub cause: Option<Cause>,
    /// The first frame that could have been shown in it; `null` if there was none.
    pub first_frame: Option<u32>,
    /// The last such frame.
    pub last_frame: Option<u32>,
    /// How many of these frames never came.
    pub missing: u32,
    /// How many of these frames came late.
    pub late: u32,
}

impl FreezeRow {
    /// How long the picture stood, in microseconds.
    pub fn length_us(&self) -> u64 {
        self.to_us.saturating_sub(self.from_us)
    }
}

/// The rows of one camera's freezes.
pub(super) fn rows<'a>(
    name: &'a str,
    start: Time,
    frames: &'a [Frame],
    seen: &'a Seen,
    circumstances: Circumstances<'a>,
) -> impl Iterator<Item = FreezeRow> + 'a {
    seen.freezes.iter().map(move |freeze| {
        let (first, end) = between(frames, seen, *freeze);
        let inside = &frames[first..end];
        let mut causes = CauseCounts::default();
        let counted = inside.iter().filter_map(|frame| Some((frame, circumstances.cause(frame)?)));
        let (mut missing, mut late) = (0, 0);
        for (frame, cause) in counted {
            causes.add(cause);
            *if frame.delivered == Time::MAX { &mut missing } else { &mut late } += 1;
        }
        let slowest = inside.iter().max_by_key(|frame| frame.delivered.since(frame.produced));
        FreezeRow {
            camera: name.to_owned(),
            from_us: freeze.from.since(start).as_micros(),
            to_us: freeze.to.since(start).as_micros(),
            cause: causes.most().or_else(|| slowest.map(|frame| circumstances.slow(frame))),
            first_frame: (first < end).then_some(first as u32),
            last_frame: (first < end).then(|| end as u32 - 1),
            missing,
            late,
        }
    })
}

/// The frames that could have been shown in a freeze: after the one on screen up to the one that ended it, made
/// before it ended.
fn between(frames: &[Frame], seen: &Seen, freeze: Freeze) -> (usize, usize) {
    let shown_by_then = seen.shown.partition_point(|(at, _)| *at <= freeze.from);
    let first = match seen.shown[..shown_by_then].last() {
        Some((_, number)) => *number as usize + 1,
        None => 0,
    };
    let next = seen.shown.get(shown_by_then).map_or(frames.len(), |(_, number)| *number as usize + 1);
    let first = first.min(frames.len());
    let made = frames[first..next.clamp(first, frames.len())].iter();
    let made = made.take_while(|frame| frame.produced < freeze.to).count();
    (first, first + made)
}

/// Freezes of a cell that are listed; more are counted in the summary alone.
pub(super) const FREEZES_MAX: usize = 100_000;
