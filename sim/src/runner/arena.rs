//! Where datagrams live on their way: one large buffer cut into pieces.
//!
//! A datagram that a machine wrote is copied here once and then moved from hand to hand until the
//! receiver has read it. One allocation serves some fifty datagrams, and a block whose pieces have
//! all been dropped is used again.

use bytes::BytesMut;

/// Makes owned copies of datagrams.
#[derive(Debug, Default)]
pub(super) struct Arena {
    block: BytesMut,
}

impl Arena {
    pub(super) fn copy(&mut self, datagram: &[u8]) -> BytesMut {
        if self.block.capacity() < datagram.len() {
            self.block.reserve(BLOCK_BYTES.max(datagram.len()));
        }
        self.block.extend_from_slice(datagram);
        self.block.split()
    }
}

/// The largest block that `BytesMut` allocates again on its own.
const BLOCK_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_whole_and_apart() {
        let mut arena = Arena::default();
        let mut kept: Vec<BytesMut> = (0..200_u8).map(|n| arena.copy(&[n; 1200])).collect();
        kept[7][0] = 99;
        for (n, copy) in kept.iter().enumerate() {
            let first = if n == 7 { 99 } else { n as u8 };
            assert_eq!((copy[0], copy[1], copy[1199], copy.len()), (first, n as u8, n as u8, 1200));
        }
        assert_eq!(arena.copy(&vec![5; 100_000]).len(), 100_000);
        assert!(arena.copy(&[]).is_empty());
    }
}
