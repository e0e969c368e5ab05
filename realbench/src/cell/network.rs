//! What is between the ends of a real cell, as the cell's runner sees it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use bench::netmodel::LinkCounters;
use bench::{Direction, End, Hop};

use super::facts::Facts;
use crate::clock::Clock;
use crate::lag::Lag;

/// The sockets of the three ends and the links between them.
///
/// Called in this order: [`socket`](Self::socket) once for each end, [`start`](Self::start), [`finish`](Self::finish). The
/// links of a cell that failed are dropped without [`finish`](Self::finish).
pub trait Network: Send {
    /// What carries the packets, for the result: `"none"`, `"userspace"`, `"netem"`.
    fn backend(&self) -> &str;

    /// A socket for `end`, made where that end is: inside its namespace.
    fn socket(&mut self, end: End) -> io::Result<UdpSocket>;

    /// Where `end` can be reached by its peers, once its socket is there.
    fn address(&self, end: End) -> SocketAddr;

    /// Packets begin to flow. It tells `facts` of every packet by `clock`, whose zero is the cell's.
    fn start(&mut self, clock: Clock, facts: Facts) -> io::Result<()>;

    /// The cell is over; no facts come after this returns.
    fn finish(&mut self) -> LinkReport;
}

/// What the links have to say in the end.
#[derive(Debug, Clone, Default)]
pub struct LinkReport {
    /// What each direction of each link counted, where it did.
    pub counters: Vec<(Hop, Direction, LinkCounters)>,
    /// How late packets were released.
    pub release_lag: Option<Lag>,
    /// Packets that devices and sockets lost although the model did not.
    pub dropped: u64,
    /// Why the link's work is not to be trusted, where it is not.
    pub tainted: Option<String>,
}

/// No link at all: three sockets on the loopback device.
#[derive(Debug, Default)]
pub struct Loopback {
    addresses: [Option<SocketAddr>; 3],
}

impl Network for Loopback {
    fn backend(&self) -> &'static str {
        "none"
    }

    fn socket(&mut self, end: End) -> io::Result<UdpSocket> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        self.addresses[end as usize] = Some(socket.local_addr()?);
        Ok(socket)
    }

    fn address(&self, end: End) -> SocketAddr {
        self.addresses[end as usize].unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into())
    }

    fn start(&mut self, _clock: Clock, _facts: Facts) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> LinkReport {
        LinkReport::default()
    }
}
