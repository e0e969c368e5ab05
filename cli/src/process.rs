//! `arcbench certs`, `relay`, `robot` and `operator`: the same core as processes on a real network.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::Path;

use bench::Workload;
use realbench::process::{
    Joining, Note, Party as Parts, ProcessSummary, bind, new_token, read_access, read_token, run_operator,
    run_relay, run_robot, token_line,
};
use realbench::tls::{Certificates, Identity, Purpose, others_can_read, write_new};
use realbench::{RealError, Stop, driver};
use relay_core::{Access, Role, Token};
use units::Span;

use crate::args::{Certs, EndArguments, Party, RelayArguments, Selection};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::new_file::{NewFolders, NewSet};
use crate::{input, interrupt, output};

mod never_joined;

use never_joined::never_joined;

/// Writes certificates, keys and tokens.
pub(crate) fn certs(arguments: &Certs) -> Result<Exit, Failure> {
    interrupt::stop_at_once()?;
    let out = &arguments.out;
    let names: Vec<String> = arguments.names.iter().map(|name| name.trim().to_owned()).collect();
    let set = Certificates::generate(&names).map_err(|error| usage(&error))?;
    let _folders = NewFolders::create(out)?;
    let files = NewSet::begin(out)?;
    set.write(files.folder()).map_err(|error| usage(&error))?;
    let mut list = String::new();
    for (role, name) in [(Role::Robot, "robot"), (Role::Operator, "operator")] {
        let text = new_token().map_err(|error| usage(&error))?;
        let token = Token::new(text.clone()).map_err(|error| Failure::unexpected(error.to_string()))?;
        list.push_str(&token_line(arguments.session, role, &token));
        write_new(&files.folder().join(format!("{name}.token")), &format!("{text}\n"), true)
            .map_err(|error| usage(&error))?;
    }
    write_new(&files.folder().join("tokens"), &list, true).map_err(|error| usage(&error))?;
    files.name(out)?;
    output::note(&format!("wrote certificates and tokens to {}", out.display()));
    Ok(Exit::Ok)
}

/// Runs the relay.
pub(crate) fn relay(arguments: &RelayArguments) -> Result<Exit, Failure> {
    let (party, _) = parts(&arguments.party, Purpose::Relay)?;
    let access = if let Some(path) = &arguments.party.token_file {
        read_access(path).map_err(|error| usage(&error))?
    } else {
        output::note(
            "warning: without --token-file everybody with a certificate of this authority is let in",
        );
        Access::Anybody
    };
    let socket = bind(arguments.listen).map_err(|error| not_bound(&error))?;
    if let Ok(address) = socket.local_addr() {
        output::note(&format!("relay: listening on {address}"));
    }
    finish(run_relay(socket, &party, access, &stop()?, &mut note))
}

/// Runs a robot.
pub(crate) fn robot(arguments: &EndArguments) -> Result<Exit, Failure> {
    end(arguments, run_robot)
}

/// Runs an operator.
pub(crate) fn operator(arguments: &EndArguments) -> Result<Exit, Failure> {
    end(arguments, run_operator)
}

