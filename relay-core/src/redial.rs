//! When an end that lost its relay dials again.
//!
//! The first try comes soon, each further one after twice as long up to a limit, and none of them exactly then: the ends of a
//! relay that was restarted do not all come at once.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};
use units::{Span, Time};

/// The waiting times of one end.
pub(crate) struct Redial {
    rng: ChaCha12Rng,
    failures: u32,
}

impl Redial {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Self { rng: ChaCha12Rng::from_seed(seed), failures: 0 }
    }

    /// A connection was lost or did not come up at `now`: when to try the next.
    pub(crate) fn next(&mut self, now: Time) -> Time {
        let span = FIRST.as_nanos() << self.failures.min(DOUBLINGS_MAX);
        self.failures = self.failures.saturating_add(1);
        let span = span.min(LONGEST.as_nanos());
        // A quarter less at most.
        now + Span::from_nanos(span - self.rng.next_u64() % (span / 4))
    }

    /// Another end took this one's place at `now`: when to see whether it is free again. Not soon, since whoever took it
    /// is at work.
    pub(crate) fn replaced(&mut self, now: Time) -> Time {
        now + Span::from_nanos(
            AFTER_REPLACED.as_nanos() - self.rng.next_u64() % (AFTER_REPLACED.as_nanos() / 4),
        )
    }

    /// The session is joined, so that the next loss is a new one.
    pub(crate) fn succeeded(&mut self) {
        self.failures = 0;
    }
}

const FIRST: Span = Span::from_millis(250);
const LONGEST: Span = Span::from_secs(5);
/// As long as the idle timeout.
const AFTER_REPLACED: Span = Span::from_secs(30);
const DOUBLINGS_MAX: u32 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_doubles_up_to_its_limit_and_starts_again_after_success() {
        let mut redial = Redial::new([1; 32]);
        let mut waits = Vec::new();
        for _ in 0..40 {
            waits.push(redial.next(Time::ZERO).since(Time::ZERO));
        }
        for (wait, full) in waits.iter().zip([250, 500, 1000, 2000, 4000, 5000, 5000]) {
            let full = Span::from_millis(full);
            assert!(*wait <= full && *wait >= full - full / 4, "{wait:?} of {full:?}");
        }
        assert!(waits.iter().all(|wait| *wait <= LONGEST));
        assert!(waits[39] >= LONGEST - LONGEST / 4);
        let long = redial.replaced(Time::ZERO).since(Time::ZERO);
        assert!(long > LONGEST * 4 && long <= AFTER_REPLACED, "{long:?}");
        redial.succeeded();
        assert!(redial.next(Time::ZERO).since(Time::ZERO) <= FIRST);
    }
}
