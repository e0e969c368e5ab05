//! When BBR does what: startup, drain, the cycle of probes, and the probe of the round trip
//! (draft-ietf-ccwg-bbr-06 §5.3).

use units::{Span, Time};

use super::model::is_inflight_too_high;
use super::{Ack, Bbr3, State};

/// Where it is in its probes; names of the draft in brackets.
#[derive(Debug)]
pub(super) struct Probe {
    /// Probes so far.
    number: u64,
    /// When the last one ended (`cycle_stamp`), and how long to wait (`bw_probe_wait`).
    ended_at: Time,
    wait: Span,
    pub(super) rounds_since_up: u64,
    acks: Acks,
    /// Whether acknowledgements are of packets sent while probing (`is_bw_probe_sample`).
    pub(super) sampled: bool,
    /// `prev_probe_too_high`, `prev_probe_precautionary`.
    pub(super) was_too_high: bool,
    was_precautionary: bool,
    /// `bw_probe_up_rounds`, `bw_probe_up_acked`, `probe_up_acked_per_inc`.
    up_rounds: u32,
    up_acked_bytes: u64,
    up_bytes_per_packet: u64,
    drain_from_round: u64,
    rtt: RttProbe,
}

/// The probe of the round trip.
#[derive(Debug)]
struct RttProbe {
    /// `probe_rtt_min_delay`, `probe_rtt_min_stamp`, `probe_rtt_expired`.
    least: Span,
    least_at: Time,
    expired: bool,
    /// `probe_rtt_done_stamp`, `probe_rtt_round_done`.
    done_at: Option<Time>,
    round_done: bool,
}

/// What acknowledgements are of (`ack_phase`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

impl Probe {
    pub(super) fn new(now: Time) -> Self {
        Self {
            number: 0,
            ended_at: now,
            wait: Span::ZERO,
            rounds_since_up: 0,
            acks: Acks::Init,
            sampled: false,
            was_too_high: false,
            was_precautionary: false,
            up_rounds: 0,
            up_acked_bytes: 0,
            up_bytes_per_packet: u64::MAX,
            drain_from_round: 0,
            rtt: RttProbe {
                least: Span::MAX,
                least_at: now,
                expired: false,
                done_at: None,
                round_done: false,
            },
        }
    }

    /// `PickProbeWait`, §5.3.3.8: 2 to 3 s, and a round more or less.
    fn pick_wait(&mut self, now: Time) {
        self.number += 1;
        let drawn = scatter(now.as_nanos() ^ self.number.rotate_left(32));
        self.rounds_since_up = drawn & 1;
        self.wait = WAIT_MIN + Span::from_nanos((drawn >> 1) % 1_000_000_000);
    }
}

impl Bbr3 {
    /// `CheckStartupDone`, §5.3.1.1.
    pub(super) fn check_startup_done(&mut self) {
        if self.path.state == State::Startup && self.path.model.full_rate.reached {
            self.path.state = State::Drain;
            self.path.probe.drain_from_round = self.path.model.round;
        }
    }

