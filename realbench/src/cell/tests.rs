use std::sync::Arc;

use bench::netmodel;
use bench::units::Span;

use super::*;

fn cell(duration: Span) -> Cell {
    let profile = |name| Arc::new(netmodel::builtin::profile(name).expect("it is built in"));
    Cell {
        profile: profile("same-region"),
        robot_hop: profile("robot-hop"),
        settings_name: "default".to_owned(),
        settings: Arc::default(),
        workload: Arc::default(),
        seed: 1,
        base_seed: 1,
        duration,
        warmup: Span::from_secs(1),
        offload: Offload::default(),
        repeat: 1,
    }
}

#[test]
fn a_cell_without_a_link_delivers_everything() {
    let cell = cell(Span::from_secs(2));
    let result = run_cell(&cell, &mut Loopback::default(), Options::default()).unwrap();
    let summary = result.summary;
    assert_eq!(summary.mode, Mode::Real);
    assert_eq!(summary.warnings, Vec::<String>::new());
    for (name, camera) in summary.cameras.iter() {
        assert!(camera.produced > 10 && camera.delivered == camera.produced, "{name}: {camera:?}");
    }
    assert!(summary.commands.executed > 100, "{:?}", summary.commands);
    assert_eq!((summary.stale_commands, summary.transport.events_unexpected), (0, 0));
    let host = summary.host.unwrap();
    assert_eq!((host.inputs_made, host.facts_lost), (host.inputs_asked, 0), "{host:?}");
    assert!(result.seconds.len() >= 4);
    assert_eq!((host.gso, host.gro), (Some(true), Some(true)));
    println!(
        "{:?} {:?}\n{host:?}\n{:?}",
        summary.cameras.iter().next(),
        summary.hand_to_command_ms,
        summary.tainted
    );
}

/// Whatever the machine is busy with: without offload there are as many calls and pieces as datagrams.
#[test]
fn a_cell_says_whether_datagrams_go_one_by_one() {
    for (gso, gro) in [(false, false), (true, true)] {
        let cell = Cell { offload: Offload { gso, gro }, ..cell(Span::from_secs(1)) };
        let summary = run_cell(&cell, &mut Loopback::default(), Options::default()).unwrap().summary;
        let host = summary.host.unwrap();
        assert_eq!((host.gso, host.gro), (Some(gso), Some(gro)));
        assert!(host.datagrams_sent > 300 && host.datagrams_received > 300, "{host:?}");
        if gso {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            let state = quinn_udp::UdpSocketState::new((&socket).into()).unwrap();
            if state.max_gso_segments() > 1 && state.gro_segments() > 1 {
                // A frame leaves its camera in one go, and so does most of it.
                assert!(host.send_calls < host.datagrams_sent, "{host:?}");
                assert!(host.pieces_received < host.datagrams_received, "{host:?}");
            }
        } else {
            assert_eq!(host.send_calls, host.datagrams_sent, "{host:?}");
            assert_eq!(host.pieces_received, host.datagrams_received, "{host:?}");
        }
    }
}

#[test]
fn an_end_that_crashes_is_named_with_what_it_did_last() {
    let (sender, done) = channel();
    let recent: [Recent; 3] = std::array::from_fn(|_| Recent::default());
    let outcome = catch_unwind(|| panic!("out of {}", "luck")).map_err(|panic| message(&*panic));
    sender.send((End::Relay, outcome)).unwrap();
    let error = wait(&done, Clock::start(), Duration::from_secs(1), &recent).err().unwrap().to_string();
    assert!(error.contains("relay") && error.contains("out of luck"), "{error}");
    assert!(error.contains("it had done nothing yet"), "{error}");
}

/// A network in which one end's socket is none: a pipe's end, from which no datagram can be received.
struct Broken {
    loopback: Loopback,
    end: End,
}

impl Network for Broken {
    fn backend(&self) -> &str {
        self.loopback.backend()
    }

    fn socket(&mut self, end: End) -> Result<std::net::UdpSocket, RealError> {
        let socket = self.loopback.socket(end)?;
        if end != self.end {
            return Ok(socket);
        }
        let (pipe, _) = io::pipe().map_err(RealError::io("make a pipe"))?;
        Ok(std::os::fd::OwnedFd::from(pipe).into())
    }

    fn address(&self, end: End) -> std::net::SocketAddr {
        self.loopback.address(end)
    }

    fn start(&mut self, clock: Clock, facts: Facts) -> Result<(), RealError> {
        self.loopback.start(clock, facts)
    }

    fn finish(&mut self) -> Result<crate::link::LinkReport, RealError> {
        self.loopback.finish()
    }
}

/// Whether a log has been dropped, which is how it comes to its end.
struct Ended(Arc<std::sync::atomic::AtomicBool>);

impl io::Write for Ended {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn a_cell_whose_end_cannot_go_on_fails_at_once_and_its_log_has_ended() {
    for end in [End::Robot, End::Relay, End::Operator] {
        let ended = Arc::<std::sync::atomic::AtomicBool>::default();
        let options = Options { log: Some(Box::new(Ended(Arc::clone(&ended)))), ..Options::default() };
        let mut network = Broken { loopback: Loopback::default(), end };
        // An hour, if nobody noticed.
        let error = run_cell(&cell(Span::from_secs(3600)), &mut network, options).err().unwrap().to_string();
        assert!(error.contains(&format!("run the {} to the end of the cell", end.name())), "{error}");
        assert!(error.contains("a socket"), "{error}");
        assert!(ended.load(std::sync::atomic::Ordering::SeqCst), "whoever reads the log reads all of it");
    }
}

#[test]
fn an_end_that_hangs_is_named_at_the_deadline() {
    let (sender, done) = channel();
    let recent: [Recent; 3] = std::array::from_fn(|_| Recent::default());
    for end in [End::Robot, End::Relay] {
        sender.send((end, Ok((Report::default(), Inputs::default())))).unwrap();
    }
    let error = wait(&done, Clock::start(), Duration::from_millis(50), &recent).err().unwrap().to_string();
    assert!(error.contains("operator still runs"), "{error}");
}
