//! The sending side of frames as datagrams: what goes next of repair, frames and parity.
//!
//! What is sent again goes first, since its frame is already waited for; then frames; parity goes when
//! nothing else waits. Without [`protect`](VideoSender::protect) there are only frames.

use bytes::Bytes;
use units::{Span, Time};

use super::VideoQueue;
use crate::arena::Arena;
use crate::event::{Camera, FrameId};
use crate::fec::{Codec, Plan, Trailing};
use crate::loss::{News, Piece, SentLog};
use crate::repair::Repair;
use crate::settings::Settings;
use crate::wire::{Feedback, FrameShape, VIDEO_HEADER_BYTES, VideoHeader};

/// Everything between frames and datagrams.
#[derive(Debug)]
pub(crate) struct VideoSender {
    pub(crate) queue: VideoQueue,
    pub(crate) sent_log: SentLog,
    /// Datagram bytes sent, and bytes of frames sent for the first time, both fading.
    datagram_bytes: f64,
    frame_bytes: f64,
    /// What the link takes beside all frames at full size, as a share of those.
    spare: f64,
    protection: Option<Box<Protection>>,
}

#[derive(Debug)]
struct Protection {
    repair: Repair,
    trailing: Trailing,
    plan: Plan,
    codec: Codec,
}

impl VideoSender {
    pub(crate) fn new(queue: VideoQueue) -> Self {
        Self {
            queue,
            sent_log: SentLog::new(),
            datagram_bytes: 0.0,
            frame_bytes: 0.0,
            spare: 0.0,
            protection: None,
        }
    }

    /// Sends parity and sends again, as the settings say.
    pub(crate) fn protect(&mut self, settings: &Settings) {
        let Settings { repair, fec, .. } = settings;
        self.protection = Some(Box::new(Protection {
            repair: Repair::new(repair),
            trailing: Trailing::default(),
            plan: Plan::new(fec),
            codec: Codec::default(),
        }));
    }

    /// Says what the link takes beside all frames at full size, as a share of those.
    pub(crate) fn set_spare(&mut self, spare: f64) {
        self.spare = spare;
    }

    /// Takes a report of the receiver's.
    pub(crate) fn handle_feedback(&mut self, now: Time, feedback: &Feedback) {
        self.sent_log.handle(now, feedback);
        while let Some(news) = self.sent_log.poll_news() {
            let Some(protection) = &mut self.protection else { continue };
            match news {
                News::Missing(Piece { frame, index }) => protection.repair.on_lost(frame, index),
                News::Found(Piece { frame, index }) => protection.repair.on_found(frame, index),
            }
        }
    }

    /// Packets sent again, and times a limit was met.
    pub(crate) fn repair_counts(&self) -> (u64, u64) {
        self.protection.as_ref().map_or((0, 0), |p| (p.repair.sent_again(), p.repair.limit_hits()))
    }

    /// Whether there is something that could go out now, to arrive `one_way` later.
    pub(crate) fn is_ready(&mut self, now: Time, one_way: Span, payload_max: usize) -> bool {
        let Some(protection) = &mut self.protection else { return self.queue.is_ready(now, payload_max) };
        while let Some((frame, pieces)) = protection.trailing.poll_given_up(now) {
            for _ in 0..pieces {
                protection.repair.on_parity_given_up(frame);
            }
        }
        protection.repair.is_ready(now, one_way)
            || self.queue.is_ready(now, payload_max)
            || !protection.trailing.is_empty()
    }

    /// The next datagram, numbered and in one piece.
    pub(crate) fn pop(
        &mut self,
        now: Time,
        one_way: Span,
        payload_max: usize,
        arena: &mut Arena,
    ) -> Option<Bytes> {
        let again = self.pop_again(now, one_way, arena);
        let fragment = again.is_none().then(|| self.pop_fragment(now, payload_max, arena)).flatten();
        let frame_bytes = fragment.as_ref().map_or(0, |bytes| bytes.len() - VIDEO_HEADER_BYTES);
        let datagram = again.or(fragment).or_else(|| self.pop_parity(now, arena))?;
        self.datagram_bytes += (datagram.len() + TRANSPORT_BYTES) as f64;
        self.frame_bytes += frame_bytes as f64;
        if self.frame_bytes > OVERHEAD_BYTES {
            self.datagram_bytes /= 2.0;
            self.frame_bytes /= 2.0;
        }
        Some(datagram)
    }

