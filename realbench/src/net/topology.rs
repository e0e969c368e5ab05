//! The four namespaces of a cell and the devices between them.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use bench::End;

use super::addresses::{EndAddress, PORTS, Port};
use super::namespace::Namespace;
use super::{NetError, setup};

/// How the two hops are joined in the middle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Middle {
    /// Not at all: each hop ends in two devices in the middle, and who forwards between them is the link.
    #[default]
    Cut,
    /// By bridges, so that the kernel forwards, through two devices for each hop and direction, which can
    /// have queueing disciplines.
    Bridged,
    /// There is no middle: the hop's ends are the two ends of one virtual cable.
    Direct,
}

/// What to set up.
#[derive(Debug, Clone, Copy, Default)]
pub struct TopologyOptions {
    /// How the hops are joined. Default [`Middle::Cut`].
    pub middle: Middle,
}

/// The namespaces of robot, relay, operator and middle, with addresses and routes.
///
/// All goes away when this and the sockets made from it are dropped, or the process ends.
#[derive(Debug)]
pub struct Topology {
    robot: Namespace,
    relay: Namespace,
    operator: Namespace,
    middle: Namespace,
    kind: Middle,
}

impl Topology {
    /// Makes the namespaces and everything in them. Takes some tens of milliseconds.
    ///
    /// # Errors
    ///
    /// What the system refused; [`enter_user_namespace`](super::enter_user_namespace) first, where the process
    /// is not root.
    pub fn new(options: &TopologyOptions) -> Result<Self, NetError> {
        let topology = Self {
            robot: Namespace::new()?,
            relay: Namespace::new()?,
            operator: Namespace::new()?,
            middle: Namespace::new()?,
            kind: options.middle,
        };
        for namespace in [&topology.robot, &topology.relay, &topology.operator, &topology.middle] {
            namespace.run(setup::without_ipv6)?;
        }
        let namespace_of = |end| topology.namespace(end).as_raw_fd();
        topology.middle.run(|| {
            setup::netlink(async |handle| match options.middle {
                Middle::Cut => setup::ports(&handle, namespace_of).await,
                Middle::Direct => setup::cables(&handle, namespace_of).await,
                Middle::Bridged => {
                    setup::ports(&handle, namespace_of).await?;
                    setup::bridges(&handle).await
                }
            })
        })?;
        for end in [End::Robot, End::Relay, End::Operator] {
            topology.run_in(end, || setup::netlink(async |handle| setup::end(&handle, end).await))?;
        }
        topology.wait_until_running()?;
        Ok(topology)
    }

    fn wait_until_running(&self) -> Result<(), NetError> {
        for end in [End::Robot, End::Relay, End::Operator] {
            let ports = PORTS.iter().filter(|port| port.end == end);
            let devices: Vec<&str> = ports.map(|port| port.end_device).collect();
            self.run_in(end, || setup::wait_until_running(&devices))?;
        }
        if self.kind == Middle::Direct {
            return Ok(());
        }
        let devices: Vec<&str> = PORTS.iter().map(|port| port.middle_device).collect();
        self.middle.run(|| setup::wait_until_running(&devices))
    }

    /// How the hops are joined.
    pub fn kind(&self) -> Middle {
        self.kind
    }

    /// Runs `work` on a thread inside the namespace of `end`, and waits for it.
    ///
    /// # Errors
    ///
    /// If the namespace cannot be entered, or what `work` returns.
    pub fn run_in<T: Send>(
        &self,
        end: End,
        work: impl FnOnce() -> Result<T, NetError> + Send,
    ) -> Result<T, NetError> {
        self.namespace(end).run(work)
    }

    /// A UDP socket of `end`, bound to its address and `port`; 0 lets the system choose one.
    ///
    /// It may be used from any thread: a socket stays in the namespace that it was made in.
    ///
    /// # Errors
    ///
    /// If the port is taken.
    pub fn socket(&self, end: End, port: u16) -> Result<UdpSocket, NetError> {
        let address: SocketAddr = end.socket_address(port);
        self.run_in(end, || {
            UdpSocket::bind(address).map_err(|error| NetError::system(format!("bind {address}"), error))
        })
    }

    /// The namespace of an end.
    pub fn namespace(&self, end: End) -> &Namespace {
        match end {
            End::Robot => &self.robot,
            End::Relay => &self.relay,
            End::Operator => &self.operator,
        }
    }

    /// The namespace between the ends.
    pub fn middle(&self) -> &Namespace {
        &self.middle
    }

    /// The devices of the cell.
    pub fn ports(&self) -> &'static [Port; 4] {
        &PORTS
    }
}
