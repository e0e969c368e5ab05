//! The fate of each packet of one direction of a link, by the model and by the backends, for comparison.
//!
//! Called by the command line's `fates`.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use bench::{Direction, End, Hop, IP_UDP_OVERHEAD_BYTES};
use netmodel::units::{Span, Time};
use netmodel::{DirectionProfile, Link, Profile, StreamKey, Verdict};

use crate::clock::Clock;
use crate::link::{ChannelSink, LinkBackend, LinkError, LinkPlan, LinkReport, PacketEvent, Place, ahead_max};
use crate::net::{EndAddress, Topology, TopologyOptions};

/// Which packets.
#[derive(Debug, Clone)]
pub struct FatesOptions {
    /// The conditions of the operator's hop.
    pub profile: Arc<Profile>,
    /// The root of the randomness.
    pub key: StreamKey,
    /// Which direction of the operator's hop.
    pub direction: Direction,
    /// How many.
    pub packets: u32,
    /// The IP bytes of each, from [`IP_BYTES_MIN`] to [`IP_BYTES_MAX`].
    pub ip_bytes: u32,
    /// The time between two.
    pub interval: Span,
}

/// What became of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// When it came to the link.
    pub sent: Time,
    /// What the link did with it. A backend that does not tell is taken to have lost what did not arrive.
    pub verdict: Verdict,
    /// From there to its exit; of a lost one, none.
    pub delay: Option<Span>,
}

/// The fates by one backend.
#[derive(Debug, Clone)]
pub struct Fates {
    /// One for each packet, in the order of sending.
    pub fates: Vec<Fate>,
    /// Whether the delays are those of the link itself, to the nanosecond, and not measured from outside.
    pub exact: bool,
    /// If they are not exact, by how much a packet may come before the model's time: zero without a rate, and with one
    /// what the kernel's token bucket holds.
    pub ahead_max: Span,
    /// The link's report, if there was a real one.
    pub report: Option<LinkReport>,
}

/// The fates by the model: of packets sent as the options say, or at the times of `sent`.
pub fn by_model(options: &FatesOptions, sent: Option<&[Fate]>) -> Fates {
    let place = place(options);
    let mut link = Link::new(profile(options), &options.key, place.label(), Time::ZERO);
    let mut fates: Vec<Fate> = Vec::new();
    for number in 0..options.packets as usize {
        let at = sent.and_then(|sent| Some(sent.get(number)?.sent));
        let at = at.unwrap_or(Time::ZERO + options.interval * number as u64);
        let admission = link.send(at, options.ip_bytes, 0, number);
        fates.push(Fate { sent: at, verdict: admission.verdict, delay: None });
    }
    while let Some(exit) = link.poll_exit(Time::MAX - Span::from_nanos(1)) {
        if !exit.duplicate {
            let fate = &mut fates[exit.payload];
            fate.delay = Some(exit.at.since(fate.sent));
        }
    }
    while let Some(drop) = link.poll_drop() {
        fates[drop.id as usize].verdict = Verdict::QueueFull;
    }
    Fates { fates, exact: true, ahead_max: Span::ZERO, report: None }
}

