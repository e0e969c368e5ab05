//! The receiving side of frames as streams.

use std::collections::BTreeMap;

use quinn_proto::{Connection, Dir, ReadError, ReadableError, StreamId, VarInt};

use super::{EXPIRED, HEADER_BYTES, decode_header};
use crate::event::FrameId;
use crate::wire::Malformed;

#[derive(Debug, Default)]
struct Incoming {
    header: Vec<u8>,
    frame: Option<(FrameId, u32)>,
    received: u64,
}

/// Streams of frames that are coming in on one connection.
#[derive(Debug, Default)]
pub(crate) struct FrameStreams {
    open: BTreeMap<StreamId, Incoming>,
}

impl FrameStreams {
    /// Takes streams that the peer has opened, and reads them.
    pub(crate) fn accept(
        &mut self,
        conn: &mut Connection,
        mut done: impl FnMut(Result<(FrameId, u32), Malformed>),
    ) {
        while let Some(id) = conn.streams().accept(Dir::Uni) {
            self.open.insert(id, Incoming::default());
            self.read(conn, id, &mut done);
        }
    }

    /// Reads what is there on stream `id`; calls `done` if that ends a frame or breaks the format.
    pub(crate) fn read(
        &mut self,
        conn: &mut Connection,
        id: StreamId,
        mut done: impl FnMut(Result<(FrameId, u32), Malformed>),
    ) {
        let Some(incoming) = self.open.get_mut(&id) else { return };
        let ended = match read_all(conn, id, incoming) {
            Ok(false) => return,
            Ok(true) => match incoming.frame {
                Some((frame, bytes)) if incoming.received == u64::from(bytes) => Some(Ok((frame, bytes))),
                _ => Some(Err(Malformed::Field)),
            },
            Err(Some(malformed)) => {
                let _ = conn.recv_stream(id).stop(VarInt::from_u32(EXPIRED));
                Some(Err(malformed))
            }
            // Reset by the peer.
            Err(None) => None,
        };
        self.open.remove(&id);
        if let Some(result) = ended {
            done(result);
        }
    }
}

/// Reads everything there is. `Ok(true)` at the end of the stream, `Err(None)` if it was reset.
fn read_all(conn: &mut Connection, id: StreamId, incoming: &mut Incoming) -> Result<bool, Option<Malformed>> {
    let mut stream = conn.recv_stream(id);
    let mut chunks = match stream.read(true) {
        Ok(chunks) => chunks,
        Err(ReadableError::ClosedStream | ReadableError::IllegalOrderedRead) => return Err(None),
    };
    let result = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => {
                if let Err(malformed) = incoming.take(&chunk.bytes) {
                    break Err(Some(malformed));
                }
            }
            Ok(None) => break Ok(true),
            Err(ReadError::Blocked) => break Ok(false),
            Err(ReadError::Reset(_)) => break Err(None),
        }
    };
    let _ = chunks.finalize();
    result
}

impl Incoming {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        let wanted = HEADER_BYTES - self.header.len();
        let (head, body) = bytes.split_at(wanted.min(bytes.len()));
        self.header.extend_from_slice(head);
        if self.frame.is_none()
            && let Ok(header) = <[u8; HEADER_BYTES]>::try_from(self.header.as_slice())
        {
            self.frame = Some(decode_header(header)?);
        }
        self.received += body.len() as u64;
        match self.frame {
            Some((_, frame_bytes)) if self.received > u64::from(frame_bytes) => Err(Malformed::Field),
            _ => Ok(()),
        }
    }
}
