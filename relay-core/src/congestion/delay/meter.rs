//! What arrived lately, and which share of what was sent was lost.

use std::collections::VecDeque;

use units::{Span, Time};

use crate::loss::OUTAGE_MIN;

/// Bytes acknowledged, by when; and what became of bytes, by when they were sent.
#[derive(Debug)]
pub(super) struct Meter {
    arrived: VecDeque<Arrived>,
    /// By time of sending, the oldest first.
    sent: VecDeque<Fates>,
}

#[derive(Debug, Clone, Copy)]
struct Arrived {
    began: Time,
    bytes: u64,
}

/// What became of the bytes that were sent within a slot of time.
#[derive(Debug, Clone, Copy)]
struct Fates {
    began: Time,
    acked_bytes: u64,
    lost_bytes: u64,
}

impl Meter {
    pub(super) fn new() -> Self {
        Self { arrived: VecDeque::new(), sent: VecDeque::new() }
    }

    pub(super) fn on_acked(&mut self, now: Time, sent_at: Time, bytes: u64) {
        self.forget(now);
        match self.arrived.back_mut() {
            Some(slot) if now.since(slot.began) < SLOT => slot.bytes += bytes,
            _ => self.arrived.push_back(Arrived { began: now, bytes }),
        }
        if let Some(fates) = self.fates(sent_at) {
            fates.acked_bytes += bytes;
        }
    }

    pub(super) fn on_lost(&mut self, sent_at: Time, bytes: u64) {
        if let Some(fates) = self.fates(sent_at) {
            fates.lost_bytes += bytes;
        }
    }

    /// Bytes acknowledged a second over the last half second.
    pub(super) fn delivered_per_sec(&self, now: Time) -> f64 {
        let recent = self.arrived.iter().filter(|slot| now.since(slot.began) <= RATE_OVER);
        let bytes: u64 = recent.clone().map(|slot| slot.bytes).sum();
        // At the beginning, and after a silence, there is less to look back on.
        let since = recent.map(|slot| slot.began).min().unwrap_or(now);
        bytes as f64 / now.since(since).clamp(RATE_OVER_MIN, RATE_OVER).as_secs_f64()
    }

    /// The share of bytes that were lost of what was sent over some seconds; zero while there are few.
    ///
    /// An outage counts for nothing: a link that was gone for a while has said nothing about its rate.
    pub(super) fn loss_share(&self) -> f64 {
        let (mut acked, mut lost, mut since_acked) = (0, 0, 0);
        let mut acked_at = None;
        for slot in &self.sent {
            since_acked += slot.lost_bytes;
            if slot.acked_bytes > 0 {
                let dark = acked_at.is_none_or(|at| slot.began.since(at) >= OUTAGE_MIN);
                acked += slot.acked_bytes;
                lost += if dark { slot.lost_bytes } else { since_acked };
                (since_acked, acked_at) = (0, Some(slot.began));
            }
        }
        if acked + lost < LOSS_BYTES_MIN { 0.0 } else { lost as f64 / (acked + lost) as f64 }
    }

    /// Forgets everything: after a time in which nothing was heard, it is no measure.
    pub(super) fn restart(&mut self) {
        self.arrived.clear();
        self.sent.clear();
    }

    pub(super) fn forget(&mut self, now: Time) {
        while self.arrived.front().is_some_and(|slot| now.since(slot.began) > RATE_OVER) {
            self.arrived.pop_front();
        }
    }

    /// The slot of what was sent at `at`, unless that is too long ago to matter. Slots lie on a grid, so that
    /// there are few whatever the order.
    fn fates(&mut self, at: Time) -> Option<&mut Fates> {
        let began = Time::ZERO + SLOT * (at.as_nanos() / SLOT.as_nanos());
        let newest = self.sent.back().map_or(began, |slot| slot.began.max(began));
        while self.sent.front().is_some_and(|slot| newest.since(slot.began) > LOSS_OVER) {
            self.sent.pop_front();
        }
        if newest.since(began) > LOSS_OVER {
            return None;
        }
        let index = self.sent.partition_point(|slot| slot.began < began);
        if self.sent.get(index).is_none_or(|slot| slot.began != began) {
            self.sent.insert(index, Fates { began, acked_bytes: 0, lost_bytes: 0 });
        }
        self.sent.get_mut(index)
    }
}

const SLOT: Span = Span::from_millis(25);
const RATE_OVER: Span = Span::from_millis(500);
const RATE_OVER_MIN: Span = Span::from_millis(100);
/// The time of sending that a share of loss is of.
const LOSS_OVER: Span = Span::from_secs(2);
/// Some forty packets.
const LOSS_BYTES_MIN: u64 = 50_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A packet each ten milliseconds, of which those are lost that `lost` says.
    fn meter(lost: impl Fn(u64) -> bool) -> Meter {
        let mut meter = Meter::new();
        for ms in (0..4_000).step_by(10) {
            if lost(ms) {
                meter.on_lost(at(ms), 1_200);
            } else {
                meter.on_acked(at(ms + 100), at(ms), 1_200);
            }
        }
        meter
    }

    #[test]
    fn a_policer_counts_and_an_outage_does_not() {
        let share = |lost: &dyn Fn(u64) -> bool| meter(lost).loss_share();
        assert!((share(&|ms| ms % 40 != 0) - 0.75).abs() < 0.01);
        // Of frames of 66 ms the beginning passes.
        assert!(share(&|ms| ms % 66 > 20) > 0.5);
        let isolated = |ms: u64| ms.is_multiple_of(500);
        let share = |from: u64, to: u64| share(&|ms| isolated(ms) || (from..to).contains(&ms));
        assert!(share(3_000, 3_300) < 0.03, "{}", share(3_000, 3_300));
        assert!(share(3_000, 3_100) > 0.05, "{}", share(3_000, 3_100));
        // One that is longer than what is remembered, and one that goes on.
        assert!(share(500, 3_500) < 0.03 && share(3_000, 4_000) < 0.03);
    }

    #[test]
    fn what_is_told_at_once_of_a_whole_outage_is_not_counted_either() {
        let mut meter = meter(|ms| ms >= 3_000);
        meter.on_lost(at(3_500), 300_000);
        meter.on_acked(at(3_700), at(3_600), 1_200);
        // Three packets of the slot in which something arrives again are.
        assert!(meter.loss_share() < 0.05);
    }

    #[test]
    fn it_remembers_no_more_than_some_seconds_in_whatever_order() {
        let mut meter = Meter::new();
        for step in 0..100_000_u64 {
            let ms = step * 7_919 % 100_000;
            meter.on_acked(at(step), at(ms), 1_200);
            meter.on_lost(at(ms / 2), 1_200);
        }
        assert!(meter.sent.len() <= 81 && meter.arrived.len() <= 21, "{}", meter.sent.len());
    }
}
