//! Moments and stretches of a cell's traffic: the window that a trace covers.

use bench::{Cell, CellResult, FreezeRow};
use units::Span;

/// A part of a cell's traffic, in nanoseconds since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Window {
    /// Whether anything between two moments lies in it.
    pub(crate) fn meets(self, from_ns: u64, to_ns: u64) -> bool {
        from_ns < self.to_ns && to_ns >= self.from_ns
    }

    /// Whether a moment lies in it.
    pub(crate) fn holds(self, at_ns: u64) -> bool {
        self.meets(at_ns, at_ns)
    }

    /// How long it is, in seconds.
    pub(crate) fn seconds(self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }
}

/// The stretch of `length` in which most went wrong: frozen time first, then frames that are missing or
/// came late. The first of equals, so the beginning where nothing did.
pub(crate) fn worst(cell: &Cell, result: &CellResult, length: Span) -> Window {
    let length_ns = length.as_nanos().min(cell.duration.as_nanos());
    let freezes = &result.freezes;
    let bad: Vec<u64> = result
        .frames
        .iter()
        .filter(|frame| frame.cause.is_some())
        .map(|frame| frame.produced_us * 1000)
        .collect();
    let last = cell.duration.as_nanos().saturating_sub(length_ns) / SECOND_NS;
    let windows = (0..=last).map(|second| {
        let from_ns = second * SECOND_NS;
        let window = Window { from_ns, to_ns: from_ns + length_ns };
        let within = |freeze: &FreezeRow| {
            let (from_ns, to_ns) = (freeze.from_us * 1000, freeze.to_us * 1000);
            to_ns.min(window.to_ns).saturating_sub(from_ns.max(window.from_ns))
        };
        let frozen: u64 = freezes.iter().map(within).sum();
        let frames = bad.iter().filter(|at| window.holds(**at)).count();
        ((frozen, frames), window)
    });
    let mut best: Option<((u64, usize), Window)> = None;
    for (score, window) in windows {
        if best.is_none_or(|(most, _)| score > most) {
            best = Some((score, window));
        }
    }
    best.map_or(Window { from_ns: 0, to_ns: length_ns }, |(_, window)| window)
}

const SECOND_NS: u64 = 1_000_000_000;
