//! Why frames were missing or late: the closed list, and how many frames each cause took.
//!
//! How a frame's cause is found is in `why`; this is what files and readers see of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

/// A frame complete at the operator later than this after it was made is late.
///
/// One bound for all links, so that causes can be compared between them: the middle one of the three of
/// `on_time_ratio`. An undisturbed frame takes less on every built-in profile, so none is late by
/// distance alone.
pub const LATE_AFTER: Span = Span::from_millis(300);

/// What a frame that is missing or late owes it to: exactly one for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// An end was not in the session: nobody to take the frame, or to send it to.
    NotConnected,
    /// Between robot and relay: lost there, given up by the robot's end, or slow to arrive at the relay.
    RobotHop,
    /// Skipped by the relay because of measured loss.
    Skipped,
    /// Complete at the relay, and older than the frame deadline before window and pacer admitted all
    /// of it.
    ExpiredInRelay,
    /// Pushed out of the relay's full queue by a newer frame of its camera.
    Superseded,
    /// Waited in the relay because window or pacer did not admit it. A missing one still waited when the cell ended.
    WindowShut,
    /// The link was down when its packets were sent.
    Outage,
    /// The link's bottleneck queue was full when its packets came.
    QueueOverflow,
    /// The link lost (or damaged) its packets, and neither parity nor sending again made up for it,
    /// in time or at all.
    Lost,
    /// Its packets waited in the link's bottleneck queue.
    LinkQueue,
    /// Its packets were long under way: the link's own delay and jitter.
    LinkDelay,
    /// In the hands of QUIC, which does not say which packets are the frame's: frames as streams.
    InTransport,
}

impl Cause {
    /// All of them, in the order of a frame's way.
    pub const ALL: [Self; 12] = [
        Self::NotConnected,
        Self::RobotHop,
        Self::Skipped,
        Self::ExpiredInRelay,
        Self::Superseded,
        Self::WindowShut,
        Self::Outage,
        Self::QueueOverflow,
        Self::Lost,
        Self::LinkQueue,
        Self::LinkDelay,
        Self::InTransport,
    ];

    /// The name used in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotConnected => "not-connected",
            Self::RobotHop => "robot-hop",
            Self::Skipped => "skipped",
            Self::ExpiredInRelay => "expired-in-relay",
            Self::Superseded => "superseded",
            Self::WindowShut => "window-shut",
            Self::Outage => "outage",
            Self::QueueOverflow => "queue-overflow",
            Self::Lost => "lost",
            Self::LinkQueue => "link-queue",
            Self::LinkDelay => "link-delay",
            Self::InTransport => "in-transport",
        }
    }

    /// The cause of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

/// Why frames of one camera were missing, and why those that came late did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CauseSummary {
    /// Frames never complete at the operator; together produced less delivered.
    pub missing: CauseCounts,
    /// Frames complete more than 300 ms after they were made.
    pub late: CauseCounts,
}

/// Frames by cause, under the causes' names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct CauseCounts {
    /// An end was not in the session.
    pub not_connected: u64,
    /// Between robot and relay.
    pub robot_hop: u64,
    /// Skipped by the relay because of measured loss.
    pub skipped: u64,
    /// Grown older than the frame deadline in the relay.
    pub expired_in_relay: u64,
    /// Pushed out of the relay's full queue by a newer frame.
    pub superseded: u64,
    /// Waited in the relay because window or pacer did not admit it.
    pub window_shut: u64,
    /// Sent while the link was down.
    pub outage: u64,
    /// Found the link's bottleneck queue full.
    pub queue_overflow: u64,
    /// Lost on the link and not made up for.
    pub lost: u64,
    /// Waited in the link's bottleneck queue.
    pub link_queue: u64,
    /// Long under way on the link.
    pub link_delay: u64,
    /// In the hands of QUIC, frames being streams.
    pub in_transport: u64,
}

impl CauseCounts {
    /// How many frames owe it to `cause`.
    pub fn of(&self, cause: Cause) -> u64 {
        let mut copy = *self;
        *copy.slot(cause)
    }

    /// One more frame that owes it to `cause`.
    pub fn add(&mut self, cause: Cause) {
        *self.slot(cause) += 1;
    }

    /// Frames in all.
    pub fn total(&self) -> u64 {
        Cause::ALL.into_iter().map(|cause| self.of(cause)).sum()
    }

    /// The cause of the most frames; of equals the first on a frame's way. `None` when there are none.
    pub fn most(&self) -> Option<Cause> {
        let most = Cause::ALL.into_iter().rev().max_by_key(|cause| self.of(*cause))?;
        (self.of(most) > 0).then_some(most)
    }

    fn slot(&mut self, cause: Cause) -> &mut u64 {
        match cause {
            Cause::NotConnected => &mut self.not_connected,
            Cause::RobotHop => &mut self.robot_hop,
            Cause::Skipped => &mut self.skipped,
            Cause::ExpiredInRelay => &mut self.expired_in_relay,
            Cause::Superseded => &mut self.superseded,
            Cause::WindowShut => &mut self.window_shut,
            Cause::Outage => &mut self.outage,
            Cause::QueueOverflow => &mut self.queue_overflow,
            Cause::Lost => &mut self.lost,
            Cause::LinkQueue => &mut self.link_queue,
            Cause::LinkDelay => &mut self.link_delay,
            Cause::InTransport => &mut self.in_transport,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_has_one_name_everywhere() {
        for cause in Cause::ALL {
            assert_eq!(serde_json::to_value(cause).unwrap(), cause.name());
            assert_eq!(Cause::from_name(cause.name()), Some(cause));
            let mut counts = CauseCounts::default();
            assert_eq!(counts.most(), None);
            counts.add(cause);
            assert_eq!((counts.of(cause), counts.total(), counts.most()), (1, 1, Some(cause)));
            assert_eq!(serde_json::to_value(counts).unwrap()[cause.name()], 1);
        }
        assert_eq!(serde_json::to_value(CauseCounts::default()).unwrap().as_object().unwrap().len(), 12);
        assert_eq!(Cause::from_name("fate"), None);
    }

    #[test]
    fn of_equal_causes_the_first_on_the_way_counts() {
        let counts = CauseCounts { lost: 2, skipped: 2, window_shut: 1, ..CauseCounts::default() };
        assert_eq!(counts.most(), Some(Cause::Skipped));
    }
}
