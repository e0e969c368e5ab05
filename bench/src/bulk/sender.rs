//! The sending end: a law, a pacer, and what is under way.

use std::collections::BTreeMap;

use relay_core::congestion::{self, Acked, Controller, Lost, Pacer, PacingRate, Sent, Start, TICK};
use relay_core::settings::{Congestion, CongestionKind};
use units::{Size, Span, Time};

use super::rtt::Rtt;
use super::{BulkAck, DATA_BYTES};

/// The sender's state.
#[derive(Debug)]
pub(super) struct Sender {
    law: Box<dyn Controller>,
    pacer: Pacer,
    start: Time,
    stop: Time,
    next: u64,
    /// When each packet under way was sent.
    flight: BTreeMap<u64, Time>,
    largest_acked: Option<u64>,
    rtt: Rtt,
    /// When the first round trip was measured: loss before it says nothing of persistent congestion.
    measured_at: Time,
    /// When a packet under way becomes lost by its age.
    loss_at: Time,
    last_sent_at: Time,
    /// Probe timeouts in a row, and packets that may go whatever the window says.
    timeouts: u32,
    probes: u32,
    tick_at: Time,
    /// When the pacer admits the next packet; [`Time::MAX`] while the window does not.
    send_at: Time,
    ended: bool,
    limit_hits: u64,
}

impl Sender {
    pub(super) fn new(start: Time, stop: Time, kind: CongestionKind) -> Self {
        let settings = Congestion {
            kind,
            initial_window: Size::from_bytes(INITIAL_WINDOW_BYTES),
            ..Congestion::default()
        };
        let law = congestion::build(&Start {
            now: start,
            initial_window_bytes: INITIAL_WINDOW_BYTES,
            packet_bytes: DATA_BYTES,
            settings: &settings,
        });
        let rtt = Rtt::new();
        let rate = PacingRate::from_window(INITIAL_WINDOW_BYTES, rtt.smoothed(), DATA_BYTES);
        Self {
            law,
            pacer: Pacer::new(start, rate),
            start,
            stop,
            next: 0,
            flight: BTreeMap::new(),
            largest_acked: None,
            rtt,
            measured_at: Time::MAX,
            loss_at: Time::MAX,
            last_sent_at: start,
            timeouts: 0,
            probes: 0,
            tick_at: start + TICK,
            send_at: start,
            ended: false,
            limit_hits: 0,
        }
    }

    pub(super) fn limit_hits(&self) -> u64 {
        self.limit_hits
    }

    pub(super) fn next_at(&self) -> Time {
        if self.ended {
            return Time::MAX;
        }
        self.send_at.min(self.loss_at).min(self.probe_at()).min(self.tick_at)
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if now >= self.stop {
            self.ended = true;
            return;
        }
        if now >= self.loss_at {
            self.detect_lost(now);
        }
        if now >= self.probe_at() {
            self.timeouts += 1;
            self.probes = PROBES;
            // The timer counts from here until a probe is sent, which is at once.
            self.last_sent_at = now;
        }
        if now >= self.tick_at {
            self.law.on_tick(now);
            self.tick_at = now + TICK;
        }
    }

    /// Takes an acknowledgement; the round trip if it measures one.
    pub(super) fn handle_ack(&mut self, now: Time, ack: &BulkAck) -> Option<Span> {
        let newest = ack.arrivals.iter().map(|(number, _)| *number).max()?;
        let sample = match self.flight.get(&newest) {
            Some(sent_at) if self.largest_acked.is_none_or(|largest| newest > largest) => {
                Some(now.since(*sent_at))
            }
            _ => None,
        };
        if let Some(rtt) = sample {
            if !self.rtt.is_measured() {
                self.measured_at = now;
            }
            self.rtt.sample(rtt, ack.delay);
        }
        for (number, arrived_at) in &ack.arrivals {
            let Some(sent_at) = self.flight.remove(number) else { continue };
            self.timeouts = 0;
            let acked = Acked {
                bytes: DATA_BYTES,
                sent_at,
                received_at: Some(*arrived_at),
                rtt: now.since(sent_at),
                in_flight_bytes: self.in_flight_bytes(),
                app_limited: false,
                app_limited_now: false,
            };
            self.law.on_acked(now, &acked);
        }
        self.largest_acked = self.largest_acked.max(Some(newest));
        self.detect_lost(now);
        sample
    }

