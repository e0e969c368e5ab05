//! The network of a real cell in namespaces: the topology and a link backend as the cell's runner sees them.

use std::net::{SocketAddr, UdpSocket};

use bench::{Cell, End};

use super::facts::{Fact, Facts};
use super::network::Network;
use crate::clock::Clock;
use crate::error::RealError;
use crate::link::{LinkBackend, LinkPlan, LinkReport, PacketEvent, PacketSink, RunningLink};
use crate::net::{EndAddress, Topology, TopologyOptions};

/// The ends of one cell in namespaces of their own, with links in the middle.
pub struct Namespaces {
    backend: &'static dyn LinkBackend,
    topology: Topology,
    cell: Cell,
    /// Where each end's socket is bound.
    addresses: [SocketAddr; 3],
    link: Option<Box<dyn RunningLink>>,
}

impl Namespaces {
    /// Makes the namespaces for `cell`. Where the process is not root,
    /// [`enter_user_namespace`](crate::net::enter_user_namespace) comes first.
    ///
    /// # Errors
    ///
    /// If the backend cannot do something that the cell's profiles have, or the system refuses something.
    pub fn new(cell: &Cell, backend: &'static dyn LinkBackend) -> Result<Self, RealError> {
        let topology = Topology::new(&TopologyOptions { middle: backend.middle() })?;
        let addresses = [End::Robot, End::Relay, End::Operator].map(|end| end.socket_address(0));
        Ok(Self { backend, topology, cell: cell.clone(), addresses, link: None })
    }
}

impl Network for Namespaces {
    fn backend(&self) -> &str {
        self.backend.name()
    }

    fn socket(&mut self, end: End) -> Result<UdpSocket, RealError> {
        let socket = self.topology.socket(end, 0)?;
        let address = socket.local_addr().map_err(RealError::io("find the address of a socket"))?;
        self.addresses[end as usize] = address;
        Ok(socket)
    }

    fn address(&self, end: End) -> SocketAddr {
        self.addresses[end as usize]
    }

    fn start(&mut self, clock: Clock, facts: Facts) -> Result<(), RealError> {
        let plan = LinkPlan::of_cell(&self.cell, clock.epoch());
        self.link = Some(self.backend.start(&self.topology, &plan, Box::new(Sink(facts)))?);
        Ok(())
    }

    fn finish(&mut self) -> Result<LinkReport, RealError> {
        match self.link.take() {
            Some(link) => Ok(link.stop()?),
            None => Ok(LinkReport::default()),
        }
    }
}

/// Tells a cell's recorder of packets, by the times of the model: how late the link was at them is no part of what
/// it did.
struct Sink(Facts);

impl PacketSink for Sink {
    fn packet(&mut self, event: PacketEvent) {
        // What does not get through is counted there.
        match event {
            PacketEvent::Sent { at, place, id, ip_bytes, verdict } => {
                let (hop, direction) = (place.hop, place.direction);
                self.0.note(at, Fact::PacketSent { hop, direction, id, ip_bytes, verdict });
            }
            PacketEvent::Dropped { at, place, id, ip_bytes } => {
                let (hop, direction) = (place.hop, place.direction);
                self.0.note(at, Fact::PacketDropped { hop, direction, id, ip_bytes });
            }
            PacketEvent::Exit { at, place, id, ip_bytes, queued, corrupted, duplicate, .. } => {
                let (hop, direction) = (place.hop, place.direction);
                let fact = Fact::PacketExit { hop, direction, id, ip_bytes, queued, corrupted, duplicate };
                self.0.note(at, fact);
            }
        }
    }
}
