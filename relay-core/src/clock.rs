//! Between the project's time and the `Instant` that quinn-proto counts in.

use std::time::Instant;

use units::Time;

/// The process's base instant, at which [`Time::ZERO`] lies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn new(epoch: Instant) -> Self {
        Self { epoch }
    }

    pub(crate) fn instant(self, time: Time) -> Instant {
        self.epoch + std::time::Duration::from_nanos(time.as_nanos())
    }

    pub(crate) fn time(self, instant: Instant) -> Time {
        Time::ZERO + instant.saturating_duration_since(self.epoch).into()
    }
}
