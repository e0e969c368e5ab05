//! Devices, addresses, neighbours and routes, through rtnetlink.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::RawFd;
use std::path::Path;
use std::time::Duration;

use bench::End;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use rtnetlink::packet_route::link::{InfoData, InfoVeth, LinkAttribute, LinkMessage};
use rtnetlink::packet_route::route::RouteScope;
use rtnetlink::{Handle, LinkBridge, LinkMessageBuilder, LinkUnspec, LinkVeth, RouteMessageBuilder};

use super::addresses::{EndAddress, PORTS, Port};
use super::{NetError, ethtool};

/// Runs `work` with a netlink connection in the calling thread's namespace.
pub(crate) fn netlink<T>(work: impl AsyncFnOnce(Handle) -> Result<T, NetError>) -> Result<T, NetError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(|error| NetError::system("start a runtime", error))?;
    runtime.block_on(async {
        let (connection, handle, _) = rtnetlink::new_connection()
            .map_err(|error| NetError::system("open a netlink connection", error))?;
        let connection = tokio::spawn(connection);
        let result = work(handle).await;
        connection.abort();
        result
    })
}

/// Makes the four pairs of devices, one of each here in the middle, the other in the namespace of its end.
pub(super) async fn ports(handle: &Handle, namespace_of: impl Fn(End) -> RawFd) -> Result<(), NetError> {
    for port in &PORTS {
        let peer = end_device(port, namespace_of(port.end));
        pair(handle, port.middle_device, peer).await?;
        up(handle, port.middle_device).await?;
    }
    Ok(())
}

/// Makes a pair of devices for each hop without a middle: its ends are the ends of one cable.
pub(super) async fn cables(handle: &Handle, namespace_of: impl Fn(End) -> RawFd) -> Result<(), NetError> {
    for port in PORTS.iter().filter(|port| port.end != End::Relay) {
        let other = port.other();
        // The pair begins here, under the middle's name, and its first half is then moved as well.
        pair(handle, port.middle_device, end_device(other, namespace_of(other.end))).await?;
        let moved = end_device(port, namespace_of(port.end)).index(index_of(port.middle_device)?);
        let request = handle.link().set(moved.build());
        request.execute().await.map_err(|e| NetError::netlink(format!("move {}", port.middle_device), e))?;
    }
    Ok(())
}

/// A device that sends one datagram a frame whatever it is given: otherwise one draw of a link would take up to
/// 64 of them at once.
fn end_device(port: &Port, namespace: RawFd) -> LinkMessageBuilder<LinkUnspec> {
    LinkUnspec::new_with_name(port.end_device)
        .address(port.hardware.to_vec())
        .setns_by_fd(namespace)
        .append_extra_attribute(LinkAttribute::GsoMaxSegs(1))
}

async fn pair(handle: &Handle, name: &str, peer: LinkMessageBuilder<LinkUnspec>) -> Result<(), NetError> {
    let message = LinkVeth::new(name, "unused").set_info_data(InfoData::Veth(InfoVeth::Peer(peer.build())));
    let request = handle.link().add(message.build());
    request.execute().await.map_err(|error| NetError::netlink(format!("make the device {name}"), error))
}

/// Joins the two ports of each hop by two bridges with a cable between them, so that both directions leave two
/// devices one after the other: first the cable's, then the port's.
pub(super) async fn bridges(handle: &Handle) -> Result<(), NetError> {
    for port in PORTS.iter().filter(|port| port.end != End::Relay) {
        let cable = Cable::of(port);
        let far = LinkUnspec::new_with_name(&cable.far);
        pair(handle, &cable.near, far).await?;
        let sides = [(&cable.near, port), (&cable.far, port.other())];
        for (cable_end, port) in sides {
            // A device's name has at most 15 bytes.
            let bridge = format!("bridge{}", port.hardware[5]);
            let request = handle.link().add(quiet_bridge(&bridge));
            request.execute().await.map_err(|e| NetError::netlink(format!("make the bridge {bridge}"), e))?;
            up(handle, &bridge).await?;
            for member in [cable_end.as_str(), port.middle_device] {
                let message = LinkUnspec::new_with_index(index_of(member)?).controller(index_of(&bridge)?);
                let request = handle.link().set(message.build());
                request.execute().await.map_err(|e| NetError::netlink(format!("join {member}"), e))?;
                up(handle, member).await?;
            }
        }
    }
    Ok(())
}

