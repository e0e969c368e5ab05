//! Makes the frames and poses of one cell, in time order.
//!
//! Every camera and the poses start at a seeded phase within their first interval, and item k is
//! at start + phase + k · interval computed from k, so that nothing drifts: a camera of 15 frames/s
//! makes exactly 1800 frames in 120 s. Each camera draws its phase and sizes from streams of its
//! own, so that adding a camera changes no other one.

use netmodel::Stream;
use relay_core::{Camera, FrameId};
use units::{Share, Span, Time};

use super::NANOS_PER_S;
use crate::cell::Cell;

/// Something a camera or the operator's headset made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A camera hands a frame to the robot's end.
    Frame {
        /// Which frame.
        frame: FrameId,
        /// Its size.
        bytes: u32,
    },
    /// The operator's headset takes a pose.
    Pose {
        /// The pose's number, from 0.
        pose: u32,
        /// When the hand movement that this pose is the first to carry happened: uniform in the
        /// interval before the pose.
        moved_at: Time,
        /// Its size.
        bytes: u32,
    },
}

/// The traffic of one cell, one item at a time.
#[derive(Debug)]
pub struct Source {
    cameras: Vec<CameraSource>,
    poses: PoseSource,
    next: Next,
    resizable: bool,
}

impl Source {
    /// The traffic of `cell`, between the end of its warm-up and the end of its duration.
    pub fn new(cell: &Cell) -> Self {
        let key = cell.key();
        let start = Time::ZERO + cell.warmup;
        let end = start + cell.duration;
        let workload = &cell.workload;
        let cameras = workload
            .cameras
            .iter()
            .map(|spec| {
                let mut phase = key.stream(&format!("workload/{}/phase", spec.name));
                let (key_bytes, predicted_bytes) = workload.group_sizes(spec);
                CameraSource {
                    clock: Clock::new(start, end, spec.frames_per_s, &mut phase),
                    sizes: key.stream(&format!("workload/{}/size", spec.name)),
                    gop: workload.gop.max(1),
                    key_bytes,
                    predicted_bytes,
                    spread: spec.spread.as_f64(),
                    share: 1.0,
                }
            })
            .collect();
        let mut phase = key.stream("workload/pose/phase");
        let poses = PoseSource {
            clock: Clock::new(start, end, workload.poses_per_s, &mut phase),
            movements: key.stream("workload/pose/movement"),
            start,
            bytes: workload.pose_bytes.as_bytes() as u32,
        };
        let mut source = Self { cameras, poses, next: Next::NONE, resizable: workload.resizable };
        source.choose();
        source
    }

    /// When the next item is due; [`Time::MAX`] after the last.
    pub fn next_at(&self) -> Time {
        self.next.at
    }

    /// Whether the next item is a pose, and not a frame. Says nothing after the last.
    pub fn next_is_pose(&self) -> bool {
        self.next.index == self.cameras.len()
    }

    /// Takes the next item, which is due at [`next_at`](Self::next_at).
    ///
    /// # Panics
    ///
    /// After the last item, when `next_at` is [`Time::MAX`].
    pub fn pop(&mut self) -> Input {
        assert!(self.next.at < Time::MAX, "the traffic has ended");
        let input = match self.cameras.get_mut(self.next.index) {
            Some(camera) => camera.pop(Camera(self.next.index as u8)),
            None => self.poses.pop(),
        };
        self.choose();
        input
    }

    /// From now on the frames of `camera` have this share of their full size, if the workload's cameras
    /// can do that. Sizes are drawn as before, so that two relays still meet the same pictures.
    pub fn resize(&mut self, camera: Camera, share: Share) {
        if self.resizable
            && let Some(source) = self.cameras.get_mut(usize::from(camera.0))
        {
            source.share = share.as_f64();
        }
    }