    /// The number of the next packet, if one may go.
    pub(super) fn poll_transmit(&mut self, now: Time) -> Option<u64> {
        self.send_at = Time::MAX;
        if now < self.start {
            self.send_at = self.start;
            return None;
        }
        if now >= self.stop {
            return None;
        }
        let window = self.law.window_bytes();
        if self.probes == 0 {
            if self.flight.len() >= FLIGHT_MAX {
                self.limit_hits += 1;
                return None;
            }
            if self.in_flight_bytes() + DATA_BYTES > window {
                return None;
            }
        }
        self.pacer.set_rate(now, self.rate(window));
        let at = self.pacer.admits_at(now, DATA_BYTES);
        if at > now {
            self.send_at = at;
            return None;
        }
        self.probes = self.probes.saturating_sub(1);
        let number = self.next;
        self.next += 1;
        self.flight.insert(number, now);
        self.last_sent_at = now;
        self.pacer.on_sent(DATA_BYTES);
        let in_flight_bytes = self.in_flight_bytes();
        self.law.on_sent(now, &Sent { bytes: DATA_BYTES, in_flight_bytes, app_limited: false });
        Some(number)
    }

    /// The law's own rate, or a window a round trip; no faster than the machine's interface.
    fn rate(&self, window: u64) -> PacingRate {
        let from_window = || PacingRate::from_window(window, self.rtt.smoothed(), DATA_BYTES);
        let rate = self.law.pacing().unwrap_or_else(from_window);
        PacingRate { bytes_per_sec: rate.bytes_per_sec.min(INTERFACE_BYTES_PER_SEC), ..rate }
    }

    fn in_flight_bytes(&self) -> u64 {
        self.flight.len() as u64 * DATA_BYTES
    }

    fn probe_at(&self) -> Time {
        if self.flight.is_empty() {
            return Time::MAX;
        }
        self.last_sent_at + self.rtt.probe_timeout() * (1 << self.timeouts.min(BACKOFFS_MAX))
    }

    /// Finds what is lost by packet and time threshold (RFC 9002 §6.1) and tells the law.
    fn detect_lost(&mut self, now: Time) {
        self.loss_at = Time::MAX;
        let Some(largest) = self.largest_acked else { return };
        let delay = self.rtt.loss_delay();
        let mut lost = Vec::new();
        for (number, sent_at) in self.flight.range(..largest) {
            if number + LOSS_PACKETS <= largest || *sent_at + delay <= now {
                lost.push((*number, *sent_at));
            } else {
                self.loss_at = *sent_at + delay;
                break;
            }
        }
        let persistent = self.persistent_until(&lost);
        for (number, sent_at) in lost {
            self.flight.remove(&number);
            let (bytes, in_flight_bytes) = (DATA_BYTES, self.in_flight_bytes());
            let persistent = persistent == Some(number);
            self.law.on_lost(now, &Lost { bytes, sent_at, in_flight_bytes, persistent });
        }
    }

    /// The last of lost packets that follow each other over a persistent-congestion period (RFC 9002
    /// §7.6), if any do.
    fn persistent_until(&self, lost: &[(u64, Time)]) -> Option<u64> {
        let period = self.rtt.probe_timeout() * PERSISTENT_TIMEOUTS;
        let runs = lost.chunk_by(|before, after| before.0 + 1 == after.0);
        let ends =
            runs.filter_map(|run| Some((run.iter().find(|(_, at)| *at > self.measured_at)?, run.last()?)));
        let long = ends.filter(|(first, last)| last.1.since(first.1) >= period);
        long.map(|(_, last)| last.0).next_back()
    }
}

/// RFC 9002 §7.2: ten packets, but no more than this.
const INITIAL_WINDOW_BYTES: u64 = 14_720;
/// RFC 9002 §6.1.1.
const LOSS_PACKETS: u64 = 3;
/// RFC 9002 §6.2.4.
const PROBES: u32 = 2;
/// Doublings of the probe timeout at most: about a minute.
const BACKOFFS_MAX: u32 = 6;
/// RFC 9002 §7.6.1.
const PERSISTENT_TIMEOUTS: u64 = 3;
/// Packets under way at most, 12 MB: the receiver's flow control, in effect.
const FLIGHT_MAX: usize = 8192;
/// 500 Mbit/s: what a law that finds no limit would make of a link that has none is bounded by the machine.
const INTERFACE_BYTES_PER_SEC: u64 = 62_500_000;
