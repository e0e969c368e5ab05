//! One direction of a link at work.

use units::{Rate, Share, Span, Time};

use crate::aqm::{Active, Held, QueueDrop};
use crate::counters::LinkCounters;
use crate::delay::Delay;
use crate::flight::{Flight, Flights};
use crate::loss::{Chance, LossProcess};
use crate::netem::NetemStage;
use crate::phase::{Timeline, outages};
use crate::profile::{Change, DirectionProfile, Order, Queue, QueueKind, QueueLimit};
use crate::queue::Waiting;
use crate::random::{Stream, StreamKey};
use crate::rate::Bottleneck;

/// One direction of a link: a chain of stages that packets of `P` go through.
///
/// A packet meets, in this order,
///
/// 1. **outage**: sent during one, it is dropped;
/// 2. **loss**: it may be lost before it enters the queue;
/// 3. **queue at a rate**: it waits for what was sent before it, or is dropped because too much
///    waits, and then takes its time at the rate; an active queue may also drop or mark it as it leaves;
/// 4. **delay with jitter**: it takes its own time from there, and in `fifo` order arrives no sooner
///    than the packet before it; or, in place of loss and delay, what **kernel netem** does with it there;
/// 5. **duplication and corruption**: it may arrive twice, and each copy may be damaged.
///
/// A scheduled change of outage, loss, rate or queue holds for packets by when they are sent (the rate also
/// for what waits); one of delay, jitter, duplication or corruption by when they leave the queue.
///
/// # Draws
///
/// Each stage that needs chance has its own stream, named by the link's label and the stage, and takes the
/// same number of words for each packet that is sent, whatever becomes of it. So the nth packet of
/// a direction meets the same draws whatever the times and sizes of packets, and whatever the other stages
/// do. (A Gilbert-Elliott chain by the time clock takes its states from a stream of its own, by time. Netem draws as
/// the kernel does, and a packet that does not reach it takes no draw.)
///
/// # Use
///
/// Times given to `send` and `poll_exit` do not go back. A packet's fate is known when it is sent, unless its
/// queue is an active one: then an accepted packet may still be dropped, which [`Link::poll_drop`] says.
/// Those accepted come out of [`Link::poll_exit`], which is to be called at [`Link::next_exit`].
#[derive(Debug, Clone)]
pub struct Link<P> {
    next_id: u64,
    outage: Timeline<bool>,
    loss: Timeline<LossProcess>,
    bottleneck: Bottleneck,
    unlimited: bool,
    queue: Timeline<Queue>,
    waiting: Waiting,
    /// In place of knowing departures beforehand, where any queue of the schedule is an active one.
    active: Option<Box<Active<(Words, P)>>>,
    delay: Timeline<Delay>,
    netem: Option<Box<NetemStage>>,
    last_release: Time,
    duplicate: Timeline<Chance>,
    corrupt: Timeline<Chance>,
    draws: Draws,
    flights: Flights<P>,
    copies_under_way: usize,
    newest_out: Option<u64>,
    counters: LinkCounters,
}

/// What became of a packet as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Admission {
    /// Its number in this direction, from 0; every packet that is sent has one.
    pub id: u64,
    /// Its fate.
    pub verdict: Verdict,
}

/// The fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It will come out, unless the rate stays zero for ever or an active queue drops it later.
    Accepted,
    /// The loss stage took it.
    Lost,
    /// The queue was full.
    QueueFull,
    /// There was an outage.
    Outage,
}

/// A packet that comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit<P> {
    /// Its number in this direction, as [`Admission`] had it.
    pub id: u64,
    /// When it comes out.
    pub at: Time,
    /// How long it waited in the bottleneck's queue, its own sending not included.
    pub queued: Span,
    /// Its IP bytes.
    pub ip_bytes: u32,
    /// Its ECN bits: as they were given, or marked by an active queue.
    pub ecn: u8,
    /// Whether it is damaged. What that does to the payload is the caller's.
    pub corrupted: bool,
    /// Whether it is the second copy.
    pub duplicate: bool,
    /// What was given.
    pub payload: P,
}

impl<P: Clone> Link<P> {
    /// The most packets that may be under way at once; more are dropped and counted.
    pub const IN_FLIGHT_MAX: usize = 1 << 20;

