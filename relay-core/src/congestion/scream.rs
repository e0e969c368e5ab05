//! `SCReAM`, self-clocked rate adaptation for multimedia (RFC 8298): its network congestion control
//! (§4.1.2), without the media rate control and the queues of §4.1.3.
//!
//! A window steered by queueing delay: in fast increase it grows by what is acknowledged, afterwards
//! it moves with the distance of the queueing delay from a target, as in LEDBAT. Loss and marks cut
//! it. The target itself rises when the delay is steady or packets are lost, so that loss-based
//! flows beside it do not starve it.
//!
//! | constant | value | source |
//! |---|---|---|
//! | `QDELAY_TARGET_LO`, `QDELAY_TARGET_HI` | 0.1 s, 0.4 s | §4.1.1.1 |
//! | `QDELAY_WEIGHT`, `QDELAY_TREND_TH`, `QDELAY_TREND_LO` | 0.1, 0.2, 0.2 | §4.1.1.1 |
//! | `MIN_CWND` | 3000 bytes, and two packets | §4.1.1.1 |
//! | `MAX_BYTES_IN_FLIGHT_HEAD_ROOM`, over 5 s | 1.1 | §4.1.1.1, §4.1.2.2 |
//! | `GAIN`, `BETA_LOSS`, `BETA_ECN` | 1, 0.8, 0.9 | §4.1.1.1 |
//! | `T_RESUME_FAST_INCREASE`, `RATE_PACE_MIN` | 5 s, 50 kbit/s | §4.1.1.1 |
//! | slack of the window's use | 1.5 in fast increase, 1.25 after | §4.1.2.2 |
//! | queueing delay sampled every, trend over | 50 ms, 20 samples | §4.1.2 |
//! | target from | mean of 50, variance of 200 samples | §4.1.2.3 |
//! | loss event rate that raises the target, variance that is steady | 0.002, 0.2 | §4.1.2.3 |
//! | weight of a round trip in the loss event rate | 0.01 | ours; the RFC names no filter |
//! | smoothed round trip | 1/8 | RFC 6298 §2 |
//! | base delay | least of ten minutes | RFC 6817 §2.4.2 |
//! | burst | 2 ms of the pacing rate, at least 2 packets | ours; the RFC paces single packets |
//!
//! Where it leaves the RFC:
//! - It starts at the initial window and not at `MIN_CWND`.
//! - A round trip counts as a second at most, so that a stray acknowledgement neither shuts the
//!   pacer nor hides losses for long.
//! - Bytes in flight are those of the trait, so a lost packet counts until it is declared lost.
//!   Acknowledgements of one moment are one feedback message.
//! - The delay history behind the target is sampled every 50 ms like that behind the trend; the RFC
//!   leaves its pace open.
//! - The limit to 1.1 times the most that was in flight within 5 s bounds growth alone. The RFC also
//!   cuts the window to it, which after a pause leaves `MIN_CWND`.
//!
//! So lack of data bounds the window by 1.5 times what is in flight and two feedback messages in
//! fast increase, by 1.1 times the most in flight of 5 s afterwards, and pulls it down never.
//!
//! It does well on a thin link with a deep queue, which it finds within a few round trips and shares
//! with loss-based flows. It does badly where delay varies by itself: the variation is a queue to
//! it, and steady delay or any loss raises the target up to 0.4 s, so that a queue of its own making
//! may be taken for a competitor's. Under random loss it loses a fifth a round trip.
//!
//! | measured on the bottleneck of the tests | |
//! |---|---|
//! | 10 Mbit/s, 60 ms, backlog: used, median queue | 100 %, 276 ms (of 300) |
//! | 2.5 Mbit/s, 130 ms, backlog: used, median queue | 100 %, 261 ms (of 300) |
//! | 20 Mbit/s, 130 ms: 1.5 % loss; 30 ms of jitter | 1.4 Mbit/s; 20 Mbit/s |
//! | link to a fifth; five times the link; after 3 s of outage | the queue stays full; 0.5 s; 0.5 s |
//! | frames of 3.1 Mbit/s, 200 ms: clean; 1.5 % loss at 250 ms | all; 0.7 Mbit/s |

mod qdelay;

