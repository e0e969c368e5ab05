//! The one monotonic clock of real mode. All ends and links of a cell count from the same instant.
//!
//! All times of a cell are nanoseconds of the monotonic clock since its epoch. The kernel stamps packets with the
//! wall clock, so that the difference of the two is looked up as often as stamps are read.

use std::time::{Duration, Instant};

use bench::units::{Span, Time};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, counted from an instant that everybody in a run shares. Network namespaces share the clock.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    epoch: Instant,
    epoch_ns: i128,
}

impl Clock {
    /// A clock at which it is [`Time::ZERO`] now.
    #[expect(
        clippy::disallowed_methods,
        reason = "real mode runs by the real clock; this is where it is read"
    )]
    pub fn start() -> Self {
        Self::new(Instant::now())
    }

    /// The clock that is zero at `epoch`, and before it.
    pub fn new(epoch: Instant) -> Self {
        // `Instant` is the same clock, but does not show its number.
        #[expect(clippy::disallowed_methods, reason = "real mode runs by the real clock")]
        let (now, now_ns) = (Instant::now(), nanoseconds(ClockId::CLOCK_MONOTONIC));
        let since =
            |later: Instant, earlier: Instant| later.saturating_duration_since(earlier).as_nanos() as i128;
        Self { epoch, epoch_ns: now_ns - since(now, epoch) + since(epoch, now) }
    }

    /// The instant at [`Time::ZERO`].
    pub fn epoch(self) -> Instant {
        self.epoch
    }

    /// The time.
    pub fn now(self) -> Time {
        self.at(nanoseconds(ClockId::CLOCK_MONOTONIC))
    }

    /// `time` as an instant of the standard library.
    pub fn instant(self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time.as_nanos())
    }

    /// The moment of `time` on the monotonic clock, for a timer.
    pub(crate) fn absolute(self, time: Time) -> TimeSpec {
        let ns = (self.epoch_ns + i128::from(time.as_nanos())).clamp(0, i128::from(i64::MAX));
        TimeSpec::from(Duration::from_nanos(ns as u64))
    }

    /// How far the wall clock is ahead of the monotonic one.
    pub(crate) fn wall_offset() -> WallOffset {
        let mut best = (i128::MAX, 0);
        for _ in 0..OFFSET_TRIES_MAX {
            let before = nanoseconds(ClockId::CLOCK_MONOTONIC);
            let wall = nanoseconds(ClockId::CLOCK_REALTIME);
            let after = nanoseconds(ClockId::CLOCK_MONOTONIC);
            best = best.min((after - before, wall - i128::midpoint(before, after)));
            if best.0 <= OFFSET_GOOD_NS {
                break;
            }
        }
        WallOffset(best.1)
    }

    /// The moment that the wall clock called `stamp`.
    pub(crate) fn of_wall(self, stamp: Duration, offset: WallOffset) -> Time {
        self.at(stamp.as_nanos() as i128 - offset.0)
    }

    fn at(self, monotonic_ns: i128) -> Time {
        Time::from_nanos((monotonic_ns - self.epoch_ns).max(0) as u64)
    }
}

/// How far the wall clock is ahead of the monotonic one, at a moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WallOffset(i128);

fn nanoseconds(clock: ClockId) -> i128 {
    let time = clock_gettime(clock).expect("every Linux has this clock");
    i128::from(time.tv_sec()) * i128::from(Span::from_secs(1).as_nanos()) + i128::from(time.tv_nsec())
}

/// A reading that takes no longer is taken as it is; it is wrong by half of this at most.
const OFFSET_GOOD_NS: i128 = 1_000;
const OFFSET_TRIES_MAX: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "it is the clock that is tested")]
    fn the_clock_counts_from_its_epoch() {
        let epoch = Instant::now();
        let clock = Clock::new(epoch);
        let (before, time, after) = (epoch.elapsed(), clock.now().as_nanos(), epoch.elapsed());
        // The two readings in `new` are not at the same moment.
        assert!(u128::from(time) + 10_000_000 >= before.as_nanos(), "{time} {before:?}");
        assert!(u128::from(time) <= after.as_nanos() + 10_000_000, "{time} {after:?}");
        assert_eq!(Clock::new(epoch + Duration::from_secs(100)).now(), Time::ZERO);
    }

    #[test]
    fn a_stamp_of_the_wall_clock_finds_its_moment() {
        let clock = Clock::start();
        let offset = Clock::wall_offset();
        let before = clock.now();
        let stamp = Duration::from(clock_gettime(ClockId::CLOCK_REALTIME).unwrap());
        let after = clock.now();
        let slack = Span::from_millis(50);
        let found = clock.of_wall(stamp, offset);
        assert!(found + slack >= before && found <= after + slack, "{found:?} {before:?} {after:?}");
    }
}
