//! Ethernet frames as they go through the middle: which ones are packets of the cell, and what a link may change.

use std::net::Ipv4Addr;

use crate::net::{EndAddress, Port};

/// What the link needs to know of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header {
    /// The length that the IP header states: what the rate of a link counts.
    pub(super) ip_bytes: u32,
    pub(super) ecn: u8,
}

/// Reads `frame`, if it is a UDP packet from this port's end to its peer, and whole.
pub(super) fn parse(frame: &[u8], port: &Port) -> Option<Header> {
    let ip = frame.get(ETHERNET_BYTES..)?;
    if frame[12..14] != ETHERTYPE_IPV4 || ip.len() < IP_BYTES + UDP_BYTES || ip[0] != VERSION_AND_LENGTH {
        return None;
    }
    let ip_bytes = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let fragmented = u16::from_be_bytes([ip[6], ip[7]]) & FRAGMENT_MASK != 0;
    let addresses = (address(&ip[12..16]), address(&ip[16..20]));
    let ours = addresses == (port.end.address(), port.peer.address());
    let whole = (IP_BYTES + UDP_BYTES..=ip.len()).contains(&ip_bytes) && !fragmented;
    (ours && whole && ip[9] == PROTOCOL_UDP)
        .then_some(Header { ip_bytes: ip_bytes as u32, ecn: ip[1] & ECN_MASK })
}

/// Damages the last byte of the datagram, where the tag of QUIC's protection is. The UDP checksum is taken out
/// (RFC 768: zero is none), so that the datagram arrives as it does in the simulator.
pub(super) fn corrupt(frame: &mut [u8], header: Header) {
    let last = ETHERNET_BYTES + header.ip_bytes as usize - 1;
    if header.ip_bytes as usize > IP_BYTES + UDP_BYTES {
        frame[last] ^= 1;
        let checksum = ETHERNET_BYTES + IP_BYTES + 6;
        frame[checksum..checksum + 2].fill(0);
    }
}

/// Sets the ECN bits, and the header's checksum with them (RFC 1624).
pub(super) fn mark(frame: &mut [u8], header: Header, ecn: u8) {
    if ecn == header.ecn {
        return;
    }
    let ip = &mut frame[ETHERNET_BYTES..];
    let word = |bytes: &[u8]| u32::from(u16::from_be_bytes([bytes[0], bytes[1]]));
    let before = word(&ip[0..2]);
    ip[1] = ip[1] & !ECN_MASK | ecn & ECN_MASK;
    let after = word(&ip[0..2]);
    let mut sum = (!word(&ip[10..12]) & 0xffff) + (!before & 0xffff) + after;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

fn address(bytes: &[u8]) -> Ipv4Addr {
    Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3])
}

const ETHERNET_BYTES: usize = 14;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// Version 4, a header of five words: without options, which the ends do not send.
const VERSION_AND_LENGTH: u8 = 0x45;
const PROTOCOL_UDP: u8 = 17;
const ECN_MASK: u8 = 0b11;
/// More fragments, and the offset.
const FRAGMENT_MASK: u16 = 0x3fff;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::PORTS;

    /// A frame from robot to relay with `payload`, its header checksum right.
    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 0x4d, 0, 0, 0, 2, 2, 0x4d, 0, 0, 0, 1, 8, 0];
        let length = (28 + payload.len()) as u16;
        let mut ip = vec![0x45, 2, 0, 0, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2];
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend(ip);
        frame.extend([0x11, 0x51, 0x11, 0x51]);
        frame.extend(((8 + payload.len()) as u16).to_be_bytes());
        frame.extend([0xab, 0xcd]);
        frame.extend(payload);
        frame
    }

    fn checksum(header: &[u8]) -> u16 {
        let words = header.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
        let mut sum: u32 = words.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn packets_of_the_cell_are_known_and_others_are_not() {
        let right = frame(b"hello");
        assert_eq!(parse(&right, &PORTS[0]), Some(Header { ip_bytes: 33, ecn: 2 }));
        assert_eq!(parse(&right, &PORTS[1]), None, "from the other end");
        for (index, value) in [(13, 6), (14, 0x46), (23, 6), (20, 0x20), (21, 1), (29, 9), (33, 9), (17, 200)]
        {
            let mut wrong = right.clone();
            wrong[index] = value;
            assert_eq!(parse(&wrong, &PORTS[0]), None, "byte {index}");
        }
        for bytes in 0..right.len() {
            assert_eq!(parse(&right[..bytes], &PORTS[0]), None, "{bytes} bytes");
        }
        let mut padded = right;
        padded.extend([0; 13]);
        assert_eq!(parse(&padded, &PORTS[0]), Some(Header { ip_bytes: 33, ecn: 2 }));
    }

    #[test]
    fn a_mark_keeps_the_header_right() {
        for from in 0..4 {
            for to in 0..4 {
                let mut frame = frame(b"hello");
                let header = Header { ip_bytes: 33, ecn: 2 };
                mark(&mut frame, header, from);
                mark(&mut frame, Header { ecn: from, ..header }, to);
                assert_eq!(parse(&frame, &PORTS[0]), Some(Header { ip_bytes: 33, ecn: to }));
                assert_eq!(checksum(&frame[14..34]), 0, "{from} to {to}");
            }
        }
    }

    #[test]
    fn damage_is_in_the_last_byte_and_passes_the_checksum() {
        let mut damaged = frame(b"hello");
        damaged.extend([7; 13]);
        let header = parse(&damaged, &PORTS[0]).unwrap();
        corrupt(&mut damaged, header);
        assert_eq!(&damaged[42..47], b"helln");
        assert_eq!(damaged[40..42], [0, 0]);
        let mut empty = frame(b"");
        let before = empty.clone();
        let header = parse(&empty, &PORTS[0]).unwrap();
        corrupt(&mut empty, header);
        assert_eq!(empty, before);
    }
}
