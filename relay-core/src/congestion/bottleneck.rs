//! A sender with one law on a path with one bottleneck, for tests of the law alone.
//!
//! A drop-tail queue at a rate, random loss before it, a fixed delay and jitter that keeps order.
//! There is no QUIC: every packet has 1200 bytes and is acknowledged alone, without loss on the way
//! back, and a packet is lost once one sent three later is acknowledged. Same seed, same run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use units::{Span, Time};

use super::controller::{Acked, Controller, Lost, Sent, TICK};
use crate::pacer::{Pacer, PacingRate};

/// What the path is like now; may be changed between runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Path {
    pub(crate) bits_per_sec: u64,
    /// Without queue and jitter.
    pub(crate) rtt: Span,
    pub(crate) queue_bytes: u64,
    /// Lost packets of a thousand.
    pub(crate) loss_per_mille: u64,
    /// The most that a packet is late by chance.
    pub(crate) jitter: Span,
    /// Nothing arrives.
    pub(crate) outage: bool,
    /// Whether feedback says when packets arrived and comes in reports every [`TICK`], or is
    /// immediate and says nothing.
    pub(crate) reports: bool,
}

impl Path {
    /// A link that loses and delays nothing by chance, with feedback that is immediate.
    pub(crate) const fn clear(bits_per_sec: u64, rtt: Span, queue_bytes: u64) -> Self {
        let (loss_per_mille, jitter) = (0, Span::ZERO);
        Self { bits_per_sec, rtt, queue_bytes, loss_per_mille, jitter, outage: false, reports: false }
    }
}

/// What there is to send.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    /// More than ever goes.
    Backlog,
    /// So many packets at once, that often.
    Frames { packets: u64, interval: Span },
}

/// What a run was like.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    pub(crate) delivered_bytes: u64,
    pub(crate) window_bytes_max: u64,
    pub(crate) in_flight_bytes_max: u64,
    /// Waiting time in the queue of every packet that left it.
    queued: Vec<Span>,
}

impl Run {
    /// The waiting time that this many of a hundred packets stay within.
    pub(crate) fn queued_percentile(&self, percent: usize) -> Span {
        let mut sorted = self.queued.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * percent / 100).or(sorted.last()).copied().unwrap_or(Span::ZERO)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The packet in service has left the queue.
    Depart,
    /// The receiver has this packet.
    Arrive(u64),
    /// The sender hears that it arrived then.
    Ack(u64, Time),
    Frame,
    Wake,
    Tick,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    sent_at: Time,
    app_limited: bool,
}

/// The whole of it.
#[derive(Debug)]
pub(crate) struct Bottleneck<'a> {
    law: &'a mut dyn Controller,
    pub(crate) path: Path,
    source: Source,
    now: Time,
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    order: u64,
    random: u64,
    /// Packets in the queue with the time they came, the first one in service.
    queue: VecDeque<(u64, Time)>,
    /// No packet arrives before this.
    arrived_to: Time,
    pacer: Pacer,
    wake_at: Time,
    flight: BTreeMap<u64, Packet>,
    next: u64,
    /// The millisecond of the last packet sent, and the packets sent in it.
    busy: (u64, u64),
    backlog: u64,
    app_limited: bool,
    rtt_smoothed: Span,
    run: Run,
}

impl<'a> Bottleneck<'a> {
    pub(crate) fn new(now: Time, law: &'a mut dyn Controller, path: Path, source: Source, seed: u64) -> Self {
        let rate = PacingRate::from_window(law.window_bytes(), path.rtt, PACKET_BYTES);
        let mut this = Self {
            law,
            path,
            source,
            now,
            events: BinaryHeap::new(),
            order: 0,
            random: seed,
            queue: VecDeque::new(),
            arrived_to: now,
            pacer: Pacer::new(now, rate),
            wake_at: Time::MAX,
            flight: BTreeMap::new(),
            next: 0,
            busy: (0, 0),
            backlog: 0,
            app_limited: true,
            rtt_smoothed: path.rtt,
            run: Run::default(),
        };
        this.schedule(now + TICK, Event::Tick);
        match source {
            Source::Backlog => this.backlog = u64::MAX,
            Source::Frames { .. } => this.schedule(now, Event::Frame),
        }
        this
    }

