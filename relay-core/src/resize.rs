//! Asking the robot for smaller frames when the link towards the operator is too thin for full ones.
//!
//! The rate that the link has is what its control law says. Video may take a share of it; what it would take
//! at full size is measured. The wrist cameras are made smaller first, down to their floor, then the main
//! camera. Sizes go down at once and come back a little at a time.

use units::{Share, Span, Time};

use crate::event::{Camera, FrameId};
use crate::settings;
use crate::wire::CAMERAS_MAX;

/// What is asked of the robot.
#[derive(Debug)]
pub(crate) struct Resize {
    settings: settings::Resize,
    /// Bytes of frames of each camera in the slot that is running, at full size.
    slot_bytes: [f64; CAMERAS_MAX],
    slot_began: Time,
    /// Bytes a second of each camera at full size.
    full: [f64; CAMERAS_MAX],
    asked: [f64; CAMERAS_MAX],
    said_at: Time,
    changed: bool,
}

impl Resize {
    pub(crate) fn new(settings: &settings::Resize) -> Self {
        Self {
            settings: settings.clone(),
            slot_bytes: [0.0; CAMERAS_MAX],
            slot_began: Time::ZERO,
            full: [0.0; CAMERAS_MAX],
            asked: [1.0; CAMERAS_MAX],
            said_at: Time::ZERO,
            changed: false,
        }
    }

    /// Notes a frame from the robot.
    pub(crate) fn on_frame(&mut self, frame: FrameId, frame_bytes: u32) {
        let camera = usize::from(frame.camera.0);
        if let (Some(slot), Some(asked)) = (self.slot_bytes.get_mut(camera), self.asked.get(camera)) {
            *slot += f64::from(frame_bytes) / asked;
        }
    }

    /// Works out what to ask for. `bytes_per_sec` is what the link takes, `None` while it has shown no limit;
    /// `overhead` is bytes sent for each byte of frames; `short` says that frames wait.
    pub(crate) fn update(&mut self, now: Time, bytes_per_sec: Option<f64>, overhead: f64, short: bool) {
        if !self.settings.enabled || now.since(self.slot_began) < SLOT {
            return;
        }
        let length = now.since(self.slot_began).as_secs_f64();
        let first = self.slot_began == Time::ZERO;
        self.slot_began = now;
        for (full, slot) in self.full.iter_mut().zip(&mut self.slot_bytes) {
            let measured = std::mem::take(slot) / length;
            if !first {
                *full = if *full == 0.0 { measured } else { *full + (measured - *full) / SLOTS };
            }
        }
        let budget = bytes_per_sec.map(|rate| rate * self.settings.use_of_rate.as_f64() / overhead.max(1.0));
        let wanted = self.wanted(budget);
        for (asked, wanted) in self.asked.iter_mut().zip(wanted) {
            let next = if wanted < *asked {
                wanted
            } else if short {
                *asked
            } else {
                wanted.min(*asked * GROWTH)
            };
            if (next - *asked).abs() > CHANGE_MIN * *asked || (next >= 1.0 && *asked < 1.0) {
                *asked = next;
                self.changed = true;
            }
        }
    }

    /// What the link takes beside all frames at full size, as a share of those; less than nothing where they
    /// do not fit. `bytes_per_sec` as for [`update`](Self::update).
    pub(crate) fn spare(&self, bytes_per_sec: Option<f64>) -> f64 {
        let Some(rate) = bytes_per_sec else { return f64::INFINITY };
        let frames = self.full.iter().sum::<f64>() * HEADERS;
        if frames > 0.0 { rate * self.settings.use_of_rate.as_f64() / frames - 1.0 } else { f64::INFINITY }
    }

    /// The share of its full size that each camera may have.
    fn wanted(&self, budget: Option<f64>) -> [f64; CAMERAS_MAX] {
        let Some(budget) = budget else { return [1.0; CAMERAS_MAX] };
        let main_full = self.full[usize::from(Camera::MAIN.0)];
        let wrists_full: f64 = self.full.iter().sum::<f64>() - main_full;
        let floor = self.settings.floor.as_f64();
        let share =
            |budget: f64, full: f64| if full <= 0.0 { 1.0 } else { (budget / full).clamp(floor, 1.0) };
        let wrists = share(budget - main_full, wrists_full);
        let main = share(budget - wrists * wrists_full, main_full);
        let mut wanted = [wrists; CAMERAS_MAX];
        wanted[usize::from(Camera::MAIN.0)] = main;
        wanted
    }

