//! From a hand movement to a command at the robot.
//!
//! Each pose is the first to carry one hand movement. The movement is done at the first command
//! executed at the robot that came from that pose or a later one.

use units::{Span, Time};

use super::summary::{CommandSummary, HandSummary};
use crate::statistics::{millis, percentile};

/// Movements and commands of one cell.
#[derive(Debug)]
pub(super) struct CommandRecord {
    start: Time,
    end: Time,
    /// When the movement that each pose carries happened, and when it was done.
    movements: Vec<Movement>,
    /// How many leading movements are done.
    done: usize,
    newest_executed: Option<u32>,
    last_executed: Time,
    gap_max: Span,
    summary: CommandSummary,
    /// Commands executed after one from a newer pose.
    pub(super) stale: u64,
}

#[derive(Debug, Clone, Copy)]
struct Movement {
    moved: Time,
    done: Time,
}

impl CommandRecord {
    pub(super) fn new(start: Time, end: Time, poses_expected: usize) -> Self {
        Self {
            start,
            end,
            movements: Vec::with_capacity(poses_expected),
            done: 0,
            newest_executed: None,
            last_executed: start,
            gap_max: Span::ZERO,
            summary: CommandSummary::default(),
            stale: 0,
        }
    }

    /// A pose was taken; false if it does not follow the one before it.
    pub(super) fn pose(&mut self, pose: u32, moved: Time) -> bool {
        let follows = pose as usize == self.movements.len();
        if follows {
            self.movements.push(Movement { moved, done: Time::MAX });
        }
        follows
    }

    pub(super) fn at_relay(&mut self) {
        self.summary.at_relay += 1;
    }

    pub(super) fn refused(&mut self) {
        self.summary.refused += 1;
    }

    /// A command was executed; false if it came from no pose that was ever taken.
    pub(super) fn executed(&mut self, now: Time, pose: u32) -> bool {
        if pose as usize >= self.movements.len() {
            return false;
        }
        self.summary.executed += 1;
        self.note_gap(now);
        match self.newest_executed {
            Some(newest) if pose < newest => self.stale += 1,
            Some(newest) if pose == newest => self.summary.repeated += 1,
            _ => {
                self.newest_executed = Some(pose);
                for movement in &mut self.movements[self.done..=pose as usize] {
                    movement.done = now;
                }
                self.done = pose as usize + 1;
            }
        }
        true
    }

    fn note_gap(&mut self, now: Time) {
        let at = now.clamp(self.start, self.end);
        self.gap_max = self.gap_max.max(at.since(self.last_executed));
        self.last_executed = self.last_executed.max(at);
    }

    /// From each movement that was carried out to its command, in microseconds.
    pub(super) fn delays_us(&self) -> Vec<u64> {
        self.movements[..self.done].iter().map(|m| m.done.since(m.moved).as_micros()).collect()
    }

    pub(super) fn finish(&mut self) -> (HandSummary, CommandSummary) {
        self.note_gap(self.end);
        let mut delays: Vec<u64> =
            self.movements[..self.done].iter().map(|m| m.done.since(m.moved).as_nanos()).collect();
        delays.sort_unstable();
        let lost = self.movements.len() - self.done;
        let at = |percent| percentile(&delays, lost, percent).map(millis);
        let hand = HandSummary { p50: at(50), p99: at(99), max: delays.last().copied().map(millis) };
        let commands = CommandSummary {
            poses: self.movements.len() as u64,
            movements_lost: lost as u64,
            gap_ms_max: Some(millis(self.gap_max.as_nanos())),
            ..self.summary
        };
        (hand, commands)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Three movements at 1000, 1010 and 1020 ms, in traffic from 1 s to 2 s.
    fn record() -> CommandRecord {
        let mut record = CommandRecord::new(ms(1000), ms(2000), 3);
        for pose in 0..3 {
            assert!(record.pose(pose, ms(1000 + u64::from(pose) * 10)));
        }
        record
    }

    #[test]
    fn a_movement_is_done_by_the_first_command_from_its_pose_or_a_later_one() {
        let mut record = record();
        assert!(record.executed(ms(1100), 1));
        assert!(record.executed(ms(1150), 2));
        let (hand, commands) = record.finish();
        // Movement 0 is carried out by command 1: 100 ms; 1: 90 ms; 2: 130 ms.
        assert_eq!(hand, HandSummary { p50: Some(100.0), p99: Some(130.0), max: Some(130.0) });
        assert_eq!((commands.poses, commands.executed, commands.movements_lost), (3, 2, 0));
        assert_eq!(commands.gap_ms_max, Some(850.0), "from the last command to the end of the traffic");
        assert_eq!(record.stale, 0);
    }

    #[test]
    fn a_movement_never_carried_out_is_infinitely_late() {
        let mut record = record();
        record.executed(ms(1100), 1);
        let (hand, commands) = record.finish();
        assert_eq!((hand.p50, hand.p99, hand.max), (Some(100.0), None, Some(100.0)));
        assert_eq!(commands.movements_lost, 1);
    }

    #[test]
    fn a_command_older_than_one_executed_is_stale_and_an_equal_one_repeated() {
        let mut record = record();
        for (at, pose) in [(1100, 1), (1110, 0), (1120, 1), (1130, 2), (1140, 1)] {
            assert!(record.executed(ms(at), pose));
        }
        let (hand, commands) = record.finish();
        assert_eq!(record.stale, 2);
        assert_eq!((commands.executed, commands.repeated), (5, 1));
        assert_eq!(hand.max, Some(110.0), "movement 0 is done at 1100 whatever comes later");
    }

    #[test]
    fn a_command_from_no_pose_is_refused() {
        let mut record = record();
        assert!(!record.executed(ms(1100), 3));
        assert!(!record.pose(7, ms(1)));
        assert_eq!(record.finish().1.executed, 0);
    }

    #[test]
    fn without_a_command_the_gap_is_the_whole_traffic() {
        let (hand, commands) = record().finish();
        assert_eq!(hand, HandSummary::default());
        assert_eq!((commands.gap_ms_max, commands.movements_lost), (Some(1000.0), 3));
    }

    #[test]
    fn commands_in_the_drain_count_but_do_not_stretch_the_gap() {
        let mut record = record();
        for at in (1000..2000).step_by(100) {
            record.executed(ms(at), 1);
        }
        record.executed(ms(2500), 2);
        let (hand, commands) = record.finish();
        assert_eq!(commands.gap_ms_max, Some(100.0));
        assert_eq!(hand.max, Some(1480.0));
    }
}
