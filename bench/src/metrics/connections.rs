//! When the ends joined their session and lost it, and what to tell a reader about that.
//!
//! A cell in which an end never joined has numbers like any other: nothing delivered, a picture that
//! stands. They say nothing about the settings then, which is what the warnings are for.

use relay_core::{Event, LeaveReason, Role};
use units::Time;

use super::summary::ConnectionSummary;
use crate::place::End;
use crate::statistics::rounded;

/// The comings and goings of one cell.
#[derive(Debug)]
pub(super) struct ConnectionRecord {
    start: Time,
    end: Time,
    robot: Side,
    operator: Side,
    relay_lost_operator: bool,
}

/// One end's.
#[derive(Debug, Clone, Copy, Default)]
struct Side {
    joined: Option<Time>,
    /// The first loss, noticed by the end or by the relay.
    lost: Option<(Time, LeaveReason)>,
    /// The first time that the end joined again after it.
    again: Option<Time>,
}

impl ConnectionRecord {
    pub(super) fn new(start: Time, end: Time) -> Self {
        let (robot, operator) = (Side::default(), Side::default());
        Self { start, end, robot, operator, relay_lost_operator: false }
    }

    /// A [`Event::Joined`] or [`Event::Left`] at `at`.
    pub(super) fn event(&mut self, now: Time, at: End, event: &Event) {
        let (Event::Joined { role } | Event::Left { role, .. }) = *event else { return };
        let side = if role == Role::Robot { &mut self.robot } else { &mut self.operator };
        match *event {
            Event::Left { reason, .. } => {
                // That is how a cell ends.
                if reason == LeaveReason::Closed && now >= self.end {
                    return;
                }
                side.lost.get_or_insert((now, reason));
                self.relay_lost_operator |= (at, role) == (End::Relay, Role::Operator);
            }
            // The relay joins nothing: it says so of an end that may not know yet.
            _ if at == End::Relay => {}
            _ if side.lost.is_some() => {
                side.again.get_or_insert(now);
            }
            _ => {
                side.joined.get_or_insert(now);
            }
        }
    }

    /// Whether the relay saw the operator go.
    pub(super) fn relay_lost_operator(&self) -> bool {
        self.relay_lost_operator
    }

    pub(super) fn finish(&self) -> (ConnectionSummary, Vec<String>) {
        let lost = [self.robot.lost, self.operator.lost].into_iter().flatten().map(|(at, _)| at).min();
        let summary = ConnectionSummary {
            robot_joined_at_s: self.robot.joined.map(|at| self.seconds(at)),
            operator_joined_at_s: self.operator.joined.map(|at| self.seconds(at)),
            lost_at_s: lost.map(|at| self.seconds(at)),
        };
        let sides = [
            ("robot", "no video and no command passed", self.robot),
            ("operator", "nothing was sent", self.operator),
        ];
        (
            summary,
            sides.iter().filter_map(|(name, without, side)| self.warning(name, without, side)).collect(),
        )
    }

    fn warning(&self, name: &str, without: &str, side: &Side) -> Option<String> {
        let at = |at: Time| format!("{:.1} s", self.seconds(at));
        match *side {
            Side { joined: None, lost: None, .. } => Some(format!(
                "the {name}'s end never joined: its connection did not come up while the cell ran"
            )),
            Side { joined: None, lost: Some((when, reason)), .. } => Some(format!(
                "the {name}'s end never joined: {} at {}",
                match reason {
                    LeaveReason::Refused => "it was refused",
                    LeaveReason::Replaced => "another took its place",
                    LeaveReason::TimedOut => "its connection attempt timed out",
                    LeaveReason::Closed => "its connection attempt was ended",
                },
                at(when)
            )),
            Side { lost: Some((when, _)), again: None, .. } => {
                Some(format!("the {name}'s connection was lost at {} and {without} after", at(when)))
            }
            Side { lost: Some((when, _)), again: Some(again), .. } => Some(format!(
                "the {name}'s connection was lost at {} and came back at {}",
                at(when),
                at(again)
            )),
            Side { joined: Some(joined), .. } if joined > self.start => {
                Some(format!("the {name}'s end joined only at {}, and {without} before", at(joined)))
            }
            Side { .. } => None,
        }
    }

