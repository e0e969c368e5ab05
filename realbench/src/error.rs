//! Why something in real mode could not be done.

use std::io;
use std::path::PathBuf;

use bench::End;
use bench::relay_core::SetupError;

use crate::link::LinkError;
use crate::net::NetError;

/// Reads after "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RealError {
    /// The operating system refused something.
    #[error("{action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// Why it did not work.
        source: io::Error,
    },
    /// A machine could not be built from its settings.
    #[error("set up a machine: {0}")]
    Setup(#[from] SetupError),
    /// Certificates could not be made, read or used.
    #[error("set up TLS: {0}")]
    Tls(String),
    /// A file of keys, certificates or tokens could not be read or written.
    #[error("{action} `{path}`: {reason}")]
    File {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why it did not work.
        reason: String,
    },
    /// The namespaces could not be made.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The link between the ends could not be made, or ended.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An end could not join its session in time.
    #[error("join the session: {}", never_joined(*refused))]
    NeverJoined {
        /// Times that the relay refused.
        refused: u64,
    },
    /// No congestion control, on a network that others use.
    #[error(
        "run without congestion control on a real network: `open` takes whatever there is from everybody else"
    )]
    OpenCongestion,
    /// One end of a cell stopped before its time.
    #[error("run the {} to the end of the cell: {reason}{}", end.name(), last_lines(last))]
    Crashed {
        /// Which.
        end: End,
        /// The panic's message, or what the operating system said.
        reason: String,
        /// The last things it did, the newest last.
        last: Vec<String>,
    },
    /// One end of a cell did not stop.
    #[error("end the cell in time: the {} still runs{}", end.name(), last_lines(last))]
    Hung {
        /// Which.
        end: End,
        /// The last things it did, the newest last.
        last: Vec<String>,
    },
}

impl RealError {
    /// Wraps what the operating system said about `action`.
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }
}

fn never_joined(refused: u64) -> String {
    match refused {
        0 => "the relay does not answer".to_owned(),
        times => format!("the relay refused {times} times"),
    }
}

fn last_lines(lines: &[String]) -> String {
    if lines.is_empty() {
        return "; it had done nothing yet".to_owned();
    }
    format!("; the last it did:\n  {}", lines.join("\n  "))
}
