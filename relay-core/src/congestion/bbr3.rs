//! BBR, version 3 (draft-ietf-ccwg-bbr-06).
//!
//! The law: a model of the path, its greatest delivery rate of the last two probes and its least
//! round trip of the last ten seconds; it sends at that rate and keeps no more in flight than a
//! small multiple of their product. To keep the model true it probes in turn: faster (`Up`), slower
//! until the queue is gone (`Down`), at the rate (`Cruise`), and rarely with half the window, for
//! the round trip (`ProbeRtt`). Loss above two per cent while it probes bounds what may be in
//! flight for long; any loss while it does not, until the next probe.
//!
//! | constant | value | source |
//! |---|---|---|
//! | pacing gain: startup, drain, down, cruise and refill, up | 2.77, 0.5, 0.9, 1, 1.25 | §5.6.1 |
//! | window gain: up, probing the round trip, else | 2.25, 0.5, 2 | §5.6.1 |
//! | pacing margin | 1 % | §5.6.2 |
//! | loss threshold | 2 % | §5.3.1.3 |
//! | losses in a round that end startup | 6 | §5.3.1.3 |
//! | cut β | 0.7 | §5.5.10.2 |
//! | headroom | 0.15 | §5.6.1 |
//! | rate has stopped growing | below 1.25 times for 3 rounds | §5.3.1.2 |
//! | drain at most | 3 rounds | §5.3.2 |
//! | wait between probes | 2 to 3 s, or 62 to 63 rounds | §5.3.3.8 |
//! | greatest rate | over 2 probes | §5.5.3 |
//! | least round trip | over 10 s, probed after 5 s for 200 ms | §5.3.4, §5.5.7.2 |
//! | surplus of acknowledgements | over 10 rounds, of startup 1 | §5.5.9 |
//! | least window | 4 packets | §5.6.4.3 |
//! | pacing at least | 4 packets in 333 ms | ours: one absurd measurement must not stop it |
//! | send quantum | 1 ms at the rate, 2 packets to 64 kB | §5.6.3 |
//!
//! Where it departs from the draft: the wait between probes is drawn from a hash of the time and
//! the number of the probe, not from the system. Packets are acknowledged to a law one at a time,
//! of which the first of a batch gives a low sample; so whether the rate has stopped growing is
//! judged by the greatest sample of a round and not by the one that ends it. A mark (ECN), on which
//! the draft is silent, counts as loss outside probes. What is reported lost at one time counts as
//! one range of packets. A probe of the rate that one of the round trip interrupts counts as ended for
//! the greatest rate, which a path with a long queue would otherwise never forget. Nothing is undone when a loss turns out to be spurious, which no caller
//! reports.
//!
//! Lack of data: samples with a gap in them never lower the model and raise it only when they are
//! above it (§5.5.4).
//!
//! It does well under random loss of up to two per cent and on long paths. It does badly where
//! there is more of it, where a batch of acknowledgements or jitter makes the path look faster than
//! it is, and for traffic that cannot spare half its window every five seconds. Alone on the
//! bottleneck model it holds:
//!
//! | feedback | of 10 Mbit/s | queue, p50 | at 1.5 % loss | with jitter | finds room | drains |
//! |---|---|---|---|---|---|---|
//! | at once | 96 % | 0 ms | 11.9 Mbit/s | 19.2 Mbit/s | 1 s | 15 s |
//! | reports | 96 % | 52 ms | 15.1 Mbit/s | 19.2 Mbit/s | 1 s | 16 s |
//!
//! Loss and jitter (up to 30 ms) are on 20 Mbit/s and 130 ms; room is five times the rate, and what
//! it drains is the queue that a fifth of the rate leaves; reports come every 25 ms with times of
//! arrival (`bounds.rs`).

use units::{Span, Time};

use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::delivery::{Delivery, Sample};
use crate::pacer::PacingRate;

mod model;
mod probe;

use model::Model;
use probe::Probe;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Bbr3 {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: Path,
}

/// Everything that is void on another path; names of the draft in brackets.
#[derive(Debug)]
struct Path {
    state: State,
    delivery: Delivery,
    model: Model,
    probe: Probe,
    window_bytes: u64,
    /// The window before a probe of the round trip (`prior_cwnd`).
    prior_window_bytes: u64,
    /// Bytes a second; unknown before the first round trip.
    pacing_rate: Option<f64>,
    /// Whether the window was reached, in the last round and in this (`is_cwnd_limited`).
    window_limited: (bool, bool),
    /// Packets go again after the path was empty (`idle_restart`).
    idle_restart: bool,
}

