//! The per-second table: what happened in each second of the traffic and of the drain after it.

use relay_core::Snapshot;
use serde::{Deserialize, Serialize};
use units::{Span, Time};

use super::link::LinkSecond;
use super::playout::Seen;
use crate::named::Named;
use crate::statistics::{millis, rounded};
use crate::workload::CAMERAS_MAX;

/// One second of a cell: a row of the seconds table, and one of the camera seconds for each camera.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecondRow {
    /// Whole seconds since the start of the traffic.
    pub second: u64,
    /// Each camera's frames.
    pub cameras: Named<CameraSecondRow>,
    /// Relay to operator.
    pub down: LinkSecondRow,
    /// Operator to relay.
    pub up: LinkSecondRow,
    /// The relay's sending side towards the operator at the beginning of the second; `null` where
    /// it was not sampled.
    pub relay: Option<RelaySecondRow>,
    /// Commands executed at the robot.
    pub commands: u64,
}

/// One camera within one second. Each thing counts in the second in which it happened.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct CameraSecondRow {
    /// Frames made.
    pub produced: u64,
    /// Frames that became complete at the operator.
    pub delivered: u64,
    /// Frames skipped because of measured loss.
    pub skipped: u64,
    /// Frames given up for any other reason.
    pub dropped: u64,
    /// Freezes that began.
    pub freezes: u64,
    /// How long the picture stood, in seconds.
    pub frozen_s: f64,
}

/// One direction of the operator hop within one second; a second flow's packets count too.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkSecondRow {
    /// Packets handed to the link.
    pub packets: u64,
    /// IP bytes handed to the link.
    pub bytes: u64,
    /// Packets of these that the link dropped.
    pub lost: u64,
    /// Longest wait in the bottleneck queue of a packet that came out, in milliseconds.
    pub queue_ms_max: f64,
}

/// The relay's sending side at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RelaySecondRow {
    /// Congestion window.
    pub window_bytes: u64,
    /// Bytes neither acknowledged nor declared lost.
    pub in_flight_bytes: u64,
    /// Smoothed round-trip time, in milliseconds.
    pub rtt_ms: f64,
    /// Bytes of frames waiting for the transport.
    pub queue_bytes: u64,
    /// Frames waiting for the transport.
    pub queue_frames: u64,
    /// Packets that QUIC declared lost from this sample to the next.
    pub declared_lost: u64,
}

/// The table while it grows.
#[derive(Debug)]
pub(super) struct Seconds {
    start: Time,
    rows: Vec<Second>,
    /// The second that was last asked for, since packets come by the hundred within one.
    cached: usize,
    cached_from: Time,
    cached_to: Time,
}

/// One second while it grows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Second {
    pub(super) cameras: [CameraSecondRow; CAMERAS_MAX],
    pub(super) down: LinkSecond,
    pub(super) up: LinkSecond,
    pub(super) commands: u64,
    pub(super) sample: Option<Snapshot>,
}

impl Seconds {
    /// A table for all the time from `start` on that `span` touches.
    pub(super) fn new(start: Time, span: Span) -> Self {
        let count = usize::try_from(span.as_nanos().div_ceil(SECOND.as_nanos())).unwrap_or(ROWS_MAX);
        Self {
            start,
            rows: vec![Second::default(); count.min(ROWS_MAX)],
            cached: 0,
            cached_from: start,
            cached_to: start + SECOND,
        }
    }

    /// The second that `now` is in; none in the warm-up and after the end.
    #[inline]
    pub(super) fn at(&mut self, now: Time) -> Option<&mut Second> {
        if now < self.cached_from || now >= self.cached_to {
            if now < self.start {
                return None;
            }
            let second = now.since(self.start).as_nanos() / SECOND.as_nanos();
            self.cached = usize::try_from(second).unwrap_or(usize::MAX);
            self.cached_from = self.start + SECOND * second;
            self.cached_to = self.cached_from + SECOND;
        }
        self.rows.get_mut(self.cached)
    }

