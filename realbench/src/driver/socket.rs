//! A UDP socket as a machine uses it: batches out, datagrams with the time they came in.

use bench::relay_core::Transmit;
use bench::units::{Span, Time};
use bytes::BytesMut;
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use tokio::io::Interest;

use super::options::{Options, Report};
use super::sockopt;
use crate::clock::Clock;

/// A datagram that came.
pub(super) struct Received {
    pub(super) at: Time,
    pub(super) from: SocketAddr,
    pub(super) ecn: u8,
    pub(super) datagram: BytesMut,
}

/// The socket of one end.
pub(super) struct Socket {
    io: tokio::net::UdpSocket,
    state: UdpSocketState,
    segments_max: usize,
    buffer: Vec<u8>,
    slot_bytes: usize,
    batch: Batch,
    /// What came after a batch for which the socket had no room.
    held: Option<(Transmit, Vec<u8>)>,
    drops_before: Option<u64>,
    dropped_late: u64,
}

/// Datagrams of one size for one address that wait to go in one call.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    to: Option<SocketAddr>,
    ecn: u8,
    segment_bytes: usize,
    count: usize,
    /// A datagram shorter than the others ends a batch.
    closed: bool,
}

impl Socket {
    /// Takes over `socket`. Needs a runtime.
    pub(super) fn new(socket: UdpSocket, options: &Options) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let state = UdpSocketState::new((&socket).into())?;
        // As much as the system allows; a smaller buffer shows in the drops.
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER_BYTES);
        let gro = options.gro && state.gro_segments() > 1;
        if !gro {
            sockopt::receive_offload_off(&socket);
        }
        let slot_bytes = if gro { OFFLOADED_BYTES_MAX } else { DATAGRAM_BYTES_MAX };
        let drops_before = sockopt::drops(&socket);
        let segments_max = if options.gso { state.max_gso_segments().max(1) } else { 1 };
        Ok(Self {
            io: tokio::net::UdpSocket::from_std(socket)?,
            state,
            segments_max,
            buffer: vec![0; slot_bytes * BATCH_SIZE],
            slot_bytes,
            batch: Batch::default(),
            held: None,
            drops_before,
            dropped_late: 0,
        })
    }

    /// Receives what is there, at most one batch, into `out`. Whether there may be more.
    pub(super) fn receive(
        &mut self,
        clock: Clock,
        out: &mut Vec<Received>,
        report: &mut Report,
    ) -> io::Result<bool> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut chunks = self.buffer.chunks_exact_mut(self.slot_bytes);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(chunks.next().expect("a slot each")));
        let (io, state) = (&self.io, &self.state);
        let received = io.try_io(Interest::READABLE, || state.recv(io.into(), &mut slices, &mut metas));
        let count = match received {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            // An earlier datagram met a closed port or a filter; that is no fault of the socket.
            Err(error) if is_about_a_peer(&error) => return Ok(true),
            Err(error) => return Err(error),
        };
        report.receive_calls += 1;
        let (offset, now) = (Clock::wall_offset(), clock.now());
        for (slot, meta) in metas[..count].iter().enumerate() {
            let stamp = meta.timestamp.map(|stamp| clock.of_wall(stamp, offset));
            // The wall clock may be set meanwhile; what cannot be is not believed.
            let stamp = stamp.filter(|at| *at <= now);
            if stamp.is_some_and(|at| now.since(at) > WAIT_MAX) {
                self.dropped_late += meta.len.div_ceil(meta.stride.max(1)) as u64;
                continue;
            }
            if let Some(at) = stamp {
                report.receive_lag.record(now.since(at));
            }
            let at = stamp.unwrap_or(now);
            let start = slot * self.slot_bytes;
            let bytes = &self.buffer[start..start + meta.len.min(self.slot_bytes)];
            let ecn = meta.ecn.map_or(0, |ecn| ecn as u8);
            report.pieces_received += 1;
            for datagram in bytes.chunks(meta.stride.max(1)) {
                report.datagrams_received += 1;
                out.push(Received { at, from: meta.addr, ecn, datagram: BytesMut::from(datagram) });
            }
        }
        Ok(true)
    }

    /// Takes a datagram to send; it goes at the next [`flush`](Self::flush), or now if it does not fit to what waits.
    /// False when the socket has no room: call [`flush`](Self::flush) when it is writable, before anything else.
    pub(super) fn push(&mut self, transmit: Transmit, bytes: &[u8], report: &mut Report) -> bool {
        debug_assert!(transmit.segment_bytes.is_none(), "the machines cut no segments themselves");
        let bytes = &bytes[..transmit.bytes];
        if !self.batch.takes(&transmit, self.segments_max) && !self.flush(report) {
            self.held = Some((transmit, bytes.to_vec()));
            return false;
        }
        self.batch.push(&transmit, bytes);
        true
    }

    /// Sends what waits. False when the socket has no room for it.
    pub(super) fn flush(&mut self, report: &mut Report) -> bool {
        while let Some(to) = self.batch.to {
            let transmit = quinn_udp::Transmit {
                destination: to,
                ecn: EcnCodepoint::from_bits(self.batch.ecn),
                contents: &self.batch.bytes,
                segment_size: (self.batch.count > 1).then_some(self.batch.segment_bytes),
                src_ip: None,
            };
            let (io, state) = (&self.io, &self.state);
            let sent = io.try_io(Interest::WRITABLE, || state.try_send(io.into(), &transmit));
            let count = self.batch.count as u64;
            match sent {
                Ok(()) => {
                    report.send_calls += 1;
                    report.datagrams_sent += count;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    report.sends_blocked += 1;
                    return false;
                }
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => {
                    report.probes_too_large += count;
                }
                Err(error) => {
                    report.send_errors += count;
                    report.send_error = Some(error.to_string());
                }
            }
            // The kernel may have turned offload off; quinn-udp notes that it cannot be had.
            self.segments_max = self.segments_max.min(self.state.max_gso_segments().max(1));
            self.batch.clear();
            if let Some((transmit, bytes)) = self.held.take() {
                self.batch.push(&transmit, &bytes);
            }
        }
        true
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.io.readable().await
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.io.writable().await
    }

    /// Datagrams that never came out of the socket since the start: the receive buffer had no room for them, or they had
    /// waited in it for too long.
    pub(super) fn drops(&self) -> Option<u64> {
        let full =
            self.drops_before.and_then(|before| Some(sockopt::drops(&self.io)?.saturating_sub(before)));
        let late = Some(self.dropped_late).filter(|late| *late > 0);
        if full.is_none() { late } else { full.map(|full| full + self.dropped_late) }
    }
}