/// The fates by `backend`: numbered datagrams through namespaces, in real time.
///
/// # Errors
///
/// If the backend refuses the profile, or the machine cannot do it.
pub fn by_backend(options: &FatesOptions, backend: &dyn LinkBackend) -> Result<Fates, LinkError> {
    let topology = Topology::new(&TopologyOptions { middle: backend.middle() })?;
    #[expect(clippy::disallowed_methods, reason = "datagrams are sent in real time")]
    let epoch = Instant::now();
    let perfect = Profile {
        name: "robot-hop".to_owned(),
        description: String::new(),
        up: DirectionProfile::default(),
        down: DirectionProfile::default(),
    };
    let plan = LinkPlan {
        robot_hop: Arc::new(perfect),
        operator_hop: Arc::clone(&options.profile),
        key: options.key.clone(),
        epoch,
        origin: Time::ZERO,
    };
    let events_max = options.packets as usize * EVENTS_A_PACKET;
    let (sink, events) = sync_channel(events_max);
    let link = backend.start(&topology, &plan, Box::new(ChannelSink::new(sink)))?;
    let (from, to) = match options.direction {
        Direction::Up => (End::Operator, End::Relay),
        Direction::Down => (End::Relay, End::Operator),
    };
    let (sender, receiver) = (topology.socket(from, 0)?, topology.socket(to, PORT)?);
    receiver.set_read_timeout(Some(PATIENCE)).map_err(failed("set a timeout"))?;
    let clock = Clock::new(epoch);
    let longest =
        by_model(options, None).fates.iter().filter_map(|fate| fate.delay).max().unwrap_or_default();
    let sending = Sending { options: options.clone(), clock, to: to.socket_address(PORT) };
    let sent = std::thread::spawn(move || sending.run(&sender));
    let mut arrived = vec![None; options.packets as usize];
    receive(&receiver, clock, &mut arrived, longest + MARGIN, || sent.is_finished())?;
    let sent = sent.join().map_err(|_| LinkError::Panicked)??;
    let report = link.stop()?;
    Ok(gathered(options, &events, &sent, &arrived, report))
}

struct Sending {
    options: FatesOptions,
    clock: Clock,
    to: std::net::SocketAddr,
}

impl Sending {
    /// Sends the datagrams; gives when each was handed over.
    fn run(&self, socket: &UdpSocket) -> Result<Vec<Time>, LinkError> {
        let FatesOptions { packets, ip_bytes, interval, .. } = self.options;
        let bytes = ip_bytes.clamp(IP_BYTES_MIN, IP_BYTES_MAX) - IP_UDP_OVERHEAD_BYTES;
        let mut datagram = vec![0; bytes as usize];
        let mut sent = Vec::new();
        let first = self.clock.now();
        for number in 0..packets {
            let due = first + interval * u64::from(number);
            #[expect(clippy::disallowed_methods, reason = "datagrams are sent in real time")]
            std::thread::sleep(Duration::from_nanos(due.since(self.clock.now()).as_nanos()));
            datagram[..4].copy_from_slice(&number.to_le_bytes());
            sent.push(self.clock.now());
            socket.send_to(&datagram, self.to).map_err(failed("send a datagram"))?;
        }
        Ok(sent)
    }
}

/// Takes in datagrams by their numbers until none can come any more: no more are sent, and none is under way
/// for longer than `longest`.
fn receive(
    socket: &UdpSocket,
    clock: Clock,
    arrived: &mut [Option<Time>],
    longest: Span,
    all_sent: impl Fn() -> bool,
) -> Result<(), LinkError> {
    let mut buffer = [0; 2048];
    let mut ended: Option<Time> = None;
    loop {
        match socket.recv(&mut buffer) {
            Ok(bytes) if bytes >= 4 => {
                let number = u32::from_le_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]) as usize;
                // Of two copies the first counts.
                if let Some(place @ None) = arrived.get_mut(number) {
                    *place = Some(clock.now());
                }
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(error) => return Err(failed("receive a datagram")(error)),
        }
        if all_sent() {
            let ended = *ended.get_or_insert_with(|| clock.now());
            if clock.now().since(ended) > longest {
                return Ok(());
            }
        }
    }
}

