//! What the ends and links of a cell tell its recorder, and in which order it hears of it.
//!
//! The recorder wants time order, and threads tell of what they did a little after they did it, each at its own pace. So
//! facts wait for a moment in a heap. What comes later than that is still recorded, at the earliest time that is left, and
//! counted.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use bench::netmodel::Verdict;
use bench::relay_core::{Carried, Event, Role, Snapshot};
use bench::units::{Span, Time};
use bench::{CellResult, Direction, End, Hop, Input, Recorder};

use crate::clock::Clock;
use crate::link::{LINKS, LinkReport, Place};

/// Something that happened in a cell.
#[derive(Debug, Clone)]
pub enum Fact {
    /// A camera made a frame, or a pose was taken.
    Input(Input),
    /// A machine did or saw something.
    Event(End, Event),
    /// The state of a machine towards a role.
    Sample(End, Role, Box<Snapshot>),
    /// A datagram is about to go on a link: told by its sender before the link tells of it.
    Carries {
        /// On which hop.
        hop: Hop,
        /// In which direction.
        direction: Direction,
        /// Its size with IP and UDP headers.
        ip_bytes: u32,
        /// What is in it.
        carries: Carried,
    },
    /// A packet was handed to a link.
    PacketSent {
        /// On which hop.
        hop: Hop,
        /// In which direction.
        direction: Direction,
        /// Its number in that direction, from 0.
        id: u64,
        /// Its size with IP and UDP headers.
        ip_bytes: u32,
        /// What the link decided.
        verdict: Verdict,
    },
    /// A packet that a link had accepted was dropped in its queue.
    PacketDropped {
        /// On which hop.
        hop: Hop,
        /// In which direction.
        direction: Direction,
        /// The number that it was handed over with.
        id: u64,
        /// Its size with IP and UDP headers.
        ip_bytes: u32,
    },
    /// A packet came out of a link.
    PacketExit {
        /// On which hop.
        hop: Hop,
        /// In which direction.
        direction: Direction,
        /// The number that it was handed over with.
        id: u64,
        /// Its size with IP and UDP headers.
        ip_bytes: u32,
        /// How long it waited in the bottleneck's queue.
        queued: Span,
        /// Whether it came out damaged.
        corrupted: bool,
        /// Whether it is an extra copy.
        duplicate: bool,
    },
}

/// The way to a cell's recorder. Never blocks: with too much under way, facts are lost and counted.
#[derive(Debug, Clone)]
pub struct Facts {
    sender: SyncSender<(Time, Fact)>,
    lost: Arc<AtomicU64>,
}

