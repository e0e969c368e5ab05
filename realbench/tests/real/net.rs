//! Sockets in namespaces, and what their devices are like.

use std::io::ErrorKind;
use std::time::Duration;

use bench::End;
use realbench::net::{EndAddress, Middle, Topology, TopologyOptions};

use crate::possible;

fn topology(middle: Middle) -> Topology {
    Topology::new(&TopologyOptions { middle }).unwrap()
}

/// Sends a datagram and says whether it came.
fn crosses(topology: &Topology, from: End, to: End, patience: Duration) -> bool {
    let receiver = topology.socket(to, 0).unwrap();
    receiver.set_read_timeout(Some(patience)).unwrap();
    let sender = topology.socket(from, 0).unwrap();
    let port = receiver.local_addr().unwrap().port();
    if let Err(error) = sender.send_to(b"hello", to.socket_address(port)) {
        assert!(
            matches!(error.kind(), ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable),
            "{error}"
        );
        return false;
    }
    let mut buffer = [0; 64];
    match receiver.recv_from(&mut buffer) {
        Ok((bytes, address)) => {
            assert_eq!((&buffer[..bytes], address.ip()), (&b"hello"[..], from.address().into()));
            true
        }
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
            false
        }
    }
}

const LONG: Duration = Duration::from_secs(5);
const SHORT: Duration = Duration::from_millis(50);
const WAYS: [(End, End); 4] = [
    (End::Robot, End::Relay),
    (End::Relay, End::Robot),
    (End::Operator, End::Relay),
    (End::Relay, End::Operator),
];

#[test]
fn what_is_joined_is_crossed_and_what_is_cut_is_not() {
    if !possible() {
        return;
    }
    for middle in [Middle::Direct, Middle::Bridged] {
        let topology = topology(middle);
        for (from, to) in WAYS {
            assert!(crosses(&topology, from, to, LONG), "{middle:?}: {} to {}", from.name(), to.name());
        }
        assert!(!crosses(&topology, End::Robot, End::Operator, SHORT), "past the relay");
    }
    let topology = topology(Middle::Cut);
    for (from, to) in WAYS {
        assert!(!crosses(&topology, from, to, SHORT), "{} to {}", from.name(), to.name());
    }
}

#[test]
fn topologies_stand_beside_each_other() {
    if !possible() {
        return;
    }
    let (one, two) = (topology(Middle::Direct), topology(Middle::Direct));
    let socket = one.socket(End::Relay, 4433).unwrap();
    assert!(one.socket(End::Relay, 4433).is_err(), "the port is taken");
    let same_port = two.socket(End::Relay, 4433).unwrap();
    assert_eq!(socket.local_addr().unwrap(), same_port.local_addr().unwrap());
    assert_ne!(one.namespace(End::Relay).inode().unwrap(), two.namespace(End::Relay).inode().unwrap());
}
