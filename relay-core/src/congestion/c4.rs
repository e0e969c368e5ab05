//! C4, Christian's Congestion Control Code (draft-huitema-ccwg-c4-spec-04).
//!
//! The law: a nominal rate, the greatest that was measured, and a nominal round trip, the longest
//! that the path has without a queue. It sends at the one and keeps the product of both in flight.
//! It probes with a sixteenth more, and pushes with a quarter more where that went faster. Late,
//! lost or marked packets cut the rate, the sooner the higher it is.
//!
//! | constant | value | source |
//! |---|---|---|
//! | α: initial, recovery, draining, cruising, probing, pushing | 2, 15/16, 7/8, 1, 17/16, 5/4 | §4.1 |
//! | α of probing where there are marks | 33/32 | §4.6 |
//! | margin on the round trip | a quarter of it, at most 15 ms | §4.1 |
//! | rate at the start, at least | 1,048,576 bit/s | §4.1 |
//! | pacing at least | 2 packets in 333 ms | ours: one absurd measurement must not stop it |
//! | send quantum | 4 ms at the rate, 2 packets to 64 kB | §4.1 |
//! | jitter believed | 250 ms | §3.2 |
//! | weight of an era in the round trips | 1/8 | §3.2 |
//! | growth that keeps it pushing | 19/16 | §4.7 |
//! | high jitter | least round trip < 2/5 of the nominal one | §4.4.1 |
//! | eras of cruising, of standstill that end the start | 2, 3 | §4.5, §4.2 |
//! | packets before loss ends the start | 20 | §4.2 |
//! | sensitivity | 0 to 0.92 to 1 at 50 kB/s, 1 MB/s, 10 MB/s | §5.1 |
//! | delay threshold | 1/16 to 1/4 of the round trip, at most 25 ms | §5.2 |
//! | loss threshold | 2 % + 50 % (1 − sensitivity), weight 1/16 | §5.3 |
//! | mark threshold | (2 − sensitivity) 3/32 | §5.4 |
//! | cut β | 1/4, or less for delay and marks | §5.5.1 |
//!
//! Where the draft contradicts itself: the nominal rate is raised to an estimate *above* it (§3.1
//! has the comparison the wrong way round, its text has it right); the margin is added to the round
//! trip, being a time (§4.1); β for delay is the excess over the threshold (§5.5.1 has a
//! parenthesis too far right); draining has α of 7/8 (as in its section; the table says 3/4).
//! Trimming and draining are of the authors' copy after -04. Where it is silent or we depart: rates
//! are those of draft-ietf-ccwg-bbr-06 §4.1, whose interval begins with the acknowledgement before
//! the packet, since one from the packet itself counts a packet too many (§6.1 asks for caution);
//! an era of the start counts as growth from 1/16 on; the start grows only while half its window is
//! used; a probe has at least one packet more in flight; draining follows when the nominal round
//! trip has shrunk by 1/64 or the rate was cut; high jitter restarts once; the flow cruises on
//! while it lacks data (as in §4, not in §4.5); what is declared lost by a timer counts too, since
//! nobody tells it apart; there is no resuming (§4.3), as nothing is remembered of earlier
//! connections.
//!
//! Lack of data: measurements only ever raise the rate, and the two cases where a recent lower
//! measurement replaces it (§5.5.2 and trimming) are left out when data was lacking since.
//!
//! It does well with jitter, which it takes into its window, and with traffic that comes in bursts.
//! It does badly where jitter grows suddenly, which it takes for a queue, and with much random loss
//! at high rates. Alone on the bottleneck model it holds:
//!
//! | feedback | of 10 Mbit/s | queue, p50 | at 1.5 % loss | with jitter | finds room | drains |
//! |---|---|---|---|---|---|---|
//! | at once | 99 % | 5 ms | 6.6 Mbit/s | 20.0 Mbit/s | 2 s | 4 s |
//! | reports | 99 % | 8 ms | 6.6 Mbit/s | 19.9 Mbit/s | 2 s | 2.5 s |
//!
//! Loss and jitter (up to 30 ms) are on 20 Mbit/s and 130 ms; room is five times the rate, and what
//! it drains is the queue that a fifth of the rate leaves; reports come every 25 ms with times of
//! arrival (`bounds.rs`).

use units::{Span, Time};

use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::delivery::Delivery;
use crate::pacer::PacingRate;

mod signals;

use signals::Signals;

/// The law's state.
#[derive(Debug)]
pub(crate) struct C4 {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: Path,
}

