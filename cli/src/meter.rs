//! The clocks that only the binary may read. No result depends on them: they tell how long work
//! took and when a run began.

use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, Timespec, clock_gettime};

/// CPU time that the calling thread has used so far. What the pool takes for its meter.
pub(crate) fn thread_cpu() -> Duration {
    duration(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time that the whole process has used so far.
#[cfg(test)]
fn process_cpu() -> Duration {
    duration(clock_gettime(ClockId::ProcessCPUTime))
}

/// Measures how long something takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Starts now.
    #[expect(
        clippy::disallowed_methods,
        reason = "progress and the footer tell waiting time; no result uses it"
    )]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Time since the start.
    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

/// The wall clock as RFC 3339 in UTC, to the second.
#[expect(clippy::disallowed_methods, reason = "the manifest says when a run began; no result uses it")]
pub(crate) fn utc_now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    rfc3339(since.as_secs())
}

/// A count of seconds since 1970 as a date and time.
fn rfc3339(unix_s: u64) -> String {
    let (days, second) = (unix_s / 86_400, unix_s % 86_400);
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a count of days since 1970 (Howard Hinnant, "chrono-compatible low-level
/// date algorithms", `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

fn duration(time: Timespec) -> Duration {
    // The kernel's CPU clocks start at zero and count up; neither part is ever negative.
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_right_at_their_corners() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn the_thread_clock_counts_work_and_not_more_than_the_process_did() {
        // The process's clock is read before and after the thread's, so that its time holds the other.
        let (process, thread) = (process_cpu(), thread_cpu());
        let mut x = 1_u64;
        for i in 0..20_000_000_u64 {
            x = std::hint::black_box(x ^ (i << 3));
        }
        let thread = thread_cpu().saturating_sub(thread);
        let process = process_cpu().saturating_sub(process);
        assert!(thread > Duration::ZERO);
        assert!(thread <= process, "{thread:?} {process:?}");
    }
}
