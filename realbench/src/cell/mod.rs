//! Runs one cell for real: three ends on three threads, traffic at its real times, and the same recorder as in the simulator.
//!
//! What is between the ends is a [`Network`]; with [`Loopback`] it is nothing. A cell always comes to an end: one whose end
//! crashes is named with the last things it did, and one that hangs is given up at its deadline.

mod ends;
mod facts;
mod host;
mod namespaces;
mod network;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use bench::metrics::summary::Mode;
use bench::relay_core::{Access, Dial, EndpointParams, Listen, Machine, Operator, Relay, Robot};
use bench::units::Time;
use bench::{Cell, CellResult, End, Offload, Recorder, Source};

use self::ends::{Inputs, OperatorApp, RelayApp, RobotApp};
use self::facts::{Collected, Collector, Ending};
use self::host::{Noise, Processors};
use crate::clock::Clock;
use crate::driver::{self, App, Recent, Report, drive};
use crate::error::RealError;
use crate::stop::Stop;
use crate::tls::{Certificates, Identity, SERVER_NAME, token_key};

pub(crate) use ends::Traffic;
pub use facts::{Fact, Facts};
pub use namespaces::Namespaces;
pub use network::{Loopback, Network};

/// How to run a cell for real.
#[derive(Default)]
pub struct Options {
    /// How the ends use their sockets and clocks, but for offload: that the cell says.
    pub driver: driver::Options,
    /// Where the cell's events go, one JSON object a line. Default nowhere.
    pub log: Option<Box<dyn io::Write + Send>>,
    /// Certificates of relay and ends. Default: new ones for this cell.
    pub certificates: Option<Certificates>,
}

/// Runs one cell over `network`. Takes as long as the cell is: warm-up, duration and drain.
///
/// # Errors
///
/// When something cannot be set up, an end crashes, or one does not stop in time. An end that hangs keeps its thread.
pub fn run_cell(cell: &Cell, network: &mut dyn Network, options: Options) -> Result<CellResult, RealError> {
    let certificates = match options.certificates {
        Some(certificates) => certificates,
        None => Certificates::generate(&[SERVER_NAME.to_owned()])?,
    };
    let sockets = [network.socket(End::Robot)?, network.socket(End::Relay)?, network.socket(End::Operator)?];
    let clock = Clock::start();
    let (facts, ending, collector) = Collector::new(clock, Recorder::new(cell, options.log));
    network.start(clock, facts.clone())?;
    let before = Processors::read();
    let collector = spawn("collector", move || collector.run())?;
    let Offload { gso, gro } = cell.offload;
    let driver = driver::Options { gso, gro, ..options.driver };
    let starter = Starter { cell, clock, options: driver, stop: Stop::default() };
    let addresses = Addresses { robot: network.address(End::Robot), relay: network.address(End::Relay) };
    let ended = starter.run(sockets, addresses, &certificates, &facts);
    drop(facts);
    let ended = match ended {
        Ok(ended) => ended,
        Err(error) => {
            // So that the log of what it did ends before anybody looks at it. Why there is no result is known.
            let _ = collect(collector, &ending);
            return Err(error);
        }
    };
    let after = Processors::read();
    let link = network.finish();
    let collected = collect(collector, &ending)?;
    let link = link?;
    let noise = Noise {
        backend: network.backend(),
        offload: cell.offload,
        reports: &ended.reports,
        inputs: ended.inputs,
        inputs_asked: asked(cell),
        link: &link,
        facts_lost: collected.lost,
        processors: before.zip(after),
    };
    let host = noise.summary();
    let tainted = noise.taint(&host);
    let end = Time::ZERO + cell.warmup + cell.duration + Cell::DRAIN;
    let mut result = collected.finish(end, &link);
    result.summary.mode = Mode::Real;
    result.summary.host = Some(host);
    result.summary.tainted = tainted;
    Ok(result)
}

fn collect(collector: JoinHandle<Collected>, ending: &Ending) -> Result<Collected, RealError> {
    ending.now();
    collector.join().map_err(|panic| RealError::Io {
        action: "record the cell",
        source: io::Error::other(message(&*panic)),
    })
}

/// Frames and poses in the cell's traffic.
fn asked(cell: &Cell) -> u64 {
    let mut source = Source::new(cell);
    let mut count = 0;
    while source.next_at() < Time::MAX {
        source.pop();
        count += 1;
    }
    count
}

/// What the three ends came to.
#[derive(Default)]
struct Ended {
    reports: Vec<Report>,
    inputs: Inputs,
}

/// Where ends are that others have to know.
#[derive(Clone, Copy)]
struct Addresses {
    robot: std::net::SocketAddr,
    relay: std::net::SocketAddr,
}

/// What one end's thread tells when it is done.
type Done = (End, Result<(Report, Inputs), String>);