/// Puts together what the link told, or where it told nothing, what was seen from outside.
fn gathered(
    options: &FatesOptions,
    events: &Receiver<PacketEvent>,
    sent: &[Time],
    arrived: &[Option<Time>],
    report: LinkReport,
) -> Fates {
    let here = place(options);
    let mut told: Vec<Fate> = Vec::new();
    for event in events.try_iter() {
        match event {
            PacketEvent::Sent { at, place, verdict, .. } if place == here => {
                told.push(Fate { sent: at, verdict, delay: None });
            }
            PacketEvent::Exit { at, place, id, duplicate: false, .. } if place == here => {
                if let Some(fate) = told.get_mut(id as usize) {
                    fate.delay = Some(at.since(fate.sent));
                }
            }
            PacketEvent::Dropped { place, id, .. } if place == here => {
                if let Some(fate) = told.get_mut(id as usize) {
                    fate.verdict = Verdict::QueueFull;
                }
            }
            _ => {}
        }
    }
    if told.len() == sent.len() {
        // What the link says it let out and did not arrive is not believed.
        for (fate, arrived) in told.iter_mut().zip(arrived) {
            fate.delay = fate.delay.filter(|_| arrived.is_some());
        }
        return Fates { fates: told, exact: true, ahead_max: Span::ZERO, report: Some(report) };
    }
    let outside = sent.iter().zip(arrived).map(|(sent, arrived)| Fate {
        sent: *sent,
        verdict: if arrived.is_some() { Verdict::Accepted } else { Verdict::Lost },
        delay: arrived.map(|arrived| arrived.since(*sent)),
    });
    let ahead_max = ahead_max(profile(options));
    Fates { fates: outside.collect(), exact: false, ahead_max, report: Some(report) }
}

/// The numbers of the packets that met another fate than the model says: lost or not, and how long it took.
///
/// Delays that are exact have to be the model's. Of those that are measured from outside, which the machine adds
/// its own to, none may be shorter than the model's (but see [`Fates::ahead_max`]), and none longer by more than
/// `late_max`, if there is one.
pub fn differences(fates: &Fates, model: &Fates, late_max: Option<Span>) -> Vec<usize> {
    let pairs = fates.fates.iter().zip(&model.fates).enumerate();
    let late_max = late_max.map_or(i64::MAX, signed_ns);
    let ahead_max = signed_ns(fates.ahead_max);
    let differ = |(number, (fate, model)): (usize, (&Fate, &Fate))| {
        let differs = if fates.exact {
            fate.delay != model.delay || fate.verdict != model.verdict
        } else {
            fate.delay.is_some() != model.delay.is_some()
                || late_ns(fate, model).is_some_and(|late| !(-ahead_max..=late_max).contains(&late))
        };
        differs.then_some(number)
    };
    let missing = fates.fates.len().min(model.fates.len())..fates.fates.len().max(model.fates.len());
    pairs.filter_map(differ).chain(missing).collect()
}

/// By how much the delays that were seen are longer than the model's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lateness {
    /// Of how many packets that both let through.
    pub count: u64,
    /// The least, in microseconds; below zero, a packet came before its time.
    pub us_min: f64,
    /// The median, in microseconds.
    pub us_p50: f64,
    /// The 99th percentile, in microseconds.
    pub us_p99: f64,
    /// The most, in microseconds.
    pub us_max: f64,
}

impl Lateness {
    /// Of `fates` against `model`; `None` if there is no packet that both let through.
    pub fn of(fates: &Fates, model: &Fates) -> Option<Self> {
        let pairs = fates.fates.iter().zip(&model.fates);
        let mut late: Vec<i64> = pairs.filter_map(|(fate, model)| late_ns(fate, model)).collect();
        late.sort_unstable();
        let us = |ns: i64| ns as f64 / 1e3;
        // The nearest rank.
        let at = |percent: usize| us(late[(late.len() * percent).div_ceil(100) - 1]);
        Some(Self {
            count: late.len() as u64,
            us_min: us(*late.first()?),
            us_p50: at(50),
            us_p99: at(99),
            us_max: us(*late.last()?),
        })
    }
}

