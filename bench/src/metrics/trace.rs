//! The trace hash: one number for everything that happened in a cell.
//!
//! Two runs with the same hash sent the same packets at the same times with the same fate, and
//! made the same frames, commands and decisions. Everything is 16-byte records, gathered in a buffer
//! before they are hashed, because a record is written for every packet.

use relay_core::{Event, FrameId, Role};
use units::{Span, Time};

use crate::workload::Input;

/// A running hash over records.
pub(super) struct Trace {
    hasher: blake3::Hasher,
    buffer: Box<[u8]>,
    used: usize,
}

impl Trace {
    pub(super) fn new() -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"arcbench trace v1");
        Self { hasher, buffer: vec![0; BUFFER_BYTES].into_boxed_slice(), used: 0 }
    }

    /// One packet handed to a link: `fate` is the verdict's number.
    #[inline]
    pub(super) fn packet_sent(&mut self, now: Time, link: usize, id: u64, ip_bytes: u32, fate: u8) {
        self.record(PACKET_SENT + link as u8 * 16 + fate, ip_bytes, id as u32, now.as_nanos());
    }

    /// One packet out of a link, after `queued` in its queue; `flags` says damaged or duplicate.
    #[inline]
    pub(super) fn packet_exit(&mut self, now: Time, link: usize, id: u64, queued: Span, flags: u8) {
        let queued_us = queued.as_micros() as u32;
        self.record(PACKET_EXIT + link as u8 * 16 + flags, queued_us, id as u32, now.as_nanos());
    }

    /// One packet dropped in a queue that had let it in. Only active queues do: on others no such record is
    /// ever written.
    pub(super) fn packet_dropped(&mut self, now: Time, link: usize, id: u64, ip_bytes: u32) {
        self.record(PACKET_DROPPED + link as u8, ip_bytes, id as u32, now.as_nanos());
    }

    /// One frame or pose made.
    pub(super) fn input(&mut self, now: Time, input: &Input) {
        match *input {
            Input::Frame { frame, bytes } => {
                self.frame(FRAME_MADE, frame, now);
                self.record(DETAIL, 0, 0, u64::from(bytes));
            }
            Input::Pose { pose, moved_at, bytes } => {
                self.record(POSE_TAKEN, bytes, pose, now.as_nanos());
                self.record(DETAIL, 0, 0, moved_at.as_nanos());
            }
        }
    }

    /// One event of the machine at `end`.
    pub(super) fn event(&mut self, now: Time, end: u8, event: &Event) {
        let at = now.as_nanos();
        match *event {
            Event::Joined { role } => self.record(JOINED, role_code(role), u32::from(end), at),
            Event::Left { role, reason } => {
                self.record(LEFT, role_code(role), u32::from(end) << 8 | reason as u32, at);
            }
            Event::TurnedAway(ref away) => {
                let role = away.role.map_or(ROLE_UNKNOWN, role_code);
                self.record(TURNED_AWAY, role, u32::from(end) << 8 | away.why as u32, at);
            }
            Event::FrameAtRelay { frame } => self.frame(FRAME_AT_RELAY, frame, now),
            Event::FrameForwarded { frame, packets, bytes } => {
                self.frame(FRAME_FORWARDED, frame, now);
                self.record(DETAIL, packets & DETAIL_MAX, 0, bytes);
            }
            Event::FrameDropped { frame, place, reason } => {
                self.frame(FRAME_DROPPED, frame, now);
                self.record(DETAIL, 0, (place as u32) << 8 | reason as u32, 0);
            }
            Event::FrameDelivered { frame, bytes } => {
                self.frame(FRAME_DELIVERED, frame, now);
                self.record(DETAIL, 0, 0, u64::from(bytes));
            }
            Event::FrameSizeAsked { camera, share } => {
                self.record(FRAME_SIZE_ASKED, u32::from(camera.0), share.as_parts_per_billion(), at);
            }
            Event::PoseAtRelay { pose } => self.record(POSE_AT_RELAY, 0, pose, at),
            Event::CommandExecuted { pose } => self.record(COMMAND_EXECUTED, 0, pose, at),
            Event::CommandStale { pose } => self.record(COMMAND_STALE, 0, pose, at),
        }
    }

    /// The cell was over.
    pub(super) fn end(&mut self, now: Time) {
        self.record(END, 0, 0, now.as_nanos());
    }

    /// The hash of all records so far, in hexadecimal.
    pub(super) fn finish(mut self) -> String {
        self.hasher.update(&self.buffer[..self.used]);
        self.hasher.finalize().to_hex().to_string()
    }

    fn frame(&mut self, tag: u8, frame: FrameId, now: Time) {
        self.record(tag, u32::from(frame.camera.0), frame.number, now.as_nanos());
    }

    /// A tag, a detail of 24 bits, a number and a time, 16 bytes together.
    #[inline]
    fn record(&mut self, tag: u8, detail: u32, number: u32, at: u64) {
        if self.used + RECORD_BYTES > BUFFER_BYTES {
            self.hasher.update(&self.buffer[..self.used]);
            self.used = 0;
        }
        let head = u64::from(number) << 32 | u64::from(detail.min(DETAIL_MAX)) << 8 | u64::from(tag);
        let record = &mut self.buffer[self.used..self.used + RECORD_BYTES];
        record[..8].copy_from_slice(&head.to_le_bytes());
        record[8..].copy_from_slice(&at.to_le_bytes());
        self.used += RECORD_BYTES;
    }
}