    /// Seconds since the start of the traffic.
    fn seconds(&self, at: Time) -> f64 {
        let nanos = i128::from(at.as_nanos()) - i128::from(self.start.as_nanos());
        rounded(nanos as f64 / 1e9, 6)
    }
}

#[cfg(test)]
mod tests {
    use units::Span;

    use super::*;

    const JOINED_ROBOT: Event = Event::Joined { role: Role::Robot };
    const JOINED_OPERATOR: Event = Event::Joined { role: Role::Operator };
    const LOST_OPERATOR: Event = Event::Left { role: Role::Operator, reason: LeaveReason::TimedOut };

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Traffic from 5 s to 65 s.
    fn record(events: &[(u64, End, Event)]) -> ConnectionRecord {
        let mut record = ConnectionRecord::new(ms(5000), ms(65_000));
        for (at, end, event) in events {
            record.event(ms(*at), *end, event);
        }
        record
    }

    #[test]
    fn an_ordinary_cell_has_no_warning() {
        let close = Event::Left { role: Role::Robot, reason: LeaveReason::Closed };
        let (summary, warnings) = record(&[
            (4, End::Relay, JOINED_ROBOT),
            (5, End::Robot, JOINED_ROBOT),
            (250, End::Operator, JOINED_OPERATOR),
            (68_000, End::Relay, close),
        ])
        .finish();
        let expected = ConnectionSummary {
            robot_joined_at_s: Some(-4.995),
            operator_joined_at_s: Some(-4.75),
            lost_at_s: None,
        };
        assert_eq!((summary, warnings), (expected, Vec::new()));
    }

    #[test]
    fn an_end_that_never_joined_is_told() {
        let robot = (5, End::Robot, JOINED_ROBOT);
        let (summary, warnings) = record(&[robot.clone(), (9, End::Relay, JOINED_OPERATOR)]).finish();
        assert_eq!((summary.operator_joined_at_s, summary.lost_at_s), (None, None));
        assert_eq!(
            warnings,
            ["the operator's end never joined: its connection did not come up while the cell ran"]
        );
        let (summary, warnings) = record(&[robot, (35_000, End::Operator, LOST_OPERATOR)]).finish();
        assert_eq!(summary.lost_at_s, Some(30.0));
        assert_eq!(warnings, ["the operator's end never joined: its connection attempt timed out at 30.0 s"]);
        assert_eq!(record(&[]).finish().1.len(), 2);
    }

    #[test]
    fn a_lost_connection_is_told_once_with_the_moment_it_was_first_noticed() {
        let joined = [(5, End::Robot, JOINED_ROBOT), (250, End::Operator, JOINED_OPERATOR)];
        let mut events = joined.to_vec();
        events.push((56_200, End::Relay, LOST_OPERATOR));
        events.push((57_000, End::Operator, LOST_OPERATOR));
        let lost = record(&events);
        assert!(lost.relay_lost_operator());
        let (summary, warnings) = lost.finish();
        assert_eq!(summary.lost_at_s, Some(51.2));
        assert_eq!(warnings, ["the operator's connection was lost at 51.2 s and nothing was sent after"]);
        events.push((58_000, End::Operator, JOINED_OPERATOR));
        let warnings = record(&events).finish().1;
        assert_eq!(warnings, ["the operator's connection was lost at 51.2 s and came back at 53.0 s"]);
        assert!(!record(&joined).relay_lost_operator());
    }

    #[test]
    fn an_end_that_joined_within_the_traffic_is_told() {
        let warnings =
            record(&[(5, End::Robot, JOINED_ROBOT), (8200, End::Operator, JOINED_OPERATOR)]).finish().1;
        assert_eq!(warnings, ["the operator's end joined only at 3.2 s, and nothing was sent before"]);
    }
}