/// Everything that is void on another path; names of the draft in brackets.
#[derive(Debug)]
struct Path {
    state: State,
    /// What it was doing before it last recovered.
    recovers_from: State,
    delivery: Delivery,
    signals: Signals,
    /// Bytes a second; zero while unknown (`nominal_rate`).
    rate: f64,
    /// Zero while unknown (`nominal_max_rtt`).
    rtt: Span,
    /// `running_min_rtt`.
    rtt_min: Span,
    /// `initial_cwnd`.
    initial_bytes: u64,
    /// Eras of the start without growth (`nb_eras_no_increase`).
    eras_still: u32,
    restarted: bool,
    era: Era,
    /// α of this era and of the one before, of whose packets acknowledgements are now.
    alpha: (f64, f64),
    cycle: Cycle,
    acked_packets: u64,
    /// Most in flight in the last era and in this.
    in_flight_bytes: (u64, u64),
}

/// §4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Initial,
    Recovery,
    Cruising,
    Probing,
    Pushing,
}

/// One round trip (§3.4).
#[derive(Debug)]
struct Era {
    from: Time,
    /// Eras in this state before it.
    before: u32,
    rtt_max: Span,
    rtt_min: Span,
    /// The nominal rate when it began.
    rate: f64,
    /// Whether the window mattered at some time.
    bound: bool,
}

/// From one recovery to the next.
#[derive(Debug)]
struct Cycle {
    /// The nominal rate when the last recovery ended, and before the last probe.
    rate: f64,
    /// `recent maximum rate`.
    rate_max: f64,
    /// Whether data was ever lacking.
    app_limited: bool,
    /// Whether it recovers from congestion, or met some since.
    congested: bool,
    congestions: u32,
    drain: bool,
}

