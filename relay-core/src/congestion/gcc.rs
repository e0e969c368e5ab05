//! Google congestion control (draft-ietf-rmcat-gcc-02), all of it at the sender, as WebRTC has run
//! it since receivers report arrival times.
//!
//! Packets are taken together in groups; the change of the one-way delay from group to group is
//! summed up, and the slope of that sum says whether the path is over-used ([`trendline`]). The
//! delay-based controller ([`aimd`]) raises its rate by 8 % a second, near the rate at which the
//! path was last over-used by half a packet a response time, and on over-use falls to 0.85 times what
//! arrives. The loss-based controller cuts above 10 % of loss. The lower of the two is the rate.
//!
//! | constant | value | source |
//! |---|---|---|
//! | group | packets sent within 5 ms, and bursts | §5.2, §5.6 (`burst_time`) |
//! | slope over, smoothing, gain | 20 groups, 0.9, 4 × at most 60 | WebRTC, `trendline_estimator.cc` |
//! | threshold at first, range | 12.5 ms, 6 to 600 ms | §5.6, §5.4 |
//! | threshold adapts by `K_u`, `K_d` | 0.0087, 0.039 a ms | WebRTC, `trendline_estimator.cc` (§5.6: 0.01, 0.00018) |
//! | spike that does not move the threshold | 15 ms above it | §5.4 |
//! | over-use lasts at least | 10 ms and two groups | §5.6 (`overuse_time_th`), WebRTC |
//! | increase | 8 % a second; half a packet in 100 ms and a round trip | §5.5 |
//! | near: within | 3 standard deviations, weights 0.95 and 0.05 | §5.5 |
//! | ceiling | 1.5 × what arrives + 10 kbit/s | §5.5, WebRTC `aimd_rate_control.cc` |
//! | beta | 0.85 | §5.6 |
//! | what arrives, over | 0.5 s | §5.6 (`T`) |
//! | again lower after | a round trip, 10 to 200 ms | WebRTC, `aimd_rate_control.cc` |
//! | loss: increase below, decrease above | 2 %, 10 %; × 1.05, × (1 − loss / 2) | §6 |
//! | loss: a report every | 1 s | ours; the pace of RTCP, which the factors are for |
//! | pacing | the rate, in bursts of 5 ms (at least 2 packets) | §4 |
//! | window | rate × (least round trip + 350 ms) | WebRTC, `CongestionWindow/QueueSize:350` |
//! | least rate | 150 kbit/s | ours; as in RFC 8698 |
//!
//! The draft's Kalman filter compares the drift of a single group with the threshold, which groups
//! of 5 ms do not reach; the slope is what WebRTC put in its place.
//!
//! Where it leaves draft and WebRTC:
//! - It starts at the initial window a third of a second (the initial round trip of RFC 9002
//!   §6.2.2), and until the first over-use or heavy loss goes straight to the ceiling once a
//!   response time, in place of the probes with which WebRTC starts.
//! - The loss-based rate does not bind until a loss, and is cut from the rate in force.
//! - A mark counts as a lost packet (RFC 3168 §5); the draft knows no marks.
//! - Without arrival times the acknowledgement's time stands in for them, the way back and the
//!   receiver's waiting included.
//! - Over-use while the sender lacked data within the last half second cuts from the rate itself and
//!   not from what arrives, and teaches nothing of the path's capacity.
//!
//! So lack of data inflates the rate to 1.5 times what arrives + 10 kbit/s and no further, and
//! pulls it down only with over-use, by 15 % each time.
//!
//! It does well where delay is steady: over-use shows before the queue is long, and a queue of others
//! raises the threshold instead of starving it. It does badly under jitter that comes in waves of
//! many groups, each of which is over-use to it, and takes 9 s to double its rate again; random
//! loss below 10 % does not touch it.
//!
//! | measured on the bottleneck of the tests | |
//! |---|---|
//! | 10 Mbit/s, 60 ms: used, median queue | 88 %, 0 ms |
//! | 2.5 Mbit/s, 130 ms: used, median queue | 93 %, 0 ms |
//! | 20 Mbit/s, 130 ms: 1.5 % loss; 30 ms of jitter | 17 Mbit/s; 17 Mbit/s |
//! | link to a fifth; five times the link; after 3 s of outage | 3 s; 31 s; 27 s |
//! | frames of 3.1 Mbit/s, 200 ms: clean; 40 ms of jitter | all; 1.2 Mbit/s |

