//! Robot, relay and operator on a wire of the test's own: every datagram takes one millisecond
//! unless the test says otherwise. For step-list tests of the relay core without link models. Further robots can come, by
//! whom the relay is asked for places that are taken, and for more than it has.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bench::End;
use bench::relay_core::{
    Access, Camera, Dial, EndpointParams, Event, FrameId, Listen, Machine, Operator, Output, Relay, Robot,
    Settings, Token,
};
use bench::units::{Span, Time};
use bytes::{Bytes, BytesMut};
use sim::null_crypto::{NullClientConfig, NullHmacKey, NullServerConfig, NullTokenKey};

/// What the wire does to a datagram.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It arrives after a millisecond.
    Arrive,
    /// It arrives after this long.
    Late(Span),
    /// It is lost.
    Lose,
    /// These bytes arrive in its place.
    Replace(Vec<u8>),
}

struct Flying {
    at: Time,
    from: SocketAddr,
    to: SocketAddr,
    bytes: Vec<u8>,
}

type Wire = Box<dyn FnMut(End, End, &[u8]) -> Fate>;

/// Where a datagram is from or for: one of the three, or a further robot by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    End(End),
    Rival(usize),
}

/// A robot besides the one that the three are.
pub struct Rival {
    /// The machine.
    pub robot: Robot,
    /// What it said, with when.
    pub events: Vec<(Time, Event)>,
    wake: Time,
}

/// The three machines and what happened to them.
pub struct Trio {
    /// Where time stands.
    pub now: Time,
    /// The robot's end.
    pub robot: Robot,
    /// The relay.
    pub relay: Relay,
    /// The operator's end.
    pub operator: Operator,
    /// Everything the machines said, with when.
    pub events: Vec<(Time, End, Event)>,
    /// Robots that came later. The test's wire is not theirs: they always get through.
    pub rivals: Vec<Rival>,
    settings: Settings,
    wire: Wire,
    flying: VecDeque<Flying>,
    wake: [Time; 3],
}

impl Trio {
    /// Three machines that have just begun to dial.
    ///
    /// # Panics
    /// If the settings cannot be used.
    pub fn new(settings: &Settings) -> Self {
        Self::guarded(settings, Access::Anybody, None)
    }

    /// The same, with a relay that lets in whom `access` says, and ends that both show `token`.
    ///
    /// # Panics
    /// If the settings cannot be used.
    pub fn guarded(settings: &Settings, access: Access, token: Option<&Token>) -> Self {
        let listen = Listen {
            crypto: Arc::new(NullServerConfig),
            token_key: Arc::new(NullTokenKey::new(&[9; 32])),
            access,
        };
        let now = Time::ZERO;
        let mut trio = Self {
            now,
            robot: Robot::new(now, &params(1), dial(SESSION, token), settings)
                .expect("the address can be dialled"),
            relay: Relay::new(&params(2), listen, settings),
            operator: Operator::new(now, &params(3), dial(SESSION, token), settings)
                .expect("the address can be dialled"),
            events: Vec::new(),
            rivals: Vec::new(),
            settings: settings.clone(),
            wire: Box::new(|_, _, _| Fate::Arrive),
            flying: VecDeque::new(),
            wake: [Time::MAX; 3],
        };
        for end in ENDS {
            trio.drain(Who::End(end));
        }
        trio
    }

    /// Another robot dials, for the place in `session` with `token`. Its number among the rivals.
    ///
    /// # Panics
    /// If there are thousands of them.
    pub fn add_rival(&mut self, session: u64, token: Option<&Token>) -> usize {
        let number = self.rivals.len();
        let mut params = params(10);
        params.seed[1..3].copy_from_slice(&u16::try_from(number).expect("not so many").to_be_bytes());
        let robot = Robot::new(self.now, &params, dial(session, token), &self.settings);
        let robot = robot.expect("the address can be dialled");
        self.rivals.push(Rival { robot, events: Vec::new(), wake: Time::MAX });
        self.drain(Who::Rival(number));
        number
    }

    /// Three machines in one session, a second later.
    pub fn joined(settings: &Settings) -> Self {
        let mut trio = Self::new(settings);
        trio.run_for(Span::from_secs(1));
        trio
    }

    /// From now on every datagram meets `wire(from, to, bytes)`.
    pub fn wire(&mut self, wire: impl FnMut(End, End, &[u8]) -> Fate + 'static) {
        self.wire = Box::new(wire);
    }

    /// The robot's camera hands over a frame.
    pub fn frame(&mut self, camera: u8, number: u32, bytes: usize) {
        let frame = FrameId { camera: Camera(camera), number };
        self.robot.handle_frame(self.now, frame, Bytes::from(vec![camera; bytes]));
        self.drain(Who::End(End::Robot));
    }

    /// The operator's headset hands over a pose.
    pub fn pose(&mut self, pose: u32) {
        self.operator.handle_pose(self.now, pose, Bytes::from_static(&[5; 64]));
        self.drain(Who::End(End::Operator));
    }

    /// A datagram reaches `to` from `from`'s address that `from` never sent.
    pub fn inject(&mut self, from: End, to: End, bytes: &[u8]) {
        self.deliver(Who::End(to), address(from), bytes);
    }

