//! Copa (V. Arun, H. Balakrishnan: "Copa: Practical Delay-Based Congestion Control for the
//! Internet", NSDI 2018).
//!
//! The law: the queue that is there even in the best case, `d` = least delay of the last half
//! round trip − least delay of the last ten seconds, sets a target rate of 1 / (δ `d`) packets a
//! second. Each acknowledgement moves the window towards that rate by `v` / (δ window) packets, so
//! that in equilibrium about 1/δ packets of a flow wait, and the queue drains once in five round
//! trips. If it does not, somebody else fills it: then 1/δ itself is raised additively and halved
//! on loss until it does.
//!
//! | constant | value | source |
//! |---|---|---|
//! | δ | 0.5 | §2.2, default mode |
//! | least delay | over 10 s | §2.1, `RTTmin` |
//! | standing delay | over half a smoothed round trip | §2.1, `RTTstanding` |
//! | velocity `v` | doubles a round trip after 3 in one direction, else 1 | §2.1, item 4 |
//! | slow start | doubles until the rate exceeds the target | §2.1 |
//! | pacing | 2 windows a standing round trip | §2.1 |
//! | pacing at least | 2 windows a second | ours: one absurd measurement must not stop it |
//! | nearly empty | `d` < 10 % of the delay's range over 4 round trips | §2.2 |
//! | others fill the queue | not nearly empty for 5 round trips | §2.2 |
//! | 1/δ against them | + 1 a round trip, halved on loss, at least 2 | §2.2 |
//! | 1/δ at most | 128 | ours: a limit on what it may queue for others' sake |
//! | change an acknowledgement at most | what it acknowledged | ours: no faster than slow start |
//!
//! Where the receiver says when packets arrived, delay is measured one way, so that its waiting
//! before it reports is no delay. `v` falls back at once when the direction turns, not only at the
//! end of the round trip. Persistent congestion (RFC 9002 §7.6) empties the window, on which the
//! paper is silent. Acknowledgements of packets that only lack of data held back do not grow the
//! window, nor do any while less than half of it is used; it still shrinks to the target.
//!
//! It does well on a thin link with a long queue, of which it uses a few packets, and under random
//! loss, which it ignores in its default mode. It does badly where round trips jitter without a
//! queue: the luckiest sample of ten seconds makes the others look like one, and its rate is then
//! about 2 packets a jitter. Alone on the bottleneck model it holds:
//!
//! | feedback | of 10 Mbit/s | queue, p50 | at 1.5 % loss | with jitter | finds room | drains |
//! |---|---|---|---|---|---|---|
//! | at once | 99 % | 2.4 ms | 19.8 Mbit/s | 11.0 Mbit/s | 0.5 s | 2 s |
//! | reports | 83 % | 28 ms | 18.5 Mbit/s | 2.6 Mbit/s | 0.5 s | 3 s |
//!
//! Loss and jitter (up to 30 ms) are on 20 Mbit/s and 130 ms; room is five times the rate, and what
//! it drains is the queue that a fifth of the rate leaves; reports come every 25 ms with times of
//! arrival (`bounds.rs`).

use units::{Span, Time};

use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::windowed_min::WindowedMin;
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Copa {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: Path,
}

/// Everything that is void on another path.
#[derive(Debug)]
struct Path {
    /// In bytes, with the fractions that single acknowledgements add.
    window: f64,
    slow_start: bool,
    delays: Delays,
    velocity: Velocity,
    /// 1/δ: how many packets it may queue.
    queued_packets: f64,
    competes: bool,
    /// When the queue was last nearly empty.
    empty_at: Time,
    /// Most in flight in the last round trip and in this.
    in_flight_bytes: (u64, u64),
    /// What was sent up to here has had its say on 1/δ.
    recovery_from: Time,
    round_from: Time,
}

/// What delay looks like.
#[derive(Debug, Default)]
struct Delays {
    rtt_smoothed: Option<Span>,
    rtt_standing: WindowedMin,
    least: WindowedMin,
    standing: WindowedMin,
    /// Greatest of the last four round trips, by complement.
    greatest: WindowedMin,
    /// Whether delays are one-way.
    one_way: bool,
}

