//! The three machines of a cell, and the addresses they know each other by.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bench::{Cell, End};
use netmodel::units::Time;
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use relay_core::{Access, Dial, EndpointParams, Listen, Operator, Relay, Robot};

use super::Crypto;
use crate::epoch::epoch;
use crate::error::SimError;
use crate::null_crypto::{NullClientConfig, NullHmacKey, NullServerConfig, NullTokenKey};
use crate::tls::{SERVER_NAME, tls};

/// Robot end, relay and operator end.
pub(super) struct Machines {
    pub(super) robot: Robot,
    pub(super) relay: Relay,
    pub(super) operator: Operator,
}

impl Machines {
    /// The machines of `cell`; the ends begin to dial at once.
    pub(super) fn new(now: Time, cell: &Cell, crypto: Crypto) -> Result<Self, SimError> {
        let (client, server) = configurations(crypto)?;
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
            robot: Robot::new(now, &params(cell, End::Robot), dial.clone(), &cell.settings)?,
            relay: Relay::new(&params(cell, End::Relay), listen, &cell.settings),
            operator: Operator::new(now, &params(cell, End::Operator), dial, &cell.settings)?,
        })
    }
}

fn params(cell: &Cell, end: End) -> EndpointParams {
    let seed = cell.machine_seed(end);
    EndpointParams { epoch: epoch(), seed, reset_key: Arc::new(NullHmacKey::new(&seed)) }
}

type Configurations = (Arc<dyn ClientConfig>, Arc<dyn ServerConfig>);

fn configurations(crypto: Crypto) -> Result<Configurations, SimError> {
    match crypto {
        Crypto::Null => Ok((Arc::new(NullClientConfig), Arc::new(NullServerConfig))),
        Crypto::Tls => {
            let tls = tls()?;
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
