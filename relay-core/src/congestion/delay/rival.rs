//! Beside a flow that keeps the queue full: as much as that flow would leave to one of its own kind.
//!
//! Yielding to a queue that another fills gives the link away, and the queue stays. So once that is known to be
//! the case, the rate follows [`Cubic`], which is what nearly every such flow runs, paced and without slow start;
//! loss, of which a full queue makes some, is then what limits both. (Copa, NSDI 2018 §5, does so with its own
//! additive increase.) Nothing of this happens to a flow that is alone, and one that is alone again finds out:
//!
//! - **empty**: there has been no queue for a second;
//! - **ours**: every twenty seconds the sender yields for a second and a round trip as it would if the queue were
//!   its own; only then does the queue go away with it;
//! - **flat**: the delay has not moved for twenty seconds, so it is the path's own.

use units::{Size, Span, Time};

use crate::congestion::controller::{Acked, Controller, Lost, Start};
use crate::congestion::cubic::Cubic;
use crate::settings::Congestion;

/// The rate while there is a rival.
#[derive(Debug)]
pub(super) struct Rival {
    cubic: Cubic,
    /// Whether the last interval used most of the rate; what is not used does not grow.
    used: bool,
    /// The shortest and the longest delay since the last check.
    delays: Option<(i64, i64)>,
    checked_at: Time,
    trial: Option<Trial>,
    /// Intervals in a row without a queue.
    empty: u32,
}

/// A time of yielding.
#[derive(Debug, Clone, Copy)]
struct Trial {
    until: Time,
    queue_before: Span,
    bytes_per_sec: f64,
}

/// What an interval showed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interval {
    pub(super) delay: i64,
    pub(super) queue: Span,
    pub(super) threshold: Span,
    pub(super) used_per_sec: f64,
    pub(super) delivered_per_sec: f64,
    pub(super) rtt: Span,
}

/// Why there is no rival any more, with the rate to go on at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Gone {
    /// There is no queue.
    Empty(f64),
    /// The queue is the sender's own.
    Ours(f64),
    /// The delay is the path's own.
    Flat(f64),
}

impl Rival {
    /// Begins at `bytes_per_sec`, the rate before yielding.
    pub(super) fn new(now: Time, bytes_per_sec: f64, rtt: Span, packet_bytes: u64) -> Self {
        // Cubic begins in slow start; a loss ends that, and takes three tenths.
        let window = bytes_per_sec * rtt.as_secs_f64() / CUBIC_KEEPS;
        let initial_window_bytes = (window as u64).max(4 * packet_bytes);
        let settings =
            Congestion { initial_window: Size::from_bytes(initial_window_bytes), ..Congestion::default() };
        let mut cubic = Cubic::new(&Start { now, initial_window_bytes, packet_bytes, settings: &settings });
        cubic.on_lost(now, &Lost { bytes: 0, sent_at: now, in_flight_bytes: 0, persistent: false });
        Self { cubic, used: true, delays: None, checked_at: now, trial: None, empty: 0 }
    }

    pub(super) fn on_acked(&mut self, now: Time, acked: &Acked) {
        let app_limited_now = !self.used || self.trial.is_some();
        self.cubic.on_acked(now, &Acked { app_limited_now, ..*acked });
    }

    pub(super) fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.cubic.on_lost(now, lost);
    }

    pub(super) fn on_marked(&mut self, now: Time, sent_at: Time) {
        self.cubic.on_marked(now, sent_at);
    }

    pub(super) fn on_packet_size(&mut self, packet_bytes: u64) {
        self.cubic.on_packet_size(packet_bytes);
    }

    /// Bytes a second to send.
    pub(super) fn bytes_per_sec(&self, rtt: Span) -> f64 {
        let rate = self.cubic.window_bytes() as f64 / rtt.as_secs_f64().max(1e-3);
        self.trial.map_or(rate, |trial| trial.bytes_per_sec.min(rate))
    }

    /// Takes what an interval showed; whether the rival is gone.
    pub(super) fn on_interval(&mut self, now: Time, seen: &Interval) -> Option<Gone> {
        let rate = self.bytes_per_sec(seen.rtt);
        self.used = seen.used_per_sec >= rate * super::USED_MIN;
        let (low, high) = self.delays.unwrap_or((seen.delay, seen.delay));
        self.delays = Some((low.min(seen.delay), high.max(seen.delay)));
        self.empty = if seen.queue <= seen.threshold { self.empty + 1 } else { 0 };
        if self.empty >= EMPTY {
            return Some(Gone::Empty(rate));
        }
        if let Some(trial) = self.trial {
            if now < trial.until {
                return None;
            }
            self.trial = None;
            (self.checked_at, self.delays) = (now, None);
            let gone = seen.queue <= seen.threshold.max(trial.queue_before / 4);
            return gone.then_some(Gone::Ours(seen.delivered_per_sec));
        }
        if now.since(self.checked_at) < CHECK {
            return None;
        }
        let (low, high) = self.delays.unwrap_or_default();
        if high.abs_diff(low) <= seen.threshold.as_nanos() {
            return Some(Gone::Flat(rate));
        }
        let bytes_per_sec = seen.delivered_per_sec * super::drain(seen.queue);
        self.trial = Some(Trial {
            until: now + seen.rtt + Span::from_secs(1),
            queue_before: seen.queue,
            bytes_per_sec,
        });
        None
    }
}

/// How often it is checked whether there still is a rival: a queue that is ours stays no longer than this, and
/// the checks cost a twentieth of the rate.
const CHECK: Span = Span::from_secs(20);
/// Intervals in a row without a queue after which there is no rival.
const EMPTY: u32 = 10;
/// RFC 9438 §4.6.
const CUBIC_KEEPS: f64 = 0.7;
