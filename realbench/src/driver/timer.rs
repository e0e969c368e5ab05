//! One absolute deadline, to within what the kernel's high-resolution timers give.
//!
//! tokio's own timers go by whole milliseconds. A timerfd is a file like any other to its reactor.

use std::io;
use std::os::fd::OwnedFd;

use bench::units::Time;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A timer that is set for one moment at a time.
pub(super) struct Timer {
    fd: AsyncFd<OwnedFd>,
    set_for: Time,
}

impl Timer {
    /// A timer that is set for nothing. Needs a runtime.
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let fd = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            unsafe_code,
            reason = "tokio cannot know that a descriptor stays the same while it watches it"
        )]
        // SAFETY: an `OwnedFd` always gives the same descriptor, which is closed only when the `AsyncFd` that holds it is dropped.
        let fd = unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }?;
        Ok(Self { fd, set_for: Time::MAX })
    }

    /// Sets it for `at`, or for nothing with [`Time::MAX`]. It is `now`.
    pub(super) fn set(&mut self, now: Time, at: Time) -> io::Result<()> {
        if at == self.set_for {
            return Ok(());
        }
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let value = if at == Time::MAX {
            zero
        } else {
            // Zero would turn the timer off.
            let ns = at.since(now).as_nanos().max(1);
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 }
        };
        timerfd_settime(
            self.fd.get_ref(),
            TimerfdTimerFlags::empty(),
            &Itimerspec { it_interval: zero, it_value: value },
        )?;
        self.set_for = at;
        Ok(())
    }

    /// Returns when the moment it is set for has come.
    pub(super) async fn expired(&mut self) -> io::Result<()> {
        loop {
            let mut guard = self.fd.readable().await?;
            let mut count = [0; 8];
            match rustix::io::read(self.fd.get_ref(), &mut count) {
                Ok(_) => {
                    guard.clear_ready();
                    // Whoever asks for the same moment again means it.
                    self.set_for = Time::MAX;
                    return Ok(());
                }
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