impl C4 {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: Path::new(start.now, start.initial_window_bytes),
        }
    }

    fn pacing_rate(&self) -> f64 {
        let rate = self.path.alpha.0 * self.path.rate;
        if self.path.state == State::Initial { rate.max(INITIAL_RATE_MIN) } else { rate }
    }

    /// §3.1.
    fn update_rate(&mut self, now: Time, acked: &Acked) {
        let path = &mut self.path;
        let Some(sample) = path.delivery.on_acked(now, acked) else { return };
        let rate = sample.rate;
        path.cycle.rate_max = path.cycle.rate_max.max(rate);
        if !(path.state == State::Recovery && path.cycle.congested) {
            path.rate = path.rate.max(rate);
        }
    }

    /// §3.2: at the end of an era whose acknowledgements are of packets sent no faster than the
    /// nominal rate.
    fn update_rtt(&mut self) {
        let path = &mut self.path;
        if path.state == State::Initial || path.alpha.1 > 1.0 || path.era.rtt_max.is_zero() {
            return;
        }
        if path.era.rtt_min < path.rtt_min {
            path.rtt_min = path.era.rtt_min;
        } else {
            path.rtt_min = average(path.rtt_min, path.era.rtt_min);
        }
        let era_max = path.era.rtt_max.min(path.rtt_min + JITTER_MAX);
        path.cycle.drain |= era_max < path.rtt - path.rtt / DRAIN_PART;
        path.rtt = if era_max > path.rtt { era_max } else { average(path.rtt, era_max) };
    }

    fn start_era(&mut self, now: Time) {
        let before = self.path.era.before.saturating_add(1);
        self.path.era = Era::new(now, before, self.path.rate);
        self.path.alpha.1 = self.path.alpha.0;
        self.path.in_flight_bytes = (self.path.in_flight_bytes.1, 0);
    }

    fn enter(&mut self, now: Time, state: State) {
        let alpha = self.alpha(state);
        let path = &mut self.path;
        path.state = state;
        path.era = Era::new(now, 0, path.rate);
        path.alpha = (alpha, path.alpha.0);
        path.in_flight_bytes = (path.in_flight_bytes.1, 0);
    }

    fn alpha(&self, state: State) -> f64 {
        match state {
            State::Initial => 2.0,
            State::Recovery if self.path.cycle.drain => 7.0 / 8.0,
            State::Recovery => 15.0 / 16.0,
            State::Cruising => 1.0,
            State::Probing if self.path.signals.marks_seen() => 33.0 / 32.0,
            State::Probing => 17.0 / 16.0,
            State::Pushing => 5.0 / 4.0,
        }
    }

    fn enter_recovery(&mut self, now: Time, congested: bool) {
        let path = &mut self.path;
        path.cycle.congested = congested;
        path.recovers_from = path.state;
        path.cycle.drain |= matches!(path.state, State::Initial | State::Pushing);
        if path.state == State::Initial && path.rate > 0.0 {
            // §4.2: half the window was the product of rate and round trip.
            let window = self.window_bytes() as f64;
            let path = &mut self.path;
            let rtt = Span::from_secs_f64(window / 2.0 / path.rate);
            path.rtt = rtt.min(path.rtt_min + JITTER_MAX).max(path.rtt_min);
        }
        self.enter(now, State::Recovery);
        self.path.cycle.drain = false;
    }

    fn enter_initial(&mut self, now: Time) {
        self.path.initial_bytes = self.product_bytes();
        self.path.eras_still = 0;
        self.enter(now, State::Initial);
    }

    fn product_bytes(&self) -> u64 {
        (self.path.rate * self.path.rtt.as_secs_f64()) as u64
    }

    /// What comes after an era (§4).
    fn end_era(&mut self, now: Time) {
        self.update_rtt();
        let path = &mut self.path;
        let eras = path.era.before + 1;
        let growth = path.rate / path.era.rate.max(1.0);
        match path.state {
            State::Initial => {
                if growth >= INITIAL_GROWTH {
                    path.eras_still = 0;
                } else if path.era.bound {
                    path.eras_still += 1;
                }
                if path.eras_still >= INITIAL_ERAS_STILL {
                    return self.enter_recovery(now, false);
                }
            }
            State::Recovery => return self.end_recovery(now),
            State::Cruising if eras >= CRUISING_ERAS && path.era.bound => {
                path.cycle.rate = path.rate;
                return self.enter(now, State::Probing);
            }
            State::Probing => return self.enter_recovery(now, false),
            State::Pushing if eras > PUSHING_ERAS_MAX => return self.enter_initial(now),
            State::Pushing if eras >= PUSHING_ERAS_MIN && growth < PUSHING_GROWTH => {
                return self.enter_recovery(now, false);
            }
            State::Cruising | State::Pushing => {}
        }
        self.start_era(now);
    }

    /// §4.4, with §5.5.2 and trimming.
    fn end_recovery(&mut self, now: Time) {
        let path = &mut self.path;
        let cycle = &mut path.cycle;
        let grew = path.rate > cycle.rate;
        cycle.congestions = if cycle.congested { cycle.congestions.saturating_add(1) } else { 0 };
        if cycle.rate_max > 0.0 && !cycle.app_limited {
            if cycle.congestions > 1 {
                path.rate = path.rate.min(cycle.rate_max);
            } else if !grew && !cycle.congested {
                path.rate = path.rate.midpoint(cycle.rate_max.min(path.rate));
            }
        }
        let pushes = path.recovers_from == State::Probing && grew && !cycle.congested;
        cycle.rate = path.rate;
        cycle.rate_max = 0.0;
        cycle.app_limited = false;
        cycle.congested = false;
        path.signals.on_recovered();
        if pushes {
            self.enter(now, State::Pushing);
        } else if !path.restarted && path.rtt_min < path.rtt * 2 / 5 {
            path.restarted = true;
            self.enter_initial(now);
        } else {
            self.enter(now, State::Cruising);
        }
    }

    /// §5.5: a signal whose cut would be `beta`.
    fn on_congestion(&mut self, now: Time, beta: f64) {
        match self.path.state {
            State::Recovery => {
                self.path.cycle.congested = true;
                return;
            }
            State::Cruising => {
                self.path.rate *= 1.0 - beta;
                self.path.cycle.drain = true;
            }
            State::Initial | State::Probing | State::Pushing => {}
        }
        self.enter_recovery(now, true);
    }

    /// Whether a signal of delay or a mark may end the start (§4.2).
    fn heeds_delay(&self) -> bool {
        self.path.state != State::Initial || self.path.eras_still >= 2
    }

    fn on_lost_packets(&mut self, now: Time, packets: u64) {
        let too_many = self.path.signals.on_lost(packets, self.path.rate);
        let early = self.path.state == State::Initial && self.path.acked_packets <= INITIAL_PACKETS;
        if too_many && !early {
            self.on_congestion(now, signals::BETA_MAX);
        }
    }
}

impl Path {
    fn new(now: Time, window_bytes: u64) -> Self {
        Self {
            state: State::Initial,
            recovers_from: State::Initial,
            delivery: Delivery::new(now),
            signals: Signals::default(),
            rate: 0.0,
            rtt: Span::ZERO,
            rtt_min: Span::MAX,
            initial_bytes: window_bytes,
            eras_still: 0,
            restarted: false,
            era: Era::new(now, 0, 0.0),
            alpha: (2.0, 2.0),
            cycle: Cycle::default(),
            acked_packets: 0,
            in_flight_bytes: (0, 0),
        }
    }
}

impl Era {
    fn new(now: Time, before: u32, rate: f64) -> Self {
        Self { from: now, before, rtt_max: Span::ZERO, rtt_min: Span::MAX, rate, bound: false }
    }
}

impl Default for Cycle {
    fn default() -> Self {
        Self { rate: 0.0, rate_max: 0.0, app_limited: false, congested: false, congestions: 0, drain: false }
    }
}