    /// Lets `span` pass.
    ///
    /// # Panics
    /// If a machine does not come to rest.
    pub fn run_for(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let arrival = self.flying.iter().map(|flying| flying.at).min().unwrap_or(Time::MAX);
            let rivals = self.rivals.iter().map(|rival| rival.wake);
            let wake = self.wake.iter().copied().chain(rivals).min().unwrap_or(Time::MAX);
            let next = arrival.min(wake);
            if next > end {
                break;
            }
            self.now = self.now.max(next);
            if arrival <= wake {
                let index = self.flying.iter().position(|flying| flying.at == arrival);
                let flying = self.flying.remove(index.expect("it was found above")).expect("it is there");
                if let Some(to) = self.find(flying.to) {
                    self.deliver(to, flying.from, &flying.bytes);
                }
            } else {
                let mut all = self.all();
                let due = all.find(|who| self.wake_of(*who) == wake).expect("one is due");
                self.machine(due).handle_timeout(next);
                self.drain(due);
            }
        }
        self.now = end;
    }

    /// What `end` said since the last call, in order.
    pub fn take_events(&mut self) -> Vec<(End, Event)> {
        self.events.drain(..).map(|(_, end, event)| (end, event)).collect()
    }

    /// Numbers of the frames of `camera` that reached the operator so far, in order of arrival.
    pub fn delivered(&self, camera: u8) -> Vec<u32> {
        let of = |(_, _, event): &(Time, End, Event)| match event {
            Event::FrameDelivered { frame, .. } if frame.camera == Camera(camera) => Some(frame.number),
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    /// Poses executed by the robot so far, in order.
    pub fn executed(&self) -> Vec<u32> {
        let of = |(_, _, event): &(Time, End, Event)| match event {
            Event::CommandExecuted { pose } => Some(*pose),
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }

    /// Who is at this address.
    fn find(&self, at: SocketAddr) -> Option<Who> {
        self.all().find(|who| address_of(*who) == at)
    }

    fn all(&self) -> impl Iterator<Item = Who> + use<> {
        ENDS.into_iter().map(Who::End).chain((0..self.rivals.len()).map(Who::Rival))
    }

    fn wake_of(&self, who: Who) -> Time {
        match who {
            Who::End(end) => self.wake[slot(end)],
            Who::Rival(number) => self.rivals[number].wake,
        }
    }

    fn deliver(&mut self, to: Who, from: SocketAddr, bytes: &[u8]) {
        let now = self.now;
        self.machine(to).handle_datagram(now, from, 0, BytesMut::from(bytes));
        self.drain(to);
    }

    fn machine(&mut self, who: Who) -> &mut dyn Machine {
        match who {
            Who::End(End::Robot) => &mut self.robot,
            Who::End(End::Relay) => &mut self.relay,
            Who::End(End::Operator) => &mut self.operator,
            Who::Rival(number) => &mut self.rivals[number].robot,
        }
    }

    fn drain(&mut self, who: Who) {
        let now = self.now;
        let mut buffer = Vec::new();
        for _ in 0..OUTPUTS_MAX {
            match self.machine(who).poll_output(now, &mut buffer) {
                Output::Wait(at) => {
                    match who {
                        Who::End(end) => self.wake[slot(end)] = at,
                        Who::Rival(number) => self.rivals[number].wake = at,
                    }
                    return;
                }
                Output::Event(event) => match who {
                    Who::End(end) => self.events.push((now, end, event)),
                    Who::Rival(number) => self.rivals[number].events.push((now, event)),
                },
                Output::Transmit(transmit) => {
                    let Some(to) = self.find(transmit.to) else { continue };
                    self.send(who, to, &buffer[..transmit.bytes]);
                }
            }
        }
        panic!("{who:?} does not come to rest");
    }

    fn send(&mut self, from: Who, to: Who, bytes: &[u8]) {
        let fate = match (from, to) {
            (Who::End(from), Who::End(to)) => (self.wire)(from, to, bytes),
            _ => Fate::Arrive,
        };
        let (after, bytes) = match fate {
            Fate::Lose => return,
            Fate::Arrive => (Span::from_millis(1), bytes.to_vec()),
            Fate::Late(span) => (span, bytes.to_vec()),
            Fate::Replace(bytes) => (Span::from_millis(1), bytes),
        };
        let (from, to) = (address_of(from), address_of(to));
        self.flying.push_back(Flying { at: self.now + after, from, to, bytes });
    }
}

/// The session of the three.
pub const SESSION: u64 = 7;

const ENDS: [End; 3] = [End::Robot, End::Relay, End::Operator];

/// More outputs than this in one moment are a loop.
const OUTPUTS_MAX: usize = 100_000;

const fn slot(end: End) -> usize {
    match end {
        End::Robot => 0,
        End::Relay => 1,
        End::Operator => 2,
    }
}

fn address_of(who: Who) -> SocketAddr {
    match who {
        Who::End(end) => address(end),
        Who::Rival(number) => (Ipv4Addr::new(10, 0, 1 + (number >> 8) as u8, number as u8), 4433).into(),
    }
}

fn dial(session: u64, token: Option<&Token>) -> Dial {
    Dial {
        relay: address(End::Relay),
        server_name: "relay".to_owned(),
        crypto: Arc::new(NullClientConfig),
        session,
        token: token.cloned(),
    }
}

fn address(end: End) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, slot(end) as u8 + 1)), 4433)
}

fn params(seed: u8) -> EndpointParams {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "quinn wants some instant as its zero; any will do")]
    let epoch = *EPOCH.get_or_init(Instant::now);
    EndpointParams { epoch, seed: [seed; 32], reset_key: Arc::new(NullHmacKey::new(&[seed; 32])), qlog: None }
}
