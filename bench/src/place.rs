//! Names of the places in the topology: two hops, two directions each, three ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One of the two links in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Hop {
    /// Between robot and relay.
    Robot,
    /// Between relay and operator.
    Operator,
}

/// One direction of a hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Towards the relay: video on the robot hop, poses on the operator hop.
    Up,
    /// Away from the relay: commands on the robot hop, video on the operator hop.
    Down,
}

/// One of the three machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The robot's end.
    Robot,
    /// The relay between the two.
    Relay,
    /// The operator's end.
    Operator,
}

impl Hop {
    /// The name used in logs and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Robot => "robot",
            Self::Operator => "operator",
        }
    }
}

impl Direction {
    /// The other one.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }

    /// The name used in logs and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

impl End {
    /// The name used in logs and labels.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Robot => "robot",
            Self::Relay => "relay",
            Self::Operator => "operator",
        }
    }
}

/// Index of a link direction into the arrays that are kept per direction.
pub(crate) const fn link_index(hop: Hop, direction: Direction) -> usize {
    (hop as usize) * 2 + direction as usize
}

/// How many link directions there are.
pub(crate) const LINKS: usize = 4;
