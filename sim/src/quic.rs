//! Reading QUIC packets that nothing encrypts: what frames a datagram of [`crate::null_crypto`] holds.
//!
//! For logs and tests that want to see what QUIC put into a packet. It reads packets of version 1
//! (RFC 9000 §17, §19) with the frames of RFC 9221 and of the draft on ACK frequency, and stops without a word at
//! what it does not know. It checks nothing: a tap sees only what this process sent.

/// Reads the packets that one side sends, in the order they are sent.
///
/// Packet numbers travel shortened; the reader remembers the last of each space to tell them whole.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    last: [Option<u64>; 3],
}

/// One QUIC packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Its type.
    pub kind: PacketKind,
    /// Its number.
    pub number: u64,
    /// Its bytes, header and tag included.
    pub bytes: usize,
    /// What is in it, in order. Padding is counted in one entry.
    pub frames: Vec<Frame>,
}

/// The type of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketKind {
    /// Begins a connection.
    Initial,
    /// The rest of the handshake.
    Handshake,
    /// Everything after it.
    OneRtt,
}

/// What a packet holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// So many bytes of nothing.
    Padding {
        /// How many.
        bytes: usize,
    },
    /// Asks for an acknowledgement.
    Ping,
    /// Acknowledges packets.
    Ack {
        /// How long the newest waited, in microseconds.
        delay_us: u64,
        /// First and last of each range, the highest first.
        ranges: Vec<(u64, u64)>,
    },
    /// A piece of the handshake.
    Crypto {
        /// Where it belongs.
        offset: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// A piece of a stream.
    Stream {
        /// Which stream.
        id: u64,
        /// Where it belongs.
        offset: u64,
        /// How many bytes.
        bytes: u64,
        /// Whether it is the last.
        fin: bool,
    },
    /// A datagram of the application.
    Datagram {
        /// How many bytes.
        bytes: u64,
    },
    /// A stream is given up.
    ResetStream {
        /// Which stream.
        id: u64,
        /// The application's reason.
        code: u64,
        /// Bytes of it until then.
        final_bytes: u64,
    },
    /// Any other, by its type's number and name.
    Other {
        /// The number.
        kind: u64,
        /// What RFC 9000 calls it, in lower case.
        name: &'static str,
    },
}

impl Reader {
    /// The packets in `datagram`; those after one that cannot be read are left out.
    pub fn read(&mut self, datagram: &[u8]) -> Vec<Packet> {
        let mut packets = Vec::new();
        let mut rest = datagram;
        while !rest.is_empty() && packets.len() < PACKETS_MAX {
            let Some((packet, bytes)) = self.packet(rest) else { break };
            packets.push(packet);
            rest = &rest[bytes.min(rest.len())..];
        }
        packets
    }

    fn packet(&mut self, bytes: &[u8]) -> Option<(Packet, usize)> {
        let mut cursor = Cursor { rest: bytes };
        let first = cursor.u8()?;
        let kind = if first & LONG_HEADER != 0 {
            cursor.take(4)?;
            for _ in 0..2 {
                let id_bytes = usize::from(cursor.u8()?);
                cursor.take(id_bytes)?;
            }
            match first >> 4 & 3 {
                0 => {
                    let token_bytes = usize::try_from(cursor.varint()?).ok()?;
                    cursor.take(token_bytes)?;
                    PacketKind::Initial
                }
                2 => PacketKind::Handshake,
                _ => return None,
            }
        } else {
            cursor.take(CID_BYTES)?;
            PacketKind::OneRtt
        };
        let length = match kind {
            PacketKind::OneRtt => cursor.rest.len(),
            _ => usize::try_from(cursor.varint()?).ok()?,
        };
        let header_bytes = bytes.len() - cursor.rest.len();
        let mut body = Cursor { rest: cursor.take(length)? };
        let number_bytes = usize::from(first & 3) + 1;
        let truncated =
            body.take(number_bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let last = &mut self.last[kind as usize];
        let number = whole_number(truncated, number_bytes, *last);
        *last = (*last).max(Some(number));
        let payload = body.rest.len().checked_sub(crate::null_crypto::TAG_BYTES)?;
        let frames = frames(&body.rest[..payload]);
        Some((Packet { kind, number, bytes: header_bytes + length, frames }, header_bytes + length))
    }
}

/// The packet number nearest to the one after `last` that ends in `truncated` (RFC 9000 §A.3).
fn whole_number(truncated: u64, bytes: usize, last: Option<u64>) -> u64 {
    let expected = last.map_or(0, |last| last.saturating_add(1));
    let window = 1_u64 << (8 * bytes);
    let candidate = expected & !(window - 1) | truncated;
    if candidate + window / 2 <= expected {
        candidate.saturating_add(window)
    } else if candidate > expected + window / 2 && candidate >= window {
        candidate - window
    } else {
        candidate
    }
}

/// The frames of a payload, up to the first that cannot be read.
fn frames(payload: &[u8]) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut cursor = Cursor { rest: payload };
    while !cursor.rest.is_empty() {
        let Some(frame) = frame(&mut cursor) else { break };
        match (frames.last_mut(), &frame) {
            (Some(Frame::Padding { bytes }), Frame::Padding { bytes: more }) => *bytes += more,
            _ => frames.push(frame),
        }
    }
    frames
}

