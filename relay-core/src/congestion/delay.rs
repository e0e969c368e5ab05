//! `delay`: the project's own law, for frames on long links that lose packets for no reason.
//!
//! # Law
//!
//! Time is cut into intervals of a tenth of a second. Of the delays seen in an interval (one way
//! where receive times are known, else round trips) the lower quartile is taken: it is above the
//! path's own delay only when there is a queue that does not empty between frames. The path's own
//! delay is the lower quintile of those quartiles over the last half minute, so that no single lucky
//! packet sets it. What an interval lies above it is the **standing queue**.
//!
//! - **Free**: while no queue has shown, the window grows as in slow start by what is acknowledged, but only
//!   when the window was what held the sender back, and a frame may leave at once.
//! - **Limited**: once the standing queue is over the threshold for [`SUSTAINED`] intervals in a row, the link
//!   has shown its rate: what arrived lately. The sender goes on at that, less what empties the queue
//!   within a second. When there is no queue and the rate is being used, it grows again, slowly at first
//!   and faster the longer no queue shows.
//!
//! The threshold is three times the measured scatter of the quartiles from one interval to the next, so a
//! link with jitter is given room and a quiet one is held tight. Isolated loss changes nothing. Heavy
//! loss without a queue (a policer, or a queue too short to see) limits the sender to what arrives, and
//! never to less.
//!
//! If cutting the rate again and again does not make the standing queue go away, it is not ours. Either the path
//! has become longer: then that delay becomes the path's own. Or somebody else keeps the queue full, which shows in
//! that it grows while less is sent than had arrived: then there is a **rival** ([`rival`]), and the sender takes
//! what that would leave to one of its own kind until it is gone.
//!
//! An outage says nothing about the rate. What was sent while nothing at all arrived for [`OUTAGE_MIN`] is no loss; a
//! rate that the link had shown is kept over it, and without one the window begins anew; and when packets arrive again,
//! evidence from before counts no more. A link that comes back with less shows that by a queue, as after any step.
//!
//! # Where it does well and badly
//!
//! Well: random loss, bursts, jitter, reordering, outages; thin links behind a deep queue. Badly: it needs about half a second and a round trip
//! to see a queue, so a sudden drop to half the rate costs that much queue; beside a loss-based flow that
//! keeps a deep queue full it gives way for some five seconds before it knows, and then shares the full queue.
//!
//! # Sources
//!
//! The shape follows delay-based control from LEDBAT (RFC 6817: base delay over a history, a filter over current delays)
//! and Copa (NSDI 2018: standing round trip over a short window). The rate on a sign of congestion is the delivered rate, as in
//! BBR (draft-ietf-ccwg-bbr). Not growing while unused is RFC 7661. The constants are this project's own.
//!
//! [`OUTAGE_MIN`]: crate::loss::OUTAGE_MIN

mod base;
mod meter;
mod rival;
mod silence;

use units::{Span, Time};

