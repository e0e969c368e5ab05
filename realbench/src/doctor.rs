//! What this machine can do for real mode, tried out rather than guessed.

use std::fs;
use std::net::UdpSocket;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

use bench::End;

use crate::link::{self, LinkError};
use crate::net::{Capabilities, EndAddress, NetError, Privileges, Topology, TopologyOptions};

/// Something that real mode needs or uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is there.
    pub state: CapabilityState,
    /// What was found, or why not.
    pub text: String,
}

/// Whether something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapabilityState {
    /// It is.
    Possible,
    /// It is, with something to know.
    Limited,
    /// It is not.
    Impossible,
}

/// Tries everything. `privileges` is what [`enter_user_namespace`](crate::net::enter_user_namespace) said.
///
/// It makes namespaces and lets them go; nothing of the machine changes.
pub fn doctor(privileges: &Result<Privileges, NetError>) -> Vec<Capability> {
    let topology = Topology::new(&TopologyOptions::default());
    vec![
        namespaces(privileges, topology.as_ref()),
        packet_sockets(topology.as_ref()),
        netem(),
        real_time(),
        clock_source(),
        processors(),
    ]
}

fn capability(name: &'static str, state: CapabilityState, text: impl Into<String>) -> Capability {
    Capability { name, state, text: text.into() }
}

fn namespaces(
    privileges: &Result<Privileges, NetError>,
    topology: Result<&Topology, &NetError>,
) -> Capability {
    let of = |state, text: String| capability("namespaces", state, text);
    match (topology, privileges) {
        (Ok(_), Ok(Privileges::Own)) => {
            of(CapabilityState::Possible, "with the process's own rights".to_owned())
        }
        (Ok(_), _) => of(CapabilityState::Possible, "without root, inside a user namespace".to_owned()),
        (Err(_), Err(error)) => of(CapabilityState::Impossible, format!("failed to {error}")),
        (Err(error), Ok(_)) => {
            let missing = Capabilities::of_this_thread().is_ok_and(|capabilities| !capabilities.all());
            let why = if missing { "; capabilities are missing" } else { "" };
            of(CapabilityState::Impossible, format!("failed to {error}{why}"))
        }
    }
}

fn packet_sockets(topology: Result<&Topology, &NetError>) -> Capability {
    let of = |state, text: &str| capability("userspace link", state, text);
    let Ok(topology) = topology else {
        return of(CapabilityState::Impossible, "it needs namespaces");
    };
    match stamped(topology) {
        Ok(true) => of(CapabilityState::Possible, "packet sockets, with receive stamps of the kernel's"),
        Ok(false) => {
            of(CapabilityState::Limited, "packet sockets, but without receive stamps of the kernel's")
        }
        Err(error) => of(CapabilityState::Impossible, &format!("failed to {error}")),
    }
}

/// Whether a frame comes with a stamp.
fn stamped(topology: &Topology) -> Result<bool, LinkError> {
    let port = &topology.ports()[0];
    let mut socket = topology.middle().run(|| Ok(link::PacketSocket::open(port.middle_device)))??;
    let sender: UdpSocket = topology.socket(End::Robot, 0)?;
    let failed = |error| LinkError::system("send and receive a frame", error);
    sender.send_to(b"stamp?", End::Relay.socket_address(9)).map_err(failed)?;
    let mut buffer = [0; 2048];
    for _ in 0..STAMP_TRIES_MAX {
        if let Some(received) = socket.receive(&mut buffer).map_err(failed)? {
            return Ok(received.stamp.is_some());
        }
        #[expect(clippy::disallowed_methods, reason = "waits for a frame to cross a real device")]
        thread::sleep(Duration::from_millis(1));
    }
    Err(failed(std::io::ErrorKind::TimedOut.into()))
}

fn netem() -> Capability {
    let of = |state, text: String| capability("netem link", state, text);
    match link::probe_netem() {
        Ok(()) => of(CapabilityState::Possible, "the kernel has netem".to_owned()),
        Err(error) if error.errno() == Some(libc::ENOENT) => {
            of(CapabilityState::Impossible, "the kernel has no netem (CONFIG_NET_SCH_NETEM)".to_owned())
        }
        Err(error) => of(CapabilityState::Impossible, format!("failed to {error}")),
    }
}

fn real_time() -> Capability {
    // On a thread of its own, which ends with the priority.
    let tried = thread::scope(|scope| scope.spawn(link::real_time).join());
    let of = |state, text: String| capability("real time", state, text);
    match tried {
        Ok(Ok(())) => of(CapabilityState::Possible, "the link's thread gets a real-time priority".to_owned()),
        Ok(Err(error)) => {
            of(CapabilityState::Limited, format!("no real-time priority for the link's thread: {error}"))
        }
        Err(_) => of(CapabilityState::Limited, "the trial panicked".to_owned()),
    }
}

fn clock_source() -> Capability {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let name = fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    // The others are read through a device or a hypervisor, in microseconds.
    let quick = ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"];
    let of = |state, text: String| capability("clock", state, text);
    match name.as_str() {
        "" => of(CapabilityState::Limited, "the system does not say which clock it has".to_owned()),
        name if quick.contains(&name) => of(CapabilityState::Possible, name.to_owned()),
        name => of(CapabilityState::Limited, format!("{name}: slow to read; expect more release lag")),
    }
}

fn processors() -> Capability {
    let count = thread::available_parallelism().map_or(1, NonZero::get);
    let of = |state, text: String| capability("processors", state, text);
    if count < PROCESSORS_ENOUGH {
        return of(CapabilityState::Limited, format!("{count}: the link and the ends share it"));
    }
    of(CapabilityState::Possible, count.to_string())
}

const STAMP_TRIES_MAX: u32 = 500;
/// One for the link, one for the ends.
const PROCESSORS_ENOUGH: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_tried_and_explained() {
        let found = doctor(&Ok(Privileges::Own));
        let names: Vec<&str> = found.iter().map(|capability| capability.name).collect();
        assert_eq!(names, ["namespaces", "userspace link", "netem link", "real time", "clock", "processors"]);
        assert!(found.iter().all(|capability| !capability.text.is_empty()), "{found:?}");
    }
}
