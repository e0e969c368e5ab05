//! What the receiver of video reports: which datagrams came, and when.

use bytes::{BufMut, BytesMut};

use super::codec::{Reader, put_varint, unzigzag, zigzag};
use super::{Malformed, TYPE_FEEDBACK, tag};

/// Most ranges in one report.
pub(crate) const RANGES_MAX: usize = 64;
/// Most arrivals in one report.
pub(crate) const ARRIVALS_MAX: usize = 160;
/// Two variable-length integers at their longest.
const ENTRY_BYTES_MAX: usize = 16;

/// Received sequence numbers from `first` to `last`, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeqRange {
    pub(crate) first: u32,
    pub(crate) last: u32,
}

/// One datagram that came since the report before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub(crate) seq: u32,
    /// On the receiver's clock, in microseconds.
    pub(crate) at_us: u64,
}

/// One report.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Feedback {
    /// Everything received lately, highest first, with gaps between. Repeats what earlier reports
    /// said, so that a lost report costs nothing.
    pub(crate) ranges: Vec<SeqRange>,
    /// Arrivals since the report before, in order of arrival.
    pub(crate) arrivals: Vec<Arrival>,
}

impl Feedback {
    /// Encodes as much as fits into `bytes_max`: ranges first, from the highest, then arrivals.
    pub(crate) fn encode(&self, bytes_max: usize, out: &mut BytesMut) {
        let start = out.len();
        let has_room = |out: &BytesMut| out.len() - start + ENTRY_BYTES_MAX <= bytes_max;
        out.put_u8(tag(TYPE_FEEDBACK));
        out.put_u16(0);
        let mut above: Option<u32> = None;
        for range in self.ranges.iter().take(RANGES_MAX) {
            if !has_room(out) {
                break;
            }
            match above {
                None => out.put_u32(range.last),
                Some(above) => put_varint(out, u64::from(above - range.last)),
            }
            put_varint(out, u64::from(range.last - range.first));
            above = Some(range.first);
            out[start + 1] += 1;
        }
        let mut before = Arrival { seq: 0, at_us: 0 };
        for arrival in self.arrivals.iter().take(ARRIVALS_MAX) {
            if !has_room(out) {
                break;
            }
            put_varint(out, zigzag(i64::from(arrival.seq) - i64::from(before.seq)));
            put_varint(out, arrival.at_us.saturating_sub(before.at_us));
            before = *arrival;
            out[start + 2] += 1;
        }
    }

    pub(super) fn decode(reader: &mut Reader) -> Result<Self, Malformed> {
        let range_count = usize::from(reader.u8()?);
        let arrival_count = usize::from(reader.u8()?);
        if range_count > RANGES_MAX || arrival_count > ARRIVALS_MAX {
            return Err(Malformed::Field);
        }
        let mut ranges: Vec<SeqRange> = Vec::with_capacity(range_count);
        for _ in 0..range_count {
            let last = match ranges.last() {
                None => reader.u32()?,
                Some(above) => {
                    let down = u32::try_from(reader.varint()?).map_err(|_| Malformed::Field)?;
                    // Ranges that touch would be one range.
                    let valid = (down >= 2).then(|| above.first.checked_sub(down)).flatten();
                    valid.ok_or(Malformed::Field)?
                }
            };
            let length = u32::try_from(reader.varint()?).map_err(|_| Malformed::Field)?;
            let first = last.checked_sub(length).ok_or(Malformed::Field)?;
            ranges.push(SeqRange { first, last });
        }
        let mut arrivals = Vec::with_capacity(arrival_count);
        let mut before = Arrival { seq: 0, at_us: 0 };
        for _ in 0..arrival_count {
            let step = unzigzag(reader.varint()?);
            let seq = i64::from(before.seq).checked_add(step).and_then(|seq| u32::try_from(seq).ok());
            let at_us = before.at_us.checked_add(reader.varint()?);
            before = Arrival { seq: seq.ok_or(Malformed::Field)?, at_us: at_us.ok_or(Malformed::Field)? };
            arrivals.push(before);
        }
        if reader.is_empty() { Ok(Self { ranges, arrivals }) } else { Err(Malformed::Field) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Message;
    use super::*;

    proptest! {
        #[test]
        fn reports_survive_the_wire(
            top in 100_000u32..,
            steps in prop::collection::vec((2u32..300, 0u32..300), 0..RANGES_MAX),
            times in prop::collection::vec((any::<u32>(), 0u64..100_000), 0..ARRIVALS_MAX),
        ) {
            let mut ranges = Vec::new();
            let mut last = top;
            for (gap, length) in steps {
                ranges.push(SeqRange { first: last - length, last });
                last = last - length - gap;
            }
            let mut at_us = 5_000_000;
            let mut arrivals = Vec::new();
            for (seq, step) in times {
                at_us += step;
                arrivals.push(Arrival { seq, at_us });
            }
            let report = Feedback { ranges, arrivals };
            let mut out = BytesMut::new();
            report.encode(usize::MAX, &mut out);
            prop_assert_eq!(Message::decode(out.freeze()), Ok(Message::Feedback(report)));
        }
    }

    #[test]
    fn a_report_never_outgrows_its_datagram() {
        let ranges = (0..RANGES_MAX as u32).map(|i| {
            let last = u32::MAX - i * 50_000_000;
            SeqRange { first: last - 20_000_000, last }
        });
        let arrivals =
            (0..ARRIVALS_MAX as u64).map(|i| Arrival { seq: (i % 2) as u32 * u32::MAX, at_us: i << 40 });
        let report = Feedback { ranges: ranges.collect(), arrivals: arrivals.collect() };
        let mut out = BytesMut::new();
        report.encode(1150, &mut out);
        assert!(out.len() <= 1150);
        let Ok(Message::Feedback(read)) = Message::decode(out.freeze()) else { panic!("not a report") };
        assert_eq!(read.ranges, report.ranges);
        assert!(report.arrivals.starts_with(&read.arrivals));
    }
}
