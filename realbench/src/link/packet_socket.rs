//! A raw socket on a device: frames come out with the kernel's stamp, and go in.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, bind, recvmsg, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;

use super::error::LinkError;

/// A packet socket bound to a device.
#[derive(Debug)]
pub(crate) struct PacketSocket {
    descriptor: OwnedFd,
    control: Vec<u8>,
    drops: u32,
}

/// A frame that came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Received {
    pub(crate) bytes: usize,
    /// Whether it was longer than the buffer.
    pub(crate) cut: bool,
    /// When it came, by the wall clock.
    pub(crate) stamp: Option<TimeSpec>,
}

impl PacketSocket {
    /// A socket on `device`, in the calling thread's namespace.
    ///
    /// It takes IPv4 frames that come in, and only those: a socket for one protocol is not shown what leaves.
    pub(crate) fn open(device: &str) -> Result<Self, LinkError> {
        let failed = |what: &str| {
            let action = format!("{what} a packet socket on {device}");
            move |errno: Errno| LinkError::system(action, errno)
        };
        let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
        let descriptor = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthIp);
        let descriptor = descriptor.map_err(failed("open"))?;
        let mut devices = getifaddrs().map_err(failed("find the device of"))?;
        let address = devices.find_map(|found| {
            let address = found.address.filter(|_| found.interface_name == device)?;
            address.as_link_addr().copied()
        });
        let address = address.ok_or(Errno::ENODEV).map_err(failed("find the device of"))?;
        bind(descriptor.as_raw_fd(), &address).map_err(failed("bind"))?;
        setsockopt(&descriptor, sockopt::ReceiveTimestampns, &true).map_err(failed("ask for stamps of"))?;
        setsockopt(&descriptor, sockopt::RxqOvfl, &1).map_err(failed("ask for drops of"))?;
        // Beyond the system's limit where that is allowed, and up to it where it is not.
        if setsockopt(&descriptor, sockopt::RcvBufForce, &BUFFER_BYTES).is_err() {
            setsockopt(&descriptor, sockopt::RcvBuf, &BUFFER_BYTES).map_err(failed("size the buffer of"))?;
        }
        Ok(Self { descriptor, control: cmsg_space!(TimeSpec, u32), drops: 0 })
    }

    /// The next frame, if there is one.
    pub(crate) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<Received>> {
        let mut slices = [IoSliceMut::new(buffer)];
        let descriptor = self.descriptor.as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<()>(descriptor, &mut slices, Some(&mut self.control), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        let (mut stamp, mut drops) = (None, self.drops);
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampns(time) => stamp = Some(time),
                ControlMessageOwned::RxqOvfl(count) => drops = count,
                _ => {}
            }
        }
        let received =
            Received { bytes: message.bytes, cut: message.flags.contains(MsgFlags::MSG_TRUNC), stamp };
        self.drops = drops;
        Ok(Some(received))
    }

    /// Puts a frame in; it leaves the middle at once.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        send(self.descriptor.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT)?;
        Ok(())
    }

    /// How many frames the kernel dropped because the buffer was full, up to the last one that came.
    pub(crate) fn drops(&self) -> u64 {
        u64::from(self.drops)
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Some seconds of any traffic that a cell has.
const BUFFER_BYTES: usize = 8 << 20;
