use std::net::{SocketAddr, UdpSocket};

use bench::relay_core::{Carried, Role, Snapshot, Transmit};
use bytes::BytesMut;

use super::*;

/// Sends a burst at the beginning and counts what comes.
struct Burst {
    to: SocketAddr,
    left: u32,
    bytes: usize,
    received: Vec<usize>,
    marked: u32,
    timeouts: u64,
    wake: Time,
    every: Option<Span>,
}

impl Machine for Burst {
    fn handle_datagram(&mut self, _now: Time, _from: SocketAddr, ecn: u8, datagram: BytesMut) {
        assert!([0, 2].contains(&ecn), "the bits are those sent, where the kernel says them at all");
        self.marked += u32::from(ecn == 2);
        self.received.push(datagram.len());
    }

    fn handle_timeout(&mut self, now: Time) {
        assert!(now >= self.wake, "not woken early");
        self.timeouts += 1;
        self.wake = self.every.map_or(Time::MAX, |every| self.wake + every);
    }

    fn poll_output(&mut self, _now: Time, buffer: &mut Vec<u8>) -> Output {
        if self.left == 0 {
            return Output::Wait(self.wake);
        }
        self.left -= 1;
        // The last one is shorter, as of a frame.
        let bytes = if self.left == 0 { self.bytes / 2 } else { self.bytes };
        buffer.clear();
        buffer.resize(bytes, 7);
        Output::Transmit(Transmit {
            to: self.to,
            bytes,
            ecn: 2,
            segment_bytes: None,
            carries: Carried::default(),
        })
    }

    fn snapshot(&self, _now: Time, _role: Role) -> Snapshot {
        Snapshot::default()
    }
}

/// Stops when enough has come and what it had to send has had time to leave, or when it waited too long.
struct Until {
    at: Time,
    count: usize,
    done: bool,
    /// When enough had come.
    since: Option<Time>,
}

impl App<Burst> for Until {
    fn next_at(&self) -> Time {
        self.at
    }

    fn act(&mut self, now: Time, machine: &mut Burst) -> Flow {
        self.done = machine.received.len() >= self.count && machine.left == 0;
        if self.done {
            self.since.get_or_insert(now);
        }
        // The other end may need what is still in this one's hands.
        let lingered = self.since.is_some_and(|since| now >= since + Span::from_millis(200));
        if lingered || now >= Time::ZERO + Span::from_secs(20) {
            return Flow::Stop;
        }
        self.at = now + Span::from_millis(1);
        Flow::Continue
    }

    fn event(&mut self, _now: Time, _event: &Event) {}
}

fn exchange(options: &Options) -> (Burst, Report, Burst, Report) {
    let sockets = [UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap()];
    let address = |index: usize| sockets[index].local_addr().unwrap();
    let clock = Clock::start();
    let machine = |to, left, count: usize| {
        let wake = Time::MAX;
        let machine =
            Burst { to, left, bytes: 1200, received: vec![], marked: 0, timeouts: 0, wake, every: None };
        (machine, Until { at: Time::ZERO, count, done: false, since: None })
    };
    let run = |socket: UdpSocket, (machine, mut app): (Burst, Until), options: Options| {
        std::thread::spawn(move || {
            let ran = drive(clock, socket, machine, &mut app, &Stop::default(), &Recent::default(), &options);
            assert!(app.done, "in time");
            ran.unwrap()
        })
    };
    let (one, two) = (machine(address(1), 60, 40), machine(address(0), 40, 60));
    let [first, second] = sockets;
    let (one, two) = (run(first, one, *options), run(second, two, *options));
    let ((one, one_report), (two, two_report)) = (one.join().unwrap(), two.join().unwrap());
    (one, one_report, two, two_report)
}

/// Whether this kernel has segmentation offload at all.
fn offload_is_possible() -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let state = quinn_udp::UdpSocketState::new((&socket).into()).unwrap();
    state.max_gso_segments() > 1
}

#[test]
fn bursts_arrive_whole_with_and_without_offload() {
    for (gso, gro) in [(true, true), (true, false), (false, true), (false, false)] {
        let (one, one_report, two, two_report) = exchange(&Options { gso, gro, ..Options::default() });
        assert_eq!((one.received.len(), two.received.len()), (40, 60), "{gso} {gro}");
        assert!(two.received[..59].iter().all(|bytes| *bytes == 1200) && two.received[59] == 600);
        assert_eq!((one_report.datagrams_sent, two_report.datagrams_received), (60, 60));
        if gso && offload_is_possible() {
            assert!(one_report.send_calls < 60, "{one_report:?}");
        } else if !gso {
            assert_eq!((one_report.send_calls, two_report.send_calls), (60, 40));
        }
        // With receive offload it depends on whether the socket was ready for it before the burst came.
        if !gro {
            assert_eq!((one_report.pieces_received, two_report.pieces_received), (40, 60));
        }
        assert_eq!(two_report.send_errors + one_report.send_errors, 0);
        println!("gso {gso} gro {gro}: {} of 60 marked, {} calls", two.marked, one_report.send_calls);
        assert_eq!(two_report.dropped_at_socket.unwrap_or(0), 0);
    }
}

/// Stops at a time.
struct For(Time);

impl App<Burst> for For {
    fn next_at(&self) -> Time {
        self.0
    }

    fn act(&mut self, _now: Time, _machine: &mut Burst) -> Flow {
        Flow::Stop
    }

    fn event(&mut self, _now: Time, _event: &Event) {}
}

#[test]
fn timeouts_come_and_none_comes_early() {
    for spin in [Span::ZERO, SPIN_MAX] {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let every = Span::from_micros(1500);
        let (to, wake) = (socket.local_addr().unwrap(), Time::ZERO + every);
        let machine = Burst {
            to,
            left: 0,
            bytes: 0,
            received: vec![],
            marked: 0,
            timeouts: 0,
            wake,
            every: Some(every),
        };
        let options = Options { spin, ..Options::default() };
        let mut app = For(Time::ZERO + Span::from_millis(300));
        let (stop, recent) = (Stop::default(), Recent::default());
        let ran = drive(Clock::start(), socket, machine, &mut app, &stop, &recent, &options);
        let (machine, report) = ran.unwrap();
        // However late they come, each asks for the next, and those that are overdue follow at once.
        assert!(machine.timeouts >= 100, "{}", machine.timeouts);
        println!("spin {spin}: lag of {} timeouts in us: {:?}", machine.timeouts, report.timer_lag.summary());
    }
}

/// Has no inputs and never ends.
struct Never;

impl App<Burst> for Never {
    fn next_at(&self) -> Time {
        Time::MAX
    }
    fn act(&mut self, _now: Time, _machine: &mut Burst) -> Flow {
        Flow::Continue
    }
    fn event(&mut self, _now: Time, _event: &Event) {}
}

#[test]
fn whoever_asks_to_stop_is_heard_while_nothing_happens() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = socket.local_addr().unwrap();
    let machine = Burst {
        to,
        left: 0,
        bytes: 0,
        received: vec![],
        marked: 0,
        timeouts: 0,
        wake: Time::MAX,
        every: None,
    };
    let (stop, asked) = (Stop::default(), Stop::default());
    let other = stop.clone();
    let thread = std::thread::spawn(move || {
        drive(Clock::start(), socket, machine, &mut Never, &other, &Recent::default(), &Options::default())
            .is_ok()
    });
    stop.trigger();
    assert!(thread.join().unwrap());
    assert!(!asked.is_triggered());
}
