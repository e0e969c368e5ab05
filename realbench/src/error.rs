//! Why something in real mode could not be done.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use bench::End;
use bench::relay_core::SetupError;

use crate::link::LinkError;
use crate::net::NetError;
use crate::process::NotJoined;
use crate::tls::Purpose;

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
    /// A private key is not that of the certificate.
    #[error("use the key `{key}`: it does not belong to the certificate `{certificate}`")]
    KeyMismatch {
        /// The key's file.
        key: PathBuf,
        /// The certificate's.
        certificate: PathBuf,
    },
    /// A certificate is for the other side of a connection.
    #[error("use the certificate: {}", purpose_differs(*purpose))]
    Purpose {
        /// What it would have to be for.
        purpose: Purpose,
    },
    /// A certificate is not valid at this time.
    #[error("use the certificate: {0}")]
    OutOfDate(String),
    /// A name for a certificate is none.
    #[error("make a certificate for `{0}`: it is neither a DNS name nor an IP address")]
    NoName(String),
    /// No socket could be had at an address.
    #[error("listen on {address}: {source}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The namespaces could not be made.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The link between the ends could not be made, or ended.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An end could not join its session in time, or has been told that it never will.
    #[error("join the session: {0}")]
    NeverJoined(Box<NotJoined>),
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

fn purpose_differs(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Relay => "it is an end's, by its extended key usage, and no end takes it for a relay's",
        Purpose::End => "it is a relay's, by its extended key usage, and no relay takes it for an end's",
    }
}

fn last_lines(lines: &[String]) -> String {
    if lines.is_empty() {
        return "; it had done nothing yet".to_owned();
    }
    format!("; the last it did:\n  {}", lines.join("\n  "))
}
