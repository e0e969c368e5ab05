//! Poses on their way to the relay, and commands on their way to the robot: one encoding.

use bytes::{BufMut, Bytes, BytesMut};

use super::codec::{Reader, put_varint, varint_len};
use super::{Malformed, TYPE_COMMANDS, TYPE_POSES, tag};

/// Most poses in one datagram: the newest and twelve repeats.
pub(crate) const ENTRIES_MAX: usize = 13;

/// Largest body of a pose, in bytes.
const BODY_BYTES_MAX: u64 = 512;

/// One pose: its number, how old it is, and the body that only the ends understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PoseEntry {
    pub(crate) pose: u32,
    /// Microseconds from the pose being taken to this datagram being sent, transit on earlier
    /// hops included as far as it can be estimated without a common clock.
    pub(crate) age_us: u64,
    pub(crate) body: Bytes,
}

impl PoseEntry {
    fn encoded_len(&self) -> usize {
        4 + varint_len(self.age_us) + varint_len(self.body.len() as u64) + self.body.len()
    }
}

/// Some poses, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct PoseBatch {
    pub(crate) entries: Vec<PoseEntry>,
}

impl PoseBatch {
    /// Encodes as many entries, from the first, as fit into `bytes_max`.
    pub(crate) fn encode(&self, commands: bool, bytes_max: usize, out: &mut BytesMut) {
        let mut length = 2;
        let fitting = self
            .entries
            .iter()
            .take(ENTRIES_MAX)
            .take_while(|entry| {
                length += entry.encoded_len();
                length <= bytes_max
            })
            .count();
        out.put_u8(tag(if commands { TYPE_COMMANDS } else { TYPE_POSES }));
        out.put_u8(fitting as u8);
        for entry in &self.entries[..fitting] {
            out.put_u32(entry.pose);
            put_varint(out, entry.age_us);
            put_varint(out, entry.body.len() as u64);
            out.put_slice(&entry.body);
        }
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let count = usize::from(reader.u8()?);
        if count == 0 || count > ENTRIES_MAX {
            return Err(Malformed::Field);
        }
        let mut entries = Vec::with_capacity(count);
        for _ in 0..count {
            let pose = reader.u32()?;
            let age_us = reader.varint()?;
            let length = reader.varint()?;
            if length > BODY_BYTES_MAX {
                return Err(Malformed::Field);
            }
            entries.push(PoseEntry { pose, age_us, body: reader.take(length as usize)? });
        }
        if reader.is_empty() { Ok(Self { entries }) } else { Err(Malformed::Field) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Message;
    use super::*;

    fn batch(poses: &[(u32, u64, u8)]) -> PoseBatch {
        let entry = |&(pose, age_us, length): &(u32, u64, u8)| PoseEntry {
            pose,
            age_us,
            body: Bytes::from(vec![3; usize::from(length)]),
        };
        PoseBatch { entries: poses.iter().map(entry).collect() }
    }

    proptest! {
        #[test]
        fn batches_survive_the_wire(
            poses in prop::collection::vec((any::<u32>(), 0u64..1 << 62, any::<u8>()), 1..=ENTRIES_MAX),
            commands: bool,
        ) {
            let batch = batch(&poses);
            let mut out = BytesMut::new();
            batch.encode(commands, usize::MAX, &mut out);
            let expected = if commands { Message::Commands(batch) } else { Message::Poses(batch) };
            prop_assert_eq!(Message::decode(out.freeze()), Ok(expected));
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_from_the_oldest() {
        let batch = batch(&[(9, 0, 64), (8, 14_000, 64), (7, 28_000, 64)]);
        let mut out = BytesMut::new();
        batch.encode(false, 160, &mut out);
        let Ok(Message::Poses(read)) = Message::decode(out.freeze()) else { panic!("not poses") };
        assert_eq!(read.entries.iter().map(|e| e.pose).collect::<Vec<_>>(), [9, 8]);
    }
}
