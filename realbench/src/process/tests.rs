use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use bench::End;
use bench::relay_core::Refusal;

use super::*;
use crate::tls::{Certificates, SERVER_NAME};

type Ran = JoinHandle<Result<ProcessSummary, RealError>>;

fn party(certificates: &Certificates, end: End) -> Party {
    Party {
        settings: Settings::default(),
        identity: certificates.identity(end).unwrap(),
        driver: Options::default(),
        allow_open_congestion: false,
        note_every: Span::from_millis(200),
    }
}

fn certificates() -> Certificates {
    Certificates::generate(&[SERVER_NAME.to_owned()]).unwrap()
}

fn local() -> UdpSocket {
    bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
}

fn token(byte: u8) -> Token {
    Token::new(vec![byte; 32]).unwrap()
}

fn access() -> Access {
    let hashes = [((7, Role::Robot), token(1).hash()), ((7, Role::Operator), token(2).hash())];
    Access::Tokens(BTreeMap::from(hashes))
}

fn joining(relay: SocketAddr, token: Token, ms: u64) -> Joining {
    Joining {
        relay,
        server_name: SERVER_NAME.to_owned(),
        session: 7,
        token: Some(token),
        workload: Workload::default(),
        duration: Some(Span::from_millis(ms)),
        join_within: Span::from_millis(if ms == 0 { 1500 } else { 20_000 }),
    }
}

/// A process on a thread, and what it says.
struct Process {
    ran: Ran,
    stop: Stop,
    said: Receiver<String>,
}

impl Process {
    fn start(
        run: impl FnOnce(&Stop, &Sender<String>) -> Result<ProcessSummary, RealError> + Send + 'static,
    ) -> Self {
        let (stop, (says, said)) = (Stop::default(), channel());
        let own = stop.clone();
        Self { ran: spawn(move || run(&own, &says)), stop, said }
    }

    fn relay(socket: UdpSocket, certificates: &Certificates) -> Self {
        let party = party(certificates, End::Relay);
        Self::start(move |stop, says| {
            run_relay(socket, &party, access(), stop, &mut |line| drop(says.send(line.to_owned())))
        })
    }

    fn end(relay: SocketAddr, certificates: &Certificates, end: End, token: Token, ms: u64) -> Self {
        let party = party(certificates, end);
        let joining = joining(relay, token, ms);
        Self::start(move |stop, says| {
            let note = &mut |line: &str| drop(says.send(line.to_owned()));
            if end == End::Robot {
                run_robot(local(), &party, joining, stop, note)
            } else {
                run_operator(local(), &party, joining, stop, note)
            }
        })
    }

    /// Waits until it says something with `text` in it.
    fn until(&self, text: &str) {
        loop {
            let line = self.said.recv_timeout(Duration::from_secs(30)).expect(text);
            if line.contains(text) {
                return;
            }
        }
    }

    fn finish(self) -> Result<ProcessSummary, RealError> {
        self.ran.join().unwrap()
    }

    fn stop(self) -> ProcessSummary {
        self.stop.trigger();
        self.finish().unwrap()
    }
}

#[test]
fn three_processes_pass_frames_one_way_and_commands_the_other() {
    let certificates = certificates();
    let socket = local();
    let address = socket.local_addr().unwrap();
    let relay = Process::relay(socket, &certificates);
    let operator = Process::end(address, &certificates, End::Operator, token(2), 3_000);
    operator.until("operator: joined");
    let robot = Process::end(address, &certificates, End::Robot, token(1), 1_500);
    let robot = robot.finish().unwrap();
    let operator = operator.finish().unwrap();
    relay.until("robot left (closed)");
    let relay = relay.stop();
    assert!(robot.frames_made.unwrap() > 30, "{robot:?}");
    assert_eq!(operator.frames_delivered, robot.frames_made, "{operator:?}");
    assert_eq!((operator.frames_incomplete, relay.frames_at_relay), (Some(0), robot.frames_made));
    assert!(robot.commands_executed.unwrap() > 0 && robot.commands_refused == Some(0), "{robot:?}");
    assert_eq!((relay.joined, relay.refused, robot.lost), (2, 0, 0));
    assert!(robot.rtt_ms.is_some() && operator.rtt_ms.is_some());
}