use self::base::PathDelay;
use self::meter::Meter;
use self::rival::{Gone, Interval, Rival};
use self::silence::Silence;
use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Delay {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: PathDelay,
    meter: Meter,
    mode: Mode,
    rtt: Span,
    /// Delays of the interval that is running, in nanoseconds, offset unknown.
    samples: Vec<i64>,
    interval_began: Time,
    /// Bytes sent in the running interval.
    used_bytes: u64,
    /// Intervals in a row with a standing queue over the threshold, and without one.
    over: u32,
    calm: u32,
    /// Cuts in a row that did not help.
    cuts: u32,
    /// What arrived before the first of these cuts, the shortest delay since, and whether the delay has grown
    /// from that by more than the threshold.
    before_cuts: f64,
    shortest: i64,
    grew: bool,
    /// Somebody else who keeps the queue full; sets the rate while it is there.
    rival: Option<Rival>,
    /// The best rate that arrived lately, to which it returns after heavy loss.
    best_per_sec: f64,
    /// Intervals that began before this are not judged: they show what was sent before the last cut.
    blind_until: Time,
    silence: Silence,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Mode {
    Free {
        window_bytes: u64,
    },
    /// `ceiling` is what arrived when the last queue stood.
    Limited {
        bytes_per_sec: f64,
        step: f64,
        ceiling: f64,
    },
}

impl Delay {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: PathDelay::new(),
            meter: Meter::new(),
            mode: Mode::Free { window_bytes: start.initial_window_bytes },
            rtt: RTT_FIRST,
            samples: Vec::new(),
            interval_began: start.now,
            used_bytes: 0,
            over: 0,
            calm: 0,
            cuts: 0,
            before_cuts: 0.0,
            shortest: i64::MAX,
            grew: false,
            rival: None,
            best_per_sec: 0.0,
            blind_until: Time::ZERO,
            silence: Silence::default(),
        }
    }

    fn close_interval(&mut self, now: Time) {
        let length = now.since(self.interval_began);
        let used_per_sec = self.used_bytes as f64 / length.as_secs_f64().max(1e-3);
        let began = std::mem::replace(&mut self.interval_began, now);
        self.used_bytes = 0;
        self.samples.sort_unstable();
        let quartile = self.samples[self.samples.len() / 4];
        self.samples.clear();
        if self.rival.is_some() {
            self.beside_rival(now, quartile, used_per_sec);
            return;
        }
        let queue = self.path.insert(now, quartile);
        self.best_per_sec = (self.best_per_sec * BEST_KEPT).max(self.meter.delivered_per_sec(now));
        if began < self.blind_until {
            return;
        }
        let threshold = self.path.threshold();
        if self.cuts > 0 {
            self.shortest = self.shortest.min(quartile);
            self.grew |= quartile.abs_diff(self.shortest) > threshold.as_nanos();
        }
        if queue > threshold {
            // A queue that is twice over the threshold is as good as two intervals of evidence.
            self.over += if queue > threshold * 2 { 2 } else { 1 };
            self.calm = 0;
        } else {
            self.over = 0;
            self.calm += u32::from(queue < threshold / 2);
        }
        if self.over >= SUSTAINED {
            self.cut(now, queue);
        } else if self.calm >= CALM {
            self.cuts = 0;
            self.grow(used_per_sec);
        }
        if self.meter.loss_share() > HEAVY_LOSS {
            self.limit_to_delivered(now);
        }
    }

    /// Goes on at what arrives, less what empties the queue within a second.
    fn cut(&mut self, now: Time, queue: Span) {
        self.over = 0;
        self.cuts += 1;
        if self.cuts > CUTS_MAX {
            // The queue is not ours.
            self.cuts = 0;
            if self.grew {
                self.rival = Some(Rival::new(now, self.before_cuts, self.rtt, self.packet_bytes));
            } else {
                self.path.restart();
            }
            return;
        }
        let rate_min = self.rate_min();
        let ceiling = self.meter.delivered_per_sec(now).max(rate_min);
        if self.cuts == 1 {
            (self.before_cuts, self.shortest, self.grew) = (ceiling, i64::MAX, false);
        }
        let bytes_per_sec = (ceiling * drain(queue)).max(rate_min);
        self.mode = Mode::Limited { bytes_per_sec, step: STEP_MIN, ceiling };
        self.blind_until = now + self.rtt;
    }

    /// Goes on beside the rival, or alone when it is gone.
    fn beside_rival(&mut self, now: Time, delay: i64, used_per_sec: f64) {
        let Some(rival) = &mut self.rival else { return };
        let seen = Interval {
            delay,
            queue: self.path.above(delay),
            threshold: self.path.threshold(),
            used_per_sec,
            delivered_per_sec: self.meter.delivered_per_sec(now),
            rtt: self.rtt,
        };
        let Some(gone) = rival.on_interval(now, &seen) else { return };
        self.rival = None;
        let bytes_per_sec = match gone {
            Gone::Empty(rate) | Gone::Ours(rate) => {
                self.path.resume(now);
                rate
            }
            Gone::Flat(rate) => {
                self.path.restart();
                rate
            }
        };
        let ceiling = bytes_per_sec.max(self.rate_min());
        self.mode = Mode::Limited { bytes_per_sec: ceiling, step: STEP_MIN, ceiling };
        self.blind_until = now + self.rtt;
    }

    /// Nothing got through for a long time. What the delay was is void, but a rate that the link had shown is a
    /// better guess than none: if it is too much now, a queue will show that as after any step. While the silence goes on,
    /// less and less is sent into it.
    fn start_anew(&mut self, now: Time, sent_at: Time) {
        let less: u32 = if self.silence.goes_on(sent_at) { 2 } else { 1 };
        self.mode = match (self.limit(), self.mode) {
            (Some(bytes_per_sec), Mode::Limited { ceiling, .. }) => {
                Mode::Limited { bytes_per_sec: bytes_per_sec / f64::from(less), step: STEP_MIN, ceiling }
            }
            (Some(ceiling), _) => Mode::Limited { bytes_per_sec: ceiling, step: STEP_MIN, ceiling },
            (None, Mode::Free { window_bytes }) => {
                Mode::Free { window_bytes: window_bytes.min(self.initial_window_bytes) / u64::from(less) }
            }
            (None, Mode::Limited { .. }) => Mode::Free { window_bytes: self.initial_window_bytes },
        };
        self.path.restart();
        self.rival = None;
        self.blind_until = now + self.rtt;
    }

    /// The link was gone for a while and is back: what was seen before says nothing about now.
    fn look_afresh(&mut self, now: Time) {
        if let Mode::Free { window_bytes } = &mut self.mode {
            *window_bytes = self.initial_window_bytes.max(*window_bytes);
        }
        self.meter.restart();
        self.samples.clear();
        (self.interval_began, self.used_bytes) = (now, 0);
        (self.over, self.calm, self.cuts) = (0, 0, 0);
        self.blind_until = self.blind_until.max(now + self.rtt);
    }

    fn limit_to_delivered(&mut self, now: Time) {
        let delivered = self.meter.delivered_per_sec(now).max(self.rate_min());
        let limited = match self.mode {
            Mode::Free { .. } => true,
            Mode::Limited { bytes_per_sec, .. } => bytes_per_sec > delivered * 1.5,
        };
        if limited {
            self.mode = Mode::Limited {
                bytes_per_sec: delivered,
                step: STEP_MIN,
                ceiling: self.best_per_sec.max(delivered),
            };
            self.blind_until = now + self.rtt;
        }
    }

    fn grow(&mut self, used_per_sec: f64) {
        let rate_min = self.rate_min();
        let Mode::Limited { bytes_per_sec, step, ceiling } = &mut self.mode else { return };
        *bytes_per_sec = bytes_per_sec.max(rate_min);
        // What was lowered to empty the queue comes back at once when it is empty; beyond what the link
        // has shown, slowly.
        let held = *ceiling * HOLD;
        if *bytes_per_sec < held {
            *bytes_per_sec = held;
            return;
        }
        // What is not used is not known to be there.
        if used_per_sec < *bytes_per_sec * USED_MIN {
            return;
        }
        *bytes_per_sec = (*bytes_per_sec * (1.0 + *step)).min(RATE_MAX);
        *step = (*step * STEP_GROWTH).min(STEP_MAX);
    }

    /// The rate below which it never goes: four packets a round trip, but no more than that in a tenth of
    /// a second.
    fn rate_min(&self) -> f64 {
        4.0 * self.packet_bytes as f64 / self.rtt.max(INTERVAL).as_secs_f64()
    }

    /// The rate, once the link has shown one.
    fn limit(&self) -> Option<f64> {
        match (&self.rival, self.mode) {
            (Some(rival), _) => Some(rival.bytes_per_sec(self.rtt)),
            (None, Mode::Limited { bytes_per_sec, .. }) => Some(bytes_per_sec),
            (None, Mode::Free { .. }) => None,
        }
    }

    fn floor(&self) -> u64 {
        2 * self.packet_bytes
    }
}

