//! Reading a peer's hello.

use bytes::BytesMut;
use quinn_proto::{Connection, Dir, StreamId};

use crate::wire::{HELLO_BYTES, Hello, Malformed};

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
        let mut excess = false;
        if let Ok(mut chunks) = stream.read(true) {
            while let Ok(Some(chunk)) = chunks.next(HELLO_BYTES) {
                let room = HELLO_BYTES - self.bytes.len();
                excess |= chunk.bytes.len() > room;
                self.bytes.extend_from_slice(&chunk.bytes[..chunk.bytes.len().min(room)]);
                if excess {
                    break;
                }
            }
            let _ = chunks.finalize();
        }
        if excess {
            return Some(Err(Malformed::Field));
        }
        (self.bytes.len() == HELLO_BYTES).then(|| Hello::decode(self.bytes.split().freeze()))
    }
}
