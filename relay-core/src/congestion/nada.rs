//! NADA, a unified congestion control for real-time media (RFC 8698).
//!
//! The receiver's part (§4.2) runs here too, over acknowledgements (§6.4). Every 100 ms it sums up
//! delay, loss and marks in one congestion signal in milliseconds, x. With no queue and no loss in
//! the last half second the rate follows what arrives, a little ahead of it (accelerated ramp-up);
//! otherwise a proportional-integral controller moves it (gradual update) towards the rate at which
//! x is `XREF` × `RMAX` / rate.
//!
//! | constant | value | source |
//! |---|---|---|
//! | `PRIO`, `XREF`, `KAPPA`, `ETA`, `TAU` | 1, 10 ms, 0.5, 2, 500 ms | §4.2, table 2 |
//! | `DELTA`, `LOGWIN`, `QEPS`, `DFILT` | 100 ms, 500 ms, 10 ms, 120 ms | table 2 |
//! | `GAMMA_MAX`, `QBOUND` | 0.5, 50 ms | table 2 |
//! | `MULTILOSS`, `QTH`, `LAMBDA` | 7, 50 ms, 0.5 | table 2 |
//! | `PLRREF`, `PMRREF`, `DLOSS`, `DMARK`, `ALPHA` | 0.01, 0.01, 10 ms, 2 ms, 0.1 | table 2 |
//! | `RMIN` | 150 kbit/s | table 2 |
//! | `RMAX` | 10 Mbit/s | the application's largest rate (§4.3): three times the default workload |
//! | least of this many delays | 15 | §5.1.1 |
//! | average loss interval | 8 intervals, weights 1 1 1 1 0.8 0.6 0.4 0.2 | RFC 5348 §5.4 |
//! | sending above the reference rate | 5 % | §5.2.2, its bound, which any queue above 10 kB reaches |
//! | window | rate × (least round trip + `QBOUND` + `DELTA`) | ours: the queue that the law allows itself, and a report that is late |
//! | burst | 5 ms of the rate, at least 2 packets | ours, after draft-ietf-rmcat-gcc-02 §4 |
//!
//! Where it leaves the RFC:
//! - It starts at the initial window a third of a second (the initial round trip of RFC 9002
//!   §6.2.2), where that is above `RMIN`.
//! - The rate never *grows* beyond 1 + `GAMMA_MAX` = 1.5 times what arrives, in gradual update too,
//!   and not at all until half a second of arrivals is known. So lack of data inflates neither rate
//!   nor window beyond 1.5 times the use; and as no decrease goes by what arrives, lack of data pulls
//!   nothing down.
//! - A report that comes late counts as one after `TAU` at most, so that a pause is no step.
//! - Ratios of loss are in bytes, and what the transport says is lost is lost; §5.1.2 counts
//!   reordered packets as lost.
//!
//! It does well on a link with a steady delay: no loss is needed to find the rate, and the standing
//! queue is `XREF` × `RMAX` / rate. It does badly where delay varies by itself, for the least of
//! fifteen delays above the base is a queue to it, and under random loss: at 3 % the signal is
//! already 90 ms. A larger `RMAX` bears both better and keeps a longer queue.
//!
//! | measured on the bottleneck of the tests | |
//! |---|---|
//! | 10 Mbit/s, 60 ms: used, median queue | 100 %, 0 ms (the link is `RMAX`) |
//! | 2.5 Mbit/s, 130 ms: used, median queue | 100 %, 42 ms |
//! | 20 Mbit/s, 130 ms: 1.5 % loss; 30 ms of jitter | 5.0 Mbit/s; 4.1 Mbit/s |
//! | link to a fifth; five times the link; after 3 s of outage | 1.5 s; 3 s; 8 s |
//! | frames of 3.1 Mbit/s, 200 ms, from the start | reached after about 12 s |

mod intervals;

use std::collections::VecDeque;

use units::{Span, Time};

use self::intervals::LossIntervals;
use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::measures::{DeliveryRate, MinuteLeast, QueueDelay, SlidingSum};
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Nada {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: Path,
}

