//! What BBR believes of the path (draft-ietf-ccwg-bbr-06 §5.5), and what loss does to it.

use units::{Span, Time};

use super::{Ack, BETA, Bbr3, HEADROOM, LOSS_THRESHOLD, State};
use crate::congestion::controller::Lost;
use crate::congestion::delivery::Sample;

/// The model; names of the draft in brackets.
#[derive(Debug)]
pub(super) struct Model {
    /// Greatest delivery rate of the probe before and of this one, bytes a second (`max_bw`).
    rates: [f64; 2],
    /// What it sends by (`bw`).
    pub(super) rate: f64,
    pub(super) rtt_min: Option<Span>,
    pub(super) rtt_min_at: Time,
    /// Bounds that loss set since the last probe (`bw_shortterm`, `inflight_shortterm`).
    rate_short: f64,
    pub(super) inflight_short_bytes: u64,
    /// The bound that loss set while probing (`inflight_longterm`).
    pub(super) inflight_long_bytes: u64,
    /// Greatest of the last round (`bw_latest`, `inflight_latest`).
    pub(super) rate_latest: f64,
    pub(super) inflight_latest_bytes: u64,
    /// `next_round_delivered`, `round_start`, `round_count`.
    pub(super) round_ends_at_bytes: u64,
    pub(super) round_start: bool,
    pub(super) round: u64,
    /// Greatest sample of the round that has just ended, and of this one.
    round_rate: (f64, f64),
    /// `loss_round_delivered`, `loss_round_start`, `is_loss_in_round`.
    loss_round_ends_at_bytes: u64,
    pub(super) loss_round_start: bool,
    pub(super) loss_in_round: bool,
    losses_in_round: u32,
    pub(super) full_rate: FullRate,
    surplus: Surplus,
}

/// Whether the rate has stopped growing (§5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullRate {
    /// `full_bw`, `full_bw_count`.
    rate: f64,
    rounds: u32,
    /// In this probe, and ever (`full_bw_now`, `full_bw_reached`).
    pub(super) now: bool,
    pub(super) reached: bool,
}

/// By how much acknowledgements ran ahead of the rate (`extra_acked`, §5.5.9).
#[derive(Debug)]
struct Surplus {
    from: Time,
    delivered_bytes: u64,
    /// Greatest of the rounds before and of these, which take turns every five rounds.
    greatest_bytes: [u64; 2],
    turned_at_round: u64,
}

impl Model {
    pub(super) fn new(now: Time) -> Self {
        Self {
            rates: [0.0; 2],
            rate: 0.0,
            rtt_min: None,
            rtt_min_at: now,
            rate_short: f64::INFINITY,
            inflight_short_bytes: u64::MAX,
            inflight_long_bytes: u64::MAX,
            rate_latest: 0.0,
            inflight_latest_bytes: 0,
            round_ends_at_bytes: 0,
            round_start: false,
            round: 0,
            round_rate: (0.0, 0.0),
            loss_round_ends_at_bytes: 0,
            loss_round_start: false,
            loss_in_round: false,
            losses_in_round: 0,
            full_rate: FullRate::default(),
            surplus: Surplus { from: now, delivered_bytes: 0, greatest_bytes: [0; 2], turned_at_round: 0 },
        }
    }

    fn rate_max(&self) -> f64 {
        self.rates[0].max(self.rates[1])
    }

    pub(super) fn bound_rate(&mut self) {
        self.rate = self.rate_max().min(self.rate_short);
    }

    /// One more probe is over (`AdvanceMaxBwFilter`, §5.5.6). Without a sample of this probe the
    /// last one stands.
    pub(super) fn advance_rates(&mut self) {
        if self.rates[1] > 0.0 {
            self.rates = [self.rates[1], 0.0];
        }
    }

    pub(super) fn reset_short_term(&mut self) {
        self.rate_short = f64::INFINITY;
        self.inflight_short_bytes = u64::MAX;
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.losses_in_round = 0;
        self.rate_latest = 0.0;
        self.inflight_latest_bytes = 0;
    }

