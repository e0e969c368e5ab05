//! What the second flow on the operator hop came to, beside the video.

use hdrhistogram::Histogram;
use netmodel::Verdict;
use units::{Span, Time};

use super::summary::{CrossTrafficSummary, Percentiles};
use crate::bulk::{self, BulkEvent};
use crate::cell::Cell;
use crate::place::Direction;
use crate::statistics::{jain_index, millis, ratio, rounded};

/// Counts of one flow, and what of each direction's packets is its own.
#[derive(Debug)]
pub(super) struct FlowRecord {
    direction: Direction,
    from: Time,
    to: Time,
    /// By direction.
    pub(super) own: [OwnPackets; 2],
    delivered_bytes: u64,
    video_bytes: u64,
    /// Round trips in microseconds.
    rtt_us: Histogram<u64>,
    limit_hits: u64,
}

/// Packets of the flow in one direction, among those that the link counted.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OwnPackets {
    pub(super) offered: u64,
    pub(super) bytes: u64,
    /// Those that did not come out intact.
    pub(super) lost: u64,
}

impl FlowRecord {
    /// The record of the flow that the workload of `cell` names, if it names one.
    pub(super) fn of(cell: &Cell) -> Option<Self> {
        let spec = cell.workload.cross_traffic.as_ref()?;
        let (from, to) = bulk::active(spec, cell);
        let rtt_us = Histogram::new_with_max(RTT_US_MAX, RTT_DIGITS).expect("the bounds are in order");
        Some(Self {
            direction: spec.direction,
            from,
            to,
            own: [OwnPackets::default(); 2],
            delivered_bytes: 0,
            video_bytes: 0,
            rtt_us,
            limit_hits: 0,
        })
    }

    pub(super) fn sent(&mut self, direction: Direction, ip_bytes: u32, verdict: Verdict) {
        let own = &mut self.own[direction as usize];
        own.offered += 1;
        own.bytes += u64::from(ip_bytes);
        own.lost += u64::from(verdict != Verdict::Accepted);
    }

    /// A packet that did not come out intact although the link had accepted it.
    pub(super) fn lost_under_way(&mut self, direction: Direction) {
        self.own[direction as usize].lost += 1;
    }

    pub(super) fn event(&mut self, now: Time, event: BulkEvent) {
        match event {
            BulkEvent::Delivered(bytes) => {
                if self.is_active(now) {
                    self.delivered_bytes += bytes;
                }
            }
            BulkEvent::RoundTrip(rtt) => self.rtt_us.saturating_record(rtt.as_micros()),
        }
    }

    /// A frame became complete at the operator.
    pub(super) fn video(&mut self, now: Time, bytes: u32) {
        if self.is_active(now) {
            self.video_bytes += u64::from(bytes);
        }
    }

    pub(super) fn limited(&mut self, limit_hits: u64) {
        self.limit_hits = limit_hits;
    }

    pub(super) fn summary(&self) -> CrossTrafficSummary {
        let seconds = self.to.since(self.from).as_secs_f64();
        let rate = |bytes: u64| (seconds > 0.0).then(|| rounded(bytes as f64 * 8.0 / seconds / 1e6, 6));
        let (goodput, video) = (rate(self.delivered_bytes), rate(self.video_bytes));
        let shares = match (self.direction, goodput, video) {
            (Direction::Down, Some(goodput), Some(video)) => jain_index(&[goodput, video]),
            _ => None,
        };
        let own = self.own[self.direction as usize];
        let percentile = |percent: f64| {
            (!self.rtt_us.is_empty()).then(|| millis(self.rtt_us.value_at_percentile(percent) * 1_000))
        };
        CrossTrafficSummary {
            goodput_mbit_s: goodput,
            video_goodput_mbit_s: video,
            jain_index: shares.map(|index| rounded(index, 6)),
            sent: own.offered,
            lost: own.lost,
            loss_ratio: ratio(own.lost, own.offered),
            rtt_ms: Percentiles { p50: percentile(50.0), p99: percentile(99.0) },
            limit_hits: self.limit_hits,
        }
    }

    fn is_active(&self, now: Time) -> bool {
        self.from <= now && now < self.to
    }
}

impl FlowRecord {
    /// What of a direction's packets is the relay's own, of which `all` counts both.
    pub(super) fn without(record: Option<&Self>, direction: Direction, all: OwnPackets) -> OwnPackets {
        let own = record.map_or(OwnPackets::default(), |record| record.own[direction as usize]);
        OwnPackets {
            offered: all.offered.saturating_sub(own.offered),
            bytes: all.bytes.saturating_sub(own.bytes),
            lost: all.lost.saturating_sub(own.lost),
        }
    }
}

/// A minute; a longer round trip counts as this.
const RTT_US_MAX: u64 = Span::from_secs(60).as_micros();
/// Significant digits that the histogram keeps.
const RTT_DIGITS: u8 = 3;
