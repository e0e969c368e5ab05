//! A second flow beside the relay's packets, as a workload describes it. What it does is in
//! [`crate::bulk`].

use netmodel::document::Problem;
use relay_core::settings::CongestionKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Span;

use crate::place::Direction;

/// A flow that shares both directions of the operator hop with the relay: its packets wait in the same
/// queues and meet the same loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CrossTraffic {
    /// What it sends.
    pub kind: CrossTrafficKind,
    /// The law that limits it, with its own defaults. Default `"cubic"`, which most of the
    /// Internet's bulk traffic runs. The relay's law is `settings.congestion`.
    #[serde(default = "default_congestion")]
    pub congestion: CongestionKind,
    /// Which way its data goes; acknowledgements go the other way. Default `"down"`, beside the video.
    #[serde(default = "default_direction")]
    pub direction: Direction,
    /// When it starts, from the start of the traffic. Default `"0 s"`. Range 0 s to 3600 s.
    #[serde(default)]
    #[schemars(with = "String")]
    pub start: Span,
    /// When it sends its last packet, from the start of the traffic. Default: at the end of the traffic.
    /// Range: later than `start`, up to 3600 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub stop: Option<Span>,
}

/// What a second flow sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CrossTrafficKind {
    /// Packets of 1500 bytes, as many as its law admits: a download without an end.
    Bulk,
}

impl CrossTraffic {
    /// Everything about it that is outside its documented range.
    pub(super) fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        if self.start > LATEST {
            found.push(format!("workload.cross_traffic.start is {}, outside 0 s to 3600 s", self.start));
        }
        if let Some(stop) = self.stop
            && (stop <= self.start || stop > LATEST)
        {
            found.push(format!(
                "workload.cross_traffic.stop is {stop}, which is not after its start at {} and within 3600 s",
                self.start
            ));
        }
        found.into_iter().map(Problem::new).collect()
    }
}

fn default_congestion() -> CongestionKind {
    CongestionKind::Cubic
}

fn default_direction() -> Direction {
    Direction::Down
}

const LATEST: Span = Span::from_secs(3600);
