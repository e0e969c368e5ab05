//! What is between the ends of a real cell: the two hops' links, by one of several backends behind one trait.
//!
//! `userspace` drives the models of `netmodel` in real time, `netem` has the kernel do it, and `none` is a cable.
//! The runner asks a backend what of a profile it cannot do, makes a [`Topology`] with the middle that the
//! backend wants, starts it, and stops it for its report. Nothing here knows what the packets carry.

mod error;
mod frame;
mod netem;
mod none;
mod packet_socket;
mod plan;
mod report;
mod scheduling;
mod sink;
mod userspace;

pub use error::{LinkError, Unsupported};
pub use netem::{NetemLink, probe as probe_netem};
pub use none::NoLink;
pub use plan::{LINKS, LinkPlan, Place};
pub use report::LinkReport;
pub use sink::{ChannelSink, PacketEvent, PacketSink};
pub use userspace::UserspaceLink;

pub(crate) use netem::ahead_max;
pub(crate) use packet_socket::PacketSocket;
pub(crate) use scheduling::real_time;

use netmodel::LinkCounters;

use crate::net::{Middle, Topology};

/// A way to make the two hops of a cell.
pub trait LinkBackend: Sync {
    /// What it is called on the command line and in results.
    fn name(&self) -> &'static str;

    /// How the topology's hops have to be joined for it.
    fn middle(&self) -> Middle;

    /// Everything in the plan's profiles that it cannot do; empty if it can do all.
    fn refusals(&self, plan: &LinkPlan) -> Vec<Unsupported>;

    /// Starts the links of both hops in `topology`. `sink` is told of every packet, where the backend knows.
    ///
    /// # Errors
    ///
    /// If something in the plan is refused, or the system refuses something.
    fn start(
        &self,
        topology: &Topology,
        plan: &LinkPlan,
        sink: Box<dyn PacketSink>,
    ) -> Result<Box<dyn RunningLink>, LinkError>;
}

/// The links of a cell at work. They end when this is dropped, or with the process.
pub trait RunningLink: Send {
    /// What the links' stages did up to about now, in the order of [`LINKS`].
    fn counters(&self) -> [LinkCounters; 4];

    /// Ends the links; what is under way is lost.
    ///
    /// # Errors
    ///
    /// If the links had ended by themselves before, and why.
    fn stop(self: Box<Self>) -> Result<LinkReport, LinkError>;
}

/// Every backend of this build, the default first.
pub const BACKENDS: [&dyn LinkBackend; 3] = [&UserspaceLink, &NetemLink, &NoLink];

/// The backend called `name`.
pub fn backend(name: &str) -> Option<&'static dyn LinkBackend> {
    BACKENDS.into_iter().find(|backend| backend.name() == name)
}
