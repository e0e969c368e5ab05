//! The sending side of frames as datagrams: what goes next of repair, frames and parity.
//!
//! What is sent again goes first, since its frame is already waited for; then frames; parity, of the frame or
//! over a sliding window, goes when nothing else waits. Without [`protect`](VideoSender::protect) there are only frames.

use bytes::Bytes;
use units::{Span, Time};

use super::VideoQueue;
use crate::arena::Arena;
use crate::carried::{PartKind, VideoPart};
use crate::event::{Camera, FrameId};
use crate::fec::{Codec, Plan, Trailing, WindowEncoder};
use crate::loss::{News, Piece, SentLog};
use crate::repair::Repair;
use crate::settings::{FecKind, Settings};
use crate::wire::{
    Feedback, FrameShape, SYMBOL_HEAD_BYTES, VIDEO_HEADER_BYTES, VideoHeader, WINDOW_PARITY_BYTES,
    WindowParity,
};

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
    /// What a fragment's payload may have been when it was last asked for one.
    payload_max: usize,
    protection: Option<Box<Protection>>,
}

#[derive(Debug)]
struct Protection {
    repair: Repair,
    trailing: Trailing,
    plan: Plan,
    codec: Codec,
    /// Where parity is over a sliding window, and not within frames.
    window: Option<Window>,
}

/// Parity over a sliding window, and how many packets of it were sent.
#[derive(Debug)]
struct Window {
    encoder: WindowEncoder,
    sent: u32,
}

impl VideoSender {
    pub(crate) fn new(queue: VideoQueue) -> Self {
        Self {
            queue,
            sent_log: SentLog::new(),
            datagram_bytes: 0.0,
            frame_bytes: 0.0,
            spare: 0.0,
            payload_max: 0,
            protection: None,
        }
    }

    /// Sends parity and sends again, as the settings say.
    pub(crate) fn protect(&mut self, settings: &Settings) {
        let Settings { repair, fec, .. } = settings;
        let window = (fec.kind == FecKind::Window)
            .then(|| Window { encoder: WindowEncoder::new(fec.window), sent: 0 });
        self.protection = Some(Box::new(Protection {
            repair: Repair::new(repair, window.is_some()),
            trailing: Trailing::default(),
            plan: Plan::new(fec),
            codec: Codec::default(),
            window,
        }));
    }

