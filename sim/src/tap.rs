//! Listening in on a cell while it runs: every packet at both ends of each link, every input, event
//! and sample, with the bytes that the recorder does not keep.
//!
//! A tap sees and cannot touch: with and without one a cell comes to the same result, which its
//! trace hash shows. Whoever writes captures, traces and logs of single packets implements it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bench::{Direction, End, Hop, Input};
use netmodel::Verdict;
use netmodel::units::{Rate, Span, Time};
use relay_core::{Carried, Event, Role, Snapshot};

/// Somebody who listens in. Every method does nothing by default.
///
/// Calls come in time order. Times count from the cell's beginning, its warm-up included.
pub trait Tap {
    /// Time has come to `now`: whatever is told until the next call happens at that moment.
    fn at(&mut self, now: Time) {
        let _ = now;
    }

    /// A camera made a frame, or a pose was taken.
    fn input(&mut self, now: Time, input: &Input) {
        let _ = (now, input);
    }

    /// The machine at `end` did or saw something.
    fn event(&mut self, now: Time, end: End, event: &Event) {
        let _ = (now, end, event);
    }

    /// A packet was handed to a link.
    fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        let _ = (now, packet);
    }

    /// A packet that a link had accepted was dropped in its queue: what active queues do.
    fn dropped(&mut self, now: Time, packet: &Dropped<'_>) {
        let _ = (now, packet);
    }

    /// A packet came out of a link.
    fn arrived(&mut self, now: Time, packet: &Arrived<'_>) {
        let _ = (now, packet);
    }

    /// The state of every sending side and every link, each [`sample_interval`](Self::sample_interval).
    fn sample(&mut self, now: Time, sample: &Sample) {
        let _ = (now, sample);
    }

    /// How often [`sample`](Self::sample) is called from the start of the traffic on; `None` for never.
    fn sample_interval(&self) -> Option<Span> {
        None
    }
}

/// Which link, and which packet on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketId {
    /// The hop.
    pub hop: Hop,
    /// The direction.
    pub direction: Direction,
    /// The packet's number in that direction, from 0.
    pub number: u64,
}

/// A packet as it enters a link.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// Which one.
    pub id: PacketId,
    /// Who sends it.
    pub from: SocketAddr,
    /// Whom it is for.
    pub to: SocketAddr,
    /// The two ECN bits of its IP header.
    pub ecn: u8,
    /// The UDP payload.
    pub datagram: &'a [u8],
    /// What becomes of it.
    pub verdict: Verdict,
    /// What its sender says it carries.
    pub carries: Carried,
}

/// A packet that had been let into a link's queue and was dropped there. The second flow's are not told of, as
/// none of its packets is.
#[derive(Debug, Clone, Copy)]
pub struct Dropped<'a> {
    /// Which one.
    pub id: PacketId,
    /// Who sent it.
    pub from: SocketAddr,
    /// Whom it was for.
    pub to: SocketAddr,
    /// The UDP payload.
    pub datagram: &'a [u8],
}

/// A packet as it leaves a link.
#[derive(Debug, Clone, Copy)]
pub struct Arrived<'a> {
    /// Which one.
    pub id: PacketId,
    /// Who sent it.
    pub from: SocketAddr,
    /// Whom it is for.
    pub to: SocketAddr,
    /// The two ECN bits of its IP header.
    pub ecn: u8,
    /// The UDP payload as it arrives: damaged, where it is.
    pub datagram: &'a [u8],
    /// How long it waited in the bottleneck's queue.
    pub queued: Span,
    /// Whether it is damaged.
    pub corrupted: bool,
    /// Whether it is the second copy.
    pub duplicate: bool,
}

/// The state of a cell at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Each sending side: whose it is, towards whom, and its state.
    pub sides: [(End, Role, Snapshot); 4],
    /// Each link, by hop and then direction, up first.
    pub links: [LinkSample; 4],
}

/// The state of one direction of a hop at one moment.
#[derive(Debug, Clone, Copy)]
pub struct LinkSample {
    /// The hop.
    pub hop: Hop,
    /// The direction.
    pub direction: Direction,
    /// IP bytes that wait for the bottleneck, the packet being sent included.
    pub queue_bytes: u64,
    /// Packets between their sending and their coming out.
    pub in_flight: usize,
    /// The bottleneck's rate; `None` if it is unlimited.
    pub rate: Option<Rate>,
}

/// Takes the qlog that QUIC itself writes of one connection: asked once for the machine and the hop.
pub type QlogSink = Arc<dyn Fn(End, Hop) -> Box<dyn io::Write + Send + Sync> + Send + Sync>;

/// Takes the secrets of TLS, one line of the format of NSS (`SSLKEYLOGFILE`) each, without its end.
pub type KeyLogSink = Arc<dyn Fn(&str) + Send + Sync>;