/// How boldly the window moves.
#[derive(Debug)]
struct Velocity {
    value: f64,
    up: bool,
    /// Round trips that it has gone in that direction.
    rounds: u32,
    /// Window when the round trip began.
    window_before: f64,
}

impl Copa {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: Path::new(start.now, start.initial_window_bytes),
        }
    }

    fn window_min(&self) -> f64 {
        (WINDOW_PACKETS_MIN * self.packet_bytes) as f64
    }

    /// Moves the window towards the target (§2.1, items 2 and 3).
    fn steer(&mut self, acked: &Acked, queue: Span, rtt_standing: Span) {
        let packet = self.packet_bytes as f64;
        let grows = !acked.app_limited && self.path.is_used();
        let path = &mut self.path;
        // window / rtt ≤ 1 / (δ d), without the divisions.
        let up =
            path.window * queue.as_secs_f64() <= path.queued_packets * packet * rtt_standing.as_secs_f64();
        let bytes = acked.bytes as f64;
        if path.slow_start && up {
            if grows {
                path.window += bytes;
            }
            return;
        }
        path.slow_start = false;
        if up != path.velocity.up {
            path.velocity.turn(up);
        }
        if up && !grows {
            return;
        }
        let step = path.velocity.value * path.queued_packets * packet * bytes / path.window;
        let step = step.min(bytes);
        path.window += if up { step } else { -step };
    }

    /// Once a round trip: velocity, and whether somebody else fills the queue (§2.2).
    fn on_round(&mut self, now: Time, rtt: Span) {
        let path = &mut self.path;
        path.round_from = now;
        path.in_flight_bytes = (path.in_flight_bytes.1, 0);
        path.velocity.on_round(path.window);
        let competed = path.competes;
        path.competes = now.since(path.empty_at) > rtt * ROUNDS_TO_EMPTY;
        if !path.competes {
            path.queued_packets = QUEUED_PACKETS;
        } else if competed {
            path.queued_packets = (path.queued_packets + 1.0).min(QUEUED_PACKETS_MAX);
        }
    }

    fn on_congestion(&mut self, now: Time, sent_at: Time) {
        let path = &mut self.path;
        if path.competes && sent_at > path.recovery_from {
            path.recovery_from = now;
            path.queued_packets = (path.queued_packets / 2.0).max(QUEUED_PACKETS);
        }
    }

    fn clamp(&mut self) {
        // The other way round than `clamp` would, so that no bounds make it panic.
        self.path.window = self.path.window.min(WINDOW_BYTES_MAX as f64).max(self.window_min());
    }
}

impl Path {
    fn new(now: Time, window_bytes: u64) -> Self {
        let window = window_bytes as f64;
        Self {
            window,
            slow_start: true,
            delays: Delays::default(),
            velocity: Velocity { value: 1.0, up: true, rounds: 0, window_before: window },
            queued_packets: QUEUED_PACKETS,
            competes: false,
            empty_at: now,
            in_flight_bytes: (0, 0),
            recovery_from: now,
            round_from: now,
        }
    }

    /// Whether half the window was in use of late, as it is while packets leave at twice the
    /// window a round trip.
    fn is_used(&self) -> bool {
        2.0 * self.in_flight_bytes.0.max(self.in_flight_bytes.1) as f64 >= self.window
    }
}

impl Delays {
    /// Takes in a sample; says the standing queue and whether it is nearly empty.
    fn update(&mut self, now: Time, acked: &Acked) -> (Span, bool) {
        let one_way = acked.received_at.is_some();
        if one_way != self.one_way {
            *self = Self { one_way, rtt_smoothed: self.rtt_smoothed, ..Self::default() };
        }
        let rtt = match self.rtt_smoothed {
            // RFC 9002 §5.3.
            Some(smoothed) => (smoothed - smoothed / 8) + acked.rtt / 8,
            None => acked.rtt,
        };
        self.rtt_smoothed = Some(rtt);
        self.rtt_standing.update(now, rtt / 2, acked.rtt.as_nanos());
        let delay = match acked.received_at {
            Some(at) => at.as_nanos().saturating_add(OFFSET).saturating_sub(acked.sent_at.as_nanos()),
            None => acked.rtt.as_nanos(),
        };
        let least = self.least.update(now, LEAST_OVER, delay);
        let standing = self.standing.update(now, rtt / 2, delay);
        let greatest = !self.greatest.update(now, rtt * RANGE_ROUNDS, !delay);
        let queue = standing.saturating_sub(least);
        let range = greatest.saturating_sub(least);
        (Span::from_nanos(queue), queue <= range / EMPTY_PART)
    }
}

