//! What the links of a cell are to be like.

use std::sync::Arc;
use std::time::Instant;

use bench::{Cell, Direction, Hop};
use netmodel::units::Time;
use netmodel::{DirectionProfile, Link, Profile, StreamKey};

/// One direction of one hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Which hop.
    pub hop: Hop,
    /// Which direction of it.
    pub direction: Direction,
}

/// The four links, in the order of everything that is kept for each.
pub const LINKS: [Place; 4] = [
    Place { hop: Hop::Robot, direction: Direction::Up },
    Place { hop: Hop::Robot, direction: Direction::Down },
    Place { hop: Hop::Operator, direction: Direction::Up },
    Place { hop: Hop::Operator, direction: Direction::Down },
];

impl Place {
    /// What the link's random streams are keyed by: the same as in the simulator.
    pub const fn label(self) -> &'static str {
        match (self.hop, self.direction) {
            (Hop::Robot, Direction::Up) => "robot-hop/up",
            (Hop::Robot, Direction::Down) => "robot-hop/down",
            (Hop::Operator, Direction::Up) => "operator-hop/up",
            (Hop::Operator, Direction::Down) => "operator-hop/down",
        }
    }

    /// Where it stands in [`LINKS`].
    pub const fn index(self) -> usize {
        (self.hop as usize) * 2 + self.direction as usize
    }
}

/// The conditions and the randomness of a cell's links, and when its time begins.
#[derive(Debug, Clone)]
pub struct LinkPlan {
    /// The conditions of the robot's hop.
    pub robot_hop: Arc<Profile>,
    /// The conditions of the operator's hop.
    pub operator_hop: Arc<Profile>,
    /// The root of the cell's randomness.
    pub key: StreamKey,
    /// The cell's time zero.
    pub epoch: Instant,
    /// From when on the times in the profiles count: the start of the traffic.
    pub origin: Time,
}

impl LinkPlan {
    /// The links that the simulator gives to `cell`, with time zero at `epoch`.
    pub fn of_cell(cell: &Cell, epoch: Instant) -> Self {
        Self {
            robot_hop: Arc::clone(&cell.robot_hop),
            operator_hop: Arc::clone(&cell.profile),
            key: cell.key(),
            epoch,
            origin: Time::ZERO + cell.warmup,
        }
    }

    /// The conditions at `place`.
    pub fn profile(&self, place: Place) -> &DirectionProfile {
        let profile = match place.hop {
            Hop::Robot => &self.robot_hop,
            Hop::Operator => &self.operator_hop,
        };
        match place.direction {
            Direction::Up => &profile.up,
            Direction::Down => &profile.down,
        }
    }

    /// A model of the link at `place`, empty: in the simulator it would give each packet the same fate.
    pub fn link<P: Clone>(&self, place: Place) -> Link<P> {
        Link::new(self.profile(place), &self.key, place.label(), self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_where_its_index_says() {
        for (index, place) in LINKS.into_iter().enumerate() {
            assert_eq!(place.index(), index);
        }
    }
}
