//! Relay, robot and operator as processes of their own, on real addresses.
//!
//! The same machines under the same driver as in a real cell; what is different is that nobody sees both ends. So each process
//! counts what it can know ([`ProcessSummary`]), says so in a line now and then, and at the end.

mod app;
mod end;
mod refusal;
mod summary;
#[cfg(test)]
mod tests;
mod tokens;

use std::net::{SocketAddr, UdpSocket};

use bench::Workload;
use bench::relay_core::settings::CongestionKind;
use bench::relay_core::{
    Access, Dial, EndpointParams, Listen, Operator, Relay, Robot, Role, Settings, Token,
};
use bench::units::Span;

use self::app::RelayProcess;
use self::end::EndProcess;
use crate::clock::Clock;
use crate::driver::{Options, Recent, drive};
use crate::error::RealError;
use crate::stop::Stop;
use crate::tls::{Identity, random, token_key};

pub use refusal::{Lack, NotJoined};
pub use summary::{ProcessSummary, SocketSummary};
pub use tokens::{new_token, read_access, read_token, token_line};

/// Takes one line of statistics.
pub type Note<'a> = &'a mut dyn FnMut(&str);

/// What relay and ends have in common.
pub struct Party {
    /// The relay configuration. All three should have the same.
    pub settings: Settings,
    /// Certificate, key and authority.
    pub identity: Identity,
    /// How the socket is used.
    pub driver: Options,
    /// Whether `congestion.kind = "open"` may be used although others use the network too. Default false.
    pub allow_open_congestion: bool,
    /// How often a line of statistics is noted. At least a tenth of a second.
    pub note_every: Span,
}

/// What a robot or an operator needs besides.
pub struct Joining {
    /// The relay's address.
    pub relay: SocketAddr,
    /// The name that the relay's certificate must carry.
    pub server_name: String,
    /// The session to join.
    pub session: u64,
    /// The secret that the relay asks for, if it does.
    pub token: Option<Token>,
    /// What is sent.
    pub workload: Workload,
    /// How long there is traffic, from joining on; without end when not said.
    pub duration: Option<Span>,
    /// How long to try to join for the first time before giving up.
    pub join_within: Span,
}

impl Party {
    fn check(&self) -> Result<(), RealError> {
        let open = self.settings.congestion.kind == CongestionKind::Open;
        if open && !self.allow_open_congestion { Err(RealError::OpenCongestion) } else { Ok(()) }
    }

    fn params(&self, clock: Clock) -> Result<EndpointParams, RealError> {
        let reset_key = self.identity.reset_key();
        Ok(EndpointParams { epoch: clock.epoch(), seed: random()?, reset_key, qlog: None })
    }
}

/// A socket at `address`.
///
/// # Errors
///
/// If the address is taken or not this machine's.
pub fn bind(address: SocketAddr) -> Result<UdpSocket, RealError> {
    UdpSocket::bind(address).map_err(|source| RealError::Listen { address, source })
}

/// Runs a relay on `socket` until `stop`. Its peers are told when it goes.
///
/// # Errors
///
/// If it cannot be set up, or its socket fails.
pub fn run_relay(
    socket: UdpSocket,
    party: &Party,
    access: Access,
    stop: &Stop,
    note: Note<'_>,
) -> Result<ProcessSummary, RealError> {
    party.check()?;
    let clock = Clock::start();
    let listen = Listen { crypto: party.identity.server()?, token_key: token_key()?, access };
    let relay = Relay::new(&party.params(clock)?, listen, &party.settings);
    let mut app = RelayProcess::new(party.note_every, note);
    let (relay, report) = drive(clock, socket, relay, &mut app, stop, &Recent::default(), &party.driver)?;
    Ok(app.finish(clock.now(), &relay, &report))
}

/// Runs a robot on `socket`: synthetic cameras, and commands that are counted.
///
/// # Errors
///
/// If it cannot be set up, its socket fails, or it cannot join in time.
pub fn run_robot(
    socket: UdpSocket,
    party: &Party,
    joining: Joining,
    stop: &Stop,
    note: Note<'_>,
) -> Result<ProcessSummary, RealError> {
    run_end(socket, party, joining, stop, note, Role::Robot, Robot::new)
}

/// Runs an operator on `socket`: synthetic hand poses, and frames that are counted.
///
/// # Errors
///
/// As [`run_robot`].
pub fn run_operator(
    socket: UdpSocket,
    party: &Party,
    joining: Joining,
    stop: &Stop,
    note: Note<'_>,
) -> Result<ProcessSummary, RealError> {
    run_end(socket, party, joining, stop, note, Role::Operator, Operator::new)
}

fn run_end<M: end::Peer>(
    socket: UdpSocket,
    party: &Party,
    joining: Joining,
    stop: &Stop,
    note: Note<'_>,
    role: Role,
    make: end::Make<M>,
) -> Result<ProcessSummary, RealError> {
    party.check()?;
    let clock = Clock::start();
    let mut app = EndProcess::new(clock.now(), role, &joining, party.note_every, note)?;
    let dial = Dial {
        relay: joining.relay,
        server_name: joining.server_name,
        crypto: party.identity.client()?,
        session: joining.session,
        token: joining.token,
    };
    let machine = make(clock.now(), &party.params(clock)?, dial, &party.settings)?;
    let (machine, report) = drive(clock, socket, machine, &mut app, stop, &Recent::default(), &party.driver)?;
    app.finish(clock.now(), &machine, &report)
}
