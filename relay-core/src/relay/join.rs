//! Reading a peer's hello.

use bytes::BytesMut;
use quinn_proto::{Connection, Dir, StreamId};

use crate::access::TOKEN_BYTES_MAX;
use crate::wire::{HELLO_BYTES, Hello, Malformed};

/// Bytes of the longest hello.
const HELLO_BYTES_MAX: usize = HELLO_BYTES + TOKEN_BYTES_MAX;

/// A hello as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Joining {
    stream: Option<StreamId>,
    bytes: BytesMut,
}

impl Joining {
    /// The stream the hello comes on, once it is open.
    pub(super) fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    /// Reads what is there. `None` while it is not all there.
    pub(super) fn read(&mut self, conn: &mut Connection) -> Option<Result<Hello, Malformed>> {
        if self.stream.is_none() {
            self.stream = conn.streams().accept(Dir::Bi);
        }
        let mut stream = conn.recv_stream(self.stream?);
        if let Ok(mut chunks) = stream.read(true) {
            // One byte more than the longest hello shows that there is too much.
            while let room @ 1.. = HELLO_BYTES_MAX + 1 - self.bytes.len()
                && let Ok(Some(chunk)) = chunks.next(room)
            {
                self.bytes.extend_from_slice(&chunk.bytes);
            }
            let _ = chunks.finalize();
        }
        match Hello::length(&self.bytes) {
            Err(error) => Some(Err(error)),
            Ok(Some(length)) if self.bytes.len() > length => Some(Err(Malformed::Field)),
            Ok(Some(length)) if self.bytes.len() == length => {
                Some(Hello::decode(self.bytes.split().freeze()))
            }
            Ok(_) => None,
        }
    }
}