impl Controller for Delay {
    fn on_sent(&mut self, now: Time, sent: &Sent) {
        if self.samples.is_empty() && self.used_bytes == 0 {
            // After a silence the interval begins with the first packet.
            self.interval_began = now;
        }
        self.used_bytes += sent.bytes;
        self.silence.on_sent(now);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        if self.silence.ends_with(acked.sent_at) {
            self.look_afresh(now);
        }
        if acked.rtt > Span::ZERO {
            // A stray acknowledgement after an outage measures the outage, not the path.
            let rtt = acked.rtt.min(RTT_MAX);
            self.rtt = self.rtt - self.rtt / 8 + rtt / 8;
        }
        self.meter.on_acked(now, acked.sent_at, acked.bytes);
        let delay = match acked.received_at {
            Some(at) => at.as_nanos() as i64 - acked.sent_at.as_nanos() as i64,
            None => acked.rtt.as_nanos() as i64,
        };
        if self.samples.len() < SAMPLES_MAX {
            self.samples.push(delay);
        }
        if let Some(rival) = &mut self.rival {
            rival.on_acked(now, acked);
        }
        if let Mode::Free { window_bytes } = &mut self.mode
            && !acked.app_limited
            && self.over == 0
        {
            *window_bytes = (*window_bytes + acked.bytes).min(WINDOW_BYTES_MAX);
        }
        if now.since(self.interval_began) >= INTERVAL && self.samples.len() >= SAMPLES_MIN {
            self.close_interval(now);
        }
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.meter.on_lost(lost.sent_at, lost.bytes);
        if lost.persistent {
            self.start_anew(now, lost.sent_at);
        } else if let Some(rival) = &mut self.rival {
            rival.on_lost(now, lost);
        }
    }

    fn on_marked(&mut self, now: Time, sent_at: Time) {
        if let Some(rival) = &mut self.rival {
            rival.on_marked(now, sent_at);
        } else if now >= self.blind_until {
            self.cut(now, Span::ZERO);
        }
    }

    fn on_tick(&mut self, now: Time) {
        self.meter.forget(now);
    }

