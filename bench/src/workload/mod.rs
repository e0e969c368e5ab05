//! The traffic of a cell: which cameras make frames of what size, and how often poses are taken.
//!
//! [`Workload`] is the description, as written in a scenario's `[workload]` table; [`Source`] makes
//! the frames and poses of one cell from it, seeded. What becomes of them is not known here.

mod cross_traffic;
mod source;

use netmodel::document::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Share, Size};

pub use cross_traffic::{CrossTraffic, CrossTrafficKind};
pub use source::{Input, Source};

use crate::scenario::names;

/// What robot and operator send.
///
/// The default is the source's: main camera 15 frames/s of 20 kB, two wrist cameras 8 frames/s of
/// 5.5 kB, 3.1 Mbit/s together; 72 poses a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// Hand poses taken a second. Default 72, as headsets do. Range 1 to 1000.
    pub poses_per_s: u32,
    /// Size of one pose. Default `"64 B"`. Range 1 B to 200 B.
    #[schemars(with = "String")]
    pub pose_bytes: Size,
    /// Frames in a group of predicted frames; the first of a group is a key frame and each other
    /// one needs all before it in the group. Default 1: every frame is an independent picture.
    /// Larger makes a lost frame spoil the rest of its group. Range 1 to 1000.
    pub gop: u32,
    /// How many times larger a key frame is than a predicted frame, with the mean over a group
    /// kept at `frame_bytes`. Default 3. Without effect when `gop` is 1. Range 1 to 20.
    pub key_frame_factor: u32,
    /// Whether the cameras make smaller frames when the relay asks for them. Default true. False
    /// stands for a robot whose encoders cannot.
    pub resizable: bool,
    /// A flow beside the relay's packets on the operator hop, for example `{ kind = "bulk", start =
    /// "10 s" }`. Default none. The cameras, and a link without its packets, are the same with and without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_traffic: Option<CrossTraffic>,
    /// The cameras; the first is the main camera. At least 1, at most 8.
    pub cameras: Vec<CameraSpec>,
}

/// One camera.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CameraSpec {
    /// What it is called in results: lower-case letters and digits, with single `-` between them.
    pub name: String,
    /// Frames a second. Range 1 to 240.
    pub frames_per_s: u32,
    /// Mean size of a frame. Range 100 B to 1 MB.
    #[schemars(with = "String")]
    pub frame_bytes: Size,
    /// Standard deviation of the frame size as a share of the mean: sizes are normally
    /// distributed, limited to three deviations either way. Default `"10 %"`. Range 0 % to 30 %.
    #[serde(default = "default_spread")]
    #[schemars(with = "String")]
    pub spread: Share,
}

fn default_spread() -> Share {
    Share::from_parts_per_billion(100_000_000)
}

impl CameraSpec {
    /// Time between two frames in whole nanoseconds, rounded down.
    pub fn interval_ns(&self) -> u64 {
        NANOS_PER_S / u64::from(self.frames_per_s.max(1))
    }
}

impl Default for Workload {
    fn default() -> Self {
        let camera = |name: &str, frames_per_s, bytes| CameraSpec {
            name: name.to_owned(),
            frames_per_s,
            frame_bytes: Size::from_bytes(bytes),
            spread: default_spread(),
        };
        Self {
            poses_per_s: 72,
            pose_bytes: Size::from_bytes(64),
            gop: 1,
            key_frame_factor: 3,
            resizable: true,
            cross_traffic: None,
            cameras: vec![
                camera("main", 15, 20_000),
                camera("wrist-left", 8, 5_500),
                camera("wrist-right", 8, 5_500),
            ],
        }
    }
}

