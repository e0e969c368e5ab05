//! Limits that turn a defect which would run for ever into an error.

use netmodel::units::{Span, Time};

use crate::error::SimError;

/// Counts what a cell does against what any sensible cell does.
#[derive(Debug)]
pub(super) struct Guard {
    at: Time,
    steps: u32,
    packets: u64,
    packets_max: u64,
}

impl Guard {
    /// The limits of a cell of this length in all.
    pub(super) fn new(length: Span) -> Self {
        let seconds = length.as_nanos().div_ceil(1_000_000_000);
        Self { at: Time::ZERO, steps: 0, packets: 0, packets_max: seconds.saturating_mul(PACKETS_PER_S_MAX) }
    }

    /// Something was done at `now`.
    pub(super) fn step(&mut self, now: Time) -> Result<(), SimError> {
        if now > self.at {
            self.at = now;
            self.steps = 0;
        }
        self.steps += 1;
        if self.steps > STEPS_AT_ONE_MOMENT_MAX {
            return Err(SimError::Runaway { at: now, steps: self.steps });
        }
        Ok(())
    }

    /// A packet was sent at `now`.
    pub(super) fn packet(&mut self, now: Time) -> Result<(), SimError> {
        self.packets += 1;
        if self.packets > self.packets_max {
            return Err(SimError::TooManyPackets { at: now, limit: self.packets_max });
        }
        Ok(())
    }
}

/// Packets on all links together, averaged over the cell: some 2 Gbit/s, far over any workload.
const PACKETS_PER_S_MAX: u64 = 200_000;

/// The largest frame of the most cameras takes some ten thousand.
const STEPS_AT_ONE_MOMENT_MAX: u32 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_without_time_passing_are_limited() {
        let mut guard = Guard::new(Span::from_secs(1));
        for moment in 0..3 {
            for _ in 0..STEPS_AT_ONE_MOMENT_MAX {
                guard.step(Time::from_nanos(moment)).expect("within the limit");
            }
        }
        let error = guard.step(Time::from_nanos(2)).unwrap_err();
        assert!(matches!(error, SimError::Runaway { .. }), "{error}");
    }

    #[test]
    fn packets_are_limited_by_the_length_of_the_cell() {
        let mut guard = Guard::new(Span::from_millis(1500));
        for _ in 0..2 * PACKETS_PER_S_MAX {
            guard.packet(Time::ZERO).expect("within the limit");
        }
        assert!(matches!(guard.packet(Time::ZERO).unwrap_err(), SimError::TooManyPackets { .. }));
    }
}