use std::collections::VecDeque;

use units::{Span, Time};

use self::qdelay::{Target, Trend};
use super::controller::{Acked, Controller, Lost, Sent, Start, WINDOW_BYTES_MAX};
use super::measures::QueueDelay;
use crate::pacer::PacingRate;

/// The law's state.
#[derive(Debug)]
pub(crate) struct Scream {
    initial_window_bytes: u64,
    packet_bytes: u64,
    path: Path,
}

/// What it knows of one path.
#[derive(Debug)]
struct Path {
    /// The congestion window, in bytes.
    cwnd: f64,
    /// The last queueing delay.
    queue: Option<Span>,
    queue_delay: QueueDelay,
    in_fast_increase: bool,
    trend: Trend,
    target: Target,
    /// Since when the trend has been low.
    calm_since: Option<Time>,
    in_flight: InFlightMost,
    rtt_smoothed: Option<Span>,
    /// When the last cut for loss and for marks was.
    lost_at: Option<Time>,
    marked_at: Option<Time>,
    sampled_at: Option<Time>,
    /// The moment of the last acknowledgement, and the bytes acknowledged at that moment.
    feedback: (Time, u64),
}

impl Path {
    fn new(now: Time, cwnd: u64) -> Self {
        Self {
            cwnd: cwnd as f64,
            queue: None,
            queue_delay: QueueDelay::default(),
            in_fast_increase: true,
            trend: Trend::default(),
            target: Target::new(now),
            calm_since: Some(now),
            in_flight: InFlightMost::default(),
            rtt_smoothed: None,
            lost_at: None,
            marked_at: None,
            sampled_at: None,
            feedback: (now, 0),
        }
    }

    /// Samples the queueing delay, if it is time to.
    fn sample(&mut self, now: Time) {
        let Some(queue) = self.queue else { return };
        if self.sampled_at.is_some_and(|at| now.since(at) < SAMPLE_EVERY) {
            return;
        }
        self.sampled_at = Some(now);
        let queue = queue.as_secs_f64();
        self.trend.sample(queue / self.target.seconds());
        self.target.sample(queue);
        // §4.1.2.7.
        if self.trend.value() >= QDELAY_TREND_LO {
            self.calm_since = None;
            return;
        }
        let since = *self.calm_since.get_or_insert(now);
        if now.since(since) >= T_RESUME_FAST_INCREASE {
            self.in_fast_increase = true;
        }
    }

    /// §4.1.2.2.
    fn update_window(&mut self, now: Time, acked: &Acked, queue: Span, packet_bytes: u64) {
        let bytes = acked.bytes as f64;
        let in_flight = acked.in_flight_bytes as f64;
        let newly_acked = self.feedback.1 as f64;
        if self.in_fast_increase {
            if self.trend.value() < QDELAY_TREND_TH {
                if in_flight * SLACK_FAST + newly_acked > self.cwnd {
                    self.cwnd += bytes;
                }
                return;
            }
            self.in_fast_increase = false;
            self.calm_since = None;
        }
        let off_target = (self.target.seconds() - queue.as_secs_f64()) / self.target.seconds();
        let delta = GAIN * off_target * bytes * packet_bytes as f64 / self.cwnd;
        if delta <= 0.0 {
            self.cwnd += delta;
        } else if in_flight * SLACK + newly_acked > self.cwnd {
            let limit = self.in_flight.most(now) as f64 * HEAD_ROOM;
            self.cwnd = (self.cwnd + delta).min(limit.max(self.cwnd));
        }
    }

    /// §4.1.2.1: at most one cut a round trip.
    fn cut(&mut self, by: f64) {
        self.in_fast_increase = false;
        self.calm_since = None;
        self.cwnd *= by;
    }

    fn is_new(&self, now: Time, last: Option<Time>) -> bool {
        last.is_none_or(|at| now.since(at) >= self.rtt_smoothed.unwrap_or(Span::ZERO))
    }
}

impl Scream {
    pub(crate) fn new(start: &Start<'_>) -> Self {
        Self {
            initial_window_bytes: start.initial_window_bytes,
            packet_bytes: start.packet_bytes,
            path: Path::new(start.now, start.initial_window_bytes),
        }
    }