    /// What to tell the robot, when it is time: on a change, and now and then in case it got lost.
    pub(crate) fn poll_request(&mut self, now: Time) -> Option<Vec<(Camera, Share)>> {
        let scaled = self.asked.iter().any(|asked| *asked < 1.0);
        let due = self.changed || (scaled && now.since(self.said_at) >= REPEAT);
        if !self.settings.enabled || !due {
            return None;
        }
        self.changed = false;
        self.said_at = now;
        let request =
            self.asked.iter().zip(0u8..).map(|(asked, camera)| (Camera(camera), Share::from_f64(*asked)));
        Some(request.collect())
    }
}

/// Bytes sent for a byte of a frame without any parity: headers and tags.
const HEADERS: f64 = 1.06;
/// How often it is worked out.
const SLOT: Span = Span::from_millis(250);
/// Slots over which the full rate is averaged.
const SLOTS: f64 = 6.0;
/// Growth a slot at most.
const GROWTH: f64 = 1.04;
/// Changes smaller than this share are not worth a word.
const CHANGE_MIN: f64 = 0.01;
const REPEAT: Span = Span::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spared_is_counted_beside_frames_of_full_size() {
        // 388 kB/s of frames, asked to be half of that.
        let resize = run(|_| Some(200_000.0), 60);
        assert!(resize.asked[0] < 0.6);
        assert!(resize.spare(None).is_infinite());
        let twice = 2.0 * 388_000.0 * HEADERS / 0.9;
        assert!((resize.spare(Some(twice)) - 1.0).abs() < 0.02, "{}", resize.spare(Some(twice)));
        assert!(resize.spare(Some(200_000.0)) < -0.4);
    }

    fn run(rate: impl Fn(u64) -> Option<f64>, slots: u64) -> Resize {
        let mut resize = Resize::new(&settings::Resize::default());
        let mut now = Time::ZERO + Span::from_secs(5);
        for slot in 0..slots {
            for (camera, bytes) in [(0, 75_000.0), (1, 11_000.0), (2, 11_000.0)] {
                let asked = resize.asked[usize::from(camera)];
                let frame = FrameId { camera: Camera(camera), number: 0 };
                resize.on_frame(frame, (bytes * asked) as u32);
            }
            now += SLOT;
            resize.update(now, rate(slot), 1.1, false);
        }
        resize
    }

    #[test]
    fn with_room_nothing_is_asked() {
        let mut resize = run(|_| None, 20);
        assert_eq!(resize.poll_request(Time::ZERO + Span::from_secs(60)), None);
        let resize = run(|_| Some(1e6), 20);
        assert!(resize.asked.iter().all(|asked| *asked >= 1.0));
    }

    #[test]
    fn a_thin_link_gets_what_fits_the_main_camera_last() {
        let resize = run(|_| Some(312_500.0), 40);
        let [main, wrist, ..] = resize.asked;
        assert!((wrist - 0.2).abs() < 0.02, "{wrist}");
        assert!(main > 0.7 && main < 0.85, "{main}");
        let sent = (main * 300_000.0 + wrist * 88_000.0) * 1.1;
        assert!(sent < 312_500.0 * 0.92, "{sent}");
    }

    #[test]
    fn it_goes_down_at_once_and_comes_back_slowly() {
        let resize = run(|slot| if slot < 10 { None } else { Some(150_000.0) }, 12);
        assert!(resize.asked[0] < 0.5, "{}", resize.asked[0]);
        let resize = run(|slot| if slot < 20 { Some(150_000.0) } else { None }, 24);
        assert!(resize.asked[0] < 0.5, "{}", resize.asked[0]);
        let resize = run(|slot| if slot < 20 { Some(150_000.0) } else { None }, 300);
        assert!(resize.asked[0] >= 1.0, "{}", resize.asked[0]);
    }
}