    /// Bytes of UDP payload sent lately for each byte of frames.
    pub(crate) fn overhead(&self) -> f64 {
        if self.frame_bytes > 0.0 { self.datagram_bytes / self.frame_bytes } else { 1.0 }
    }

    fn pop_again(&mut self, now: Time, one_way: Span, arena: &mut Arena) -> Option<Bytes> {
        let Protection { repair, .. } = &mut **self.protection.as_mut()?;
        if !repair.is_ready(now, one_way) {
            return None;
        }
        let sent_log = &mut self.sent_log;
        let mut datagram = None;
        repair.pop(|again| {
            let seq = sent_log.assign(now, Piece { frame: again.frame, index: again.index });
            let (frame, shape, parity, index) = (again.frame, again.shape, again.parity, again.index);
            let header = VideoHeader { seq, frame, index, shape, parity };
            let range = shape.range(index);
            datagram = Some(arena.build(VIDEO_HEADER_BYTES + range.len(), |out| {
                header.encode(out);
                again.buffer.copy(&range, out);
            }));
        });
        datagram
    }

    fn pop_fragment(&mut self, now: Time, payload_max: usize, arena: &mut Arena) -> Option<Bytes> {
        let Self { queue, sent_log, protection, spare, .. } = self;
        let estimate = *sent_log.estimate();
        let spare = *spare;
        let reorders = spare > SPARE_FOR_DELAY && sent_log.reordering_seen() > REORDERING_MIN;
        let mut datagram = None;
        let mut sent = None;
        let plan = |frame: FrameId, shape: FrameShape| {
            let main = frame.camera == Camera::MAIN;
            protection.as_mut().map_or(0, |p| p.plan.parity(&estimate, shape.count, main, spare, reorders))
        };
        let finished = queue.pop(payload_max, plan, |cut| {
            let range = cut.shape.range(cut.index);
            let seq = sent_log.assign(now, Piece { frame: cut.frame, index: cut.index });
            let (frame, shape, parity, index) = (cut.frame, cut.shape, cut.parity, cut.index);
            let header = VideoHeader { seq, frame, index, shape, parity };
            let length = VIDEO_HEADER_BYTES + range.len();
            datagram = Some(arena.build(length, |out| {
                header.encode(out);
                cut.buffer.copy(&range, out);
            }));
            sent = Some((frame, shape, parity, index));
            length as u64
        });
        if let Some(Protection { repair, trailing, codec, .. }) = protection.as_deref_mut() {
            if let Some((frame, shape, parity, index)) = sent {
                repair.on_sent(now, frame, shape, parity, index);
            }
            if let Some(finished) = finished {
                if finished.parity > 0 {
                    let shards = codec.encode(finished.shape, finished.parity, &finished.buffer);
                    trailing.push(now, finished.frame, finished.shape, finished.parity, shards);
                }
                repair.keep(finished);
            }
        }
        datagram
    }

    fn pop_parity(&mut self, now: Time, arena: &mut Arena) -> Option<Bytes> {
        let Protection { repair, trailing, .. } = &mut **self.protection.as_mut()?;
        let piece = trailing.pop()?;
        let (frame, shape, parity) = (piece.frame, piece.shape, piece.parity);
        let index = shape.count + u16::from(piece.index);
        let seq = self.sent_log.assign(now, Piece { frame, index });
        repair.on_sent(now, frame, shape, parity, index);
        let header = VideoHeader { seq, frame, index, shape, parity };
        Some(arena.build(VIDEO_HEADER_BYTES + piece.payload.len(), |out| {
            header.encode(out);
            out.extend_from_slice(&piece.payload);
        }))
    }
}

/// What QUIC adds to a datagram: header, frame type and length, tag.
const TRANSPORT_BYTES: usize = 26;
/// Bytes of frames over which the overhead fades by half: a second of the default workload.
const OVERHEAD_BYTES: f64 = 800_000.0;
/// Beside so much parity for loss it does no harm to send some against reordering.
const SPARE_FOR_DELAY: f64 = 0.7;
/// Reordering by less than this does not hold a frame up.
const REORDERING_MIN: Span = Span::from_millis(5);