impl Velocity {
    fn turn(&mut self, up: bool) {
        self.up = up;
        self.value = 1.0;
        self.rounds = 0;
    }

    fn on_round(&mut self, window: f64) {
        let goes_on = if self.up { window > self.window_before } else { window < self.window_before };
        if goes_on {
            self.rounds = self.rounds.saturating_add(1);
            if self.rounds >= ROUNDS_TO_DOUBLE {
                self.value = (self.value * 2.0).min(VELOCITY_MAX);
            }
        } else {
            self.value = 1.0;
            self.rounds = 0;
        }
        self.window_before = window;
    }
}

impl Controller for Copa {
    fn on_sent(&mut self, _now: Time, sent: &Sent) {
        let most = &mut self.path.in_flight_bytes.1;
        *most = sent.in_flight_bytes.max(*most);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        let (queue, nearly_empty) = self.path.delays.update(now, acked);
        if nearly_empty {
            self.path.empty_at = now;
        }
        let rtt = self.path.delays.rtt_smoothed.unwrap_or(acked.rtt);
        let standing = self.path.delays.rtt_standing.value().map_or(acked.rtt, Span::from_nanos);
        self.steer(acked, queue, standing);
        if now.since(self.path.round_from) >= rtt {
            self.on_round(now, rtt);
        }
        self.clamp();
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.on_congestion(now, lost.sent_at);
        if lost.persistent {
            self.path.window = self.window_min();
            self.path.slow_start = true;
            self.path.velocity.turn(true);
        }
    }

    fn on_marked(&mut self, now: Time, sent_at: Time) {
        self.on_congestion(now, sent_at);
    }

    fn on_tick(&mut self, _now: Time) {}

    fn on_path_change(&mut self, now: Time) {
        self.path = Path::new(now, self.initial_window_bytes);
        self.clamp();
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
        self.clamp();
    }

    fn window_bytes(&self) -> u64 {
        self.path.window as u64
    }

    fn pacing(&self) -> Option<PacingRate> {
        let rtt = Span::from_nanos(self.path.delays.rtt_standing.value()?).max(RTT_MIN).min(RTT_MAX);
        // The conversions saturate.
        let rate = 2.0 * self.path.window / rtt.as_secs_f64();
        let burst = (rate * BURST.as_secs_f64()) as u64;
        Some(PacingRate {
            bytes_per_sec: (rate as u64).max(1),
            burst_bytes: burst.max(WINDOW_PACKETS_MIN * self.packet_bytes),
        })
    }
}

