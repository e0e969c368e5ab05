//! Two socket options that no safe wrapper has.

use std::mem::size_of_val;
use std::os::fd::{AsFd, AsRawFd};

/// Has the kernel hand over each datagram by itself. Where it has no receive offload, it does so anyway.
pub(super) fn receive_offload_off(socket: &impl AsFd) {
    let off: libc::c_int = 0;
    #[expect(unsafe_code, reason = "neither socket2 nor quinn-udp can turn UDP_GRO off")]
    // SAFETY: the descriptor is open while it is borrowed, and the option's value is a C int that outlives the call.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_UDP,
            libc::UDP_GRO,
            (&raw const off).cast(),
            size_of_val(&off) as libc::socklen_t,
        )
    };
}

/// Datagrams that the socket's receive buffer had no room for, since the socket was made (`SO_MEMINFO`, Linux 4.12).
pub(super) fn drops(socket: &impl AsFd) -> Option<u64> {
    let mut info = [0_u32; MEMINFO_VARS];
    let mut length = size_of_val(&info) as libc::socklen_t;
    #[expect(unsafe_code, reason = "socket2 has no SO_MEMINFO")]
    // SAFETY: the descriptor is open while it is borrowed; the kernel writes at most `length` bytes, which is the array's size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    let there = result == 0 && length as usize >= (MEMINFO_DROPS + 1) * size_of::<u32>();
    there.then(|| u64::from(info[MEMINFO_DROPS]))
}

/// `include/uapi/linux/sock_diag.h`: `SK_MEMINFO_VARS`.
const MEMINFO_VARS: usize = 9;
/// `SK_MEMINFO_DROPS`.
const MEMINFO_DROPS: usize = 8;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    fn a_full_socket_counts_what_it_drops() {
        let (to, from) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        socket2::SockRef::from(&to).set_recv_buffer_size(4096).unwrap();
        receive_offload_off(&to);
        let Some(before) = drops(&to) else {
            eprintln!("skipped: this kernel has no SO_MEMINFO");
            return;
        };
        assert_eq!(before, 0);
        for _ in 0..100 {
            from.send_to(&[0; 1000], to.local_addr().unwrap()).unwrap();
        }
        assert!(drops(&to).unwrap() > 50);
    }
}