type Run = fn(UdpSocket, &Parts, Joining, &Stop, Note<'_>) -> Result<ProcessSummary, RealError>;

fn end(arguments: &EndArguments, run: Run) -> Result<Exit, Failure> {
    let (party, workload) = parts(&arguments.party, Purpose::End)?;
    let token = match &arguments.party.token_file {
        Some(path) => {
            warn_if_open("token", path);
            Some(read_token(path).map_err(|error| usage(&error))?)
        }
        None => None,
    };
    let relay = resolve(&arguments.relay)?;
    let joining = Joining {
        relay,
        server_name: arguments.server_name.clone(),
        session: arguments.session,
        token,
        workload,
        duration: arguments.duration.as_deref().map(|text| span("--duration", text)).transpose()?,
        join_within: span("--join-within", &arguments.join_within)?,
    };
    let any = match relay.ip() {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = bind((any, 0).into()).map_err(|error| usage(&error))?;
    finish(run(socket, &party, joining, &stop()?, &mut note))
}

/// What all three need, and the workload that goes with the settings.
fn parts(party: &Party, purpose: Purpose) -> Result<(Parts, Workload), Failure> {
    let selection = Selection {
        scenario: Some(party.scenario.clone().unwrap_or_else(|| DEFAULT_SCENARIO.to_owned())),
        settings: party.settings.clone().map(|name| vec![name]),
        set: party.set.clone(),
        ..Selection::default()
    };
    let loaded = input::load(&selection)?;
    let cell =
        loaded.cells.first().ok_or_else(|| Failure::nothing_selected("the scenario has no settings"))?;
    let identity = Identity::read(&party.cert, &party.key, &party.ca).map_err(|error| usage(&error))?;
    identity.check(purpose).map_err(|error| unfit(&error, &party.cert))?;
    warn_if_open("key", &party.key);
    let offload = !party.no_offload;
    let made = Parts {
        settings: (*cell.settings).clone(),
        identity,
        driver: driver::Options { gso: offload, gro: offload, ..driver::Options::default() },
        allow_open_congestion: party.allow_open_congestion,
        note_every: span("--every", &party.every)?,
    };
    Ok((made, (*cell.workload).clone()))
}

fn resolve(text: &str) -> Result<SocketAddr, Failure> {
    let found = text.to_socket_addrs().map(|mut found| found.next());
    match found {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(Failure::usage(format!("`{text}` has no address"))),
        Err(error) => Err(Failure::usage(format!("find the relay at `{text}`: {error}"))
            .help("write it as HOST:PORT, for example 127.0.0.1:4433 or [::1]:4433")),
    }
}

fn span(flag: &str, text: &str) -> Result<Span, Failure> {
    text.parse().map_err(|error| Failure::usage(format!("{flag} `{text}`: {error}")))
}

fn stop() -> Result<Stop, Failure> {
    let stop = Stop::default();
    let asked = stop.clone();
    interrupt::on_first(move || asked.trigger())?;
    Ok(stop)
}

fn note(line: &str) {
    output::note(line);
}

fn finish(ran: Result<ProcessSummary, RealError>) -> Result<Exit, Failure> {
    match ran {
        Ok(summary) => {
            let text = serde_json::to_string(&summary)
                .map_err(|error| Failure::unexpected(format!("writing the summary: {error}")))?;
            output::data(&text).map(|()| Exit::Ok)
        }
        Err(error @ RealError::OpenCongestion) => {
            Err(usage(&error).help("add --allow-open-congestion if nobody else uses the network"))
        }
        Err(RealError::NeverJoined(cause)) => Err(never_joined(&cause)),
        Err(error) => Err(Failure::unexpected(format!("failed to {error}"))),
    }
}

/// A secret that everybody on the machine can read is none.
fn warn_if_open(what: &str, path: &Path) {
    if others_can_read(path) {
        let path = path.display();
        output::note(&format!(
            "warning: everybody on this machine can read the {what} `{path}`: chmod 600 it"
        ));
    }
}

fn unfit(error: &RealError, cert: &Path) -> Failure {
    let failure = Failure::usage(format!("failed to {error} (`{}`)", cert.display()));
    match error {
        RealError::Purpose { purpose: Purpose::Relay } => {
            failure.help("--cert and --key are relay.pem and relay.key in what `arcbench certs` writes")
        }
        RealError::Purpose { purpose: Purpose::End } => {
            failure.help("--cert and --key are robot.pem and robot.key, or those of the operator")
        }
        RealError::OutOfDate(_) => {
            failure.help("is this machine's clock right? if it is, `arcbench certs` makes a new set")
        }
        _ => failure,
    }
}

fn not_bound(error: &RealError) -> Failure {
    let failure = usage(error);
    let RealError::Listen { source, .. } = error else { return failure };
    match source.kind() {
        ErrorKind::AddrInUse => failure.help("another process has this port; `ss -lunp` shows which"),
        ErrorKind::AddrNotAvailable => failure
            .help("the address is not one of this machine's; 0.0.0.0:PORT or [::]:PORT takes all that are"),
        ErrorKind::PermissionDenied => {
            failure.help("ports below 1024 need CAP_NET_BIND_SERVICE; any other port needs nothing")
        }
        _ => failure,
    }
}

fn usage(error: &RealError) -> Failure {
    Failure::usage(format!("failed to {error}"))
}

/// Its only settings are the shipped ones.
const DEFAULT_SCENARIO: &str = "best";