/// What it does at the moment (§5.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => 2.77,
            Self::Drain => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    fn window_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::ProbeRtt => PROBE_RTT_WINDOW_GAIN,
            _ => 2.0,
        }
    }

    /// Whether it is one of the four that take turns (`IsInAProbeBWState`).
    fn takes_turns(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether it accelerates, so that loss is no news (`IsProbingBW`).
    fn accelerates(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// What an acknowledgement brought, beside its sample.
#[derive(Debug, Clone, Copy)]
struct Ack {
    now: Time,
    bytes: u64,
    rtt: Span,
    in_flight_bytes: u64,
    sample: Sample,
}

impl Bbr3 {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: Path::new(start.now, start.initial_window_bytes),
        }
    }

    fn window_bytes_min(&self) -> u64 {
        WINDOW_PACKETS_MIN * self.packet_bytes
    }

    fn quantum_bytes(&self) -> u64 {
        let rate = self.path.pacing_rate.unwrap_or(0.0);
        ((rate * QUANTUM.as_secs_f64()) as u64).min(QUANTUM_BYTES_MAX).max(2 * self.packet_bytes)
    }

    /// The estimated product of rate and round trip, times `gain` (`BDPMultiple`, §5.6.4.2).
    fn product_bytes(&self, gain: f64) -> u64 {
        match self.path.model.rtt_min {
            Some(rtt) => (gain * self.path.model.rate * rtt.as_secs_f64()) as u64,
            None => self.initial_window_bytes,
        }
    }

    /// `QuantizationBudget`, §5.6.4.2.
    fn quantized(&self, bytes: u64) -> u64 {
        let bytes = bytes.max(self.quantum_bytes()).max(self.window_bytes_min());
        if self.path.state == State::Up { bytes + 2 * self.packet_bytes } else { bytes }
    }

    /// `Inflight(gain)`, §5.6.4.2.
    fn inflight_bytes(&self, gain: f64) -> u64 {
        self.quantized(self.product_bytes(gain))
    }

    /// `TargetInflight`, §5.3.3.8.
    fn target_bytes(&self) -> u64 {
        self.product_bytes(1.0).min(self.path.window_bytes)
    }

    fn probe_rtt_window_bytes(&self) -> u64 {
        self.product_bytes(PROBE_RTT_WINDOW_GAIN).max(self.window_bytes_min())
    }

    fn is_window_limited(&self) -> bool {
        self.path.window_limited.0 || self.path.window_limited.1
    }

    /// `SetPacingRateWithGain`, §5.6.2.
    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.path.model.rate * (1.0 - PACING_MARGIN);
        let known = self.path.pacing_rate.unwrap_or(0.0);
        if rate > 0.0 && (self.path.model.full_rate.reached || rate > known) {
            self.path.pacing_rate = Some(rate);
        }
    }

    /// `SetCwnd`, §5.6.4.6.
    fn set_window(&mut self, ack: &Ack) {
        let model = &self.path.model;
        let wanted = self.product_bytes(self.path.state.window_gain()) + model.surplus_bytes();
        let wanted = self.quantized(wanted);
        let path = &mut self.path;
        if path.model.full_rate.reached {
            path.window_bytes = (path.window_bytes + ack.bytes).min(wanted);
        } else {
            let young = path.delivery.delivered_bytes() < self.initial_window_bytes;
            if path.window_bytes < wanted || young {
                path.window_bytes += ack.bytes;
            }
        }
        self.clamp_window();
        if self.path.state == State::ProbeRtt {
            self.path.window_bytes = self.path.window_bytes.min(self.probe_rtt_window_bytes());
        }
        self.bound_window();
    }

    /// `BoundCwndForModel`, §5.6.4.7.
    fn bound_window(&mut self) {
        let model = &self.path.model;
        let cap = match self.path.state {
            State::Down | State::Refill | State::Up => model.inflight_long_bytes,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain => u64::MAX,
        };
        let cap = cap.min(model.inflight_short_bytes).max(self.window_bytes_min());
        self.path.window_bytes = self.path.window_bytes.min(cap);
    }

    fn clamp_window(&mut self) {
        let least = self.window_bytes_min();
        self.path.window_bytes = self.path.window_bytes.min(WINDOW_BYTES_MAX).max(least);
    }

    /// The steps of an acknowledgement (`UpdateModelAndState`, §5.2.3).
    fn update(&mut self, ack: &Ack) {
        self.update_round(ack);
        self.update_latest(ack);
        if self.path.model.loss_round_start {
            self.adapt_lower_bounds();
        }
        let window = self.path.window_bytes;
        self.path.model.update_surplus(ack, window);
        self.path.model.check_full_rate(ack);
        self.check_startup_done();
        self.check_drain_done(ack);
        self.update_cycle(ack);
        self.update_rtt_min(ack);
        self.check_probe_rtt(ack);
        if self.path.model.loss_round_start {
            self.path.model.rate_latest = ack.sample.rate;
            self.path.model.inflight_latest_bytes = ack.sample.delivered_bytes;
        }
        self.path.model.bound_rate();
    }
}