#[test]
fn a_wrong_token_or_authority_is_refused_before_any_media() {
    let (ours, theirs) = (certificates(), certificates());
    let socket = local();
    let address = socket.local_addr().unwrap();
    let relay = Process::relay(socket, &ours);
    let clock = Clock::start();
    let began = clock.now();
    // A token that nobody has, the operator's token as a robot, and certificates of another authority at one side or both.
    let half = theirs.trusting(&ours);
    for (set, shown, why) in [
        (&ours, 9, Refusal::Token),
        (&ours, 2, Refusal::OtherToken),
        (&theirs, 1, Refusal::PeerUntrusted),
        (&half, 1, Refusal::Untrusted),
    ] {
        let error = Process::end(address, set, End::Robot, token(shown), 30_000).finish().unwrap_err();
        assert_eq!(never_joined(error).why(), Some(why));
    }
    assert!(clock.now().since(began) < Span::from_secs(15), "none of them waits until it has no more time");
    let relay = relay.stop();
    assert_eq!((relay.joined, relay.lost, relay.frames_at_relay), (0, 0, Some(0)));
    let expected = [("other-token", 1), ("peer-untrusted", 1), ("token", 1), ("untrusted", 1)];
    assert_eq!((relay.refused, relay.refused_for), (4, BTreeMap::from(expected)));
}

fn never_joined(error: RealError) -> NotJoined {
    match error {
        RealError::NeverJoined(cause) => *cause,
        other => panic!("{other}"),
    }
}

#[test]
fn an_end_says_what_the_certificate_lacks() {
    let ours = certificates();
    let socket = local();
    let address = socket.local_addr().unwrap();
    let first_address = address;
    let relay = Process::relay(socket, &ours);
    let with_name = |name: &'static str| {
        let party = party(&ours, End::Robot);
        let joining = Joining { server_name: name.to_owned(), ..joining(address, token(1), 1_000) };
        Process::start(move |stop, _| run_robot(local(), &party, joining, stop, &mut |_| {}))
    };
    let text = with_name("elsewhere").finish().unwrap_err().to_string();
    assert!(text.contains("elsewhere") && text.contains("relay"), "{text}");
    relay.until("it finds that this relay's certificate carries another name");
    // An end's certificate where the relay's should be, and the other way round.
    let socket = local();
    let address = socket.local_addr().unwrap();
    let stand_in = party(&ours, End::Operator);
    let stand_in = Process::start(move |stop, says| {
        run_relay(socket, &stand_in, access(), stop, &mut |line| drop(says.send(line.to_owned())))
    });
    let cause = never_joined(Process::end(address, &ours, End::Robot, token(1), 0).finish().unwrap_err());
    assert_eq!((cause.why(), cause.away.unwrap().alert), (Some(Refusal::PeerUntrusted), Some(43)));
    stand_in.stop();
    let as_end = party(&ours, End::Relay);
    let joining = joining(first_address, token(1), 1_000);
    let ran = Process::start(move |stop, _| run_robot(local(), &as_end, joining, stop, &mut |_| {}));
    let cause = never_joined(ran.finish().unwrap_err());
    assert_eq!((cause.why(), cause.away.unwrap().alert), (Some(Refusal::Untrusted), Some(43)));
    relay.stop();
}

#[test]
fn what_can_mend_is_tried_until_the_time_is_over() {
    let certificates = certificates();
    let silent = local();
    let cause = Process::end(silent.local_addr().unwrap(), &certificates, End::Robot, token(1), 0);
    let cause = never_joined(cause.finish().unwrap_err());
    assert_eq!((cause.why(), cause.heard, &cause.unsent), (None, false, &None));
    // Broadcasts need a permission that the socket does not have.
    let cause = Process::end(([255; 4], 9).into(), &certificates, End::Robot, token(1), 0);
    let cause = never_joined(cause.finish().unwrap_err());
    assert!(cause.to_string().starts_with("the system does not send to 255.255.255.255:9: "), "{cause}");
    let socket = local();
    let address = socket.local_addr().unwrap();
    let relay = Process::relay(socket, &certificates);
    let first = Process::end(address, &certificates, End::Robot, token(1), 60_000);
    first.until("robot: joined");
    let second = Process::end(address, &certificates, End::Robot, token(1), 0);
    let cause = never_joined(second.finish().unwrap_err());
    assert_eq!((cause.why(), cause.heard), (Some(Refusal::RoleTaken), true));
    // The first one is as it was.
    let first = first.stop();
    assert_eq!((first.joined, first.lost, first.refused), (1, 0, 0));
    let relay = relay.stop();
    assert!(relay.refused >= 1 && relay.refused_for["role-taken"] == relay.refused, "{relay:?}");
}