mod aimd;
mod groups;
mod trendline;

use units::{Span, Time};

use self::aimd::{Aimd, Throughput};
use self::groups::Groups;
use self::trendline::Trendline;
use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::measures::{DeliveryRate, MinuteLeast, one_way_nanos};
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Gcc {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: Path,
}

/// What it knows of one path.
#[derive(Debug)]
struct Path {
    groups: Groups,
    trendline: Trendline,
    aimd: Aimd,
    loss: LossBased,
    received: DeliveryRate,
    by_receiver: bool,
    base_rtt: MinuteLeast,
    rtt: Span,
}

impl Path {
    fn new(now: Time, initial_window_bytes: u64) -> Self {
        let rate = initial_window_bytes as f64 / INITIAL_RTT.as_secs_f64();
        Self {
            groups: Groups::default(),
            trendline: Trendline::new(),
            aimd: Aimd::new(now, rate.clamp(RATE_MIN, RATE_MAX)),
            loss: LossBased::new(now),
            received: DeliveryRate::new(),
            by_receiver: false,
            base_rtt: MinuteLeast::default(),
            rtt: Span::ZERO,
        }
    }

    /// The rate in force, in bytes a second.
    fn rate(&self) -> f64 {
        self.aimd.rate().min(self.loss.rate).clamp(RATE_MIN, RATE_MAX)
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        self.rtt = acked.rtt;
        self.base_rtt.sample(now, i64::try_from(acked.rtt.as_nanos()).unwrap_or(i64::MAX));
        self.received.on_acked(now, acked);
        let by_receiver = acked.received_at.is_some();
        if by_receiver != self.by_receiver {
            self.by_receiver = by_receiver;
            self.groups = Groups::default();
        }
        let Some(delta) = self.groups.on_acked(acked.sent_at, one_way_nanos(acked)) else { return };
        let usage = self.trendline.update(now, &delta);
        let throughput = Throughput {
            bytes_per_sec: self.received.bytes_per_sec(),
            app_limited: self.received.app_limited(),
        };
        self.aimd.update(now, usage, throughput, self.rtt);
    }

    /// The loss-based controller, if a report is due.
    fn report(&mut self, now: Time) {
        let rate = self.rate();
        if self.loss.report(now, rate) {
            self.aimd.end_start();
        }
    }
}

impl Gcc {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: Path::new(start.now, start.initial_window_bytes),
        }
    }
}

impl Controller for Gcc {
    fn on_sent(&mut self, _now: Time, _sent: &Sent) {}

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        self.path.on_acked(now, acked);
        self.path.loss.delivered_bytes = self.path.loss.delivered_bytes.saturating_add(acked.bytes);
        self.path.report(now);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.path.loss.lost_bytes = self.path.loss.lost_bytes.saturating_add(lost.bytes);
        self.path.report(now);
    }

    fn on_marked(&mut self, now: Time, _sent_at: Time) {
        self.path.loss.lost_bytes = self.path.loss.lost_bytes.saturating_add(self.packet_bytes);
        self.path.report(now);
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
        let held = Span::from_nanos(base.unsigned_abs()) + QUEUE_MAX;
        ((self.path.rate() * held.as_secs_f64()) as u64).clamp(least, WINDOW_BYTES_MAX)
    }

    fn pacing(&self) -> Option<PacingRate> {
        let rate = self.path.rate();
        let burst_bytes = ((rate * BURST.as_secs_f64()) as u64).max(WINDOW_PACKETS_MIN * self.packet_bytes);
        Some(PacingRate { bytes_per_sec: rate as u64, burst_bytes })
    }
}

/// The loss-based controller (§6).
#[derive(Debug)]
struct LossBased {
    /// In bytes a second.
    rate: f64,
    lost_bytes: u64,
    delivered_bytes: u64,
    reported_at: Time,
}