    /// Bytes of a datagram that a fragment's payload cannot have: what goes before it, or before it in
    /// its parity.
    pub(crate) fn head_bytes(&self) -> usize {
        let window = self.protection.as_ref().is_some_and(|protection| protection.window.is_some());
        if window { WINDOW_PARITY_BYTES + SYMBOL_HEAD_BYTES } else { VIDEO_HEADER_BYTES }
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
                News::Missing(Piece::Part { frame, index }) => protection.repair.on_lost(frame, index),
                News::Found(Piece::Part { frame, index }) => protection.repair.on_found(frame, index),
                News::Missing(Piece::WindowParity { number }) => {
                    protection.repair.set_window_parity_missing(number, true);
                }
                News::Found(Piece::WindowParity { number }) => {
                    protection.repair.set_window_parity_missing(number, false);
                }
            }
        }
    }

    /// Packets sent again, and times a limit was met.
    pub(crate) fn repair_counts(&self) -> (u64, u64) {
        self.protection.as_ref().map_or((0, 0), |p| (p.repair.sent_again(), p.repair.limit_hits()))
    }

    /// Whether there is something that could go out now, to arrive `one_way` later.
    pub(crate) fn is_ready(&mut self, now: Time, one_way: Span, payload_max: usize) -> bool {
        if payload_max < std::mem::replace(&mut self.payload_max, payload_max) {
            self.give_up_wider(payload_max);
        }
        let Some(protection) = &mut self.protection else { return self.queue.is_ready(now, payload_max) };
        while let Some((frame, pieces)) = protection.trailing.poll_given_up(now) {
            for _ in 0..pieces {
                protection.repair.on_parity_given_up(frame);
            }
        }
        let mut owed = 0;
        if let Some(window) = &mut protection.window {
            window.encoder.give_up(now);
            owed = window.encoder.owed();
            protection.repair.set_window_parity_owed(owed);
        }
        protection.repair.is_ready(now, one_way)
            || self.queue.is_ready(now, payload_max)
            || !protection.trailing.is_empty()
            || owed > 0
    }

    /// The path's packets have become smaller: what was cut for larger ones does not fit, and cannot be cut anew, since the
    /// receiver has pieces of it.
    fn give_up_wider(&mut self, payload_max: usize) {
        self.queue.give_up_wider(payload_max);
        if let Some(protection) = &mut self.protection {
            protection.repair.give_up_wider(payload_max);
            protection.trailing.give_up_wider(payload_max);
        }
    }

    /// The next datagram, numbered and in one piece, and what it is.
    pub(crate) fn pop(
        &mut self,
        now: Time,
        one_way: Span,
        payload_max: usize,
        arena: &mut Arena,
    ) -> Option<(Bytes, VideoPart)> {
        let again = self.pop_again(now, one_way, arena);
        let fragment = again.is_none().then(|| self.pop_fragment(now, payload_max, arena)).flatten();
        let (fragment, frame_bytes) = fragment.unzip();
        let (datagram, part) = again
            .or(fragment)
            .or_else(|| self.pop_parity(now, arena))
            .or_else(|| self.pop_window_parity(now, payload_max, arena))?;
        self.datagram_bytes += (datagram.len() + TRANSPORT_BYTES) as f64;
        self.frame_bytes += frame_bytes.unwrap_or(0) as f64;
        if self.frame_bytes > OVERHEAD_BYTES {
            self.datagram_bytes /= 2.0;
            self.frame_bytes /= 2.0;
        }
        Some((datagram, part))
    }

    /// Bytes of UDP payload sent lately for each byte of frames.
    pub(crate) fn overhead(&self) -> f64 {
        if self.frame_bytes > 0.0 { self.datagram_bytes / self.frame_bytes } else { 1.0 }
    }

    fn pop_again(&mut self, now: Time, one_way: Span, arena: &mut Arena) -> Option<(Bytes, VideoPart)> {
        let Protection { repair, .. } = &mut **self.protection.as_mut()?;
        if !repair.is_ready(now, one_way) {
            return None;
        }
        let sent_log = &mut self.sent_log;
        let mut datagram = None;
        repair.pop(|again| {
            let seq = sent_log.assign(now, Piece::Part { frame: again.frame, index: again.index });
            let (frame, shape, parity, index) = (again.frame, again.shape, again.parity, again.index);
            let header = VideoHeader { seq, frame, index, shape, parity, source: again.source };
            let range = shape.range(index);
            let bytes = arena.build(header.header_bytes() + range.len(), |out| {
                header.encode(out);
                again.buffer.copy(&range, out);
            });
            datagram = Some((bytes, part(&header, PartKind::Again)));
        });
        datagram
    }

    /// The next fragment's datagram with what it is, and how many bytes of it are the frame's.
    fn pop_fragment(
        &mut self,
        now: Time,
        payload_max: usize,
        arena: &mut Arena,
    ) -> Option<((Bytes, VideoPart), usize)> {
        let Self { queue, sent_log, protection, spare, .. } = self;
        let estimate = *sent_log.estimate();
        let spare = *spare;
        let reorders = spare > SPARE_FOR_DELAY && sent_log.reordering_seen() > REORDERING_MIN;
        let mut sent = None;
        let window = protection.as_ref().and_then(|protection| protection.window.as_ref());
        let source = window.map(|window| window.encoder.next_source());
        let plan = |frame: FrameId, shape: FrameShape| {
            let main = frame.camera == Camera::MAIN;
            protection.as_mut().map_or(0, |p| p.plan.parity(&estimate, shape.count, main, spare, reorders))
        };
        let finished = queue.pop(payload_max, plan, |cut| {
            let range = cut.shape.range(cut.index);
            let seq = sent_log.assign(now, Piece::Part { frame: cut.frame, index: cut.index });
            // Parity over a window is no frame's own.
            let parity = if source.is_some() { 0 } else { cut.parity };
            let (frame, shape, index) = (cut.frame, cut.shape, cut.index);
            let header = VideoHeader { seq, frame, index, shape, parity, source };
            let length = header.header_bytes() + range.len();
            let datagram = arena.build(length, |out| {
                header.encode(out);
                cut.buffer.copy(&range, out);
            });
            sent = Some((header, datagram));
            length as u64
        });
        let (header, datagram) = sent?;
        let payload_bytes = datagram.len() - header.header_bytes();
        if let Some(Protection { repair, trailing, codec, window, .. }) = protection.as_deref_mut() {
            repair.on_sent(now, &header);
            if let Some(window) = window {
                window.encoder.push(header, datagram.slice(header.header_bytes()..));
            }
            if let Some(finished) = finished {
                if let Some(window) = window {
                    window.encoder.owe(now, finished.parity);
                    repair.set_window_parity_owed(window.encoder.owed());
                } else if finished.parity > 0 {
                    let shards = codec.encode(finished.shape, finished.parity, &finished.buffer);
                    trailing.push(now, finished.frame, finished.shape, finished.parity, shards);
                }
                repair.keep(finished);
            }
        }
        Some(((datagram, part(&header, PartKind::Fragment)), payload_bytes))
    }

    /// Parity over the window; it is told of as parity of the newest frame in it.
    fn pop_window_parity(
        &mut self,
        now: Time,
        payload_max: usize,
        arena: &mut Arena,
    ) -> Option<(Bytes, VideoPart)> {
        let Protection { repair, window, .. } = &mut **self.protection.as_mut()?;
        let Window { encoder, sent } = window.as_mut()?;
        let newest = *encoder.newest()?;
        let (parity, symbol) = encoder.pop(payload_max)?;
        let number = *sent;
        *sent = sent.wrapping_add(1);
        let seq = self.sent_log.assign(now, Piece::WindowParity { number });
        let parity = WindowParity { seq, ..parity };
        let datagram = arena.build(WINDOW_PARITY_BYTES + symbol.len(), |out| {
            parity.encode(out);
            symbol.write(out);
        });
        repair.on_window_parity_sent(number, &parity);
        repair.set_window_parity_owed(encoder.owed());
        let index = newest.shape.count + u16::from(parity.row);
        Some((datagram, part(&VideoHeader { index, ..newest }, PartKind::Parity)))
    }

    fn pop_parity(&mut self, now: Time, arena: &mut Arena) -> Option<(Bytes, VideoPart)> {
        let Protection { repair, trailing, .. } = &mut **self.protection.as_mut()?;
        let piece = trailing.pop()?;
        let (frame, shape, parity) = (piece.frame, piece.shape, piece.parity);
        let index = shape.count + u16::from(piece.index);
        let seq = self.sent_log.assign(now, Piece::Part { frame, index });
        let header = VideoHeader { seq, frame, index, shape, parity, source: None };
        repair.on_sent(now, &header);
        let bytes = arena.build(VIDEO_HEADER_BYTES + piece.payload.len(), |out| {
            header.encode(out);
            out.extend_from_slice(&piece.payload);
        });
        Some((bytes, part(&header, PartKind::Parity)))
    }
}

/// What a datagram with this header is.
fn part(header: &VideoHeader, kind: PartKind) -> VideoPart {
    VideoPart { frame: header.frame, kind, index: header.index, count: header.shape.count }
}

/// What QUIC adds to a datagram: header, frame type and length, tag.
const TRANSPORT_BYTES: usize = 26;
/// Bytes of frames over which the overhead fades by half: a second of the default workload.
const OVERHEAD_BYTES: f64 = 800_000.0;
/// Beside so much parity for loss it does no harm to send some against reordering.
const SPARE_FOR_DELAY: f64 = 0.7;
/// Reordering by less than this does not hold a frame up.
const REORDERING_MIN: Span = Span::from_millis(5);