fn signed_ns(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// By how many nanoseconds the delay is longer than the model's, if both have one.
fn late_ns(fate: &Fate, model: &Fate) -> Option<i64> {
    let (delay, model) = (fate.delay?.as_nanos(), model.delay?.as_nanos());
    Some(i64::try_from(i128::from(delay) - i128::from(model)).unwrap_or(i64::MAX))
}

fn profile(options: &FatesOptions) -> &DirectionProfile {
    match options.direction {
        Direction::Up => &options.profile.up,
        Direction::Down => &options.profile.down,
    }
}

fn place(options: &FatesOptions) -> Place {
    Place { hop: Hop::Operator, direction: options.direction }
}

fn failed(action: &'static str) -> impl Fn(io::Error) -> LinkError {
    move |error| LinkError::system(action, error)
}

/// The least that holds a datagram's number.
pub const IP_BYTES_MIN: u32 = IP_UDP_OVERHEAD_BYTES + 4;
/// The most that fits the devices.
pub const IP_BYTES_MAX: u32 = 1500;
const PORT: u16 = 4433;
/// It comes, and it leaves, perhaps twice.
const EVENTS_A_PACKET: usize = 3;
const PATIENCE: Duration = Duration::from_millis(20);
/// For the last packet to come through a busy machine.
const MARGIN: Span = Span::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    fn options(profile: &str) -> FatesOptions {
        FatesOptions {
            profile: Arc::new(Profile::parse("test", profile).unwrap()),
            key: StreamKey::new([1; 32]),
            direction: Direction::Down,
            packets: 100,
            ip_bytes: 1200,
            interval: Span::from_millis(1),
        }
    }

    #[test]
    fn the_model_is_the_links() {
        let options = options("rtt = '20 ms'\nloss = { kind = 'none', drop = [3, 9] }");
        let model = by_model(&options, None);
        let lost: Vec<usize> = (0..100).filter(|n| model.fates[*n].verdict == Verdict::Lost).collect();
        assert_eq!(lost, [3, 9]);
        assert_eq!(model.fates[4].delay, Some(Span::from_millis(10)));
        assert_eq!(model.fates[99].sent, Time::ZERO + Span::from_millis(99));
        assert_eq!(differences(&by_model(&options, Some(&model.fates)), &model, None), [0; 0]);
    }

    #[test]
    fn differences_are_found() {
        let options = options("rtt = '20 ms'");
        let model = by_model(&options, None);
        let mut other = model.clone();
        other.fates[5].delay = Some(Span::from_millis(11));
        other.fates[7] = Fate { verdict: Verdict::Lost, delay: None, ..other.fates[7] };
        other.fates.pop();
        assert_eq!(differences(&other, &model, None), [5, 7, 99]);
        other.exact = false;
        assert_eq!(differences(&other, &model, None), [7, 99]);
        assert_eq!(differences(&other, &model, Some(Span::from_millis(1))), [7, 99]);
        assert_eq!(differences(&other, &model, Some(Span::from_micros(999))), [5, 7, 99]);
        // What comes before its time was not late by chance.
        other.fates[6].delay = Some(Span::from_nanos(9_999_999));
        assert_eq!(differences(&other, &model, None), [6, 7, 99]);
        other.ahead_max = Span::from_nanos(1);
        assert_eq!(differences(&other, &model, None), [7, 99]);
    }

    #[test]
    fn lateness_is_of_what_both_let_through() {
        let options = options("rtt = '20 ms'\nloss = { kind = 'none', drop = [3, 9] }");
        let model = by_model(&options, None);
        let mut seen = Fates { exact: false, ..model.clone() };
        for (number, fate) in seen.fates.iter_mut().enumerate() {
            fate.delay = fate.delay.map(|delay| delay + Span::from_micros(number as u64));
        }
        seen.fates[50].delay = Some(Span::from_millis(9));
        seen.fates[51].delay = None;
        // Sorted: −1000, then 0 to 99 without 3, 9, 50 and 51. Of 97 the 49th and the 97th.
        let expected = Lateness { count: 97, us_min: -1000.0, us_p50: 49.0, us_p99: 99.0, us_max: 99.0 };
        assert_eq!(Lateness::of(&seen, &model), Some(expected));
        seen.fates.clear();
        assert_eq!(Lateness::of(&seen, &model), None);
    }
}