    fn clamp(&mut self) {
        let least = MIN_CWND.max(WINDOW_PACKETS_MIN * self.packet_bytes) as f64;
        self.path.cwnd = self.path.cwnd.max(least).min(WINDOW_BYTES_MAX as f64);
    }
}

impl Controller for Scream {
    fn on_sent(&mut self, now: Time, sent: &Sent) {
        self.path.in_flight.sample(now, sent.in_flight_bytes);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        let path = &mut self.path;
        let rtt = acked.rtt.min(RTT_MAX);
        path.rtt_smoothed = Some(match path.rtt_smoothed {
            Some(smoothed) => (smoothed - smoothed / 8) + rtt / 8,
            None => rtt,
        });
        if path.feedback.0 != now {
            path.feedback = (now, 0);
        }
        path.feedback.1 = path.feedback.1.saturating_add(acked.bytes);
        let queue = path.queue_delay.sample(now, acked);
        path.queue = Some(queue);
        path.sample(now);
        path.target.on_round_trips(now, path.rtt_smoothed);
        path.update_window(now, acked, queue, self.packet_bytes);
        self.clamp();
    }

    fn on_lost(&mut self, now: Time, _lost: &Lost) {
        if !self.path.is_new(now, self.path.lost_at) {
            return;
        }
        self.path.lost_at = Some(now);
        self.path.target.on_loss_event();
        self.path.cut(BETA_LOSS);
        self.clamp();
    }

    fn on_marked(&mut self, now: Time, _sent_at: Time) {
        if !self.path.is_new(now, self.path.marked_at) {
            return;
        }
        self.path.marked_at = Some(now);
        self.path.cut(BETA_ECN);
        self.clamp();
    }

    fn on_tick(&mut self, now: Time) {
        self.path.sample(now);
        self.path.target.on_round_trips(now, self.path.rtt_smoothed);
    }

    fn on_path_change(&mut self, now: Time) {
        self.path = Path::new(now, self.initial_window_bytes);
        if self.initial_window_bytes < WINDOW_PACKETS_MIN * self.packet_bytes {
            self.clamp();
        }
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.packet_bytes = packet_bytes;
        let least = WINDOW_PACKETS_MIN * packet_bytes;
        self.path.cwnd = self.path.cwnd.max(least as f64);
    }

    /// The send window of §4.1.2.5: a packet more while the queue is short.
    fn window_bytes(&self) -> u64 {
        let cwnd = self.path.cwnd as u64;
        let short = self.path.queue.is_some_and(|queue| queue.as_secs_f64() <= self.path.target.seconds());
        let window = if short { cwnd + self.packet_bytes } else { cwnd };
        window.min(WINDOW_BYTES_MAX)
    }

    fn pacing(&self) -> Option<PacingRate> {
        let rtt = self.path.rtt_smoothed?.max(RTT_MIN).as_secs_f64();
        let rate = (self.path.cwnd / rtt).max(RATE_PACE_MIN);
        let burst_bytes = ((rate * BURST.as_secs_f64()) as u64).max(WINDOW_PACKETS_MIN * self.packet_bytes);
        Some(PacingRate { bytes_per_sec: rate as u64, burst_bytes })
    }
}

/// The most that was in flight within the last five seconds.
#[derive(Debug, Default)]
struct InFlightMost {
    /// A stretch of time and the most in it, the oldest first.
    most: VecDeque<(u64, u64)>,
}

impl InFlightMost {
    fn sample(&mut self, now: Time, bytes: u64) {
        let stretch = now.as_nanos() / STRETCH.as_nanos();
        match self.most.back_mut() {
            Some((last, most)) if *last == stretch => *most = bytes.max(*most),
            _ => self.most.push_back((stretch, bytes)),
        }
        if self.most.len() > STRETCHES {
            self.most.pop_front();
        }
    }

    fn most(&self, now: Time) -> u64 {
        let stretch = now.as_nanos() / STRETCH.as_nanos();
        let recent = self.most.iter().filter(|(index, _)| index + STRETCHES as u64 > stretch);
        recent.map(|(_, most)| *most).max().unwrap_or(0)
    }
}