/// A bridge that sends nothing of its own: one that looks into multicast joins the group of those who do and says so
/// (RFC 4286), and what it says would take draws of netem's.
fn quiet_bridge(name: &str) -> LinkMessage {
    LinkBridge::new(name).mcast_snooping(false).build()
}

/// The two devices in the middle of a bridged hop.
#[derive(Debug, Clone)]
pub(crate) struct Cable {
    /// At the robot's or operator's side: what goes up leaves through it.
    pub(crate) near: String,
    /// At the relay's side: what goes down leaves through it.
    pub(crate) far: String,
}

impl Cable {
    pub(crate) fn of(port: &Port) -> Self {
        let name = port.hop.name();
        Self { near: format!("{name}-up"), far: format!("{name}-down") }
    }
}

/// Gives an end its address, and a way to every other end that it has a device to.
pub(super) async fn end(handle: &Handle, end: End) -> Result<(), NetError> {
    up(handle, "lo").await?;
    for port in PORTS.iter().filter(|port| port.end == end) {
        let device = port.end_device;
        ethtool::checksums_in_software(device)
            .map_err(|error| NetError::system(format!("turn off checksum offload of {device}"), error))?;
        up(handle, device).await?;
        let index = index_of(device)?;
        let own = IpAddr::V4(end.address());
        let request = handle.address().add(index, own, 32);
        request.execute().await.map_err(|e| NetError::netlink(format!("set the address of {device}"), e))?;
        let peer = port.peer.address();
        let route = RouteMessageBuilder::<Ipv4Addr>::new()
            .destination_prefix(peer, 32)
            .output_interface(index)
            .scope(RouteScope::Link)
            .pref_source(end.address());
        let request = handle.route().add(route.build());
        request.execute().await.map_err(|e| NetError::netlink(format!("set the route to {peer}"), e))?;
        let request = handle.neighbours().add(index, IpAddr::V4(peer));
        let request = request.link_layer_address(&port.other().hardware);
        request.execute().await.map_err(|e| NetError::netlink(format!("set the neighbour {peer}"), e))?;
    }
    Ok(())
}

async fn up(handle: &Handle, device: &str) -> Result<(), NetError> {
    let message = LinkUnspec::new_with_index(index_of(device)?).up().build();
    let request = handle.link().set(message);
    request.execute().await.map_err(|error| NetError::netlink(format!("set {device} up"), error))
}

/// Waits until `devices`, in the calling thread's namespace, send what they are given.
///
/// A device that is set up begins to send when the kernel has noticed that its twin is up as well, up to a second
/// later; until then what it is given is dropped without a word.
pub(super) fn wait_until_running(devices: &[&str]) -> Result<(), NetError> {
    let failed = |error: Errno| NetError::system("wait for the devices to run", error);
    for _ in 0..RUNNING_TRIES_MAX {
        let found = getifaddrs().map_err(failed)?;
        let running: BTreeSet<String> = found
            .filter(|device| device.flags.contains(InterfaceFlags::IFF_RUNNING))
            .map(|device| device.interface_name)
            .collect();
        if devices.iter().all(|device| running.contains(*device)) {
            return Ok(());
        }
        #[expect(clippy::disallowed_methods, reason = "waits for the kernel")]
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(failed(Errno::ETIMEDOUT))
}

/// Some seconds.
const RUNNING_TRIES_MAX: u32 = 5_000;

pub(crate) fn index_of(device: &str) -> Result<u32, NetError> {
    if_nametoindex(device).map_err(|errno| NetError::system(format!("find the device {device}"), errno))
}

/// Turns IPv6 off for every device that the calling thread's namespace gets, so that nothing is sent on its own.
pub(super) fn without_ipv6() -> Result<(), NetError> {
    for of in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6");
        if Path::new(&path).exists() {
            fs::write(&path, "1").map_err(|error| NetError::system(format!("write {path}"), error))?;
        }
    }
    Ok(())
}