    pub(super) fn reset_full_rate(&mut self, rate: f64) {
        self.full_rate = FullRate { rate, reached: self.full_rate.reached, ..FullRate::default() };
    }

    /// `CheckFullBWReached`, §5.3.1.2.
    pub(super) fn check_full_rate(&mut self, ack: &Ack) {
        if self.full_rate.now || !self.round_start || ack.sample.app_limited {
            return;
        }
        let rate = self.round_rate.0;
        if rate >= self.full_rate.rate * FULL_RATE_GROWTH {
            self.reset_full_rate(rate);
            return;
        }
        let full = &mut self.full_rate;
        full.rounds += 1;
        full.now = full.rounds >= FULL_RATE_ROUNDS;
        full.reached |= full.now;
    }

    pub(super) fn surplus_bytes(&self) -> u64 {
        let [before, now] = self.surplus.greatest_bytes;
        before.max(now)
    }

    pub(super) fn restart_surplus(&mut self, now: Time) {
        self.surplus.from = now;
        self.surplus.delivered_bytes = 0;
    }

    /// `UpdateACKAggregation`, §5.5.9.
    pub(super) fn update_surplus(&mut self, ack: &Ack, window_bytes: u64) {
        let surplus = &mut self.surplus;
        let rounds = if self.full_rate.reached { SURPLUS_ROUNDS } else { 1 };
        if self.round_start && self.round.saturating_sub(surplus.turned_at_round) >= rounds {
            surplus.greatest_bytes = [surplus.greatest_bytes[1], 0];
            surplus.turned_at_round = self.round;
        }
        let mut expected = (self.rate * ack.now.since(surplus.from).as_secs_f64()) as u64;
        if surplus.delivered_bytes <= expected {
            surplus.delivered_bytes = 0;
            surplus.from = ack.now;
            expected = 0;
        }
        surplus.delivered_bytes = surplus.delivered_bytes.saturating_add(ack.bytes);
        let extra = surplus.delivered_bytes.saturating_sub(expected).min(window_bytes);
        surplus.greatest_bytes[1] = surplus.greatest_bytes[1].max(extra);
    }
}

impl Bbr3 {
    /// `StartRound`, §5.5.1.
    pub(super) fn start_round(&mut self) {
        self.path.model.round_ends_at_bytes = self.path.delivery.delivered_bytes();
    }

    /// `UpdateRound` and `UpdateMaxBw`, §5.5.1 and §5.5.5.
    pub(super) fn update_round(&mut self, ack: &Ack) {
        let model = &mut self.path.model;
        model.round_start = ack.sample.prior_delivered_bytes >= model.round_ends_at_bytes;
        if model.round_start {
            model.round_ends_at_bytes = self.path.delivery.delivered_bytes();
            model.round += 1;
            model.round_rate = (model.round_rate.1.max(ack.sample.rate), 0.0);
            self.path.probe.rounds_since_up += 1;
            self.path.window_limited = (self.path.window_limited.1, false);
        } else {
            model.round_rate.1 = model.round_rate.1.max(ack.sample.rate);
        }
        if ack.sample.rate > 0.0 && (ack.sample.rate >= model.rate_max() || !ack.sample.app_limited) {
            model.rates[1] = model.rates[1].max(ack.sample.rate);
        }
    }

    /// `UpdateLatestDeliverySignals`, §5.5.10.3.
    pub(super) fn update_latest(&mut self, ack: &Ack) {
        let model = &mut self.path.model;
        model.rate_latest = model.rate_latest.max(ack.sample.rate);
        model.inflight_latest_bytes = model.inflight_latest_bytes.max(ack.sample.delivered_bytes);
        model.loss_round_start = ack.sample.prior_delivered_bytes >= model.loss_round_ends_at_bytes;
        if model.loss_round_start {
            model.loss_round_ends_at_bytes = self.path.delivery.delivered_bytes();
            if self.path.state == State::Startup {
                self.check_startup_loss(ack);
            }
        }
    }

