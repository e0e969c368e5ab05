//! The one monotonic clock of real mode. All ends and links of a cell count from the same instant.

use std::time::{Duration, Instant};

use bench::units::Time;

/// `CLOCK_MONOTONIC`, counted from an instant that everybody in a run shares. Network namespaces share the clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
}

impl Clock {
    /// A clock at which it is [`Time::ZERO`] now.
    #[expect(
        clippy::disallowed_methods,
        reason = "real mode runs by the real clock; this is where it is read"
    )]
    pub fn start() -> Self {
        Self { epoch: Instant::now() }
    }

    /// The instant at [`Time::ZERO`].
    pub fn epoch(self) -> Instant {
        self.epoch
    }

    /// The time.
    pub fn now(self) -> Time {
        Time::ZERO + self.epoch.elapsed().into()
    }

    /// `time` as an instant of the standard library.
    pub fn instant(self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time.as_nanos())
    }
}