impl Controller for C4 {
    fn on_sent(&mut self, now: Time, sent: &Sent) {
        let most = &mut self.path.in_flight_bytes.1;
        *most = sent.in_flight_bytes.max(*most);
        self.path.delivery.on_sent(now, sent);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        self.update_rate(now, acked);
        let path = &mut self.path;
        path.acked_packets = path.acked_packets.saturating_add(1);
        path.signals.on_acked();
        path.era.bound |= !acked.app_limited;
        path.cycle.app_limited |= acked.app_limited;
        path.era.rtt_max = path.era.rtt_max.max(acked.rtt);
        path.era.rtt_min = path.era.rtt_min.min(acked.rtt);
        if path.state == State::Initial {
            path.rtt_min = path.rtt_min.min(acked.rtt);
            if path.rtt.is_zero() {
                path.rtt = acked.rtt.max(RTT_FLOOR);
            }
            if !acked.app_limited
                && 2 * path.in_flight_bytes.0.max(path.in_flight_bytes.1) >= path.initial_bytes
            {
                let growth = acked.bytes >> (3 * path.eras_still);
                path.initial_bytes = path.initial_bytes.saturating_add(growth).min(WINDOW_BYTES_MAX);
            }
        }
        path.rtt = path.rtt.max(RTT_FLOOR);
        let beta = signals::delay_beta(acked.rtt, path.rtt, path.rate);
        if beta > 0.0 && self.heeds_delay() {
            self.on_congestion(now, beta);
        }
        if acked.sent_at >= self.path.era.from && now > self.path.era.from {
            self.end_era(now);
        }
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.path.delivery.on_lost(lost);
        self.on_lost_packets(now, lost.bytes.div_ceil(self.packet_bytes.max(1)));
    }

    fn on_marked(&mut self, now: Time, _sent_at: Time) {
        let beta = self.path.signals.on_marked(self.path.rate);
        if beta > 0.0 && self.heeds_delay() {
            self.on_congestion(now, beta);
        }
    }

    fn on_tick(&mut self, _now: Time) {}

    fn on_path_change(&mut self, now: Time) {
        self.path = Path::new(now, self.initial_window_bytes);
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
    }

    /// §4.1.
    fn window_bytes(&self) -> u64 {
        let margin =
            if self.path.state == State::Initial { Span::ZERO } else { (self.path.rtt / 4).min(MARGIN_MAX) };
        let bytes = |rate: f64| (rate * (self.path.rtt + margin).as_secs_f64()) as u64;
        let window = bytes(self.path.alpha.0 * self.path.rate);
        let window = match self.path.state {
            State::Initial => window.max(self.path.initial_bytes),
            // A sixteenth more of a few packets would be no packet more.
            State::Probing | State::Pushing => {
                window.max(bytes(self.path.rate).saturating_add(self.packet_bytes))
            }
            State::Recovery | State::Cruising => window,
        };
        window.min(WINDOW_BYTES_MAX).max(WINDOW_PACKETS_MIN * self.packet_bytes)
    }

    fn pacing(&self) -> Option<PacingRate> {
        if self.path.rate <= 0.0 {
            return None;
        }
        // The conversions saturate.
        let rate = self.pacing_rate();
        let quantum = (rate * QUANTUM.as_secs_f64()) as u64;
        let least = WINDOW_PACKETS_MIN * self.packet_bytes * 1_000 / INITIAL_RTT_MS;
        Some(PacingRate {
            bytes_per_sec: (rate as u64).max(least),
            burst_bytes: quantum.min(QUANTUM_BYTES_MAX).max(2 * self.packet_bytes),
        })
    }
}

fn average(old: Span, new: Span) -> Span {
    (old - old / 8) + new / 8
}

const WINDOW_PACKETS_MIN: u64 = 2;
/// RFC 9002 §6.2.2.
const INITIAL_RTT_MS: u64 = 333;
/// 1,048,576 bit/s.
const INITIAL_RATE_MIN: f64 = 131_072.0;
const INITIAL_GROWTH: f64 = 17.0 / 16.0;
const INITIAL_ERAS_STILL: u32 = 3;
const INITIAL_PACKETS: u64 = 20;
const CRUISING_ERAS: u32 = 2;
/// The nominal round trip has become shorter when it is by more than a part in so many.
const DRAIN_PART: u64 = 64;
const PUSHING_ERAS_MIN: u32 = 2;
const PUSHING_ERAS_MAX: u32 = 3;
const PUSHING_GROWTH: f64 = 19.0 / 16.0;
const JITTER_MAX: Span = Span::from_millis(250);
const MARGIN_MAX: Span = Span::from_millis(15);
const QUANTUM: Span = Span::from_millis(4);
const QUANTUM_BYTES_MAX: u64 = 64_000;
/// The floor of the nominal round trip that the draft recommends for low latency links.
const RTT_FLOOR: Span = Span::from_millis(1);

#[cfg(test)]
mod tests;