    /// A link with the conditions of `profile`, empty.
    ///
    /// `label` names its streams under `key`, for example `operator-hop/down`. The times in the
    /// profile (schedule, rate steps, trace) count from `origin`; before it, the link is as at its start.
    pub fn new(profile: &DirectionProfile, key: &StreamKey, label: &str, origin: Time) -> Self {
        let at = |change: &Change| origin + change.at;
        let schedule = &profile.schedule;
        let bottleneck = Bottleneck::new(&profile.rate, profile.rate_counts, schedule, origin);
        let queues = schedule.iter().filter_map(|c| Some((at(c), c.queue?)));
        let shares = |first: Share, of: fn(&Change) -> Option<Share>| {
            let changes = schedule.iter().filter_map(|c| Some((at(c), of(c)?.into())));
            Timeline::new(Chance::from(first), changes)
        };
        let loss = losses(profile, key, label, origin);
        let delay = delays(profile, origin);
        let duplicate = shares(profile.duplicate, |c| c.duplicate);
        let corrupt = shares(profile.corrupt, |c| c.corrupt);
        let draws = Draws {
            loss: loss.any(LossProcess::draws).then(|| key.stream(&format!("{label}/loss"))),
            jitter: delay.any(|d| d.words() > 0).then(|| key.stream(&format!("{label}/jitter"))),
            jitter_twice: delay.any(|d| d.words() > 1),
            duplicate: duplicate.any(|c| c.is_possible()).then(|| key.stream(&format!("{label}/duplicate"))),
            corrupt: corrupt.any(|c| c.is_possible()).then(|| key.stream(&format!("{label}/corrupt"))),
        };
        let queue = Timeline::new(profile.queue, queues);
        let active = !bottleneck.is_unlimited() && queue.any(|q| q.kind != QueueKind::DropTail);
        let netem = profile.netem.map(|netem| Box::new(NetemStage::new(&netem, netem.seed(key, label))));
        let reorders = netem.is_some() || delay.any(|d| d.order == Order::Reorder);
        Self {
            next_id: 0,
            outage: outages(schedule.iter().filter_map(|c| Some((at(c), c.outage?)))),
            loss,
            unlimited: bottleneck.is_unlimited(),
            bottleneck,
            queue,
            waiting: Waiting::default(),
            active: active.then(|| Box::new(Active::new())),
            delay,
            netem,
            last_release: Time::ZERO,
            duplicate,
            corrupt,
            draws,
            flights: if reorders { Flights::any_order() } else { Flights::in_order() },
            copies_under_way: 0,
            newest_out: None,
            counters: LinkCounters::default(),
        }
    }

    /// Sends a packet of `ip_bytes` at `now` with these ECN bits.
    pub fn send(&mut self, now: Time, ip_bytes: u32, ecn: u8, payload: P) -> Admission {
        let id = self.next_id;
        self.next_id += 1;
        self.counters.offered.add(ip_bytes);
        let words = self.draws.take();
        let lost = self.loss.at(now).decide(now, id, words.loss);
        let verdict = if *self.outage.at(now) {
            self.counters.outage_dropped.add(ip_bytes);
            Verdict::Outage
        } else if lost {
            self.counters.lost.add(ip_bytes);
            Verdict::Lost
        } else if self.flights.len() + self.held() >= Self::IN_FLIGHT_MAX {
            self.counters.overflow_dropped.add(ip_bytes);
            Verdict::QueueFull
        } else if self.active.is_some() {
            self.serve(now);
            self.enqueue(now, Held { arrived: now, id, ip_bytes, ecn, carried: (words, payload) })
        } else if let Some((queued, departure)) = self.pass_queue(now, ip_bytes) {
            if let Some(at) = self.release(departure, words.jitter) {
                let flight =
                    Flight { at, id, queued, ip_bytes, ecn, corrupted: false, duplicate: false, payload };
                self.take_off(flight, departure, words);
                Verdict::Accepted
            } else {
                self.counters.lost.add(ip_bytes);
                Verdict::Lost
            }
        } else {
            self.counters.queue_dropped.add(ip_bytes);
            Verdict::QueueFull
        };
        Admission { id, verdict }
    }

    /// When [`Link::poll_exit`] is to be called next: when the next packet comes out, or when an active
    /// queue has to decide, after which nothing may come out yet; [`Time::MAX`] if nothing is under way.
    /// Constant time.
    #[inline]
    pub fn next_exit(&self) -> Time {
        self.flights.next_at().min(self.next_service())
    }

    /// The next packet, if it comes out by `now`. A packet's copy follows it at once.
    pub fn poll_exit(&mut self, now: Time) -> Option<Exit<P>> {
        self.serve(now);
        let flight = self.flights.pop(now)?;
        if flight.duplicate {
            self.copies_under_way -= 1;
        } else {
            self.counters.delivered.add(flight.ip_bytes);
            match self.newest_out {
                Some(newest) if flight.id < newest => self.counters.overtaken += 1,
                _ => self.newest_out = Some(flight.id),
            }
        }
        let Flight { at, id, queued, ip_bytes, ecn, corrupted, duplicate, payload } = flight;
        Some(Exit { id, at, queued, ip_bytes, ecn, corrupted, duplicate, payload })
    }