/// What it knows of one path.
#[derive(Debug)]
struct Path {
    /// The reference rate, `r_ref`, in bytes a second.
    rate: f64,
    receiver: Receiver,
    received: DeliveryRate,
    base_rtt: MinuteLeast,
    rtt: Span,
    /// The congestion signal of the last report.
    signal_ms: f64,
    reported_at: Time,
}

/// The receiver's part of the law.
#[derive(Debug)]
struct Receiver {
    queue: QueueDelay,
    /// The last queueing delays, for the least of them.
    delays: VecDeque<Span>,
    /// The least of them.
    queue_ms: f64,
    /// When that was last as long as a queue.
    queued_at: Option<Time>,
    lost_at: Option<Time>,
    delivered: SlidingSum,
    lost: SlidingSum,
    marked: SlidingSum,
    loss_ratio: f64,
    mark_ratio: f64,
    intervals: LossIntervals,
    /// Whether there is anything to report.
    heard: bool,
}

impl Receiver {
    fn new() -> Self {
        Self {
            queue: QueueDelay::default(),
            delays: VecDeque::new(),
            queue_ms: 0.0,
            queued_at: None,
            lost_at: None,
            delivered: SlidingSum::new(LOGWIN),
            lost: SlidingSum::new(LOGWIN),
            marked: SlidingSum::new(LOGWIN),
            loss_ratio: 0.0,
            mark_ratio: 0.0,
            intervals: LossIntervals::default(),
            heard: false,
        }
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        self.heard = true;
        if self.delays.len() == DELAYS {
            self.delays.pop_front();
        }
        self.delays.push_back(self.queue.sample(now, acked));
        let least = self.delays.iter().min().copied().unwrap_or(Span::ZERO);
        self.queue_ms = least.as_millis_f64();
        if least >= QEPS {
            self.queued_at = Some(now);
        }
        self.delivered.add(now, acked.bytes);
        self.intervals.on_delivered();
    }

    /// Equation 1, with the transition that §4.2 recommends.
    fn warped_ms(&self) -> f64 {
        if self.queue_ms < QTH_MS {
            return self.queue_ms;
        }
        let warped = QTH_MS * libm::exp(-LAMBDA * (self.queue_ms - QTH_MS) / QTH_MS);
        let share = self.intervals.recency();
        share * warped + (1.0 - share) * self.queue_ms
    }

    /// Equation 2.
    fn signal_ms(&mut self, now: Time) -> f64 {
        let lost = self.lost.sum(now) as f64;
        let of = self.delivered.sum(now) as f64 + lost;
        let smooth = |old: f64, part: f64| {
            let ratio = if of > 0.0 { (part / of).min(1.0) } else { 0.0 };
            ALPHA * ratio + (1.0 - ALPHA) * old
        };
        self.loss_ratio = smooth(self.loss_ratio, lost);
        self.mark_ratio = smooth(self.mark_ratio, self.marked.sum(now) as f64);
        let squared = |ratio: f64| ratio * ratio;
        self.warped_ms()
            + DMARK_MS * squared(self.mark_ratio / PMRREF)
            + DLOSS_MS * squared(self.loss_ratio / PLRREF)
    }

    /// Whether nothing speaks against accelerated ramp-up.
    fn is_clear(&self, now: Time) -> bool {
        let recent = |at: Option<Time>| at.is_some_and(|at| now.since(at) < LOGWIN);
        !recent(self.lost_at) && !recent(self.queued_at)
    }
}

impl Path {
    fn new(now: Time, initial_window_bytes: u64) -> Self {
        let rate = initial_window_bytes as f64 / INITIAL_RTT.as_secs_f64();
        Self {
            rate: rate.clamp(RMIN, RMAX),
            receiver: Receiver::new(),
            received: DeliveryRate::new(),
            base_rtt: MinuteLeast::default(),
            rtt: Span::ZERO,
            signal_ms: 0.0,
            reported_at: now,
        }
    }