    /// Lets it go on for `length`.
    pub(crate) fn run(&mut self, length: Span) -> Run {
        let end = self.now + length;
        self.run = Run::default();
        self.send();
        while let Some(Reverse((at, _, event))) = self.events.peek().copied() {
            if at > end {
                break;
            }
            self.events.pop();
            self.now = at;
            self.handle(event);
            self.send();
            self.run.window_bytes_max = self.run.window_bytes_max.max(self.law.window_bytes());
        }
        self.now = end;
        std::mem::take(&mut self.run)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Depart => {
                let Some((number, since)) = self.queue.pop_front() else { return };
                let waited = self.now.since(since);
                self.run.queued.push(waited.max(self.service()) - self.service());
                let jitter = Span::from_nanos(self.draw() % (self.path.jitter.as_nanos() + 1));
                let arrival = self.now + self.path.rtt / 2 + jitter;
                self.arrived_to = self.arrived_to.max(arrival);
                self.schedule(self.arrived_to, Event::Arrive(number));
                self.serve();
            }
            Event::Arrive(number) => {
                if self.path.outage {
                    return;
                }
                self.run.delivered_bytes += PACKET_BYTES;
                let mut heard = self.now;
                if self.path.reports {
                    let tick = TICK.as_nanos();
                    heard = Time::from_nanos(self.now.as_nanos().next_multiple_of(tick));
                }
                self.schedule(heard + self.path.rtt / 2, Event::Ack(number, self.now));
            }
            Event::Ack(number, arrived) => self.acked(number, arrived),
            Event::Frame => {
                if let Source::Frames { packets, interval } = self.source {
                    self.backlog += packets;
                    self.schedule(self.now + interval, Event::Frame);
                }
            }
            Event::Wake => {
                // Not for one that an earlier one has made needless, or they would multiply.
                if self.now >= self.wake_at {
                    self.wake_at = Time::MAX;
                }
            }
            Event::Tick => {
                let patience = (self.rtt_smoothed * 3).max(Span::from_secs(1));
                let late = |packet: &Packet| packet.sent_at + patience <= self.now;
                let late: Vec<u64> =
                    self.flight.iter().take_while(|(_, p)| late(p)).map(|(number, _)| *number).collect();
                for (index, number) in late.iter().enumerate() {
                    self.lost(*number, index == 0);
                }
                self.law.on_tick(self.now);
                self.schedule(self.now + TICK, Event::Tick);
            }
        }
    }

    fn acked(&mut self, number: u64, arrived: Time) {
        if let Some(packet) = self.flight.remove(&number) {
            let rtt = self.now.since(packet.sent_at);
            self.rtt_smoothed = self.rtt_smoothed - self.rtt_smoothed / 8 + rtt / 8;
            let acked = Acked {
                bytes: PACKET_BYTES,
                sent_at: packet.sent_at,
                received_at: self.path.reports.then_some(arrived + RECEIVER_OFFSET),
                rtt,
                in_flight_bytes: self.in_flight(),
                app_limited: packet.app_limited,
                app_limited_now: self.app_limited,
            };
            self.law.on_acked(self.now, &acked);
        }
        let overtaken = number.saturating_sub(LOSS_PACKETS);
        let lost: Vec<u64> = self.flight.range(..=overtaken).map(|(number, _)| *number).collect();
        for number in lost {
            self.lost(number, false);
        }
    }

    fn lost(&mut self, number: u64, persistent: bool) {
        if let Some(packet) = self.flight.remove(&number) {
            let (bytes, sent_at, in_flight_bytes) = (PACKET_BYTES, packet.sent_at, self.in_flight());
            self.law.on_lost(self.now, &Lost { bytes, sent_at, in_flight_bytes, persistent });
        }
    }

    fn in_flight(&self) -> u64 {
        self.flight.len() as u64 * PACKET_BYTES
    }

    /// Sends what window and pacer admit.
    fn send(&mut self) {
        loop {
            if self.backlog == 0 {
                self.app_limited = true;
                return;
            }
            let window = self.law.window_bytes().min(FLOW_CONTROL_BYTES);
            if self.in_flight() + PACKET_BYTES > window {
                self.app_limited = false;
                return;
            }
            let own = self.law.pacing();
            let rate =
                own.unwrap_or_else(|| PacingRate::from_window(window, self.rtt_smoothed, PACKET_BYTES));
            self.pacer.set_rate(self.now, rate);
            let at = self.pacer.admits_at(self.now, PACKET_BYTES);
            if at > self.now {
                let waiting = self.backlog.saturating_mul(PACKET_BYTES);
                self.app_limited = own.is_none() && self.in_flight().saturating_add(waiting) <= window;
                self.wake(at);
                return;
            }
            let millisecond = self.now.as_nanos() / 1_000_000;
            if self.busy.0 != millisecond {
                self.busy = (millisecond, 0);
            }
            self.busy.1 += 1;
            if self.busy.1 > SENDS_PER_MS_MAX {
                self.wake(Time::from_nanos((millisecond + 1) * 1_000_000));
                return;
            }
            self.send_packet();
        }
    }

    fn wake(&mut self, at: Time) {
        if at < self.wake_at {
            self.wake_at = at;
            self.schedule(at, Event::Wake);
        }
    }

    fn send_packet(&mut self) {
        let number = self.next;
        self.next += 1;
        if let Source::Frames { .. } = self.source {
            self.backlog -= 1;
        }
        let packet = Packet { sent_at: self.now, app_limited: self.app_limited };
        self.flight.insert(number, packet);
        self.pacer.on_sent(PACKET_BYTES);
        let in_flight_bytes = self.in_flight();
        self.run.in_flight_bytes_max = self.run.in_flight_bytes_max.max(in_flight_bytes);
        let sent = Sent { bytes: PACKET_BYTES, in_flight_bytes, app_limited: self.app_limited };
        self.law.on_sent(self.now, &sent);
        let lost = self.draw() % 1_000 < self.path.loss_per_mille;
        if lost || (self.queue.len() as u64 + 1) * PACKET_BYTES > self.path.queue_bytes {
            return;
        }
        self.queue.push_back((number, self.now));
        if self.queue.len() == 1 {
            self.serve();
        }
    }

    fn serve(&mut self) {
        if !self.queue.is_empty() {
            self.schedule(self.now + self.service(), Event::Depart);
        }
    }

    /// How long a packet takes onto the link.
    fn service(&self) -> Span {
        Span::from_nanos(PACKET_BYTES * 8 * 1_000_000_000 / self.path.bits_per_sec)
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at, self.order, event)));
    }

    /// `SplitMix64` (Steele, Lea and Flood 2014).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