const WINDOW_PACKETS_MIN: u64 = 2;
/// 1/δ of the default mode.
const QUEUED_PACKETS: f64 = 2.0;
const QUEUED_PACKETS_MAX: f64 = 128.0;
const LEAST_OVER: Span = Span::from_secs(10);
const ROUNDS_TO_DOUBLE: u32 = 3;
/// Beyond it the limit on a single acknowledgement holds anyway.
const VELOCITY_MAX: f64 = 65_536.0;
const RANGE_ROUNDS: u64 = 4;
const EMPTY_PART: u64 = 10;
const ROUNDS_TO_EMPTY: u64 = 5;
/// What the pacer lets go at once, beyond two packets: ours.
const BURST: Span = Span::from_millis(1);
/// Below this a round trip is no measure of anything.
const RTT_MIN: Span = Span::from_micros(1);
/// A longer round trip is no reason to pace more slowly; the window holds anyway.
const RTT_MAX: Span = Span::from_secs(1);
/// Keeps one-way delays positive whatever the receiver's clock says.
const OFFSET: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::super::bottleneck::{Bottleneck, Path as Link, Source};
    use super::super::properties::{acked, lost, start};
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    const LINK: Link = Link {
        bits_per_sec: 9_600_000,
        rtt: Span::from_millis(60),
        queue_bytes: 240_000,
        loss_per_mille: 0,
        jitter: Span::ZERO,
        outage: false,
        reports: false,
    };

    #[test]
    fn alone_it_fills_the_link_and_keeps_a_few_packets_waiting() {
        for (loss_per_mille, least) in [(0, 11_800_000), (15, 11_000_000)] {
            let mut law = Copa::new(&start());
            let path = Link { loss_per_mille, ..LINK };
            let mut link = Bottleneck::new(Time::ZERO, &mut law, path, Source::Backlog, 1);
            link.run(Span::from_secs(3));
            let run = link.run(Span::from_secs(10));
            assert!(run.delivered_bytes > least, "{}", run.delivered_bytes);
            // A packet is 1 ms.
            assert!(run.queued_percentile(50) <= Span::from_millis(6), "{:?}", run.queued_percentile(50));
            assert!(!law.path.competes && !law.path.slow_start);
        }
    }

    #[test]
    fn what_the_receiver_waits_before_it_reports_is_no_queue() {
        let mut law = Copa::new(&start());
        let path = Link { reports: true, ..LINK };
        let mut link = Bottleneck::new(Time::ZERO, &mut law, path, Source::Backlog, 1);
        link.run(Span::from_secs(3));
        assert!(link.run(Span::from_secs(10)).delivered_bytes > 9_000_000);
    }

    #[test]
    fn velocity_doubles_from_the_third_round_in_one_direction_on() {
        let mut velocity = Velocity { value: 1.0, up: true, rounds: 0, window_before: 1.0 };
        let values: Vec<f64> = (2..7)
            .map(|window| {
                velocity.on_round(f64::from(window));
                velocity.value
            })
            .collect();
        assert_eq!(values, [1.0, 1.0, 2.0, 4.0, 8.0]);
        velocity.on_round(3.0);
        assert!((velocity.value - 1.0).abs() < 1e-9);
    }

    /// Acknowledgements every 10 ms of packets that took `rtt`.
    fn feed(law: &mut Copa, from: u64, to: u64, rtt: u64) {
        for now in (from..to).step_by(10) {
            law.on_acked(ms(now), &acked(ms(now - rtt), ms(now)));
        }
    }

    #[test]
    fn against_a_queue_that_others_fill_it_asks_for_more_and_yields_on_loss() {
        let mut law = Copa::new(&start());
        feed(&mut law, 200, 1_000, 100);
        assert!(!law.path.competes);
        // Others keep 100 to 120 ms of queue: never nearly empty.
        for burst in 0..20 {
            feed(&mut law, 1_000 + burst * 200, 1_100 + burst * 200, 220);
            feed(&mut law, 1_100 + burst * 200, 1_200 + burst * 200, 200);
        }
        assert!(law.path.competes);
        let queued = law.path.queued_packets;
        assert!(queued >= 6.0, "{queued}");
        law.on_lost(ms(5_000), &lost(ms(4_900)));
        law.on_lost(ms(5_001), &lost(ms(4_901)));
        assert!((law.path.queued_packets - queued / 2.0).abs() < 1e-9);
        feed(&mut law, 5_010, 6_000, 100);
        assert!(!law.path.competes && (law.path.queued_packets - QUEUED_PACKETS).abs() < 1e-9);
    }

    #[test]
    fn lack_of_data_does_not_grow_the_window_and_persistent_congestion_empties_it() {
        let mut law = Copa::new(&start());
        for now in (200..2_000).step_by(10) {
            let acked = acked(ms(now - 100), ms(now));
            law.on_sent(ms(now), &Sent { bytes: 1_200, in_flight_bytes: 12_000, app_limited: true });
            law.on_acked(ms(now), &Acked { app_limited: true, ..acked });
        }
        assert_eq!(law.window_bytes(), 12_000);
        law.on_lost(ms(2_000), &lost(ms(1_900)));
        assert_eq!(law.window_bytes(), 12_000);
        law.on_lost(ms(2_000), &Lost { persistent: true, ..lost(ms(1_950)) });
        assert_eq!(law.window_bytes(), 2_400);
    }
}
