//! `--pcap`: every packet as it enters and as it leaves each link, for Wireshark.
//!
//! pcapng (draft-ietf-opsawg-pcapng) with twelve interfaces, `robot-hop/up/in` to `operator-hop/down/out`, and for
//! each link `…/dropped`, where a packet is seen again that the link's queue took and dropped later: its headers
//! alone, so that nobody takes it for another sending. The link type is raw IPv4; IP and UDP headers are made from the simulator's addresses. Times count
//! from the cell's beginning in nanoseconds. The secrets of TLS go into Decryption Secrets Blocks before
//! the packets that need them, so that one file is all that Wireshark wants.

use std::borrow::Cow;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bench::netmodel::Verdict;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::unknown::UnknownBlock;
use pcap_file::pcapng::{Block, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use sim::tap::{Arrived, Dropped, Sent};
use units::Time;

use super::content::{Cameras, sentence};
use super::packets::{QUEUE_DROPPED, link_index, verdict_name};
use crate::args::CaptureAt;

/// Lines of secrets that were told and are not in the capture yet.
pub(crate) type Secrets = Arc<Mutex<Vec<String>>>;

/// Writes the capture.
pub(crate) struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    cameras: Cameras,
    at: CaptureAt,
    secrets: Secrets,
    packets: u64,
}

impl<W: Write> Capture<W> {
    /// Begins a capture. `None` if not even its head could be written.
    pub(crate) fn new(out: W, cameras: Cameras, at: CaptureAt, secrets: Secrets) -> Option<Self> {
        // The same bytes on every machine.
        let mut writer = PcapNgWriter::with_endianness(out, Endianness::Little).ok()?;
        let ends =
            [("in", "each packet as it enters the link"), ("out", "each packet as it leaves the link")];
        let ends = LINKS.iter().flat_map(|link| ends.map(|(end, what)| (format!("{link}/{end}"), what)));
        let dropped = "headers of each packet that waited in the link's queue and was dropped there";
        let dropped = LINKS.iter().map(|link| (format!("{link}/dropped"), dropped));
        for (name, what) in ends.chain(dropped) {
            let options = vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(name)),
                InterfaceDescriptionOption::IfDescription(Cow::Borrowed(what)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            let block = InterfaceDescriptionBlock { linktype: DataLink::IPV4, snaplen: 0, options };
            writer.write_pcapng_block(block).ok()?;
        }
        Some(Self { writer, cameras, at, secrets, packets: 0 })
    }

    /// A packet was sent.
    pub(crate) fn sent(&mut self, now: Time, packet: &Sent<'_>) {
        if self.at == CaptureAt::Received {
            return;
        }
        let fate = match packet.verdict {
            Verdict::Accepted => "taken by the link",
            verdict => verdict_name(verdict),
        };
        let comment =
            format!("#{} {fate}; carries {}", packet.id.number, sentence(&self.cameras, &packet.carries));
        let interface = 2 * link_index(packet.id.hop, packet.id.direction);
        let ip = ip_packet(packet.from, packet.to, packet.ecn, packet.id.number, packet.datagram);
        self.write(now, interface, &ip, ip.len(), comment);
    }

    /// A packet that the link had taken was dropped in its queue.
    pub(crate) fn dropped(&mut self, now: Time, packet: &Dropped<'_>) {
        if self.at == CaptureAt::Received {
            return;
        }
        let comment =
            format!("#{} {QUEUE_DROPPED}: the link took it and its queue dropped it", packet.id.number);
        let interface = DROPPED + link_index(packet.id.hop, packet.id.direction);
        // Whoever marked it marked what came out; nothing says which bits this one had.
        let ip = ip_packet(packet.from, packet.to, 0, packet.id.number, packet.datagram);
        self.write(now, interface, &ip, IP_BYTES + UDP_BYTES, comment);
    }

    /// A packet came out.
    pub(crate) fn arrived(&mut self, now: Time, packet: &Arrived<'_>) {
        if self.at == CaptureAt::Sent {
            return;
        }
        let number = packet.id.number;
        let copy = if packet.duplicate { ", a copy" } else { "" };
        let damaged = if packet.corrupted { ", damaged" } else { "" };
        let queued_us = packet.queued.as_micros();
        let comment = format!("#{number} delivered{copy}{damaged}; waited {queued_us} us in the queue");
        let interface = 2 * link_index(packet.id.hop, packet.id.direction) + 1;
        let ip = ip_packet(packet.from, packet.to, packet.ecn, number, packet.datagram);
        self.write(now, interface, &ip, ip.len(), comment);
    }

    /// Ends the capture: how many packets it has, and the writer.
    pub(crate) fn finish(self) -> (u64, W) {
        (self.packets, self.writer.into_inner())
    }

