//! Who has which address, and what the devices are called.
//!
//! Every end has one IPv4 address, the relay too: it is the same over both hops, as it is in the simulator.

use std::net::{Ipv4Addr, SocketAddr};

use bench::{Direction, End, Hop};

/// The address of an end.
pub trait EndAddress {
    /// The end's only IPv4 address.
    fn address(self) -> Ipv4Addr;

    /// The address with a port.
    fn socket_address(self, port: u16) -> SocketAddr;
}

impl EndAddress for End {
    fn address(self) -> Ipv4Addr {
        match self {
            Self::Robot => Ipv4Addr::new(10, 77, 0, 1),
            Self::Relay => Ipv4Addr::new(10, 77, 0, 2),
            Self::Operator => Ipv4Addr::new(10, 77, 0, 3),
        }
    }

    fn socket_address(self, port: u16) -> SocketAddr {
        SocketAddr::from((self.address(), port))
    }
}

/// A pair of virtual Ethernet devices: one at an end, the other in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// The hop that it belongs to.
    pub hop: Hop,
    /// Whose device it is.
    pub end: End,
    /// Who is at the other end of the hop.
    pub peer: End,
    /// The device's name at the end.
    pub end_device: &'static str,
    /// The name of its twin in the middle.
    pub middle_device: &'static str,
    /// The hardware address of the end's device.
    pub hardware: [u8; 6],
}

impl Port {
    /// The direction of what this end sends.
    pub const fn direction(&self) -> Direction {
        match self.end {
            End::Relay => Direction::Down,
            End::Robot | End::Operator => Direction::Up,
        }
    }

    /// The other end of the same hop.
    pub const fn other(&self) -> &'static Self {
        match (self.hop, self.direction()) {
            (Hop::Robot, Direction::Up) => &PORTS[1],
            (Hop::Robot, Direction::Down) => &PORTS[0],
            (Hop::Operator, Direction::Up) => &PORTS[3],
            (Hop::Operator, Direction::Down) => &PORTS[2],
        }
    }
}

/// The four ports: two of each hop, the one that sends up first.
pub const PORTS: [Port; 4] = [
    port(Hop::Robot, End::Robot, End::Relay, "relay0", "robot", 1),
    port(Hop::Robot, End::Relay, End::Robot, "robot0", "relay-robot", 2),
    port(Hop::Operator, End::Operator, End::Relay, "relay0", "operator", 3),
    port(Hop::Operator, End::Relay, End::Operator, "operator0", "relay-operator", 4),
];

const fn port(
    hop: Hop,
    end: End,
    peer: End,
    end_device: &'static str,
    middle_device: &'static str,
    number: u8,
) -> Port {
    // Locally administered, unicast.
    let hardware = [0x02, 0x4d, 0, 0, 0, number];
    Port { hop, end, peer, end_device, middle_device, hardware }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_come_in_pairs() {
        for port in &PORTS {
            let other = port.other();
            assert_eq!((other.other(), other.end, other.hop), (port, port.peer, port.hop));
            assert_ne!(port.direction(), other.direction());
            // The kernel's limit for a device's name is 15 bytes.
            assert!(port.middle_device.len() < 16 && port.end_device.len() < 16);
        }
    }
}
