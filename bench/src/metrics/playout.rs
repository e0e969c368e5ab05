//! What one camera's viewer saw: which frames were on screen when, and when the picture stood.
//!
//! There is no jitter buffer: a complete, decodable frame is shown at once if it is newer than the
//! one on screen. Everything is computed over the traffic interval alone.

use std::collections::VecDeque;

use units::{Span, Time};

/// What playout needs to know about a camera.
#[derive(Debug, Clone, Copy)]
pub struct Playout {
    /// Start of the traffic.
    pub start: Time,
    /// End of the traffic.
    pub end: Time,
    /// Nominal time between two frames.
    pub interval: Span,
    /// Frames in a group of predicted frames; 1 for independent pictures.
    pub gop: u32,
}

/// A stretch of standing picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Freeze {
    /// When the last frame before it was shown (or the traffic started).
    pub from: Time,
    /// When the next frame was shown (or the traffic ended).
    pub to: Time,
}

impl Freeze {
    /// How long the picture stood.
    pub fn length(&self) -> Span {
        self.to.since(self.from)
    }
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Seen {
    /// Frames shown and when, in order; frames shown after the traffic's end included.
    pub shown: Vec<(Time, u32)>,
    /// Freezes by the nominal interval.
    pub freezes: Vec<Freeze>,
    /// Freezes by the W3C's running mean. One that lasts to the end of the traffic counts.
    pub freezes_w3c: Vec<Freeze>,
    /// Frames that could be decoded only when a newer one was on screen already.
    pub late: u64,
    /// Frames whose group missed an earlier one to the end.
    pub undecodable: u64,
}

impl Playout {
    /// Plays `deliveries`: when each frame became complete, in time order.
    pub fn play(&self, deliveries: &[(Time, u32)]) -> Seen {
        let mut seen = Seen::default();
        let mut groups = Groups::new(self.gop.max(1));
        let mut on_screen = None;
        let mut decoded = 0;
        for &(at, number) in deliveries {
            let Some((first, newest)) = groups.deliver(number) else { continue };
            let count = u64::from(newest - first) + 1;
            decoded += count;
            if on_screen < Some(newest) {
                on_screen = Some(newest);
                seen.shown.push((at, newest));
                seen.late += count - 1;
            } else {
                seen.late += count;
            }
        }
        seen.undecodable = groups.delivered - decoded;
        self.find_freezes(&mut seen);
        seen
    }

    /// The shortest gap that is a freeze: max(3 × interval, interval + 150 ms).
    pub fn threshold(&self) -> Span {
        freeze_threshold(self.interval.as_nanos())
    }

    fn find_freezes(&self, seen: &mut Seen) {
        let within: Vec<Time> =
            seen.shown.iter().map(|(at, _)| *at).filter(|at| *at >= self.start && *at < self.end).collect();
        let threshold = self.threshold();
        let mut from = self.start;
        for to in within.iter().copied().chain([self.end]) {
            let gap = Freeze { from, to };
            if gap.length() >= threshold {
                seen.freezes.push(gap);
            }
            from = to;
        }
        let mut recent = RunningMean::default();
        for pair in within.windows(2) {
            let gap = Freeze { from: pair[0], to: pair[1] };
            if recent.mean().is_some_and(|mean| gap.length() >= freeze_threshold(mean)) {
                seen.freezes_w3c.push(gap);
            }
            recent.push(gap.length().as_nanos());
        }
        // The W3C counts a freeze when the next frame ends it, so one that never ends would be none.
        // What stands at the end of the traffic counts here, and without a frame it is all of it.
        let last = Freeze { from: within.last().copied().unwrap_or(self.start), to: self.end };
        if last.length() >= freeze_threshold(recent.mean().unwrap_or(self.interval.as_nanos())) {
            seen.freezes_w3c.push(last);
        }
    }
}

/// max(3 × mean, mean + 150 ms) (W3C webrtc-stats, `freezeCount`).
fn freeze_threshold(mean_ns: u64) -> Span {
    let mean = Span::from_nanos(mean_ns);
    (mean * 3).max(mean + Span::from_millis(150))
}

/// Mean of the last 30 gaps between shown frames, as in W3C webrtc-stats.
#[derive(Debug, Default)]
struct RunningMean {
    gaps: VecDeque<u64>,
    sum: u64,
}

impl RunningMean {
    fn mean(&self) -> Option<u64> {
        (!self.gaps.is_empty()).then(|| self.sum / self.gaps.len() as u64)
    }

