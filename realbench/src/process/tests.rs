use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use bench::End;

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
        let joining = Joining {
            relay,
            server_name: SERVER_NAME.to_owned(),
            session: 7,
            token: Some(token),
            workload: Workload::default(),
            duration: Some(Span::from_millis(ms)),
            join_within: Span::from_millis(if ms == 0 { 1500 } else { 20_000 }),
        };
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
    // With the operator's token as a robot, and with certificates of another authority. Neither has a duration to run.
    let wrong_token = Process::end(address, &ours, End::Robot, token(2), 0);
    let wrong_authority = Process::end(address, &theirs, End::Robot, token(1), 0);
    let error = wrong_token.finish().unwrap_err();
    assert!(matches!(error, RealError::NeverJoined { refused: 1.. }), "{error}");
    let error = wrong_authority.finish().unwrap_err();
    assert!(matches!(error, RealError::NeverJoined { .. }), "{error}");
    let relay = relay.stop();
    assert_eq!((relay.joined, relay.frames_at_relay), (0, Some(0)));
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