    /// Writes the first `captured` bytes of a packet.
    fn write(&mut self, now: Time, interface: usize, ip: &[u8], captured: usize, comment: String) {
        self.write_secrets();
        let block = EnhancedPacketBlock {
            interface_id: interface as u32,
            timestamp: Duration::from_nanos(now.as_nanos()),
            original_len: ip.len() as u32,
            data: Cow::Borrowed(&ip[..captured.min(ip.len())]),
            options: vec![EnhancedPacketOption::Comment(Cow::Owned(comment))],
        };
        self.packets += 1;
        // The writer remembers what goes wrong.
        let _ = self.writer.write_pcapng_block(block);
    }

    fn write_secrets(&mut self) {
        let lines = std::mem::take(&mut *self.secrets.lock().unwrap_or_else(PoisonError::into_inner));
        if lines.is_empty() {
            return;
        }
        let mut text = lines.join("\n");
        text.push('\n');
        let mut value = Vec::with_capacity(text.len() + 12);
        value.extend(TLS_KEY_LOG.to_le_bytes());
        value.extend((text.len() as u32).to_le_bytes());
        value.extend(text.as_bytes());
        value.resize(value.len().next_multiple_of(4), 0);
        let block = UnknownBlock::new(DECRYPTION_SECRETS, value.len() as u32, &value);
        let _ = self.writer.write_block(&Block::Unknown(block));
    }
}

/// The IPv4 packet (RFC 791) that carries `datagram` in UDP (RFC 768), with valid checksums.
fn ip_packet(from: SocketAddr, to: SocketAddr, ecn: u8, number: u64, datagram: &[u8]) -> Vec<u8> {
    let address = |of: SocketAddr| match of.ip() {
        IpAddr::V4(address) => address.octets(),
        // The simulator has none.
        IpAddr::V6(_) => [0; 4],
    };
    let udp_bytes = (UDP_BYTES + datagram.len()) as u16;
    let mut ip = Vec::with_capacity(IP_BYTES + UDP_BYTES + datagram.len());
    ip.extend([0x45, ecn & 3]);
    ip.extend((IP_BYTES as u16 + udp_bytes).to_be_bytes());
    ip.extend((number as u16).to_be_bytes());
    ip.extend([0x40, 0, TTL, UDP, 0, 0]);
    ip.extend(address(from));
    ip.extend(address(to));
    let sum = checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut udp = Vec::with_capacity(UDP_BYTES);
    udp.extend(from.port().to_be_bytes());
    udp.extend(to.port().to_be_bytes());
    udp.extend(udp_bytes.to_be_bytes());
    udp.extend([0, 0]);
    let pseudo = [0, UDP, (udp_bytes >> 8) as u8, udp_bytes as u8];
    // Zero would mean that there is none.
    let sum = match checksum(&[&ip[12..20], &pseudo, &udp, datagram]) {
        0 => u16::MAX,
        sum => sum,
    };
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    ip.extend(udp);
    ip.extend(datagram);
    ip
}

/// The Internet checksum (RFC 1071) over parts, all but the last of even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let sum: u64 =
        words.map(|word| u64::from(word[0]) << 8 | u64::from(word.get(1).copied().unwrap_or(0))).sum();
    let mut folded = sum;
    while folded > 0xffff {
        folded = (folded & 0xffff) + (folded >> 16);
    }
    !(folded as u16)
}

const LINKS: [&str; 4] = ["robot-hop/up", "robot-hop/down", "operator-hop/up", "operator-hop/down"];
/// Number of the first interface of dropped packets: after two for each link.
const DROPPED: usize = 2 * LINKS.len();
/// Ten to the minus nine.
const NANOSECONDS: u8 = 9;
/// Block type of secrets, and "TLSK", which says that they are TLS's.
const DECRYPTION_SECRETS: u32 = 0x0a;
const TLS_KEY_LOG: u32 = 0x544c_534b;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
const UDP: u8 = 17;
const TTL: u8 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_valid() {
        let (from, to) = ("10.0.0.1:4433".parse().unwrap(), "10.0.0.2:4434".parse().unwrap());
        for datagram in [&b""[..], b"odd", b"even"] {
            let ip = ip_packet(from, to, 2, 70_000, datagram);
            assert_eq!(ip.len(), IP_BYTES + UDP_BYTES + datagram.len());
            assert_eq!(checksum(&[&ip[..IP_BYTES]]), 0);
            let length = (UDP_BYTES + datagram.len()) as u16;
            let pseudo = [0, UDP, (length >> 8) as u8, length as u8];
            assert_eq!(checksum(&[&ip[12..20], &pseudo, &ip[IP_BYTES..]]), 0);
        }
        // The example of RFC 1071, section 3.
        assert_eq!(checksum(&[&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]]), !0xddf2);
    }
}