    /// `CheckDrainDone`, §5.3.2.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        let done = ack.in_flight_bytes <= self.inflight_bytes(1.0)
            || self.path.model.round > self.path.probe.drain_from_round + DRAIN_ROUNDS;
        if self.path.state == State::Drain && done {
            self.start_down(ack.now);
        }
    }

    /// `StartProbeBW_DOWN`, §5.3.3.9.
    pub(super) fn start_down(&mut self, now: Time) {
        self.path.model.reset_congestion_signals();
        self.path.probe.up_bytes_per_packet = u64::MAX;
        self.path.probe.pick_wait(now);
        self.path.probe.ended_at = now;
        self.path.probe.acks = Acks::Stopping;
        self.start_round();
        self.path.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.path.model.reset_short_term();
        self.path.probe.up_rounds = 0;
        self.path.probe.up_acked_bytes = 0;
        self.path.probe.was_precautionary = false;
        self.path.probe.acks = Acks::Refilling;
        self.start_round();
        self.path.state = State::Refill;
    }

    fn start_up(&mut self, ack: &Ack) {
        self.path.probe.acks = Acks::Starting;
        self.start_round();
        self.path.model.reset_full_rate(ack.sample.rate);
        self.path.state = State::Up;
        self.steepen();
    }

    /// `UpdateProbeBWCyclePhase`, §5.3.3.9.
    pub(super) fn update_cycle(&mut self, ack: &Ack) {
        if !self.path.model.full_rate.reached || self.adapt_long_term(ack) {
            return;
        }
        let goes_down = self.path.state == State::Up && self.is_time_to_go_down(ack);
        match self.path.state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(ack) => self.path.state = State::Cruise,
            // After one round of refilling.
            State::Refill if self.path.model.round_start => {
                self.path.probe.sampled = true;
                self.start_up(ack);
            }
            State::Up if goes_down => {
                self.path.probe.was_too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW`, §5.3.3.8.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let probe = &self.path.probe;
        let reno_rounds = (self.target_bytes() / self.packet_bytes.max(1)).min(RENO_ROUNDS_MAX);
        now > probe.ended_at + probe.wait || probe.rounds_since_up >= reno_rounds
    }

    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        ack.in_flight_bytes <= self.with_headroom() && ack.in_flight_bytes <= self.inflight_bytes(1.0)
    }

    /// `IsTimeToGoDown`, §5.3.3.9.
    fn is_time_to_go_down(&mut self, ack: &Ack) -> bool {
        let bound = self.path.model.inflight_long_bytes;
        if self.path.probe.was_too_high && ack.in_flight_bytes >= bound {
            self.path.probe.was_precautionary = true;
            return true;
        }
        if self.is_window_limited() && self.path.window_bytes >= bound {
            self.path.model.reset_full_rate(ack.sample.rate);
            return false;
        }
        self.path.model.full_rate.now
    }

    /// `RaiseInflightLongtermSlope`, §5.3.3.9.
    fn steepen(&mut self) {
        let growth = 1u64 << self.path.probe.up_rounds;
        self.path.probe.up_rounds = (self.path.probe.up_rounds + 1).min(UP_ROUNDS_MAX);
        self.path.probe.up_bytes_per_packet = (self.path.window_bytes / growth).max(self.packet_bytes).max(1);
    }

    /// `ProbeInflightLongtermUpward`, §5.3.3.9.
    fn raise_bound(&mut self, ack: &Ack) {
        if !self.is_window_limited() || self.path.window_bytes < self.path.model.inflight_long_bytes {
            return;
        }
        let probe = &mut self.path.probe;
        probe.up_acked_bytes = probe.up_acked_bytes.saturating_add(ack.bytes);
        let packets = probe.up_acked_bytes / probe.up_bytes_per_packet;
        probe.up_acked_bytes -= packets * probe.up_bytes_per_packet;
        let bound = &mut self.path.model.inflight_long_bytes;
        *bound = bound.saturating_add(packets.saturating_mul(self.packet_bytes));
        if self.path.model.round_start {
            self.steepen();
        }
    }

    /// `AdaptLongTermModel`, §5.3.3.9; whether it decided what comes next.
    fn adapt_long_term(&mut self, ack: &Ack) -> bool {
        let turns = self.path.state.takes_turns();
        let probe = &mut self.path.probe;
        if self.path.model.round_start && probe.acks == Acks::Starting {
            probe.acks = Acks::Feedback;
        }
        if self.path.model.round_start && probe.acks == Acks::Stopping {
            probe.sampled = false;
            probe.acks = Acks::Init;
            if turns && !ack.sample.app_limited {
                self.path.model.advance_rates();
            }
            if turns && probe.was_precautionary && !probe.was_too_high {
                self.start_refill();
                return true;
            }
        }
        if is_inflight_too_high(&ack.sample) || self.path.model.inflight_long_bytes == u64::MAX {
            return false;
        }
        let bound = self.path.model.inflight_long_bytes.max(ack.sample.in_flight_bytes);
        self.path.model.inflight_long_bytes = bound;
        if self.path.state == State::Up {
            self.raise_bound(ack);
        }
        false
    }

    /// `UpdateMinRTT`, §5.3.4.3.
    pub(super) fn update_rtt_min(&mut self, ack: &Ack) {
        let probe = &mut self.path.probe.rtt;
        probe.expired = ack.now > probe.least_at + PROBE_RTT_INTERVAL;
        if ack.rtt < probe.least || probe.expired {
            probe.least = ack.rtt;
            probe.least_at = ack.now;
        }
        let model = &mut self.path.model;
        let expired = ack.now > model.rtt_min_at + RTT_MIN_OVER;
        if expired || model.rtt_min.is_none_or(|least| probe.least < least) {
            model.rtt_min = Some(probe.least);
            model.rtt_min_at = probe.least_at;
        }
    }

    /// `CheckProbeRTT`, §5.3.4.3.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        let expired = self.path.probe.rtt.expired && !self.path.idle_restart;
        if self.path.state != State::ProbeRtt && expired {
            // A probe that is interrupted is over. Else a path so long that every one is would
            // never forget its greatest rate.
            if self.path.state == State::Up && !ack.sample.app_limited {
                self.path.model.advance_rates();
            }
            self.path.prior_window_bytes = self.path.window_bytes;
            self.path.state = State::ProbeRtt;
            self.path.probe.rtt.done_at = None;
            self.path.probe.acks = Acks::Stopping;
            self.start_round();
        }
        if self.path.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        self.path.idle_restart = false;
    }

    fn handle_probe_rtt(&mut self, ack: &Ack) {
        // The low rates of this state say nothing of the path.
        self.path.delivery.mark_app_limited(ack.in_flight_bytes);
        if self.path.probe.rtt.done_at.is_some() {
            self.path.probe.rtt.round_done |= self.path.model.round_start;
            if self.path.probe.rtt.round_done {
                self.check_probe_rtt_done(ack.now);
            }
        } else if ack.in_flight_bytes <= self.probe_rtt_window_bytes() {
            self.path.probe.rtt.done_at = Some(ack.now + PROBE_RTT_DURATION);
            self.path.probe.rtt.round_done = false;
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`, §5.3.4.3 and §5.3.4.4.
    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.path.probe.rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.path.probe.rtt.least_at = now;
        self.path.window_bytes = self.path.window_bytes.max(self.path.prior_window_bytes);
        self.path.model.reset_short_term();
        if self.path.model.full_rate.reached {
            self.start_down(now);
            self.path.state = State::Cruise;
        } else {
            self.path.state = State::Startup;
        }
    }

    /// `HandleRestartFromIdle`, §5.4.1.
    pub(super) fn restart_from_idle(&mut self, now: Time) {
        self.path.idle_restart = true;
        self.path.model.restart_surplus(now);
        if self.path.state.takes_turns() {
            self.set_pacing_rate(1.0);
        } else if self.path.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}

/// A hash that spreads every bit over all (`SplitMix64`, G. Steele et al., OOPSLA 2014).
fn scatter(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

const DRAIN_ROUNDS: u64 = 3;
const WAIT_MIN: Span = Span::from_secs(2);
const RENO_ROUNDS_MAX: u64 = 63;
const UP_ROUNDS_MAX: u32 = 30;
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
const PROBE_RTT_DURATION: Span = Span::from_millis(200);
const RTT_MIN_OVER: Span = Span::from_secs(10);