    /// Of items due at the same instant, cameras go in their order and poses last.
    fn choose(&mut self) {
        self.next = Next { at: self.poses.clock.next_at(), index: self.cameras.len() };
        for (index, camera) in self.cameras.iter().enumerate().rev() {
            let at = camera.clock.next_at();
            if at <= self.next.at {
                self.next = Next { at, index };
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Next {
    at: Time,
    index: usize,
}

impl Next {
    const NONE: Self = Self { at: Time::MAX, index: 0 };
}

/// A regular tick that does not drift.
#[derive(Debug)]
struct Clock {
    first: Time,
    end: Time,
    per_s: u64,
    number: u32,
}

impl Clock {
    fn new(start: Time, end: Time, per_s: u32, phase: &mut Stream) -> Self {
        let per_s = u64::from(per_s.max(1));
        Self { first: start + Span::from_nanos(phase.range(0, NANOS_PER_S / per_s)), end, per_s, number: 0 }
    }

    fn interval(&self) -> Span {
        Span::from_nanos(NANOS_PER_S / self.per_s)
    }

    fn next_at(&self) -> Time {
        let offset = u128::from(self.number) * u128::from(NANOS_PER_S) / u128::from(self.per_s);
        let at = self.first + Span::from_nanos(u64::try_from(offset).unwrap_or(u64::MAX));
        if at < self.end { at } else { Time::MAX }
    }

    fn advance(&mut self) -> u32 {
        self.number += 1;
        self.number - 1
    }
}

#[derive(Debug)]
struct CameraSource {
    clock: Clock,
    sizes: Stream,
    gop: u32,
    key_bytes: f64,
    predicted_bytes: f64,
    spread: f64,
    /// Of the full size.
    share: f64,
}

impl CameraSource {
    fn pop(&mut self, camera: Camera) -> Input {
        let number = self.clock.advance();
        let mean = if number.is_multiple_of(self.gop) { self.key_bytes } else { self.predicted_bytes };
        let deviation = self.sizes.normal().clamp(-DEVIATIONS_MAX, DEVIATIONS_MAX);
        let bytes = (mean * self.share * (1.0 + self.spread * deviation)).round().max(1.0) as u32;
        Input::Frame { frame: FrameId { camera, number }, bytes }
    }
}

#[derive(Debug)]
struct PoseSource {
    clock: Clock,
    movements: Stream,
    start: Time,
    bytes: u32,
}

impl PoseSource {
    fn pop(&mut self) -> Input {
        let at = self.clock.next_at();
        let pose = self.clock.advance();
        let earliest = (at - self.clock.interval()).max(self.start);
        let room = at.since(earliest).as_nanos().max(1);
        let moved_at = earliest + Span::from_nanos(self.movements.range(0, room));
        Input::Pose { pose, moved_at, bytes: self.bytes }
    }
}

/// Frame sizes stay within this many standard deviations of their mean.
const DEVIATIONS_MAX: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::test_cell;
    use crate::workload::Workload;

    fn drain(cell: &Cell) -> Vec<(Time, Input)> {
        let mut source = Source::new(cell);
        let mut all = Vec::new();
        while source.next_at() < Time::MAX {
            let at = source.next_at();
            all.push((at, source.pop()));
        }
        all
    }

    fn frames_of(all: &[(Time, Input)], index: u8) -> Vec<(Time, u32)> {
        all.iter()
            .filter_map(|(at, input)| match input {
                Input::Frame { frame, bytes } if frame.camera.0 == index => Some((*at, *bytes)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn two_minutes_have_exactly_the_nominal_counts() {
        for seed in 1..=20 {
            let all = drain(&test_cell(seed));
            assert_eq!(frames_of(&all, 0).len(), 1800);
            assert_eq!(frames_of(&all, 1).len(), 960);
            assert_eq!(frames_of(&all, 2).len(), 960);
            assert_eq!(all.iter().filter(|(_, i)| matches!(i, Input::Pose { .. })).count(), 8640);
        }
    }

    #[test]
    fn items_come_in_time_order_within_the_traffic_and_without_drift() {
        let cell = test_cell(3);
        let all = drain(&cell);
        assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        let (start, end) = (Time::ZERO + cell.warmup, Time::ZERO + cell.warmup + cell.duration);
        assert!(all.iter().all(|(at, _)| *at >= start && *at < end));
        let main = frames_of(&all, 0);
        assert_eq!(main[1500].0.since(main[0].0), Span::from_secs(100));
    }

    #[test]
    fn sizes_vary_around_their_mean_by_a_tenth() {
        let main = frames_of(&drain(&test_cell(1)), 0);
        let mean = main.iter().map(|(_, b)| f64::from(*b)).sum::<f64>() / main.len() as f64;
        let variance = main.iter().map(|(_, b)| (f64::from(*b) - mean) * (f64::from(*b) - mean)).sum::<f64>()
            / main.len() as f64;
        assert!((mean - 20_000.0).abs() < 200.0, "{mean}");
        assert!((variance.sqrt() - 2_000.0).abs() < 150.0, "{}", variance.sqrt());
        assert!(main.iter().all(|(_, b)| (14_000..=26_000).contains(b)));
    }

    #[test]
    fn a_movement_is_uniform_in_the_interval_before_its_pose() {
        let cell = test_cell(2);
        let interval = NANOS_PER_S / 72;
        let mut total = 0;
        for (at, input) in drain(&cell) {
            if let Input::Pose { moved_at, .. } = input {
                let before = at.since(moved_at).as_nanos();
                assert!(before > 0 && before <= interval, "{before}");
                assert!(moved_at >= Time::ZERO + cell.warmup);
                total += before;
            }
        }
        let mean = total as f64 / 8640.0;
        assert!((mean / interval as f64 - 0.5).abs() < 0.02, "{mean}");
    }

    #[test]
    fn seeds_differ_and_settings_do_not_matter() {
        let (one, two) = (test_cell(1), test_cell(2));
        assert_ne!(drain(&one), drain(&two));
        let mut other = one.clone();
        other.settings_name = "other".to_owned();
        assert_eq!(drain(&one), drain(&other));
    }

    #[test]
    fn key_frames_are_larger() {
        let mut cell = test_cell(1);
        cell.workload = std::sync::Arc::new(Workload { gop: 15, ..Workload::default() });
        let main = frames_of(&drain(&cell), 0);
        let mean = |keys: bool| {
            let some: Vec<f64> = main
                .iter()
                .enumerate()
                .filter(|(k, _)| (k % 15 == 0) == keys)
                .map(|(_, (_, b))| f64::from(*b))
                .collect();
            some.iter().sum::<f64>() / some.len() as f64
        };
        assert!((mean(true) / mean(false) - 3.0).abs() < 0.1);
    }

    #[test]
    fn a_shorter_cell_is_a_prefix_of_a_longer_one() {
        let long = test_cell(1);
        let mut short = long.clone();
        short.duration = Span::from_secs(10);
        let (long, short) = (drain(&long), drain(&short));
        assert_eq!(short, long[..short.len()]);
    }
}