impl LossBased {
    fn new(now: Time) -> Self {
        Self { rate: RATE_MAX, lost_bytes: 0, delivered_bytes: 0, reported_at: now }
    }

    /// Takes the last second into account; says whether that lowered the rate from the one in force.
    fn report(&mut self, now: Time, in_force: f64) -> bool {
        let of = self.lost_bytes.saturating_add(self.delivered_bytes);
        if of == 0 || now.since(self.reported_at) < REPORT_EVERY {
            return false;
        }
        let loss = self.lost_bytes as f64 / of as f64;
        *self = Self { rate: self.rate, ..Self::new(now) };
        if loss > LOSS_HEAVY {
            self.rate = (self.rate.min(in_force) * (1.0 - 0.5 * loss)).max(RATE_MIN);
            return true;
        }
        if loss < LOSS_LIGHT {
            self.rate = (self.rate * LOSS_INCREASE).min(RATE_MAX);
        }
        false
    }
}

/// Rates in bytes a second.
const RATE_MIN: f64 = 150_000.0 / 8.0;
const RATE_MAX: f64 = WINDOW_BYTES_MAX as f64;
const INITIAL_RTT: Span = Span::from_millis(333);
const QUEUE_MAX: Span = Span::from_millis(350);
const BURST: Span = Span::from_millis(5);
const WINDOW_PACKETS_MIN: u64 = 2;
const REPORT_EVERY: Span = Span::from_secs(1);
const LOSS_HEAVY: f64 = 0.10;
const LOSS_LIGHT: f64 = 0.02;
const LOSS_INCREASE: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::super::bottleneck::{Bottleneck, Path as Link, Source};
    use super::super::properties::{acked, lost, start};
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
    fn on_a_thin_link_the_queue_is_short() {
        let mut law = Gcc::new(&start());
        let mut link = Bottleneck::new(Time::ZERO, &mut law, THIN, Source::Backlog, 1);
        link.run(Span::from_secs(30));
        let run = link.run(Span::from_secs(30));
        println!("queued {:?}, delivered {}", run.queued_percentile(95), run.delivered_bytes);
        assert!(run.queued_percentile(50) <= Span::from_millis(20));
        assert!(run.queued_percentile(95) <= Span::from_millis(100));
        assert!(run.delivered_bytes * 8 >= 80 * 2_500_000 * 30 / 100);
    }

    #[test]
    fn lack_of_data_neither_inflates_the_rate_nor_pulls_it_down() {
        let mut law = Gcc::new(&start());
        let wide = Link { bits_per_sec: 1_000_000_000, ..THIN };
        let source = Source::Frames { packets: 3, interval: Span::from_millis(100) };
        Bottleneck::new(Time::ZERO, &mut law, wide, source, 1).run(Span::from_secs(60));
        // 36 kB/s, which is where it starts, so that nothing queues at first.
        let before = law.path.rate();
        assert!((36_000.0..=1.5 * 36_500.0 + 1_250.0).contains(&before), "{before}");
        for packet in 0..1_000 {
            let sent_at = ms(100_000 + packet * 100);
            law.on_acked(sent_at + Span::from_millis(130), &acked(sent_at, sent_at + Span::from_millis(130)));
        }
        assert!((law.path.rate() - before).abs() < 1e-9, "12 kB/s leave it alone");
    }

    #[test]
    fn only_heavy_loss_counts_and_cuts_from_the_rate_in_force() {
        let mut law = Gcc::new(&start());
        let mut second = |from: u64, lose_one_in: u64| {
            for packet in 0..=100 {
                let sent_at = ms(from + packet * 10);
                let heard = sent_at + Span::from_millis(100);
                if packet % lose_one_in == 0 {
                    law.on_lost(heard, &lost(sent_at));
                } else {
                    law.on_acked(heard, &acked(sent_at, heard));
                }
            }
            law.path.rate()
        };
        let before = second(0, 20);
        let after = second(1_100, 5);
        assert!(after < 0.92 * before && after > 0.85 * before, "{before} {after}");
    }
}
