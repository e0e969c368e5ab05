//! Two quinn-proto endpoints under null crypto and a link of fixed delay: the default video, cut
//! into datagrams, one way, and acknowledgements the other. No relay, no model, no metrics.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, ServerConfig,
};
use sim::null_crypto::{NullClientConfig, NullHmacKey, NullServerConfig, NullTokenKey};

/// Runs `seconds` of traffic; how many packets were sent.
pub(crate) fn run(seconds: u64) -> u64 {
    #[expect(clippy::disallowed_methods, reason = "an origin for offsets")]
    let epoch = Instant::now();
    let server = ServerConfig::new(Arc::new(NullServerConfig), Arc::new(NullTokenKey::new(&[0; 32])));
    let mut server = End::new(2, Some(Arc::new(server)));
    let mut client = End::new(1, None);
    let config = ClientConfig::new(Arc::new(NullClientConfig));
    client.connection = Some(client.endpoint.connect(epoch, config, address(2), "relay").expect("sound"));
    let start = epoch + Duration::from_secs(1);
    let end = start + Duration::from_secs(seconds);
    let mut frame_at = start;
    let mut now = epoch;
    while now < end {
        if frame_at <= now {
            client.send_frame();
            frame_at += FRAME_INTERVAL;
        }
        client.step(now, &mut server.inbox);
        server.step(now, &mut client.inbox);
        now = [client.next_at(), server.next_at(), Some(frame_at)]
            .into_iter()
            .flatten()
            .min()
            .expect("frames go on");
    }
    client.packets + server.packets
}

struct End {
    endpoint: Endpoint,
    peer: SocketAddr,
    connection: Option<(ConnectionHandle, Connection)>,
    inbox: VecDeque<(Instant, BytesMut)>,
    arena: BytesMut,
    buffer: Vec<u8>,
    packets: u64,
}

impl End {
    fn new(host: u8, server: Option<Arc<ServerConfig>>) -> Self {
        let mut config = EndpointConfig::new(Arc::new(NullHmacKey::new(&[host; 32])));
        config.rng_seed(Some([host; 32]));
        Self {
            endpoint: Endpoint::new(Arc::new(config), server, false, None),
            peer: address(3 - host),
            connection: None,
            inbox: VecDeque::new(),
            arena: BytesMut::new(),
            buffer: Vec::new(),
            packets: 0,
        }
    }

    fn send_frame(&mut self) {
        let Some((_, connection)) = &mut self.connection else { return };
        for _ in 0..DATAGRAMS {
            let _ = connection.datagrams().send(Bytes::from_static(&[0; 1100]), true);
        }
    }

    fn next_at(&mut self) -> Option<Instant> {
        let timer = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let arrival = self.inbox.front().map(|(at, _)| *at);
        [timer, arrival].into_iter().flatten().min()
    }

    fn step(&mut self, now: Instant, to: &mut VecDeque<(Instant, BytesMut)>) {
        while self.inbox.front().is_some_and(|(at, _)| *at <= now) {
            let (_, datagram) = self.inbox.pop_front().expect("it was there");
            self.receive(now, datagram);
            self.send(now, to);
        }
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|at| at <= now)
        {
            connection.handle_timeout(now);
        }
        self.send(now, to);
    }

    fn receive(&mut self, now: Instant, datagram: BytesMut) {
        self.buffer.clear();
        match self.endpoint.handle(now, self.peer, None, None, datagram, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, now, &mut self.buffer, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            _ => {}
        }
    }

    fn send(&mut self, now: Instant, to: &mut VecDeque<(Instant, BytesMut)>) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        while connection.poll().is_some() {}
        while connection.datagrams().recv().is_some() {}
        loop {
            self.buffer.clear();
            let Some(transmit) = connection.poll_transmit(now, 1, &mut self.buffer) else { return };
            if self.arena.capacity() < transmit.size {
                self.arena.reserve(64 << 10);
            }
            self.arena.extend_from_slice(&self.buffer[..transmit.size]);
            to.push_back((now + DELAY, self.arena.split()));
            self.packets += 1;
        }
    }
}

fn address(host: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host), 4433).into()
}

/// 31 frames a second of 13 kB: as many frames and about as many bytes as the default video.
const FRAME_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 31);
const DATAGRAMS: usize = 12;
const DELAY: Duration = Duration::from_micros(12_500);
