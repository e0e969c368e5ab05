//! Why a link could not be made, or ended.

use bench::{Direction, Hop};

use crate::net::NetError;

/// Why a link could not be made, or ended. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The backend cannot do what a profile asks for.
    #[error("make the link by `{backend}`: {}", listed(.refused))]
    Unsupported {
        /// The backend.
        backend: &'static str,
        /// Everything that it cannot do.
        refused: Vec<Unsupported>,
    },
    /// The topology is not joined as the backend needs it.
    #[error("make the link by `{backend}`: the topology is not made for it")]
    WrongTopology {
        /// The backend.
        backend: &'static str,
    },
    /// The namespaces did not do what was asked.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The system refused a call.
    #[error("{action}: {source}")]
    System {
        /// What was tried.
        action: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The thread of the link panicked.
    #[error("run the link: its thread panicked")]
    Panicked,
}

impl LinkError {
    pub(crate) fn system(action: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::System { action: action.into(), source: source.into() }
    }
}

/// Something in a profile that a backend cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}-hop/{}: `{stage}` is not possible: {why}", .hop.name(), .direction.name())]
pub struct Unsupported {
    /// The hop.
    pub hop: Hop,
    /// The direction.
    pub direction: Direction,
    /// The key of the profile.
    pub stage: &'static str,
    /// Why not.
    pub why: &'static str,
}

fn listed(refused: &[Unsupported]) -> String {
    let lines: Vec<String> = refused.iter().map(Unsupported::to_string).collect();
    lines.join("; ")
}
