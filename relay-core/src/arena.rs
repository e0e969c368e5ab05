//! Where outgoing datagrams are written: one large buffer handed out in slices.
//!
//! A datagram needs its header and payload in one piece of memory. Cutting the pieces from one
//! block makes that one allocation for some fifty datagrams, and none once the earlier slices have
//! been sent and dropped, since the block is then used again.

use bytes::{Bytes, BytesMut};

/// Hands out buffers for outgoing datagrams.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    block: BytesMut,
}

impl Arena {
    /// The bytes that `write` appends, at most `bytes_max` of them without growing.
    pub(crate) fn build(&mut self, bytes_max: usize, write: impl FnOnce(&mut BytesMut)) -> Bytes {
        if self.block.capacity() < bytes_max {
            self.block.reserve(BLOCK_BYTES.max(bytes_max));
        }
        write(&mut self.block);
        self.block.split().freeze()
    }
}

const BLOCK_BYTES: usize = 64 << 10;
