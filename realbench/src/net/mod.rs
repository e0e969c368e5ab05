//! The network of a real cell: three ends and the middle, each in a network namespace of its own.
//!
//! The namespaces have no name: a file descriptor is all that keeps one, so a process that ends in whatever way
//! leaves nothing behind. What is here sets them up and hands out sockets; it forwards nothing, which is the
//! matter of [`crate::link`]. Called by the cell runner and by the command line.

mod addresses;
mod ethtool;
mod namespace;
mod setup;
mod topology;
mod user;

pub use addresses::{EndAddress, PORTS, Port};
pub use namespace::Namespace;
pub use topology::{Middle, Topology, TopologyOptions};
pub use user::{Capabilities, Privileges, enter_user_namespace};

pub(crate) use setup::{Cable, index_of, netlink};

/// Why a network could not be set up. Reads after "failed to".
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// The system refused a call.
    #[error("{action}: {source}")]
    System {
        /// What was tried.
        action: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The kernel refused a change to a network device.
    #[error("{action}: {source}")]
    Netlink {
        /// What was tried.
        action: String,
        /// What the kernel said.
        source: rtnetlink::Error,
    },
    /// The kernel lacks a queueing discipline that a link needs.
    #[error("set up a link by the kernel: it has no {kind}; `userspace` needs none")]
    NoDiscipline {
        /// Which.
        kind: &'static str,
    },
    /// A user namespace can be entered only before there is a second thread.
    #[error("enter a user namespace: the process has {threads} threads, and only one may be there")]
    Threads {
        /// How many there are.
        threads: usize,
    },
    /// The thread that worked inside a namespace panicked.
    #[error("work inside a network namespace: the thread panicked")]
    Panicked,
}

impl NetError {
    pub(crate) fn system(action: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self::System { action: action.into(), source: source.into() }
    }

    pub(crate) fn netlink(action: impl Into<String>, source: rtnetlink::Error) -> Self {
        Self::Netlink { action: action.into(), source }
    }

    /// The number of the system's error, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } => source.raw_os_error(),
            Self::Netlink { source: rtnetlink::Error::NetlinkError(message), .. } => {
                Some(message.raw_code().abs())
            }
            Self::NoDiscipline { .. } => Some(libc::ENOENT),
            _ => None,
        }
    }
}
