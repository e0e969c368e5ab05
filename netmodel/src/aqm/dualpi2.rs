//! DualPI2 (RFC 9332 appendix A): one queue for classic traffic and one of low latency, coupled.
//!
//! Marks and drops follow the RFC's `recur`: they come evenly, not by chance, so no draws are needed.

use units::{Span, Time};

use super::waited;
use crate::profile::DualPi2Parameters;

/// The state of the coupled controller, the marker and the scheduler.
#[derive(Debug, Clone)]
pub(super) struct DualPi2 {
    /// The base probability p′.
    base: f64,
    queue_before: Span,
    /// When p′ is worked out again; `None` before the first packet.
    update_at: Option<Time>,
    /// What `recur` has gathered, for classic and low latency.
    classic_count: f64,
    low_count: f64,
    /// Positive when it is the classic queue's turn.
    credit: i64,
}

/// What becomes of a packet that leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    Send,
    Mark,
    Drop,
}

impl Default for DualPi2 {
    fn default() -> Self {
        Self {
            base: 0.0,
            queue_before: Span::ZERO,
            update_at: None,
            classic_count: 0.0,
            low_count: 0.0,
            credit: 0,
        }
    }
}

impl DualPi2 {
    /// Updates p′ at every interval up to `now`; `heads` are the arrivals of the oldest packets of both
    /// queues, which have not changed since the last call (figure 8).
    pub(super) fn run_until(&mut self, now: Time, parameters: DualPi2Parameters, heads: [Option<Time>; 2]) {
        let interval = parameters.target.min(parameters.rtt_max / 3).max(Span::from_nanos(1));
        let mut at = self.update_at.unwrap_or(now + interval);
        let rtt_max = parameters.rtt_max.as_secs_f64();
        let alpha = 0.1 * interval.as_secs_f64() / (rtt_max * rtt_max);
        let beta = 0.3 / rtt_max;
        while at <= now {
            let queue = heads
                .map(|head| waited(at, head.filter(|arrived| *arrived <= at)))
                .into_iter()
                .max()
                .unwrap_or(Span::ZERO);
            let error = queue.as_secs_f64() - parameters.target.as_secs_f64();
            let change = queue.as_secs_f64() - self.queue_before.as_secs_f64();
            self.base = (self.base + alpha * error + beta * change).clamp(0.0, 1.0);
            self.queue_before = queue;
            at += interval;
            if self.base == 0.0 && queue.is_zero() && heads == [None, None] {
                // Nothing will come of the intervals until a packet arrives.
                at = at.max(now + interval);
            }
        }
        self.update_at = Some(at);
    }

    /// Whether the next packet is one of low latency, by the sizes of the heads (low latency first);
    /// `None` if there is none. Weighted round robin with 1/16 for classic traffic, counted only while both
    /// wait.
    pub(super) fn schedule(&mut self, sizes: [Option<u32>; 2]) -> Option<bool> {
        match sizes {
            [None, None] => {
                self.credit = 0;
                None
            }
            [Some(_), None] => Some(true),
            [None, Some(_)] => Some(false),
            [Some(low), Some(_)] if self.credit <= 0 => {
                self.credit += i64::from(low);
                Some(true)
            }
            [Some(_), Some(classic)] => {
                self.credit -= i64::from(classic) * LOW_WEIGHT;
                Some(false)
            }
        }
    }

    /// What becomes of a packet of this queue, with so many packets `behind` it in it, that waited so long
    /// (figure 7).
    pub(super) fn pick(&mut self, low: bool, behind: usize, waited: Span, ecn: u8) -> Pick {
        let classic = self.base * self.base;
        let coupled = COUPLING * self.base;
        if !low {
            if !recur(&mut self.classic_count, classic) {
                return Pick::Send;
            }
            return if ecn == 0 || classic >= CLASSIC_MAX { Pick::Drop } else { Pick::Mark };
        }
        if coupled < 1.0 {
            let native = if behind > 0 { ramp(waited) } else { 0.0 };
            return if recur(&mut self.low_count, native.max(coupled)) { Pick::Mark } else { Pick::Send };
        }
        if recur(&mut self.low_count, classic) {
            return Pick::Drop;
        }
        Pick::Mark
    }
}

/// The native marking of low latency: a ramp over the delay (figure 5).
fn ramp(waited: Span) -> f64 {
    if waited >= RAMP_FROM + RAMP_WIDTH {
        1.0
    } else if waited > RAMP_FROM {
        (waited - RAMP_FROM).as_secs_f64() / RAMP_WIDTH.as_secs_f64()
    } else {
        0.0
    }
}

/// True for this share of the calls, evenly (figure 4).
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

/// The coupling factor k (figure 2).
const COUPLING: f64 = 2.0;
/// The most that classic traffic is marked before everything is dropped: 1/k².
const CLASSIC_MAX: f64 = 1.0 / (COUPLING * COUPLING);
/// The ramp's lower end and width (figure 2).
const RAMP_FROM: Span = Span::from_micros(800);
const RAMP_WIDTH: Span = Span::from_micros(400);
/// Bytes of low latency for one classic byte, while both wait: 15 of 16.
const LOW_WEIGHT: i64 = 15;
