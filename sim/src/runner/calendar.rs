//! When each actor acts next, and who goes first when several act at the same moment.
//!
//! There are ten actors and each has at most one moment, so a row of ten is faster to search than
//! a queue is to keep in order, and a moment that moves is one store. At equal times the order is
//! that of [`Actor`], which is the whole tie-breaking rule: packets arrive in the order of the links
//! (and within a link in the order it gives), then the traffic is made, then timers fire from robot
//! to operator and in the second flow, and then the sampler looks. What a step causes at the same moment comes after the
//! step, by the same rule.

use bench::End;
use netmodel::units::Time;

/// Whoever can act of its own accord, in the order in which they act at equal times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Actor {
    Link(LinkId),
    Source,
    Timer(End),
    /// The second flow on the operator hop, both its ends.
    Flow,
    Sampler,
}

/// One direction of one hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LinkId {
    RobotUp,
    RobotDown,
    OperatorUp,
    OperatorDown,
}

impl LinkId {
    pub(super) const ALL: [Self; 4] = [Self::RobotUp, Self::RobotDown, Self::OperatorUp, Self::OperatorDown];
}

impl Actor {
    const ALL: [Self; 10] = [
        Self::Link(LinkId::RobotUp),
        Self::Link(LinkId::RobotDown),
        Self::Link(LinkId::OperatorUp),
        Self::Link(LinkId::OperatorDown),
        Self::Source,
        Self::Timer(End::Robot),
        Self::Timer(End::Relay),
        Self::Timer(End::Operator),
        Self::Flow,
        Self::Sampler,
    ];

    const fn index(self) -> usize {
        match self {
            Self::Link(link) => link as usize,
            Self::Source => 4,
            Self::Timer(end) => 5 + end as usize,
            Self::Flow => 8,
            Self::Sampler => 9,
        }
    }
}

/// The next moment of every actor.
#[derive(Debug)]
pub(super) struct Calendar {
    /// Each actor's moment above its rank, so that the least of the row is both who and when, and
    /// finding it takes no branches that a processor could guess wrong.
    entries: [u64; Actor::ALL.len()],
}

impl Calendar {
    /// Nobody has anything to do.
    pub(super) fn new() -> Self {
        Self { entries: std::array::from_fn(|index| NEVER << RANK_BITS | index as u64) }
    }

    /// Sets when `actor` acts next; [`Time::MAX`] for never.
    pub(super) fn set(&mut self, actor: Actor, at: Time) {
        let index = actor.index();
        self.entries[index] = at.as_nanos().min(NEVER) << RANK_BITS | index as u64;
    }

    /// Who acts next and when; in some 36 years for never.
    pub(super) fn next(&self) -> (Time, Actor) {
        let first = self.entries.iter().fold(u64::MAX, |least, entry| least.min(*entry));
        (Time::from_nanos(first >> RANK_BITS), Actor::ALL[(first & RANK_MASK) as usize])
    }
}

const RANK_BITS: u32 = 4;
const RANK_MASK: u64 = (1 << RANK_BITS) - 1;

/// The latest moment that fits beside a rank: later than any cell lasts.
const NEVER: u64 = u64::MAX >> RANK_BITS;

const _: () = assert!(Actor::ALL.len() as u64 <= RANK_MASK);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_the_order_of_actors() {
        for (index, actor) in Actor::ALL.into_iter().enumerate() {
            assert_eq!(actor.index(), index);
        }
        assert!(Actor::ALL.is_sorted());
    }

    #[test]
    fn the_earliest_goes_first_and_equal_times_go_by_rank() {
        let mut calendar = Calendar::new();
        let at = Time::from_nanos;
        for actor in Actor::ALL.into_iter().rev() {
            calendar.set(actor, at(7));
        }
        for actor in Actor::ALL {
            assert_eq!(calendar.next(), (at(7), actor));
            calendar.set(actor, Time::MAX);
        }
        assert_eq!(calendar.next().0, Time::from_nanos(NEVER));
        calendar.set(Actor::Link(LinkId::RobotUp), at(9));
        calendar.set(Actor::Sampler, at(8));
        assert_eq!(calendar.next(), (at(8), Actor::Sampler));
    }
}