impl Facts {
    /// Something happened at `at`.
    pub fn note(&self, at: Time, fact: Fact) {
        if self.sender.try_send((at, fact)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Puts facts in order and has them recorded. Runs on a thread of its own until [`Ending`] says so.
pub(super) struct Collector {
    receiver: Receiver<(Time, Fact)>,
    lost: Arc<AtomicU64>,
    ending: Ending,
    clock: Clock,
    recorder: Recorder,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// What is on its way to each link.
    cargo: [Cargo; LINKS.len()],
    released: Time,
    sequence: u64,
    late: u64,
}

/// Tells a collector that no more facts come.
#[derive(Debug, Clone, Default)]
pub(super) struct Ending(Arc<AtomicBool>);

impl Ending {
    pub(super) fn now(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// What a collector has in the end.
pub(super) struct Collected {
    pub(super) recorder: Recorder,
    /// The time of the last fact.
    pub(super) last: Time,
    /// Facts that did not get here, or too late.
    pub(super) lost: u64,
}

impl Collected {
    /// The result, with what the links counted.
    pub(super) fn finish(mut self, end: Time, link: &LinkReport) -> CellResult {
        for (hop, direction, counters) in link.counted() {
            self.recorder.link_totals(hop, direction, counters);
        }
        self.recorder.finish(end.max(self.last))
    }
}

struct Waiting {
    at: Time,
    sequence: u64,
    fact: Fact,
}

impl Collector {
    pub(super) fn new(clock: Clock, recorder: Recorder) -> (Facts, Ending, Self) {
        let (sender, receiver) = sync_channel(UNDER_WAY_MAX);
        let (lost, ending) = (Arc::<AtomicU64>::default(), Ending::default());
        let collector = Self {
            receiver,
            lost: Arc::clone(&lost),
            ending: ending.clone(),
            clock,
            recorder,
            waiting: BinaryHeap::new(),
            cargo: Default::default(),
            released: Time::ZERO,
            sequence: 0,
            late: 0,
        };
        (Facts { sender, lost }, ending, collector)
    }

    /// Collects to the end.
    pub(super) fn run(mut self) -> Collected {
        let mut left = UNDER_WAY_MAX;
        loop {
            let ended = self.ending.0.load(Ordering::Acquire);
            // An end that hangs may go on telling for ever.
            left -= usize::from(ended);
            if left == 0 {
                break;
            }
            match self.receiver.recv_timeout(if ended { Duration::ZERO } else { TURN }) {
                Ok((at, fact)) => self.take(at, fact),
                Err(RecvTimeoutError::Timeout) if !ended => {}
                Err(_) => break,
            }
            if !ended {
                let now = self.clock.now();
                self.release(Time::from_nanos(now.as_nanos().saturating_sub(WINDOW.as_nanos())));
            }
        }
        self.release(Time::MAX);
        let lost = self.late + self.lost.load(Ordering::Relaxed);
        Collected { recorder: self.recorder, last: self.released, lost }
    }

    fn take(&mut self, at: Time, fact: Fact) {
        if at < self.released {
            self.late += 1;
        }
        let at = at.max(self.released);
        self.waiting.push(Reverse(Waiting { at, sequence: self.sequence, fact }));
        self.sequence += 1;
        if self.waiting.len() > WAITING_MAX
            && let Some(Reverse(first)) = self.waiting.pop()
        {
            self.record(first.at, first.fact);
        }
    }

    /// Records everything that happened before `until`.
    fn release(&mut self, until: Time) {
        while self.waiting.peek().is_some_and(|Reverse(first)| first.at < until) {
            let Some(Reverse(first)) = self.waiting.pop() else { return };
            self.record(first.at, first.fact);
        }
    }

    fn record(&mut self, now: Time, fact: Fact) {
        self.released = now;
        let recorder = &mut self.recorder;
        match fact {
            Fact::Input(input) => recorder.input(now, &input),
            Fact::Event(end, event) => recorder.event(now, end, &event),
            Fact::Sample(end, role, snapshot) => recorder.sample(now, end, role, &snapshot),
            Fact::PacketSent { hop, direction, id, ip_bytes, verdict } => {
                let carries = self.cargo[Place { hop, direction }.index()].take(ip_bytes);
                recorder.packet_sent(now, hop, direction, id, ip_bytes, verdict, &carries);
            }
            Fact::Carries { hop, direction, ip_bytes, carries } => {
                self.cargo[Place { hop, direction }.index()].put(ip_bytes, carries);
            }
            Fact::PacketDropped { hop, direction, id, ip_bytes } => {
                recorder.packet_dropped(now, hop, direction, id, ip_bytes);
            }
            Fact::PacketExit { hop, direction, id, ip_bytes, queued, corrupted, duplicate } => {
                recorder.packet_exit(now, hop, direction, id, ip_bytes, queued, corrupted, duplicate);
            }
        }
    }
}

/// What the datagrams carry that are on their way from a machine to its link, in order.
#[derive(Debug, Default)]
struct Cargo(VecDeque<(u32, Carried)>);

impl Cargo {
    fn put(&mut self, ip_bytes: u32, carries: Carried) {
        // Where no link tells of packets, nobody takes them out.
        if self.0.len() == CARGO_MAX {
            self.0.pop_front();
        }
        self.0.push_back((ip_bytes, carries));
    }

    /// What the packet of this size carries that came to the link now: the next one of that size. Those before it
    /// never came, as a probe that is too large for the device does not.
    fn take(&mut self, ip_bytes: u32) -> Carried {
        let Some(index) = self.0.iter().position(|(bytes, _)| *bytes == ip_bytes) else {
            return Carried::default();
        };
        self.0.drain(..=index).next_back().map(|(_, carries)| carries).unwrap_or_default()
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.sequence) == (other.at, other.sequence)
    }
}

impl Eq for Waiting {}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.sequence).cmp(&(other.at, other.sequence))
    }
}

/// Facts between their threads and the collector: several seconds of the default workload.
const UNDER_WAY_MAX: usize = 65_536;
/// Datagrams between a machine and its link: more than a socket's buffer holds.
const CARGO_MAX: usize = 8_192;
/// Facts in the heap.
const WAITING_MAX: usize = 262_144;
/// How long a fact waits for one that happened before it.
const WINDOW: Span = Span::from_millis(500);
/// How often the collector looks whether it is to end.
const TURN: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_is_matched_by_order_and_size() {
        let mut cargo = Cargo::default();
        let pose = |pose| Carried { pose: Some(pose), ..Carried::default() };
        for (bytes, number) in [(100, 1), (1500, 2), (200, 3), (100, 4)] {
            cargo.put(bytes, pose(number));
        }
        assert_eq!(cargo.take(100), pose(1));
        assert_eq!(cargo.take(700), Carried::default(), "nobody told of it");
        assert_eq!(cargo.take(200), pose(3), "the large one never came");
        assert_eq!(cargo.take(100), pose(4));
        assert_eq!(cargo.take(100), Carried::default());
        for number in 0..CARGO_MAX as u32 + 5 {
            cargo.put(100, pose(number));
        }
        assert_eq!((cargo.0.len(), cargo.take(100)), (CARGO_MAX, pose(5)));
    }
}