const QDELAY_TREND_TH: f64 = 0.2;
const QDELAY_TREND_LO: f64 = 0.2;
const MIN_CWND: u64 = 3_000;
const WINDOW_PACKETS_MIN: u64 = 2;
const HEAD_ROOM: f64 = 1.1;
const GAIN: f64 = 1.0;
const BETA_LOSS: f64 = 0.8;
const BETA_ECN: f64 = 0.9;
const T_RESUME_FAST_INCREASE: Span = Span::from_secs(5);
/// In bytes a second.
const RATE_PACE_MIN: f64 = 50_000.0 / 8.0;
const SLACK_FAST: f64 = 1.5;
const SLACK: f64 = 1.25;
const SAMPLE_EVERY: Span = Span::from_millis(50);
const STRETCH: Span = Span::from_millis(500);
const STRETCHES: usize = 10;
const BURST: Span = Span::from_millis(2);
/// Below this a round trip is no measure of anything.
const RTT_MIN: Span = Span::from_micros(1);
const RTT_MAX: Span = Span::from_secs(1);

#[cfg(test)]
mod tests {
    use super::super::bottleneck::{Bottleneck, Path as Link, Source};
    use super::super::properties::{acked, lost, ms, start};
    use super::*;

    const THIN: Link = Link { reports: true, ..Link::clear(2_500_000, Span::from_millis(130), 937_500) };

    #[test]
    fn the_queue_of_a_backlog_climbs_above_the_least_target_and_not_above_the_largest() {
        let mut law = Scream::new(&start());
        let mut link = Bottleneck::new(Time::ZERO, &mut law, THIN, Source::Backlog, 1);
        link.run(Span::from_secs(60));
        let run = link.run(Span::from_secs(30));
        let queued = run.queued_percentile(50).as_millis_f64();
        println!("queued {queued} ms, delivered {}", run.delivered_bytes);
        // The queue would hold three seconds.
        assert!((90.0..=420.0).contains(&queued), "{queued}");
        assert!(run.delivered_bytes * 8 >= 99 * 2_500_000 * 30 / 100);
    }

    #[test]
    fn frames_that_fit_keep_the_queue_short_and_the_window_near_their_use() {
        let mut law = Scream::new(&start());
        let source = Source::Frames { packets: 4, interval: Span::from_millis(20) };
        let mut link = Bottleneck::new(Time::ZERO, &mut law, THIN, source, 1);
        let first = link.run(Span::from_secs(10));
        let run = link.run(Span::from_secs(50));
        println!("queued {:?}, window {}", run.queued_percentile(99), run.window_bytes_max);
        assert!(run.queued_percentile(99) <= Span::from_millis(30));
        assert!(run.delivered_bytes >= 49 * 240_000);
        let most = first.in_flight_bytes_max.max(run.in_flight_bytes_max);
        assert!(run.window_bytes_max <= 2 * most, "{} of {most}", run.window_bytes_max);
        let before = law.path.cwnd;
        for packet in 0..1_000 {
            let sent_at = ms(100_000 + packet * 100);
            law.on_acked(sent_at + Span::from_millis(130), &acked(sent_at, sent_at + Span::from_millis(130)));
        }
        assert!(law.path.cwnd >= before && law.path.cwnd <= before + 1_200.0, "12 kB/s leave it alone");
    }

    #[test]
    fn loss_costs_a_fifth_and_a_mark_a_tenth_once_a_round_trip() {
        let mut law = Scream::new(&start());
        law.on_acked(ms(100), &acked(ms(0), ms(100)));
        let window = law.path.cwnd;
        law.on_lost(ms(110), &lost(ms(0)));
        law.on_lost(ms(209), &lost(ms(0)));
        assert!((law.path.cwnd - 0.8 * window).abs() < 1e-6);
        law.on_marked(ms(209), ms(150));
        assert!((law.path.cwnd - 0.72 * window).abs() < 1e-6);
        law.on_lost(ms(210), &lost(ms(150)));
        assert!((law.path.cwnd - 0.576 * window).abs() < 1e-6);
        for round in 1..100 {
            law.on_lost(ms(210 + round * 100), &lost(ms(150)));
        }
        assert!((law.path.cwnd - MIN_CWND as f64).abs() < 1e-6);
    }
}
