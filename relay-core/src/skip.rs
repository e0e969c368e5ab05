//! Skipping whole frames while the link loses packets.
//!
//! Frames of one camera are kept evenly spaced. Skipping ends only when loss has fallen to half
//! the threshold, so that a loss share near it does not switch back and forth.

use units::Time;

use crate::event::FrameId;
use crate::loss::LossWindow;
use crate::settings;
use crate::wire::CAMERAS_MAX;

/// Decides for each frame whether it is kept.
#[derive(Debug)]
pub(crate) struct Skip {
    settings: settings::Skip,
    loss: LossWindow,
    active: bool,
    /// Frames of each camera since one was kept.
    since_kept: [u32; CAMERAS_MAX],
    skipped: u64,
}

impl Skip {
    pub(crate) fn new(settings: &settings::Skip) -> Self {
        Self {
            loss: LossWindow::new(settings.window),
            settings: settings.clone(),
            active: false,
            since_kept: [0; CAMERAS_MAX],
            skipped: 0,
        }
    }

    /// Frames skipped so far.
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Takes the counters of packets sent (or judged) and lost, as they stand.
    pub(crate) fn measure(&mut self, now: Time, packets: u64, lost: u64) {
        if !self.settings.enabled {
            return;
        }
        let share = self.loss.update(now, packets, lost);
        let threshold = self.settings.threshold.as_f64();
        self.active = if self.active { share > threshold / 2.0 } else { share > threshold };
    }

    /// Whether this frame is kept.
    pub(crate) fn keeps(&mut self, frame: FrameId) -> bool {
        let Some(since) = self.since_kept.get_mut(usize::from(frame.camera.0)) else { return false };
        *since += 1;
        if !self.active || *since >= self.settings.keep_one_in {
            *since = 0;
            return true;
        }
        self.skipped += 1;
        false
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;
    use crate::event::Camera;

    fn kept(skip: &mut Skip, numbers: std::ops::Range<u32>) -> Vec<u32> {
        numbers.filter(|number| skip.keeps(FrameId { camera: Camera::MAIN, number: *number })).collect()
    }

    #[test]
    fn one_in_three_above_the_threshold_and_all_again_below_half_of_it() {
        let mut skip = Skip::new(&settings::Skip { enabled: true, ..settings::Skip::default() });
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        skip.measure(at(0), 0, 0);
        assert_eq!(kept(&mut skip, 0..3), [0, 1, 2]);
        skip.measure(at(100), 100, 6);
        assert_eq!(kept(&mut skip, 3..12), [5, 8, 11]);
        skip.measure(at(200), 200, 6);
        assert_eq!(kept(&mut skip, 12..15), [14], "3 % is still over half of 5 %");
        skip.measure(at(300), 300, 6);
        assert_eq!(kept(&mut skip, 15..18), [15, 16, 17]);
        assert_eq!(skip.skipped(), 8);
    }

    #[test]
    fn a_disabled_skip_keeps_everything() {
        let mut skip = Skip::new(&settings::Skip { enabled: false, ..settings::Skip::default() });
        skip.measure(Time::ZERO, 0, 0);
        skip.measure(Time::ZERO + Span::from_secs(1), 100, 100);
        assert_eq!(kept(&mut skip, 0..3), [0, 1, 2]);
    }
}
