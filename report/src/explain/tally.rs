//! What each kind of thing cost: frames and freezes shared out by their causes, and when.

use std::collections::BTreeMap;

use bench::{Cause, FrameRow, FreezeRow};

use super::record::Kind;

/// What one kind of thing cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) missing: u64,
    pub(super) late: u64,
    pub(super) frozen_us: u64,
    pub(super) freezes: u64,
    /// Seconds of the traffic: how long pictures stood in each, and frames of it that were missing or late.
    seconds: BTreeMap<u64, (u64, u64)>,
    /// The longest freeze: how long, and when it began.
    longest: Option<(u64, u64)>,
    /// The first missing or late frame of each second was made at.
    first_us: BTreeMap<u64, u64>,
}

impl Cost {
    pub(super) fn frames(&self) -> u64 {
        self.missing + self.late
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.frames() == 0 && self.freezes == 0
    }

    fn frame(&mut self, frame: &FrameRow) {
        let second = frame.produced_us / SECOND_US;
        let missing = frame.delivered_us.is_none();
        self.missing += u64::from(missing);
        self.late += u64::from(!missing);
        self.seconds.entry(second).or_default().1 += 1;
        let first = self.first_us.entry(second).or_insert(frame.produced_us);
        *first = frame.produced_us.min(*first);
    }

    fn freeze(&mut self, freeze: &FreezeRow) {
        let length = freeze.length_us();
        self.frozen_us += length;
        self.freezes += 1;
        if self.longest.is_none_or(|(longest, _)| length > longest) {
            self.longest = Some((length, freeze.from_us));
        }
        let mut from = freeze.from_us;
        while from < freeze.to_us {
            let to = ((from / SECOND_US + 1) * SECOND_US).min(freeze.to_us);
            self.seconds.entry(from / SECOND_US).or_default().0 += to - from;
            from = to;
        }
    }

    /// The worst seconds, worst first: by how long pictures stood, then by frames, then the first.
    pub(super) fn worst(&self) -> Vec<u64> {
        let mut seconds: Vec<(u64, (u64, u64))> = self.seconds.iter().map(|(s, n)| (*s, *n)).collect();
        seconds.sort_by_key(|(second, worth)| (std::cmp::Reverse(*worth), *second));
        seconds.truncate(WORST_MAX);
        seconds.into_iter().map(|(second, _)| second).collect()
    }

    /// The moment to look at, and how long it lasts: the longest freeze, or the first missing or late frame
    /// of the worst second.
    pub(super) fn moment_us(&self) -> Option<(u64, u64)> {
        if let Some((length, from)) = self.longest {
            return Some((from, length));
        }
        let second = *self.worst().first()?;
        Some((self.first_us.get(&second).copied().unwrap_or(second * SECOND_US), 0))
    }
}

/// What all of it cost, by kind. Each missing or late frame and each freeze counts once.
#[derive(Debug, Clone, Default)]
pub(super) struct Tally(BTreeMap<Kind, Cost>);

impl Tally {
    pub(super) fn new<'a>(
        frames: impl IntoIterator<Item = &'a FrameRow>,
        freezes: impl IntoIterator<Item = &'a FreezeRow>,
    ) -> Self {
        Self::by(frames, freezes, kind)
    }

    /// All of it as one, of which `counts` says whether a kind has a part in it.
    pub(super) fn one<'a>(
        frames: impl IntoIterator<Item = &'a FrameRow>,
        freezes: impl IntoIterator<Item = &'a FreezeRow>,
        counts: impl Fn(Kind) -> bool,
    ) -> Cost {
        let frames =
            frames.into_iter().filter(|frame| frame.cause.is_some_and(|cause| counts(kind(Some(cause)))));
        let freezes = freezes.into_iter().filter(|freeze| counts(kind(freeze.cause)));
        Self::by(frames, freezes, |_| Kind::Nothing).0.remove(&Kind::Nothing).unwrap_or_default()
    }

    fn by<'a>(
        frames: impl IntoIterator<Item = &'a FrameRow>,
        freezes: impl IntoIterator<Item = &'a FreezeRow>,
        kind: fn(Option<Cause>) -> Kind,
    ) -> Self {
        let mut costs: BTreeMap<Kind, Cost> = BTreeMap::new();
        for frame in frames {
            if frame.cause.is_some() {
                costs.entry(kind(frame.cause)).or_default().frame(frame);
            }
        }
        for freeze in freezes {
            costs.entry(kind(freeze.cause)).or_default().freeze(freeze);
        }
        Self(costs)
    }

    pub(super) fn of(&self, kind: Kind) -> Cost {
        self.0.get(&kind).cloned().unwrap_or_default()
    }

    /// Those of `kinds` that cost something.
    pub(super) fn among(&self, kinds: &[Kind]) -> Vec<Kind> {
        kinds.iter().copied().filter(|kind| !self.of(*kind).is_nothing()).collect()
    }
}

/// What a cause comes under.
fn kind(cause: Option<Cause>) -> Kind {
    match cause {
        Some(Cause::NotConnected) => Kind::Connection,
        Some(Cause::RobotHop) => Kind::RobotHop,
        Some(Cause::Skipped) => Kind::Skipping,
        Some(Cause::ExpiredInRelay) => Kind::Deadline,
        // A newer frame pushes out only what waits for window and pacer.
        Some(Cause::Superseded | Cause::WindowShut) => Kind::Window,
        Some(Cause::Outage) => Kind::Outage,
        Some(Cause::QueueOverflow | Cause::LinkQueue) => Kind::Queue,
        Some(Cause::Lost) => Kind::RandomLoss,
        Some(Cause::LinkDelay) => Kind::LinkDelay,
        Some(Cause::InTransport) => Kind::Streams,
        None => Kind::NoFrames,
    }
}

/// Seconds that a finding names.
const WORST_MAX: usize = 3;
pub(super) const SECOND_US: u64 = 1_000_000;