impl Workload {
    /// Everything about it that is outside its documented range; empty when it is usable.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut check = |inside: bool, message: &dyn Fn() -> String| {
            if !inside {
                found.push(Problem { message: message(), span: None, help: None });
            }
        };
        range(&mut check, "workload.poses_per_s", self.poses_per_s, 1..=1000, "1 to 1000");
        let pose = self.pose_bytes;
        check((1..=200).contains(&pose.as_bytes()), &|| {
            outside("workload.pose_bytes", &pose, "1 B to 200 B")
        });
        range(&mut check, "workload.gop", self.gop, 1..=1000, "1 to 1000");
        range(&mut check, "workload.key_frame_factor", self.key_frame_factor, 1..=20, "1 to 20");
        let cameras = self.cameras.len();
        check((1..=CAMERAS_MAX).contains(&cameras), &|| outside("the number of cameras", &cameras, "1 to 8"));
        for (index, camera) in self.cameras.iter().enumerate() {
            let key = |field: &str| format!("{field} of camera `{}`", camera.name);
            check(names::valid(&camera.name), &|| names::complaint("camera name", &camera.name));
            let earlier = self.cameras[..index].iter().any(|other| other.name == camera.name);
            check(!earlier, &|| format!("two cameras are called `{}`", camera.name));
            range(&mut check, &key("frames_per_s"), camera.frames_per_s, 1..=240, "1 to 240");
            let size = camera.frame_bytes;
            check((100..=1_000_000).contains(&size.as_bytes()), &|| {
                outside(&key("frame_bytes"), &size, "100 B to 1 MB")
            });
            check(camera.spread <= SPREAD_MAX, &|| outside(&key("spread"), &camera.spread, "0 % to 30 %"));
        }
        found.extend(self.cross_traffic.iter().flat_map(CrossTraffic::problems));
        found
    }

    /// Mean sizes of a key frame and of a predicted frame of a camera, in bytes.
    ///
    /// Chosen so that a whole group has the mean size the camera states.
    pub(crate) fn group_sizes(&self, camera: &CameraSpec) -> (f64, f64) {
        let mean = camera.frame_bytes.as_bytes() as f64;
        let (group, factor) = (f64::from(self.gop), f64::from(self.key_frame_factor));
        if self.gop <= 1 {
            return (mean, mean);
        }
        let predicted = mean * group / (group - 1.0 + factor);
        (predicted * factor, predicted)
    }
}

fn range(
    check: &mut impl FnMut(bool, &dyn Fn() -> String),
    key: &str,
    value: u32,
    allowed: std::ops::RangeInclusive<u32>,
    text: &str,
) {
    check(allowed.contains(&value), &|| outside(key, &value, text));
}

fn outside(key: &str, value: &dyn std::fmt::Display, range: &str) -> String {
    format!("{key} is {value}, outside {range}")
}

pub(crate) const NANOS_PER_S: u64 = 1_000_000_000;

/// Most cameras of a workload.
pub const CAMERAS_MAX: usize = 8;

/// Three deviations of 30 % still leave a frame a tenth of its mean.
const SPREAD_MAX: Share = Share::from_parts_per_billion(300_000_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_sources_three_megabits() {
        let bits: u64 = Workload::default()
            .cameras
            .iter()
            .map(|c| u64::from(c.frames_per_s) * c.frame_bytes.as_bytes() * 8)
            .sum();
        assert_eq!(bits, 3_104_000);
        assert!(Workload::default().problems().is_empty());
    }

    #[test]
    fn a_group_keeps_the_mean_size() {
        let workload = Workload { gop: 10, key_frame_factor: 4, ..Workload::default() };
        let (key, predicted) = workload.group_sizes(&workload.cameras[0]);
        assert!((key + 9.0 * predicted - 200_000.0).abs() < 1e-6);
        assert!((key / predicted - 4.0).abs() < 1e-12);
    }

    #[test]
    fn every_range_is_checked() {
        let mut workload = Workload { poses_per_s: 0, gop: 0, key_frame_factor: 21, ..Workload::default() };
        workload.pose_bytes = Size::from_bytes(201);
        workload.cameras[0].frames_per_s = 241;
        workload.cameras[1].name = "main".to_owned();
        workload.cameras[2].name = "Wrist".to_owned();
        workload.cameras[2].frame_bytes = Size::from_bytes(1);
        workload.cameras[2].spread = Share::ALL;
        let messages: Vec<String> = workload.problems().into_iter().map(|p| p.message).collect();
        assert_eq!(messages.len(), 9, "{messages:#?}");
        assert_eq!(messages[0], "workload.poses_per_s is 0, outside 1 to 1000");
        assert!(messages.contains(&"two cameras are called `main`".to_owned()));
    }
}
