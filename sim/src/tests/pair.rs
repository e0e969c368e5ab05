//! Two quinn-proto endpoints that exchange datagrams in memory, in virtual time.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::crypto::{ClientConfig, ServerConfig};
use quinn_proto::{
    Connection, ConnectionHandle, ConnectionId, DatagramEvent, Endpoint, EndpointConfig, Event, Transmit,
    TransportConfig,
};

use crate::null_crypto::{NullClientConfig, NullHmacKey, NullServerConfig, NullTokenKey};
use crate::tls::{SERVER_NAME, tls};

pub(super) type Crypto = (Arc<dyn ClientConfig>, Arc<dyn ServerConfig>);

pub(super) fn null() -> Crypto {
    (Arc::new(NullClientConfig), Arc::new(NullServerConfig))
}

pub(super) fn real() -> Crypto {
    let tls = tls().expect("a certificate can be made");
    (tls.client, tls.server)
}

/// One endpoint and its one connection.
pub(super) struct End {
    endpoint: Endpoint,
    address: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    inbox: VecDeque<BytesMut>,
    pub(super) connected: bool,
    pub(super) received: Vec<Vec<u8>>,
    pub(super) lost: Option<String>,
}

/// A client and a server, and what passed between them.
pub(super) struct Pair {
    pub(super) client: End,
    pub(super) server: End,
    now: Instant,
    /// The length of each datagram, with whether the client sent it.
    pub(super) datagrams: Vec<(bool, usize)>,
    /// Called with each datagram before it arrives.
    pub(super) meddle: Box<dyn Fn(&mut BytesMut)>,
}

impl Pair {
    pub(super) fn new((client, server): Crypto) -> Self {
        let mut server_config = quinn_proto::ServerConfig::new(server, Arc::new(NullTokenKey::new(&[7; 32])));
        server_config.migration(false);
        let mut pair = Self {
            client: End::new(1, None),
            server: End::new(2, Some(Arc::new(server_config))),
            now: crate::epoch::epoch(),
            datagrams: Vec::new(),
            meddle: Box::new(|_| ()),
        };
        let mut transport = TransportConfig::default();
        transport.max_idle_timeout(Some(IDLE.try_into().expect("two seconds fit")));
        let mut config = quinn_proto::ClientConfig::new(client);
        config.transport_config(Arc::new(transport));
        config.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(b"first id")));
        let to = pair.server.address;
        let connected = pair.client.endpoint.connect(pair.now, config, to, SERVER_NAME);
        pair.client.connection = Some(connected.expect("the configuration is sound"));
        pair
    }

    /// Lets `span` pass in steps of a millisecond, one way taking no time.
    pub(super) fn run(&mut self, span: Duration) {
        let until = self.now + span;
        while self.now < until {
            for _ in 0..100 {
                let sent = self.pass(true) + self.pass(false);
                if sent == 0 {
                    break;
                }
            }
            self.now += Duration::from_millis(1);
        }
    }

    fn pass(&mut self, from_client: bool) -> usize {
        let (from, to) = if from_client {
            (&mut self.client, &mut self.server)
        } else {
            (&mut self.server, &mut self.client)
        };
        let sent = from.drive(self.now, to.address);
        for datagram in &sent {
            self.datagrams.push((from_client, datagram.len()));
        }
        let count = sent.len();
        to.inbox.extend(sent.into_iter().map(|mut datagram| {
            (self.meddle)(&mut datagram);
            datagram
        }));
        count
    }
}

impl End {
    fn new(host: u8, server: Option<Arc<quinn_proto::ServerConfig>>) -> Self {
        let mut config = EndpointConfig::new(Arc::new(NullHmacKey::new(&[host; 32])));
        config.rng_seed(Some([host; 32]));
        Self {
            endpoint: Endpoint::new(Arc::new(config), server, false, None),
            address: (Ipv4Addr::new(10, 0, 0, host), 4433).into(),
            connection: None,
            inbox: VecDeque::new(),
            connected: false,
            received: Vec::new(),
            lost: None,
        }
    }

    pub(super) fn connection(&mut self) -> &mut Connection {
        &mut self.connection.as_mut().expect("there is a connection").1
    }

    /// Handles what has come, and answers what is to be sent.
    fn drive(&mut self, now: Instant, peer: SocketAddr) -> Vec<BytesMut> {
        let mut sent = Vec::new();
        while let Some(datagram) = self.inbox.pop_front() {
            let mut buffer = Vec::new();
            match self.endpoint.handle(now, peer, None, None, datagram, &mut buffer) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    match self.endpoint.accept(incoming, now, &mut buffer, None) {
                        Ok(accepted) => self.connection = Some(accepted),
                        Err(error) => sent.extend(error.response.map(|t| first(&t, &buffer))),
                    }
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => self.connection().handle_event(event),
                Some(DatagramEvent::Response(transmit)) => sent.push(first(&transmit, &buffer)),
                None => {}
            }
        }
        let Some((handle, connection)) = &mut self.connection else {
            return sent;
        };
        if connection.poll_timeout().is_some_and(|at| at <= now) {
            connection.handle_timeout(now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while let Some(event) = connection.poll() {
            match event {
                Event::Connected => self.connected = true,
                Event::ConnectionLost { reason } => self.lost = Some(reason.to_string()),
                _ => {}
            }
        }
        while let Some(datagram) = connection.datagrams().recv() {
            self.received.push(datagram.to_vec());
        }
        let mut buffer = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut buffer) {
            sent.push(first(&transmit, &buffer));
            buffer.clear();
        }
        sent
    }
}

fn first(transmit: &Transmit, buffer: &[u8]) -> BytesMut {
    BytesMut::from(&buffer[..transmit.size])
}

/// A connection that hears nothing for this long is lost.
const IDLE: Duration = Duration::from_secs(2);