    fn push(&mut self, gap: u64) {
        if self.gaps.len() == W3C_GAPS {
            self.sum -= self.gaps.pop_front().unwrap_or(0);
        }
        self.gaps.push_back(gap);
        self.sum += gap;
    }
}

/// Which frames are there, group by group.
#[derive(Debug)]
struct Groups {
    gop: u32,
    /// Whether each frame has come.
    present: Vec<bool>,
    /// How many frames of each group are decodable: the leading ones that have all come.
    decodable: Vec<u32>,
    delivered: u64,
}

impl Groups {
    fn new(gop: u32) -> Self {
        Self { gop, present: Vec::new(), decodable: Vec::new(), delivered: 0 }
    }

    /// Takes frame `number`; the first and last frame that can be decoded because of it, if any.
    fn deliver(&mut self, number: u32) -> Option<(u32, u32)> {
        let (index, group) = (number as usize, (number / self.gop) as usize);
        if index >= self.present.len() {
            self.present.resize(index + 1, false);
            self.decodable.resize(group + 1, 0);
        }
        if std::mem::replace(&mut self.present[index], true) {
            return None;
        }
        self.delivered += 1;
        let first = group as u32 * self.gop + self.decodable[group];
        if first != number {
            return None;
        }
        let group_end = u64::from(group as u32 + 1) * u64::from(self.gop);
        let mut after = number as usize;
        while (after as u64) < group_end && self.present.get(after) == Some(&true) {
            after += 1;
        }
        self.decodable[group] += (after - index) as u32;
        Some((number, after as u32 - 1))
    }
}

/// How many gaps the W3C's running mean is taken over.
const W3C_GAPS: usize = 30;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A camera of 10 frames/s (freeze from 300 ms) over two seconds starting at 1 s.
    fn playout(gop: u32) -> Playout {
        Playout { start: ms(1000), end: ms(3000), interval: Span::from_millis(100), gop }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn steady(numbers: impl IntoIterator<Item = u32>) -> Vec<(Time, u32)> {
        numbers.into_iter().map(|n| (ms(1050 + u64::from(n) * 100), n)).collect()
    }

    fn lengths(freezes: &[Freeze]) -> Vec<u64> {
        freezes.iter().map(|f| f.length().as_micros() / 1000).collect()
    }

    #[test]
    fn the_threshold_is_the_larger_of_the_two_forms() {
        let with = |interval| Playout { interval: Span::from_micros(interval), ..playout(1) }.threshold();
        assert_eq!(with(66_667), Span::from_micros(216_667));
        assert_eq!(with(75_000), Span::from_millis(225));
        assert_eq!(with(125_000), Span::from_millis(375));
    }

    #[test]
    fn a_steady_picture_never_freezes() {
        let seen = playout(1).play(&steady(0..20));
        assert_eq!((seen.shown.len(), seen.late, seen.undecodable), (20, 0, 0));
        assert_eq!(seen.freezes, []);
        assert_eq!(seen.freezes_w3c, []);
    }

    #[test]
    fn a_gap_of_exactly_the_threshold_is_a_freeze_and_one_shorter_is_not() {
        let mut deliveries = steady((0..5).chain(7..20));
        assert_eq!(lengths(&playout(1).play(&deliveries).freezes), [300]);
        deliveries[5].0 = deliveries[5].0 - Span::from_nanos(1);
        assert_eq!(playout(1).play(&deliveries).freezes, []);
    }

    #[test]
    fn the_time_to_the_first_frame_and_after_the_last_count() {
        let seen = playout(1).play(&steady(5..15));
        assert_eq!(lengths(&seen.freezes), [550, 550]);
        assert_eq!(lengths(&seen.freezes_w3c), [550], "the W3C form begins with the first frame");
    }

    #[test]
    fn nothing_shown_is_frozen_throughout() {
        assert_eq!(lengths(&playout(1).play(&[]).freezes), [2000]);
        assert_eq!(lengths(&playout(1).play(&[(ms(3000), 0)]).freezes), [2000], "shown in the drain");
        for deliveries in [&[][..], &[(ms(3000), 0)]] {
            assert_eq!(lengths(&playout(1).play(deliveries).freezes_w3c), [2000]);
        }
        assert_eq!(lengths(&playout(1).play(&[(ms(1100), 0)]).freezes_w3c), [1900], "one frame alone");
    }

    #[test]
    fn a_frame_older_than_the_one_on_screen_is_not_shown() {
        let seen = playout(1).play(&[(ms(1100), 1), (ms(1150), 0), (ms(1200), 2)]);
        assert_eq!(seen.shown, [(ms(1100), 1), (ms(1200), 2)]);
        assert_eq!((seen.late, seen.undecodable), (1, 0));
    }

    #[test]
    fn a_frame_that_comes_twice_counts_once() {
        let seen = playout(1).play(&[(ms(1100), 0), (ms(1150), 0)]);
        assert_eq!((seen.shown.len(), seen.late), (1, 0));
    }

    #[test]
    fn the_running_mean_follows_a_slow_picture_and_the_nominal_form_does_not() {
        // A camera of 10 frames/s of which every fourth frame comes: the nominal form sees a
        // freeze at each gap, the running mean none after the first.
        let deliveries = steady((0..20).step_by(4));
        let seen = playout(1).play(&deliveries);
        assert_eq!(lengths(&seen.freezes), [400, 400, 400, 400, 350]);
        assert_eq!(seen.freezes_w3c, []);
    }

    #[test]
    fn the_running_mean_finds_a_stall_in_a_steady_picture() {
        let seen = playout(1).play(&steady((0..10).chain(15..20)));
        assert_eq!(lengths(&seen.freezes_w3c), [600]);
    }

    #[test]
    fn a_missing_predicted_frame_spoils_its_group_up_to_the_next_key_frame() {
        let seen = playout(5).play(&steady([0, 1, 3, 4, 5, 6]));
        let shown: Vec<u32> = seen.shown.iter().map(|(_, n)| *n).collect();
        assert_eq!(shown, [0, 1, 5, 6]);
        assert_eq!((seen.late, seen.undecodable), (0, 2));
    }

    #[test]
    fn a_late_reference_makes_the_frames_that_waited_for_it_showable() {
        let seen =
            playout(5).play(&[(ms(1050), 0), (ms(1250), 2), (ms(1260), 3), (ms(1300), 1), (ms(1450), 4)]);
        assert_eq!(seen.shown, [(ms(1050), 0), (ms(1300), 3), (ms(1450), 4)]);
        assert_eq!((seen.late, seen.undecodable), (2, 0), "frames 1 and 2 were never on screen");
    }

    proptest! {
        #[test]
        fn frozen_time_is_within_the_traffic_and_counts_add_up(
            mut deliveries in prop::collection::vec((0u64..4000, 0u32..40), 0..80), gop in 1u32..8,
        ) {
            deliveries.sort_unstable();
            let deliveries: Vec<(Time, u32)> = deliveries.into_iter().map(|(at, n)| (ms(at), n)).collect();
            let seen = playout(gop).play(&deliveries);
            let frozen: u64 = lengths(&seen.freezes).iter().sum();
            prop_assert!(frozen <= 2000);
            prop_assert!(seen.freezes.windows(2).all(|f| f[0].to <= f[1].from));
            prop_assert!(seen.shown.windows(2).all(|s| s[0].1 < s[1].1 && s[0].0 <= s[1].0));
            let mut unique: Vec<u32> = deliveries.iter().map(|(_, n)| *n).collect();
            unique.sort_unstable();
            unique.dedup();
            prop_assert_eq!(seen.shown.len() as u64 + seen.late + seen.undecodable, unique.len() as u64);
        }
    }
}
