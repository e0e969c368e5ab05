//! The three machines of a cell, and the addresses they know each other by.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bench::{Cell, End, Hop};
use netmodel::units::Time;
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use relay_core::{Access, Dial, EndpointParams, Listen, Operator, Relay, Robot};

use super::{Crypto, Options};
use crate::epoch::epoch;
use crate::error::SimError;
use crate::null_crypto::{NullClientConfig, NullHmacKey, NullServerConfig, NullTokenKey};
use crate::tap::QlogSink;
use crate::tls::{SERVER_NAME, tls, tls_with_key_log};

/// Robot end, relay and operator end.
pub(super) struct Machines {
    pub(super) robot: Robot,
    pub(super) relay: Relay,
    pub(super) operator: Operator,
}

impl Machines {
    /// The machines of `cell`; the ends begin to dial at once.
    pub(super) fn new(now: Time, cell: &Cell, options: &Options<'_>) -> Result<Self, SimError> {
        let (client, server) = configurations(options)?;
        let params = |end| params(cell, end, options.qlog.as_ref());
        let dial = Dial {
            relay: RELAY,
            server_name: SERVER_NAME.to_owned(),
            crypto: client,
            session: SESSION,
            token: None,
        };
        let token_key = Arc::new(NullTokenKey::new(&cell.machine_seed(End::Relay)));
        let listen = Listen { crypto: server, token_key, access: Access::Anybody };
        Ok(Self {
            robot: Robot::new(now, &params(End::Robot), dial.clone(), &cell.settings)?,
            relay: Relay::new(&params(End::Relay), listen, &cell.settings),
            operator: Operator::new(now, &params(End::Operator), dial, &cell.settings)?,
        })
    }
}

fn params(cell: &Cell, end: End, qlog: Option<&QlogSink>) -> EndpointParams {
    let seed = cell.machine_seed(end);
    let qlog = qlog.map(|sink| {
        let sink = Arc::clone(sink);
        let of_peer = move |peer: SocketAddr| {
            let robot_hop = end == End::Robot || peer == ROBOT;
            Some(sink(end, if robot_hop { Hop::Robot } else { Hop::Operator }))
        };
        Arc::new(of_peer) as relay_core::QlogSinks
    });
    EndpointParams { epoch: epoch(), seed, reset_key: Arc::new(NullHmacKey::new(&seed)), qlog }
}

type Configurations = (Arc<dyn ClientConfig>, Arc<dyn ServerConfig>);

fn configurations(options: &Options<'_>) -> Result<Configurations, SimError> {
    match options.crypto {
        Crypto::Null => Ok((Arc::new(NullClientConfig), Arc::new(NullServerConfig))),
        Crypto::Tls => {
            let tls = match &options.key_log {
                Some(sink) => tls_with_key_log(sink)?,
                None => tls()?,
            };
            Ok((tls.client, tls.server))
        }
    }
}

const fn address(host: u8) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)), PORT)
}

/// Where the robot's end is.
pub(super) const ROBOT: SocketAddr = address(1);
/// Where the relay is.
pub(super) const RELAY: SocketAddr = address(2);
/// Where the operator's end is.
pub(super) const OPERATOR: SocketAddr = address(3);

const PORT: u16 = 4433;

/// The one session that both ends join.
const SESSION: u64 = 1;