impl Batch {
    fn takes(&self, transmit: &Transmit, segments_max: usize) -> bool {
        let Some(to) = self.to else { return true };
        !self.closed
            && to == transmit.to
            && self.ecn == transmit.ecn
            && transmit.bytes <= self.segment_bytes
            && self.count < segments_max
            && self.bytes.len() + transmit.bytes <= SEND_BYTES_MAX
    }

    fn push(&mut self, transmit: &Transmit, bytes: &[u8]) {
        if self.to.is_none() {
            (self.to, self.ecn, self.segment_bytes) = (Some(transmit.to), transmit.ecn, bytes.len());
        }
        self.closed = bytes.len() < self.segment_bytes;
        self.count += 1;
        self.bytes.extend_from_slice(bytes);
    }

    fn clear(&mut self) {
        self.bytes.clear();
        (self.to, self.count, self.closed) = (None, 0, false);
    }
}

fn is_about_a_peer(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionRefused | Kind::ConnectionReset | Kind::HostUnreachable | Kind::NetworkUnreachable
    )
}

/// Room for a quarter of a second of ten times the default video.
const SOCKET_BUFFER_BYTES: usize = 1 << 20;
/// The most that receive offload makes of one flow.
const OFFLOADED_BYTES_MAX: usize = 64 << 10;
/// Larger datagrams than any device's packet but the loopback's are cut, and then malformed.
const DATAGRAM_BYTES_MAX: usize = 9 << 10;
/// UDP's own limit on what one call may hand over, headers deducted.
const SEND_BYTES_MAX: usize = 65_000;
/// A datagram that waited longer than this in the socket is lost, as on a link: the process was stopped, or the machine asleep,
/// and who sent it cannot have meant it for now. A command in it does not say how long it waited here.
const WAIT_MAX: Span = Span::from_secs(1);