/// What all ends of a cell are started with.
struct Starter<'a> {
    cell: &'a Cell,
    clock: Clock,
    options: driver::Options,
    stop: Stop,
}

impl Starter<'_> {
    fn run(
        &self,
        [robot_socket, relay_socket, operator_socket]: [std::net::UdpSocket; 3],
        Addresses { robot: robot_address, relay }: Addresses,
        certificates: &Certificates,
        facts: &Facts,
    ) -> Result<Ended, RealError> {
        let (sender, done) = channel();
        let recent: [Recent; 3] = std::array::from_fn(|_| Recent::default());
        let [robot_recent, relay_recent, operator_recent] = recent.clone();
        let cell = self.cell;
        let [robot, middle, operator] = [
            certificates.identity(End::Robot)?,
            certificates.identity(End::Relay)?,
            certificates.identity(End::Operator)?,
        ];
        let listen = Listen { crypto: middle.server()?, token_key: token_key()?, access: Access::Anybody };
        let machine = Relay::new(&self.params(End::Relay, &middle), listen, &cell.settings);
        let app = RelayApp::new(cell, facts.clone(), robot_address);
        self.start(End::Relay, relay_socket, machine, app, relay_recent, &sender, |_| Inputs::default())?;
        let dial = |crypto| Dial {
            relay,
            server_name: SERVER_NAME.to_owned(),
            crypto,
            session: SESSION,
            token: None,
        };
        let now = self.clock.now();
        let params = self.params(End::Robot, &robot);
        let machine = Robot::new(now, &params, dial(robot.client()?), &cell.settings)?;
        let app = RobotApp::new(cell, facts.clone());
        self.start(End::Robot, robot_socket, machine, app, robot_recent, &sender, |app| app.traffic.inputs)?;
        let params = self.params(End::Operator, &operator);
        let machine = Operator::new(now, &params, dial(operator.client()?), &cell.settings)?;
        let app = OperatorApp::new(cell, facts.clone());
        let inputs = |app: &OperatorApp| app.traffic.inputs;
        self.start(End::Operator, operator_socket, machine, app, operator_recent, &sender, inputs)?;
        drop(sender);
        let length = cell.warmup + cell.duration + Cell::DRAIN;
        let deadline = Duration::from_nanos(length.as_nanos()) + GRACE;
        let ended = wait(&done, self.clock, deadline, &recent);
        // Those that still run have nobody to run for.
        self.stop.trigger();
        ended
    }

    fn params(&self, end: End, identity: &Identity) -> EndpointParams {
        EndpointParams {
            epoch: self.clock.epoch(),
            seed: self.cell.machine_seed(end),
            reset_key: identity.reset_key(),
            qlog: None,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an end, each of its own type, named once")]
    fn start<M, A>(
        &self,
        end: End,
        socket: std::net::UdpSocket,
        machine: M,
        mut app: A,
        recent: Recent,
        done: &Sender<Done>,
        inputs: fn(&A) -> Inputs,
    ) -> Result<(), RealError>
    where
        M: Machine + Send + 'static,
        A: App<M> + Send + 'static,
    {
        let (clock, options, stop, done) = (self.clock, self.options, self.stop.clone(), done.clone());
        spawn(end.name(), move || {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let (_, report) = drive(clock, socket, machine, &mut app, &stop, &recent, &options)
                    .map_err(|error| error.to_string())?;
                Ok((report, inputs(&app)))
            }));
            let outcome = outcome.unwrap_or_else(|panic| Err(message(&*panic)));
            // Nobody listens any more when the cell was given up.
            let _ = done.send((end, outcome));
        })
        .map(drop)
    }
}

/// Waits for all three ends, until the cell's deadline.
fn wait(
    done: &Receiver<Done>,
    clock: Clock,
    deadline: Duration,
    recent: &[Recent; 3],
) -> Result<Ended, RealError> {
    let mut ended = Ended::default();
    let mut running = vec![End::Robot, End::Relay, End::Operator];
    while let Some(first) = running.first() {
        let left = deadline.saturating_sub(Duration::from_nanos(clock.now().as_nanos()));
        match done.recv_timeout(left) {
            Ok((end, Ok((report, inputs)))) => {
                running.retain(|one| *one != end);
                ended.reports.push(report);
                ended.inputs.made += inputs.made;
                ended.inputs.late += inputs.late;
            }
            Ok((end, Err(reason))) => {
                return Err(RealError::Crashed { end, reason, last: recent[end as usize].lines() });
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(RealError::Hung { end: *first, last: recent[*first as usize].lines() });
            }
        }
    }
    Ok(ended)
}

fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, RealError> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(RealError::io("start a thread"))
}

/// What a panic said.
fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", text.unwrap_or("without a message"))
}

/// The one session that both ends join.
const SESSION: u64 = 1;
/// How long after its end a cell may still be busy.
const GRACE: Duration = Duration::from_secs(10);