    fn on_path_change(&mut self, now: Time) {
        let (initial_window_bytes, packet_bytes) = (self.initial_window_bytes, self.packet_bytes);
        self.path = PathDelay::new();
        self.meter = Meter::new();
        self.mode = Mode::Free { window_bytes: initial_window_bytes };
        self.rtt = RTT_FIRST;
        self.packet_bytes = packet_bytes;
        self.samples.clear();
        self.interval_began = now;
        self.used_bytes = 0;
        self.over = 0;
        self.calm = 0;
        self.cuts = 0;
        self.rival = None;
        self.best_per_sec = 0.0;
        self.blind_until = Time::ZERO;
        self.silence = Silence::default();
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
        if let Some(rival) = &mut self.rival {
            rival.on_packet_size(packet_bytes);
        }
    }

    fn window_bytes(&self) -> u64 {
        let window = match (self.mode, self.limit()) {
            (Mode::Free { window_bytes }, None) => window_bytes,
            (_, limit) => {
                let bytes_per_sec = limit.unwrap_or_default();
                // The pacer holds the rate; the window only bounds what an outage can cost.
                let reach = self.rtt + WINDOW_SLACK;
                (bytes_per_sec * reach.as_secs_f64()) as u64 + BURST_BYTES
            }
        };
        window.clamp(self.floor(), WINDOW_BYTES_MAX)
    }

    fn has_found_limit(&self) -> bool {
        matches!(self.mode, Mode::Limited { .. })
    }

    fn pacing(&self) -> Option<PacingRate> {
        Some(match (self.mode, self.limit()) {
            (Mode::Free { window_bytes }, None) => {
                let per_rtt = window_bytes as f64 / self.rtt.as_secs_f64().max(1e-3);
                PacingRate { bytes_per_sec: (per_rtt * FREE_GAIN).max(1.0) as u64, burst_bytes: BURST_BYTES }
            }
            (_, limit) => {
                let bytes_per_sec = limit.unwrap_or_default().max(self.rate_min());
                let burst = bytes_per_sec * LIMITED_BURST.as_secs_f64();
                // What arrives in a burst at a queue that is full is lost.
                let most = if self.rival.is_some() { self.floor() } else { BURST_BYTES };
                let burst_bytes = (burst as u64).clamp(self.floor(), most);
                PacingRate { bytes_per_sec: bytes_per_sec.max(1.0) as u64, burst_bytes }
            }
        })
    }
}

/// The share of what arrives that empties a queue within a second.
fn drain(queue: Span) -> f64 {
    (1.0 - queue.as_secs_f64()).clamp(DRAIN_MIN, DRAIN_MAX)
}

/// The round trip before one has been seen (RFC 9002 §6.2.2).
const RTT_FIRST: Span = Span::from_millis(333);
/// No path is longer: a geostationary hop each way, twice.
const RTT_MAX: Span = Span::from_secs(2);
/// The length of an interval: long enough to hold frames of every camera.
const INTERVAL: Span = Span::from_millis(100);
/// Delays that an interval must have, and those of them that are looked at.
const SAMPLES_MIN: usize = 4;
const SAMPLES_MAX: usize = 4096;
/// Intervals in a row over the threshold before anything is done.
const SUSTAINED: u32 = 3;
/// Intervals in a row without a queue before the rate grows.
const CALM: u32 = 2;
/// Cuts in a row that did not help before the delay is taken for the path's own.
const CUTS_MAX: u32 = 6;
/// Bounds of the share of the delivered rate that a cut leaves.
const DRAIN_MIN: f64 = 0.5;
const DRAIN_MAX: f64 = 0.95;
/// Loss share over which the sender is limited to what arrives: far over what links lose for no reason.
const HEAVY_LOSS: f64 = 0.15;
/// Growth an interval: at first, at most, and how the one becomes the other.
const STEP_MIN: f64 = 0.003;
const STEP_MAX: f64 = 0.08;
const STEP_GROWTH: f64 = 1.08;
/// Share of what the link has shown at which the sender stays for a while.
const HOLD: f64 = 0.95;
/// Share of the rate that must be used for it to grow.
const USED_MIN: f64 = 0.8;
/// Bytes a second at most.
const RATE_MAX: f64 = 1.25e9;
/// What is left after an interval of the best rate that arrived lately: half of it after six seconds.
const BEST_KEPT: f64 = 0.988;
/// What the window admits beyond a round trip at the rate: some feedback intervals and jitter.
const WINDOW_SLACK: Span = Span::from_millis(250);
/// Bytes that leave at once at most: a main frame with its parity.
const BURST_BYTES: u64 = 64_000;
/// What leaves at once when the rate is known: no more than queues for this long, which also the queues that are
/// managed for low delay or hold little let pass.
const LIMITED_BURST: Span = Span::from_millis(20);
/// Windows a round trip at which a free sender paces.
const FREE_GAIN: f64 = 2.5;

#[cfg(test)]
mod tests;