    /// The sender's part (§4.3), if a report is due.
    fn report(&mut self, now: Time) {
        let delta = now.since(self.reported_at);
        if delta < DELTA || !self.receiver.heard {
            return;
        }
        let signal = self.receiver.signal_ms(now);
        let received = self.received.bytes_per_sec();
        let wanted = if self.receiver.is_clear(now) {
            (1.0 + self.gamma()) * received.unwrap_or(0.0)
        } else {
            self.gradual(delta, signal)
        };
        let ceiling = (1.0 + GAMMA_MAX) * received.unwrap_or(0.0);
        let ramp_up = self.receiver.is_clear(now);
        self.rate = if ramp_up || wanted > self.rate { wanted.min(ceiling).max(self.rate) } else { wanted }
            .clamp(RMIN, RMAX);
        self.signal_ms = signal;
        self.reported_at = now;
        self.receiver.heard = false;
    }

    /// Equation 3.
    fn gamma(&self) -> f64 {
        let lag = self.rtt + DELTA + DFILT;
        (QBOUND.as_secs_f64() / lag.as_secs_f64()).min(GAMMA_MAX)
    }

    /// Equations 5 to 7.
    fn gradual(&self, delta: Span, signal: f64) -> f64 {
        let tau = TAU.as_millis_f64();
        let delta = delta.min(TAU).as_millis_f64();
        let offset = signal - PRIO * XREF_MS * RMAX / self.rate;
        let change = signal - self.signal_ms;
        self.rate * (1.0 - KAPPA * delta / tau * offset / tau - KAPPA * ETA * change / tau)
    }
}

impl Nada {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: Path::new(start.now, start.initial_window_bytes),
        }
    }
}

impl Controller for Nada {
    fn on_sent(&mut self, _now: Time, _sent: &Sent) {}

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        let path = &mut self.path;
        path.rtt = acked.rtt;
        path.base_rtt.sample(now, i64::try_from(acked.rtt.as_nanos()).unwrap_or(i64::MAX));
        path.received.on_acked(now, acked);
        path.receiver.on_acked(now, acked);
        path.report(now);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        let receiver = &mut self.path.receiver;
        receiver.heard = true;
        receiver.lost_at = Some(now);
        receiver.lost.add(now, lost.bytes);
        receiver.intervals.on_lost(
            lost.bytes.div_ceil(self.packet_bytes.max(1)),
            lost.sent_at,
            self.path.rtt,
        );
        self.path.report(now);
    }

    fn on_marked(&mut self, now: Time, _sent_at: Time) {
        self.path.receiver.marked.add(now, self.packet_bytes);
    }

    fn on_tick(&mut self, now: Time) {
        self.path.report(now);
    }

    fn on_path_change(&mut self, now: Time) {
        self.path = Path::new(now, self.initial_window_bytes);
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
    }

    fn window_bytes(&self) -> u64 {
        let least = WINDOW_PACKETS_MIN * self.packet_bytes;
        let Some(base) = self.path.base_rtt.least() else {
            return self.initial_window_bytes.clamp(least, WINDOW_BYTES_MAX);
        };
        let held = Span::from_nanos(base.unsigned_abs()) + QBOUND + DELTA;
        ((self.path.rate * held.as_secs_f64()) as u64).clamp(least, WINDOW_BYTES_MAX)
    }

    fn pacing(&self) -> Option<PacingRate> {
        let bytes_per_sec = (self.path.rate * (1.0 + RATE_ABOVE)).min(RMAX);
        let burst = (bytes_per_sec * BURST.as_secs_f64()) as u64;
        let burst_bytes = burst.max(WINDOW_PACKETS_MIN * self.packet_bytes);
        Some(PacingRate { bytes_per_sec: bytes_per_sec as u64, burst_bytes })
    }
}