pub(crate) const PACKET_BYTES: u64 = 1_200;
/// RFC 9002 §6.1.1.
const LOSS_PACKETS: u64 = 3;
/// The receiver's clock is ahead by this.
const RECEIVER_OFFSET: Span = Span::from_secs(777);
/// The peer takes no more than this, and the sender's machine sends no faster than this (about
/// 300 Mbit/s), which bounds what a law without a window can do to a test.
const FLOW_CONTROL_BYTES: u64 = 2 << 20;
const SENDS_PER_MS_MAX: u64 = 32;

#[cfg(test)]
mod tests {
    use super::super::open::Open;
    use super::*;

    const PATH: Path = Path::clear(9_600_000, Span::from_millis(100), 120_000);

    #[test]
    fn a_flooded_link_carries_its_rate_and_its_queue_is_full() {
        let mut law = Open;
        let mut link = Bottleneck::new(Time::ZERO, &mut law, PATH, Source::Backlog, 1);
        link.run(Span::from_secs(2));
        let run = link.run(Span::from_secs(10));
        assert_eq!(run.delivered_bytes, 12_000_000);
        // Its own packet and 99 before it, of 1 ms each.
        assert!(run.queued_percentile(50) >= Span::from_millis(98));
        assert!(run.queued_percentile(100) <= Span::from_millis(99));
    }

    #[test]
    fn frames_that_fit_never_queue_beyond_themselves_and_lose_their_share() {
        let mut law = Open;
        let source = Source::Frames { packets: 10, interval: Span::from_millis(50) };
        let path = Path { loss_per_mille: 100, ..PATH };
        let run = Bottleneck::new(Time::ZERO, &mut law, path, source, 1).run(Span::from_secs(100));
        let sent = 20_000.0 * PACKET_BYTES as f64;
        assert!((run.delivered_bytes as f64 / sent - 0.9).abs() < 0.01);
        assert!(run.queued_percentile(100) <= Span::from_millis(9));
    }
}