    /// Spreads each freeze of camera `index` over the seconds that it lasted.
    pub(super) fn add_freezes(&mut self, index: usize, seen: &Seen) {
        for freeze in &seen.freezes {
            if let Some(second) = self.at(freeze.from) {
                second.cameras[index].freezes += 1;
            }
            let mut from = freeze.from;
            while from < freeze.to && self.at(from).is_some() {
                let to = self.cached_to.min(freeze.to);
                self.rows[self.cached].cameras[index].frozen_s += to.since(from).as_secs_f64();
                from = to;
            }
        }
    }

    /// The finished table for cameras of these names.
    pub(super) fn rows(&self, names: &[String]) -> Vec<SecondRow> {
        let row = |(index, second): (usize, &Second)| SecondRow {
            second: index as u64,
            cameras: names.iter().cloned().zip(second.cameras.iter().map(CameraSecondRow::tidied)).collect(),
            down: LinkSecondRow::from(second.down),
            up: LinkSecondRow::from(second.up),
            relay: second.sample.map(|now| {
                let next = self.rows[index + 1..].iter().find_map(|later| later.sample);
                RelaySecondRow::new(&now, next.as_ref())
            }),
            commands: second.commands,
        };
        self.rows.iter().enumerate().map(row).collect()
    }
}

impl CameraSecondRow {
    fn tidied(&self) -> Self {
        Self { frozen_s: rounded(self.frozen_s, 6), ..*self }
    }
}

impl From<LinkSecond> for LinkSecondRow {
    fn from(second: LinkSecond) -> Self {
        let LinkSecond { packets, bytes, lost, queued_max } = second;
        Self { packets, bytes, lost, queue_ms_max: millis(queued_max.as_nanos()) }
    }
}

impl RelaySecondRow {
    fn new(now: &Snapshot, next: Option<&Snapshot>) -> Self {
        let declared = now.counters.packets_declared_lost;
        Self {
            window_bytes: now.window_bytes,
            in_flight_bytes: now.in_flight_bytes,
            rtt_ms: millis(now.rtt_smoothed.as_nanos()),
            queue_bytes: now.queue_bytes,
            queue_frames: now.queue_frames,
            declared_lost: next.map_or(0, |n| n.counters.packets_declared_lost.saturating_sub(declared)),
        }
    }
}

const SECOND: Span = Span::from_secs(1);

/// A day; a longer cell loses its per-second table past it, not its metrics.
const ROWS_MAX: usize = 86_400;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::playout::Freeze;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn every_moment_is_in_its_second_in_any_order() {
        let mut table = Seconds::new(ms(5000), Span::from_millis(2500));
        for at in [5000, 7499, 5999, 6000, 4999, 8000] {
            if let Some(second) = table.at(ms(at)) {
                second.commands += 1;
            }
        }
        let commands: Vec<u64> = table.rows(&[]).iter().map(|row| row.commands).collect();
        assert_eq!(commands, [2, 1, 1]);
    }

    #[test]
    fn a_freeze_is_spread_over_its_seconds() {
        let mut table = Seconds::new(ms(1000), Span::from_secs(3));
        let freezes = vec![Freeze { from: ms(1750), to: ms(3250) }];
        table.add_freezes(0, &Seen { freezes, ..Seen::default() });
        let names = ["main".to_owned()];
        let rows = table.rows(&names);
        let of = |row: &SecondRow| *row.cameras.get("main").unwrap();
        let frozen: Vec<f64> = rows.iter().map(|row| of(row).frozen_s).collect();
        assert_eq!(frozen, [0.25, 1.0, 0.25]);
        assert_eq!(rows.iter().map(|row| of(row).freezes).collect::<Vec<_>>(), [1, 0, 0]);
    }

    #[test]
    fn declared_loss_is_the_difference_between_samples() {
        let mut table = Seconds::new(ms(0), Span::from_secs(3));
        for (second, declared) in [(0, 10), (1, 13), (2, 20)] {
            let mut snapshot = Snapshot { window_bytes: second, ..Snapshot::default() };
            snapshot.counters.packets_declared_lost = declared;
            table.at(ms(second * 1000)).unwrap().sample = Some(snapshot);
        }
        let relay: Vec<RelaySecondRow> = table.rows(&[]).iter().filter_map(|row| row.relay).collect();
        assert_eq!(relay.iter().map(|r| r.declared_lost).collect::<Vec<_>>(), [3, 7, 0]);
        assert_eq!(relay[1].window_bytes, 1);
    }
}
