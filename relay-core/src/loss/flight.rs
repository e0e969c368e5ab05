//! What is in flight by the receiver's own reports, and what a control law is told of it.

use std::collections::VecDeque;

use units::{Span, Time};

use super::sent_log::Outcome;
use crate::congestion::{Acked, Lost};

/// Bytes in flight and outcomes that nobody has taken yet.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    bytes: u64,
    rtt_smoothed: Option<Span>,
    /// When the first and the newest of an unbroken run of lost datagrams were sent.
    lost_run: Option<(Time, Time)>,
    /// When the newest datagram that arrived was sent.
    newest_acked: Time,
    outcomes: VecDeque<Outcome>,
}

impl Flight {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn poll_outcome(&mut self) -> Option<Outcome> {
        self.outcomes.pop_front()
    }

    /// How long a datagram stays in flight when nothing is heard of it.
    pub(crate) fn patience(&self) -> Span {
        (self.rtt_smoothed.unwrap_or(Span::ZERO) * SILENCE_ROUND_TRIPS).max(SILENCE_MIN)
    }

    /// Returns the bytes in flight, these included.
    pub(crate) fn on_sent(&mut self, bytes: u64) -> u64 {
        self.bytes += bytes;
        self.bytes
    }

    pub(crate) fn on_acked(
        &mut self,
        now: Time,
        sent_at: Time,
        received_at: Option<Time>,
        bytes: u64,
        was_in_flight: bool,
        app_limited: bool,
    ) {
        if was_in_flight {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        let rtt = now.since(sent_at);
        // RFC 9002 §5.3. Reports that are repeated tell of old datagrams late; only what is newer
        // than all before measures the path.
        if sent_at >= self.newest_acked {
            self.newest_acked = sent_at;
            self.rtt_smoothed = Some(self.rtt_smoothed.map_or(rtt, |old| old - old / 8 + rtt / 8));
        }
        self.lost_run = None;
        self.outcomes.push_back(Outcome::Acked(Acked {
            bytes,
            sent_at,
            received_at,
            rtt,
            in_flight_bytes: self.bytes,
            app_limited,
            // Whoever passes it on knows.
            app_limited_now: app_limited,
        }));
    }

    /// How long a datagram counts as in flight when nothing is heard of it: whatever became of it, it is not on the
    /// path any more.
    pub(crate) fn overdue(&self) -> Span {
        self.rtt_smoothed.map_or(SILENCE_MIN, |rtt| rtt + rtt / 2 + OVERDUE_SLACK)
    }

    pub(crate) fn on_overdue(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    pub(crate) fn on_lost(&mut self, sent_at: Time, bytes: u64, was_in_flight: bool) {
        if was_in_flight {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
        let (first, last) = self.lost_run.unwrap_or((sent_at, sent_at));
        let last = last.max(sent_at);
        self.lost_run = Some((first, last));
        // RFC 9002 §7.6: nothing arrived of what was sent over a persistent congestion period.
        let persistent = last.since(first) >= self.patience();
        if persistent {
            self.lost_run = None;
        }
        let in_flight_bytes = self.bytes;
        self.outcomes.push_back(Outcome::Lost(Lost { bytes, sent_at, in_flight_bytes, persistent }));
    }
}

/// What a report may be later than a round trip and a half: it waits, and one may be lost.
const OVERDUE_SLACK: Span = Span::from_millis(150);
/// Round trips of silence after which a datagram counts as lost.
const SILENCE_ROUND_TRIPS: u64 = 3;
/// The least silence: no link shipped is still for longer without having broken.
const SILENCE_MIN: Span = Span::from_secs(1);