fn frame(cursor: &mut Cursor<'_>) -> Option<Frame> {
    let kind = cursor.varint()?;
    Some(match kind {
        0x00 => Frame::Padding { bytes: 1 },
        0x01 => Frame::Ping,
        0x02 | 0x03 => ack(cursor, kind == 0x03)?,
        0x04 => {
            Frame::ResetStream { id: cursor.varint()?, code: cursor.varint()?, final_bytes: cursor.varint()? }
        }
        0x06 => {
            let (offset, bytes) = (cursor.varint()?, cursor.varint()?);
            cursor.take(usize::try_from(bytes).ok()?)?;
            Frame::Crypto { offset, bytes }
        }
        0x08..=0x0f => {
            let id = cursor.varint()?;
            let offset = if kind & 4 != 0 { cursor.varint()? } else { 0 };
            let bytes = if kind & 2 != 0 { cursor.varint()? } else { cursor.rest.len() as u64 };
            cursor.take(usize::try_from(bytes).ok()?)?;
            Frame::Stream { id, offset, bytes, fin: kind & 1 != 0 }
        }
        0x30 | 0x31 => {
            let bytes = if kind == 0x31 { cursor.varint()? } else { cursor.rest.len() as u64 };
            cursor.take(usize::try_from(bytes).ok()?)?;
            Frame::Datagram { bytes }
        }
        _ => other(cursor, kind)?,
    })
}

fn ack(cursor: &mut Cursor<'_>, ecn: bool) -> Option<Frame> {
    let largest = cursor.varint()?;
    let delay_us = cursor.varint()?.saturating_mul(1 << ACK_DELAY_EXPONENT);
    let more = cursor.varint()?;
    let mut first = largest.checked_sub(cursor.varint()?)?;
    let mut ranges = vec![(first, largest)];
    for _ in 0..more {
        let last = first.checked_sub(cursor.varint()?)?.checked_sub(2)?;
        first = last.checked_sub(cursor.varint()?)?;
        ranges.push((first, last));
    }
    if ecn {
        for _ in 0..3 {
            cursor.varint()?;
        }
    }
    Some(Frame::Ack { delay_us, ranges })
}

/// Passes over a frame of which only the type matters.
fn other(cursor: &mut Cursor<'_>, kind: u64) -> Option<Frame> {
    let (name, numbers, bytes) = match kind {
        0x05 => ("stop_sending", 2, 0),
        0x07 => ("new_token", 0, usize::try_from(cursor.varint()?).ok()?),
        0x10 => ("max_data", 1, 0),
        0x11 => ("max_stream_data", 2, 0),
        0x12 | 0x13 => ("max_streams", 1, 0),
        0x14 => ("data_blocked", 1, 0),
        0x15 => ("stream_data_blocked", 2, 0),
        0x16 | 0x17 => ("streams_blocked", 1, 0),
        0x18 => {
            cursor.varint()?;
            cursor.varint()?;
            ("new_connection_id", 0, usize::from(cursor.u8()?) + RESET_TOKEN_BYTES)
        }
        0x19 => ("retire_connection_id", 1, 0),
        0x1a => ("path_challenge", 0, 8),
        0x1b => ("path_response", 0, 8),
        0x1c | 0x1d => {
            for _ in 0..(0x1e - kind) {
                cursor.varint()?;
            }
            ("connection_close", 0, usize::try_from(cursor.varint()?).ok()?)
        }
        0x1e => ("handshake_done", 0, 0),
        0x1f => ("immediate_ack", 0, 0),
        0xaf => ("ack_frequency", 4, 0),
        _ => return None,
    };
    for _ in 0..numbers {
        cursor.varint()?;
    }
    cursor.take(bytes)?;
    Some(Frame::Other { kind, name })
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn varint(&mut self) -> Option<u64> {
        let first = self.u8()?;
        let more = (1_usize << (first >> 6)) - 1;
        let rest = self.take(more)?;
        Some(rest.iter().fold(u64::from(first & 0x3f), |value, byte| value << 8 | u64::from(*byte)))
    }
}

const LONG_HEADER: u8 = 0x80;
/// Length of the connection ids that the machines of `relay-core` give out, which short headers do not say.
const CID_BYTES: usize = 4;
/// The default, which quinn keeps (RFC 9000 §18.2).
const ACK_DELAY_EXPONENT: u32 = 3;
const RESET_TOKEN_BYTES: usize = 16;
/// Packets in one datagram: there is one of each space at most.
const PACKETS_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn nothing_makes_it_panic(datagram: Vec<u8>, long: bool) {
            let mut datagram = datagram;
            if let Some(first) = datagram.first_mut() {
                *first = if long { *first | LONG_HEADER } else { *first & !LONG_HEADER };
            }
            Reader::default().read(&datagram);
        }

        #[test]
        fn numbers_are_told_whole(last in 0_u64..1 << 40, ahead in 1_u64..100) {
            let number = last + ahead;
            prop_assert_eq!(whole_number(number & 0xffff, 2, Some(last)), number);
        }
    }

    #[test]
    fn a_short_packet_is_read_frame_by_frame() {
        let mut datagram = vec![0x41, 1, 2, 3, 4, 0x00, 0x07];
        // An acknowledgement of 9 to 10 and 4 to 5, a ping, padding, and a datagram to the end.
        datagram.extend([0x02, 10, 25, 1, 1, 2, 1, 0x01, 0, 0, 0, 0x30, 7, 7, 7]);
        datagram.extend([0; crate::null_crypto::TAG_BYTES]);
        let read = Reader::default().read(&datagram);
        let ack = Frame::Ack { delay_us: 200, ranges: vec![(9, 10), (4, 5)] };
        let frames = vec![ack, Frame::Ping, Frame::Padding { bytes: 3 }, Frame::Datagram { bytes: 3 }];
        let bytes = datagram.len();
        assert_eq!(read, [Packet { kind: PacketKind::OneRtt, number: 7, bytes, frames }]);
    }
}
