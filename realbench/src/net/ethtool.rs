//! The one thing about a device that netlink does not set: whether it computes checksums.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Makes the stack compute the checksums of what `device` sends.
///
/// A veth device leaves them out, since nothing on the way can damage a packet; a packet that is taken out and
/// put in again by hand would then arrive without. The calling thread is in the device's namespace.
pub(super) fn checksums_in_software(device: &str) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut value = EthtoolValue { command: ETHTOOL_STXCSUM, data: 0 };
    let mut request = Request { name: [0; libc::IFNAMSIZ], data: &raw mut value, rest: [0; 16] };
    if device.len() >= request.name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    request.name[..device.len()].copy_from_slice(device.as_bytes());
    #[expect(unsafe_code, reason = "no library has a safe form of SIOCETHTOOL")]
    // SAFETY: the request is laid out as `struct ifreq` with `ifr_data`, at least as long as it, and points to an
    // `ethtool_value` that outlives the call; the descriptor is open.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// `struct ethtool_value` of `linux/ethtool.h`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct ifreq` of `linux/if.h`, with a pointer in its union of 24 bytes.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut EthtoolValue,
    rest: [u8; 16],
}

const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_STXCSUM: u32 = 0x17;
