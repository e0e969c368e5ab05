//! What arrived and what was lost, lately.

use std::collections::VecDeque;

use units::{Span, Time};

/// Bytes acknowledged and lost in slots of time.
#[derive(Debug)]
pub(super) struct Meter {
    slots: VecDeque<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    began: Time,
    acked_bytes: u64,
    lost_bytes: u64,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { slots: VecDeque::new() }
    }

    pub(super) fn on_acked(&mut self, now: Time, bytes: u64) {
        self.slot(now).acked_bytes += bytes;
    }

    pub(super) fn on_lost(&mut self, now: Time, bytes: u64) {
        self.slot(now).lost_bytes += bytes;
    }

    /// Bytes acknowledged a second over the last half second.
    pub(super) fn delivered_per_sec(&self, now: Time) -> f64 {
        let recent = self.slots.iter().filter(|slot| now.since(slot.began) <= RATE_OVER);
        let bytes: u64 = recent.clone().map(|slot| slot.acked_bytes).sum();
        // At the beginning, and after a silence, there is less to look back on.
        let since = recent.map(|slot| slot.began).min().unwrap_or(now);
        bytes as f64 / now.since(since).clamp(RATE_OVER_MIN, RATE_OVER).as_secs_f64()
    }

    /// The share of bytes that were lost over the last seconds; zero while there are few.
    pub(super) fn loss_share(&self) -> f64 {
        let acked: u64 = self.slots.iter().map(|slot| slot.acked_bytes).sum();
        let lost: u64 = self.slots.iter().map(|slot| slot.lost_bytes).sum();
        if acked + lost < LOSS_BYTES_MIN { 0.0 } else { lost as f64 / (acked + lost) as f64 }
    }

    pub(super) fn forget(&mut self, now: Time) {
        while self.slots.front().is_some_and(|slot| now.since(slot.began) > LOSS_OVER) {
            self.slots.pop_front();
        }
    }

    fn slot(&mut self, now: Time) -> &mut Slot {
        self.forget(now);
        if self.slots.back().is_none_or(|slot| now.since(slot.began) >= SLOT) {
            self.slots.push_back(Slot { began: now, acked_bytes: 0, lost_bytes: 0 });
        }
        self.slots.back_mut().expect("there is one now")
    }
}

const SLOT: Span = Span::from_millis(25);
const RATE_OVER: Span = Span::from_millis(500);
const RATE_OVER_MIN: Span = Span::from_millis(100);
const LOSS_OVER: Span = Span::from_secs(2);
/// Some forty packets.
const LOSS_BYTES_MIN: u64 = 50_000;