    /// The next packet that was let into an active queue and dropped there. Each is reported once, after the
    /// call of `send` or `poll_exit` that found it due, and kept until then.
    pub fn poll_drop(&mut self) -> Option<QueueDrop<P>> {
        let QueueDrop { id, at, ip_bytes, payload: (_, payload) } = self.active.as_mut()?.poll_drop()?;
        Some(QueueDrop { id, at, ip_bytes, payload })
    }

    /// What the stages did so far.
    pub fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// How many packets are under way, queued ones included, copies not.
    pub fn in_flight(&self) -> usize {
        self.flights.len() + self.held() - self.copies_under_way
    }

    /// The bytes of IP packets that wait for the bottleneck at `now`, the packet being sent included.
    pub fn queue_bytes(&self, now: Time) -> u64 {
        // What an active queue has let go is in the list of departures until its last bit has left.
        self.waiting.bytes_at(now) + self.active.as_ref().map_or(0, |active| active.bytes())
    }

    /// The one-way delay without jitter at the time up to which packets were sent.
    pub fn propagation(&self) -> Span {
        self.delay.current().mean()
    }

    /// The rate of the bottleneck at `now`: of a trace, the mean; `None` if it is unlimited.
    pub fn rate_at(&self, now: Time) -> Option<Rate> {
        self.bottleneck.rate_at(now)
    }

    /// Puts a packet through the queue: how long it waits and when it has left, if it is let in.
    #[inline]
    fn pass_queue(&mut self, now: Time, ip_bytes: u32) -> Option<(Span, Time)> {
        if self.unlimited {
            return Some((Span::ZERO, now));
        }
        let queue = *self.queue.at(now);
        self.waiting.leave(now);
        let passage = self.bottleneck.passage(now, ip_bytes);
        if !self.waiting.admits(queue, now, ip_bytes, passage.departure) {
            return None;
        }
        self.bottleneck.admit(&passage);
        self.waiting.enter(ip_bytes, passage.departure);
        let counters = &mut self.counters;
        counters.queue_bytes_max = counters.queue_bytes_max.max(self.waiting.bytes());
        counters.queue_packets_max = counters.queue_packets_max.max(self.waiting.packets());
        Some((passage.queued, passage.departure))
    }

    /// Packets that wait in an active queue.
    #[inline]
    fn held(&self) -> usize {
        self.active.as_ref().map_or(0, |active| active.packets())
    }

    /// When an active queue is to give the bottleneck its next packet.
    #[inline]
    fn next_service(&self) -> Time {
        let oldest = self.active.as_ref().and_then(|active| active.oldest());
        oldest.map_or(Time::MAX, |arrived| arrived.max(self.bottleneck.free_at()))
    }

    /// Lets a packet into the active queue, if it fits.
    fn enqueue(&mut self, now: Time, held: Held<(Words, P)>) -> Verdict {
        let queue = *self.queue.at(now);
        self.waiting.leave(now);
        let active = self.active.as_mut().expect("only called where the queue is active");
        let bytes = active.bytes() + self.waiting.bytes() + u64::from(held.ip_bytes);
        let packets = active.packets() as u64 + self.waiting.packets() + 1;
        let fits = match queue.limit {
            QueueLimit::Bytes(most) => bytes <= most.as_bytes(),
            QueueLimit::Packets(most) => packets <= most,
            QueueLimit::Time(most) => {
                let behind = active.bytes() + u64::from(held.ip_bytes);
                let all = u32::try_from(behind).unwrap_or(u32::MAX);
                self.bottleneck.passage(now, all).departure.since(now) <= most
            }
        };
        if !fits {
            self.counters.queue_dropped.add(held.ip_bytes);
            return Verdict::QueueFull;
        }
        self.counters.queue_bytes_max = self.counters.queue_bytes_max.max(bytes);
        self.counters.queue_packets_max = self.counters.queue_packets_max.max(packets);
        active.enqueue(queue, held);
        self.serve(now);
        Verdict::Accepted
    }

    /// Gives the bottleneck what an active queue owes it by `now`.
    #[inline]
    fn serve(&mut self, now: Time) {
        while self.held() > 0 && self.next_service() <= now {
            self.serve_one();
        }
    }