#[test]
fn an_end_that_was_in_its_session_goes_on_dialling_and_says_why_it_is_refused() {
    let certificates = certificates();
    let socket = local();
    let address = socket.local_addr().unwrap();
    let relay = Process::relay(socket, &certificates);
    let robot = Process::end(address, &certificates, End::Robot, token(1), 60_000);
    robot.until("robot: joined");
    relay.stop();
    // The relay comes back without this robot's token, and once more with it.
    let others = party(&certificates, End::Relay);
    let socket = bind(address).unwrap();
    let relay = Process::start(move |stop, says| {
        let access = Access::Tokens(BTreeMap::from([((7, Role::Robot), token(9).hash())]));
        run_relay(socket, &others, access, stop, &mut |line| drop(says.send(line.to_owned())))
    });
    robot.until("robot: not let in: the relay does not know this token");
    let packets = relay.stop().packets_sent;
    assert!(packets > 0);
    let relay = Process::relay(bind(address).unwrap(), &certificates);
    robot.until("robot: joined");
    let robot = robot.stop();
    assert_eq!((robot.joined, robot.lost), (2, 1), "{robot:?}");
    assert!(robot.refused >= 1 && robot.refused_for["token"] == robot.refused, "{robot:?}");
    assert!(robot.rtt_ms.unwrap() < 300.0, "{robot:?}");
    relay.stop();
}

#[test]
fn ends_come_back_after_the_relay_is_started_again() {
    let certificates = certificates();
    let socket = local();
    let address = socket.local_addr().unwrap();
    let relay = Process::relay(socket, &certificates);
    let operator = Process::end(address, &certificates, End::Operator, token(2), 60_000);
    let robot = Process::end(address, &certificates, End::Robot, token(1), 60_000);
    operator.until("operator: joined");
    robot.until("robot: joined");
    relay.stop();
    robot.until("lost the relay (closed)");
    operator.until("lost the relay (closed)");
    let relay = Process::relay(bind(address).unwrap(), &certificates);
    robot.until("robot: joined");
    operator.until("operator: joined");
    // Until something has gone through the new one.
    relay.until("relay: operator joined");
    for _ in 0..5 {
        relay.until(" s:");
    }
    let (robot, operator, relay) = (robot.stop(), operator.stop(), relay.stop());
    assert_eq!((robot.joined, operator.joined, relay.joined), (2, 2, 2), "{robot:?}\n{operator:?}");
    assert!(relay.frames_forwarded.unwrap() > 0 && relay.commands_forwarded.unwrap() > 0, "{relay:?}");
    assert_eq!(robot.commands_refused, Some(0), "nothing stale arrived, let alone was executed");
}

#[test]
fn no_congestion_control_is_refused_unless_it_is_asked_for_twice() {
    let certificates = certificates();
    let mut open = party(&certificates, End::Relay);
    open.settings.congestion.kind = CongestionKind::Open;
    let stop = Stop::default();
    stop.trigger();
    let run = |party: &Party| run_relay(local(), party, access(), &stop, &mut |_| {});
    assert!(matches!(run(&open), Err(RealError::OpenCongestion)));
    open.allow_open_congestion = true;
    run(&open).unwrap();
}

#[test]
fn tokens_are_read_and_a_wrong_line_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let text = new_token().unwrap();
    let token = Token::new(text.clone()).unwrap();
    std::fs::write(&path, format!("# a comment\n\n{}", token_line(3, Role::Robot, &token))).unwrap();
    let Access::Tokens(tokens) = read_access(&path).unwrap() else { panic!("a list gives tokens") };
    assert_eq!(tokens, BTreeMap::from([((3, Role::Robot), token.hash())]));
    for (line, part) in
        [("1 robot", "line 2"), ("x robot 12", "number"), ("1 relay 12", "neither"), ("1 robot 12", "64")]
    {
        std::fs::write(&path, format!("# x\n{line}\n")).unwrap();
        let error = read_access(&path).err().unwrap().to_string();
        assert!(error.contains("line 2") && error.contains(part), "{error}");
    }
    std::fs::write(&path, format!("  {text}\n")).unwrap();
    assert_eq!(read_token(&path).unwrap(), token);
    std::fs::write(&path, "short\n").unwrap();
    assert!(read_token(&path).is_err());
}
