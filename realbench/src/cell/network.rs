//! What is between the ends of a real cell, as the cell's runner sees it.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use bench::End;

use super::facts::Facts;
use crate::clock::Clock;
use crate::error::RealError;
use crate::link::LinkReport;

/// The sockets of the three ends and the links between them.
///
/// Called in this order: [`socket`](Self::socket) once for each end, [`start`](Self::start), [`finish`](Self::finish). The
/// links of a cell that failed are dropped without [`finish`](Self::finish).
pub trait Network: Send {
    /// What carries the packets, for the result: `"none"`, `"userspace"`, `"netem"`.
    fn backend(&self) -> &str;

    /// A socket for `end`, made where that end is: inside its namespace.
    ///
    /// # Errors
    ///
    /// If the system refuses one.
    fn socket(&mut self, end: End) -> Result<UdpSocket, RealError>;

    /// Where `end` can be reached by its peers, once its socket is there.
    fn address(&self, end: End) -> SocketAddr;

    /// Packets begin to flow. It tells `facts` of every packet by `clock`, whose zero is the cell's.
    ///
    /// # Errors
    ///
    /// If the links cannot be made.
    fn start(&mut self, clock: Clock, facts: Facts) -> Result<(), RealError>;

    /// The cell is over; no facts come after this returns.
    ///
    /// # Errors
    ///
    /// If the links had ended before, and why.
    fn finish(&mut self) -> Result<LinkReport, RealError>;
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

    fn socket(&mut self, end: End) -> Result<UdpSocket, RealError> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(RealError::io("make a socket"))?;
        let address = socket.local_addr().map_err(RealError::io("find the address of a socket"))?;
        self.addresses[end as usize] = Some(address);
        Ok(socket)
    }

    fn address(&self, end: End) -> SocketAddr {
        self.addresses[end as usize].unwrap_or_else(|| (Ipv4Addr::LOCALHOST, 0).into())
    }

    fn start(&mut self, _clock: Clock, _facts: Facts) -> Result<(), RealError> {
        Ok(())
    }

    fn finish(&mut self) -> Result<LinkReport, RealError> {
        Ok(LinkReport::default())
    }
}
