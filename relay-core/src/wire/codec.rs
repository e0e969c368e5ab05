//! Reading and writing integers: big-endian, and QUIC's variable length (RFC 9000 §16).

use bytes::{Buf, BufMut, Bytes, BytesMut};

use super::Malformed;

/// Takes fields off the front of a message.
pub(super) struct Reader {
    bytes: Bytes,
}

impl Reader {
    pub(super) fn new(bytes: Bytes) -> Self {
        Self { bytes }
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.bytes.try_get_u8().map_err(|_| Malformed::Truncated)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Malformed> {
        self.bytes.try_get_u16().map_err(|_| Malformed::Truncated)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.bytes.try_get_u32().map_err(|_| Malformed::Truncated)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.bytes.try_get_u64().map_err(|_| Malformed::Truncated)
    }

    /// A QUIC variable-length integer.
    pub(super) fn varint(&mut self) -> Result<u64, Malformed> {
        let first = *self.bytes.first().ok_or(Malformed::Truncated)?;
        let length = 1usize << (first >> 6);
        if self.bytes.len() < length {
            return Err(Malformed::Truncated);
        }
        let mut value = u64::from(first & 0x3f);
        for byte in &self.bytes[1..length] {
            value = value << 8 | u64::from(*byte);
        }
        self.bytes.advance(length);
        Ok(value)
    }

    pub(super) fn take(&mut self, length: usize) -> Result<Bytes, Malformed> {
        if self.bytes.len() < length {
            return Err(Malformed::Truncated);
        }
        Ok(self.bytes.split_to(length))
    }

    pub(super) fn rest(self) -> Bytes {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

/// Largest value of a variable-length integer.
pub(super) const VARINT_MAX: u64 = (1 << 62) - 1;

/// Writes a QUIC variable-length integer; values over [`VARINT_MAX`] are written as that.
pub(super) fn put_varint(out: &mut BytesMut, value: u64) {
    let value = value.min(VARINT_MAX);
    match value {
        0..=0x3f => out.put_u8(value as u8),
        0x40..=0x3fff => out.put_u16(0x4000 | value as u16),
        0x4000..=0x3fff_ffff => out.put_u32(0x8000_0000 | value as u32),
        _ => out.put_u64(0xc000_0000_0000_0000 | value),
    }
}

/// How many bytes [`put_varint`] writes.
pub(super) const fn varint_len(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Maps signed to unsigned so that small magnitudes stay small.
pub(super) const fn zigzag(value: i64) -> u64 {
    (value.wrapping_shl(1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn varints_survive_the_wire(value in 0..=VARINT_MAX) {
            let mut out = BytesMut::new();
            put_varint(&mut out, value);
            prop_assert_eq!(out.len(), varint_len(value));
            prop_assert_eq!(Reader::new(out.freeze()).varint(), Ok(value));
        }

        #[test]
        fn zigzag_is_undone(value: i64) {
            prop_assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