impl Path {
    fn new(now: Time, window_bytes: u64) -> Self {
        Self {
            state: State::Startup,
            delivery: Delivery::new(now),
            model: Model::new(now),
            probe: Probe::new(now),
            window_bytes,
            prior_window_bytes: 0,
            pacing_rate: None,
            window_limited: (false, false),
            idle_restart: false,
        }
    }
}

impl Controller for Bbr3 {
    fn on_sent(&mut self, now: Time, sent: &Sent) {
        if sent.in_flight_bytes <= sent.bytes && sent.app_limited {
            self.restart_from_idle(now);
        }
        if !sent.app_limited && sent.in_flight_bytes + self.packet_bytes >= self.path.window_bytes {
            self.path.window_limited.1 = true;
        }
        self.path.delivery.on_sent(now, sent);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        if self.path.model.rtt_min.is_none() {
            let nominal =
                self.path.window_bytes as f64 / acked.rtt.max(RTT_MIN).min(INITIAL_RTT).as_secs_f64();
            self.path.pacing_rate = Some(State::Startup.pacing_gain() * nominal);
        }
        let Some(sample) = self.path.delivery.on_acked(now, acked) else { return };
        let (bytes, rtt, in_flight_bytes) = (acked.bytes, acked.rtt, acked.in_flight_bytes);
        let ack = Ack { now, bytes, rtt, in_flight_bytes, sample };
        self.update(&ack);
        self.set_pacing_rate(self.path.state.pacing_gain());
        self.set_window(&ack);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.note_loss();
        let sample = self.path.delivery.on_lost(lost);
        if let Some(sample) = sample {
            self.adapt_upper_bound(now, lost, sample);
        }
        if lost.persistent {
            // A timeout for TCP (§5.6.4.4).
            self.path.window_bytes = lost.in_flight_bytes.saturating_add(self.packet_bytes);
            self.clamp_window();
        }
    }

    fn on_marked(&mut self, _now: Time, _sent_at: Time) {
        self.note_loss();
    }

    fn on_tick(&mut self, _now: Time) {}

    fn on_path_change(&mut self, now: Time) {
        self.path = Path::new(now, self.initial_window_bytes);
        self.clamp_window();
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
        self.clamp_window();
    }

    fn window_bytes(&self) -> u64 {
        self.path.window_bytes
    }

    fn pacing(&self) -> Option<PacingRate> {
        // The conversion saturates.
        let rate = self.path.pacing_rate? as u64;
        let least = self.window_bytes_min() * 1_000 / INITIAL_RTT_MS;
        Some(PacingRate { bytes_per_sec: rate.max(least), burst_bytes: self.quantum_bytes() })
    }
}

const WINDOW_PACKETS_MIN: u64 = 4;
const PROBE_RTT_WINDOW_GAIN: f64 = 0.5;
const PACING_MARGIN: f64 = 0.01;
const QUANTUM: Span = Span::from_millis(1);
const QUANTUM_BYTES_MAX: u64 = 64_000;
const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
/// RFC 9002 §6.2.2.
const INITIAL_RTT_MS: u64 = 333;
const INITIAL_RTT: Span = Span::from_millis(INITIAL_RTT_MS);
/// Below this a round trip is no measure of anything.
const RTT_MIN: Span = Span::from_micros(1);

#[cfg(test)]
mod tests;