/// Rates in bytes a second.
const RMIN: f64 = 150_000.0 / 8.0;
const RMAX: f64 = 10_000_000.0 / 8.0;
const PRIO: f64 = 1.0;
const XREF_MS: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: Span = Span::from_millis(500);
const DELTA: Span = Span::from_millis(100);
const LOGWIN: Span = Span::from_millis(500);
const QEPS: Span = Span::from_millis(10);
const DFILT: Span = Span::from_millis(120);
const GAMMA_MAX: f64 = 0.5;
const QBOUND: Span = Span::from_millis(50);
const QTH_MS: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS_MS: f64 = 10.0;
const DMARK_MS: f64 = 2.0;
const ALPHA: f64 = 0.1;
const DELAYS: usize = 15;
const INITIAL_RTT: Span = Span::from_millis(333);
const RATE_ABOVE: f64 = 0.05;
const BURST: Span = Span::from_millis(5);
const WINDOW_PACKETS_MIN: u64 = 2;

#[cfg(test)]
mod tests {
    use super::super::bottleneck::{Bottleneck, Path as Link, Source};
    use super::super::properties::{acked, start};
    use super::*;

    const THIN: Link = Link {
        bits_per_sec: 2_500_000,
        rtt: Span::from_millis(130),
        queue_bytes: 93_750,
        loss_per_mille: 0,
        jitter: Span::ZERO,
        outage: false,
        reports: true,
    };

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn on_a_thin_link_the_queue_is_what_the_equilibrium_says() {
        let mut law = Nada::new(&start());
        let mut link = Bottleneck::new(Time::ZERO, &mut law, THIN, Source::Backlog, 1);
        link.run(Span::from_secs(30));
        let run = link.run(Span::from_secs(30));
        let queued = run.queued_percentile(50).as_millis_f64();
        println!("queued {queued} ms, delivered {}", run.delivered_bytes);
        // XREF × RMAX / rate is 40 ms.
        assert!((queued - 40.0).abs() < 8.0, "{queued}");
        assert!(run.delivered_bytes * 8 >= 95 * 2_500_000 * 30 / 100);
    }

    #[test]
    fn lack_of_data_neither_inflates_the_rate_nor_pulls_it_down() {
        let mut law = Nada::new(&start());
        let wide = Link { bits_per_sec: 1_000_000_000, ..THIN };
        let source = Source::Frames { packets: 3, interval: Span::from_millis(100) };
        Bottleneck::new(Time::ZERO, &mut law, wide, source, 1).run(Span::from_secs(60));
        // 36 kB/s, which is where it starts, so that nothing queues at first.
        assert!((36_000.0..=1.5 * 36_500.0).contains(&law.path.rate), "{}", law.path.rate);
        let before = law.path.rate;
        for packet in 0..1_000 {
            let sent_at = ms(100_000 + packet * 100);
            law.on_acked(sent_at + Span::from_millis(130), &acked(sent_at, sent_at + Span::from_millis(130)));
        }
        assert!((law.path.rate - before).abs() < 1e-9, "12 kB/s leave it alone");
    }

    #[test]
    fn long_delays_are_discounted_while_loss_is_recent_only() {
        let mut receiver = Receiver::new();
        receiver.queue_ms = 100.0;
        assert!((receiver.warped_ms() - 100.0).abs() < 1e-9);
        receiver.intervals.on_lost(1, ms(0), Span::ZERO);
        for _ in 0..10 {
            receiver.intervals.on_delivered();
        }
        receiver.intervals.on_lost(1, ms(100), Span::ZERO);
        // 50 ms × e^-0.5.
        assert!((receiver.warped_ms() - 30.326_532_985_631_67).abs() < 1e-9);
        for _ in 0..1_000 {
            receiver.intervals.on_delivered();
        }
        // The open interval has made the mean as long as the time since the loss.
        assert!((receiver.intervals.mean() - 505.0).abs() < 1e-9);
        assert!((receiver.intervals.recency() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn three_percent_of_loss_are_ninety_milliseconds() {
        let mut receiver = Receiver::new();
        for report in 1..=100 {
            receiver.delivered.add(ms(report * 100), 97_000);
            receiver.lost.add(ms(report * 100), 3_000);
            receiver.signal_ms(ms(report * 100));
        }
        assert!((receiver.signal_ms(ms(10_000)) - 90.0).abs() < 0.1);
    }
}