fn role_code(role: Role) -> u32 {
    role as u32
}

/// In place of a role's code.
const ROLE_UNKNOWN: u32 = 0xff;
const RECORD_BYTES: usize = 16;
const BUFFER_BYTES: usize = 32 * 1024;
const DETAIL_MAX: u32 = 0x00ff_ffff;

// Tags. The packet tags leave room for link number × 16 + fate.
const PACKET_SENT: u8 = 0x00;
const PACKET_EXIT: u8 = 0x40;
const FRAME_MADE: u8 = 0x80;
const POSE_TAKEN: u8 = 0x81;
const JOINED: u8 = 0x82;
const LEFT: u8 = 0x83;
const FRAME_AT_RELAY: u8 = 0x84;
const FRAME_FORWARDED: u8 = 0x85;
const FRAME_DROPPED: u8 = 0x86;
const FRAME_DELIVERED: u8 = 0x87;
const POSE_AT_RELAY: u8 = 0x88;
const COMMAND_EXECUTED: u8 = 0x89;
const COMMAND_STALE: u8 = 0x8a;
const END: u8 = 0x8b;
const FRAME_SIZE_ASKED: u8 = 0x8c;
const TURNED_AWAY: u8 = 0x8d;
/// Leaves room for the link number.
const PACKET_DROPPED: u8 = 0x90;
/// Belongs to the record before it.
const DETAIL: u8 = 0x8f;

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(write: impl Fn(&mut Trace)) -> String {
        let mut trace = Trace::new();
        write(&mut trace);
        trace.finish()
    }

    #[test]
    fn each_part_of_a_packet_record_matters() {
        let at = Time::from_nanos;
        let base = hash(|t| t.packet_sent(at(5), 1, 7, 1228, 0));
        assert_eq!(base, hash(|t| t.packet_sent(at(5), 1, 7, 1228, 0)));
        assert_ne!(base, hash(|t| t.packet_sent(at(6), 1, 7, 1228, 0)));
        assert_ne!(base, hash(|t| t.packet_sent(at(5), 2, 7, 1228, 0)));
        assert_ne!(base, hash(|t| t.packet_sent(at(5), 1, 8, 1228, 0)));
        assert_ne!(base, hash(|t| t.packet_sent(at(5), 1, 7, 1229, 0)));
        assert_ne!(base, hash(|t| t.packet_sent(at(5), 1, 7, 1228, 1)));
        let exit = hash(|t| t.packet_exit(at(5), 1, 7, Span::ZERO, 0));
        assert_ne!(base, exit);
        assert_ne!(exit, hash(|t| t.packet_exit(at(5), 1, 7, Span::from_micros(1), 0)));
        assert_ne!(exit, hash(|t| t.packet_exit(at(5), 1, 7, Span::ZERO, 1)));
        let dropped = hash(|t| t.packet_dropped(at(5), 1, 7, 1228));
        assert_ne!(base, dropped);
        assert_ne!(dropped, hash(|t| t.packet_dropped(at(5), 2, 7, 1228)));
    }

    #[test]
    fn the_hash_does_not_depend_on_where_the_buffer_fills() {
        let many = hash(|t| (0..10_000).for_each(|id| t.packet_sent(Time::from_nanos(id), 0, id, 100, 0)));
        let mut plain = blake3::Hasher::new();
        plain.update(b"arcbench trace v1");
        for id in 0u64..10_000 {
            plain.update(&(id << 32 | 100 << 8).to_le_bytes());
            plain.update(&id.to_le_bytes());
        }
        assert_eq!(many, plain.finalize().to_hex().to_string());
    }
}