    fn serve_one(&mut self) {
        let at = self.next_service();
        let queue = *self.queue.at(at);
        let Some(active) = &mut self.active else { return };
        let held = active.dequeue(at, queue);
        (self.counters.aqm_dropped, self.counters.marked) = active.totals();
        let Some(Held { arrived, id, ip_bytes, ecn, carried: (words, payload) }) = held else { return };
        // By when it came, so that what is left of a nanosecond, or of an opportunity, is carried on.
        let passage = self.bottleneck.passage(arrived, ip_bytes);
        self.bottleneck.admit(&passage);
        self.waiting.leave(at);
        self.waiting.enter(ip_bytes, passage.departure);
        let queued = passage.queued;
        let Some(at) = self.release(passage.departure, words.jitter) else {
            self.counters.lost.add(ip_bytes);
            if let Some(active) = &mut self.active {
                active.report(QueueDrop { id, at: passage.departure, ip_bytes, payload: (words, payload) });
            }
            return;
        };
        let flight = Flight { at, id, queued, ip_bytes, ecn, corrupted: false, duplicate: false, payload };
        self.take_off(flight, passage.departure, words);
    }

    /// When a packet that leaves the queue at `departure` comes out; of one that netem loses there, `None`.
    #[inline]
    fn release(&mut self, departure: Time, words: [u64; 2]) -> Option<Time> {
        if let Some(netem) = &mut self.netem {
            let own = netem.next(departure)?;
            self.counters.bounded_at_zero += u64::from(own.bounded_at_zero);
            return Some(own.at);
        }
        let delay = self.delay.at(departure);
        let own = delay.release(departure, words);
        self.counters.bounded_at_zero += u64::from(own.bounded_at_zero);
        let held = delay.order == Order::Fifo && own.at < self.last_release;
        self.counters.held_for_order += u64::from(held);
        self.last_release = self.last_release.max(own.at);
        Some(if held { self.last_release } else { own.at })
    }

    /// Sends a packet on its way, with a copy if it is to have one.
    #[inline]
    fn take_off(&mut self, mut flight: Flight<P>, departure: Time, words: Words) {
        let corrupt = *self.corrupt.at(departure);
        flight.corrupted = corrupt.hit(words.corrupt >> 32);
        self.counters_for(&flight);
        if self.duplicate.at(departure).hit(words.duplicate >> 32) {
            self.counters.duplicated.add(flight.ip_bytes);
            self.copies_under_way += 1;
            let corrupted = corrupt.hit(words.corrupt & 0xffff_ffff);
            let copy = Flight { corrupted, duplicate: true, ..flight.clone() };
            self.counters_for(&copy);
            self.flights.push(flight);
            self.flights.push(copy);
        } else {
            self.flights.push(flight);
        }
    }

    #[inline]
    fn counters_for(&mut self, flight: &Flight<P>) {
        if flight.corrupted {
            self.counters.corrupted.add(flight.ip_bytes);
        }
    }
}

/// The streams of the stages that ever need chance.
#[derive(Debug, Clone)]
struct Draws {
    loss: Option<Stream>,
    jitter: Option<Stream>,
    jitter_twice: bool,
    duplicate: Option<Stream>,
    corrupt: Option<Stream>,
}

/// One packet's draws.
#[derive(Debug, Clone, Copy)]
struct Words {
    loss: u64,
    jitter: [u64; 2],
    duplicate: u64,
    corrupt: u64,
}

impl Draws {
    /// The next packet's draws: the same number of words from each stream for every packet.
    #[inline]
    fn take(&mut self) -> Words {
        let word = |stream: &mut Option<Stream>| stream.as_mut().map_or(u64::MAX, Stream::u64);
        let first = word(&mut self.jitter);
        let second = if self.jitter_twice { word(&mut self.jitter) } else { 0 };
        Words {
            loss: word(&mut self.loss),
            jitter: [first, second],
            duplicate: word(&mut self.duplicate),
            corrupt: word(&mut self.corrupt),
        }
    }
}

fn losses(profile: &DirectionProfile, key: &StreamKey, label: &str, origin: Time) -> Timeline<LossProcess> {
    let first = LossProcess::new(&profile.loss, key, &format!("{label}/loss-clock"), Time::ZERO);
    let changes = profile.schedule.iter().enumerate().filter_map(|(index, change)| {
        let from = origin + change.at;
        let label = format!("{label}/loss-clock/{index}");
        Some((from, LossProcess::new(change.loss.as_ref()?, key, &label, from)))
    });
    Timeline::new(first, changes)
}

fn delays(profile: &DirectionProfile, origin: Time) -> Timeline<Delay> {
    let (mut mean, mut jitter) = (profile.delay, profile.jitter);
    let first = Delay::new(mean, jitter);
    let entries = profile.schedule.iter().filter(|c| c.delay.is_some() || c.jitter.is_some());
    let changes = entries.map(|change| {
        mean = change.delay.unwrap_or(mean);
        jitter = change.jitter.unwrap_or(jitter);
        (origin + change.at, Delay::new(mean, jitter))
    });
    Timeline::new(first, changes)
}

#[cfg(test)]
mod tests;