    /// `CheckStartupHighLoss`, §5.3.1.3: at the end of a round.
    fn check_startup_loss(&mut self, ack: &Ack) {
        if self.path.model.losses_in_round >= STARTUP_LOSSES && is_inflight_too_high(&ack.sample) {
            let safe = self.product_bytes(1.0).max(self.path.model.inflight_latest_bytes);
            self.path.model.full_rate.reached = true;
            self.path.model.inflight_long_bytes = safe;
        }
    }

    /// `AdaptLowerBoundsFromCongestion`, §5.5.10.3: once a round.
    pub(super) fn adapt_lower_bounds(&mut self) {
        let window_bytes = self.path.window_bytes;
        let model = &mut self.path.model;
        if model.loss_in_round && !self.path.state.accelerates() {
            if model.rate_short.is_infinite() {
                model.rate_short = model.rate_max();
            }
            if model.inflight_short_bytes == u64::MAX {
                model.inflight_short_bytes = window_bytes;
            }
            model.rate_short = model.rate_latest.max(BETA * model.rate_short);
            let cut = (BETA * model.inflight_short_bytes as f64) as u64;
            model.inflight_short_bytes = model.inflight_latest_bytes.max(cut);
        }
        model.loss_in_round = false;
        model.losses_in_round = 0;
    }

    /// `NoteLoss`, §5.5.10.2.
    pub(super) fn note_loss(&mut self) {
        let model = &mut self.path.model;
        if !model.loss_in_round {
            model.loss_round_ends_at_bytes = self.path.delivery.delivered_bytes();
        }
        model.loss_in_round = true;
        model.losses_in_round = model.losses_in_round.saturating_add(1);
    }

    /// `HandleLostPacket` and `HandleInflightTooHigh`, §5.5.10.2.
    pub(super) fn adapt_upper_bound(&mut self, now: Time, lost: &Lost, sample: Sample) {
        if !self.path.probe.sampled || !is_inflight_too_high(&sample) {
            return;
        }
        self.path.probe.was_too_high = true;
        self.path.probe.sampled = false;
        if !sample.app_limited {
            let cut = (self.target_bytes() as f64 * BETA) as u64;
            self.path.model.inflight_long_bytes = inflight_at_loss(lost, &sample).max(cut);
        }
        if self.path.state == State::Up {
            self.start_down(now);
        }
    }

    /// `InflightWithHeadroom`, §5.3.3.9.
    pub(super) fn with_headroom(&self) -> u64 {
        let bound = self.path.model.inflight_long_bytes;
        if bound == u64::MAX {
            return bound;
        }
        let headroom = ((HEADROOM * bound as f64) as u64).max(self.packet_bytes);
        bound.saturating_sub(headroom).max(self.window_bytes_min())
    }
}

/// `IsInflightTooHigh`, §5.5.10.2.
pub(super) fn is_inflight_too_high(sample: &Sample) -> bool {
    sample.lost_bytes as f64 > sample.in_flight_bytes as f64 * LOSS_THRESHOLD
}

/// How much was in flight where loss passed the threshold (`InflightAtLoss`, §5.5.10.2).
fn inflight_at_loss(lost: &Lost, sample: &Sample) -> u64 {
    let before = sample.in_flight_bytes.saturating_sub(lost.bytes) as f64;
    let lost_before = sample.lost_bytes.saturating_sub(lost.bytes) as f64;
    // Negative values become zero.
    (before + (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)) as u64
}

const FULL_RATE_GROWTH: f64 = 1.25;
const FULL_RATE_ROUNDS: u32 = 3;
const STARTUP_LOSSES: u32 = 6;
/// Half of what is remembered, as there are two slots.
const SURPLUS_ROUNDS: u64 = 5;
