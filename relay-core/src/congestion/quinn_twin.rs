//! Our `NewReno` and CUBIC beside quinn's own, over the same random sequences.
//!
//! quinn's controllers take an estimator of the round trip that only quinn makes, so a handshake is
//! run once and the estimator taken out of its first acknowledgement, when it still says what the
//! configuration said. It never changes afterwards: every round trip here is the same.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use proptest::prelude::*;
use quinn_proto::congestion::{Controller as QuinnController, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, RttEstimator, ServerConfig,
    TransportConfig,
};
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use units::{Span, Time};

use super::controller::{Controller, Lost};
use super::properties::{acked, lost, start};
use super::{cubic, new_reno};

const RTT: Span = Span::from_millis(100);

/// Looks at what quinn hands to a controller.
#[derive(Clone)]
struct Spy(Arc<Mutex<Option<RttEstimator>>>);

impl ControllerFactory for Spy {
    fn build(self: Arc<Self>, _now: Instant, _mtu: u16) -> Box<dyn QuinnController> {
        Box::new((*self).clone())
    }
}

impl QuinnController for Spy {
    fn on_ack(&mut self, _: Instant, _: Instant, _: u64, _: bool, rtt: &RttEstimator) {
        self.0.lock().expect("no panic").get_or_insert(*rtt);
    }

    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        1 << 20
    }

    fn clone_box(&self) -> Box<dyn QuinnController> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        1 << 20
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

fn crypto() -> (Arc<QuicClientConfig>, Arc<QuicServerConfig>) {
    let made = rcgen::generate_simple_self_signed(["relay".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()).into();
    let provider = Arc::new(ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("a certificate");
    let tls13 = &[&rustls::version::TLS13];
    let client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(tls13)
        .expect("supported")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(tls13)
        .expect("supported")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("its own key");
    let client = QuicClientConfig::try_from(client).expect("TLS 1.3");
    (Arc::new(client), Arc::new(QuicServerConfig::try_from(server).expect("TLS 1.3")))
}

/// An estimator that says [`RTT`].
fn estimator() -> RttEstimator {
    static ESTIMATOR: OnceLock<RttEstimator> = OnceLock::new();
    *ESTIMATOR.get_or_init(handshake)
}

fn handshake() -> RttEstimator {
    let now = epoch();
    let (client_crypto, server_crypto) = crypto();
    let seen = Arc::new(Mutex::new(None));
    let mut transport = TransportConfig::default();
    transport
        .initial_rtt(Duration::from_nanos(RTT.as_nanos()))
        .congestion_controller_factory(Arc::new(Spy(Arc::clone(&seen))));
    let mut client_config = ClientConfig::new(client_crypto);
    client_config.transport_config(Arc::new(transport));
    let config = Arc::new(EndpointConfig::default());
    let server_config = Arc::new(ServerConfig::with_crypto(server_crypto));
    let mut client = Endpoint::new(Arc::clone(&config), None, true, None);
    let mut server = Endpoint::new(config, Some(server_config), true, None);
    let here = "127.0.0.1:1".parse().expect("an address");
    let (_, mut client_conn) = client.connect(now, client_config, here, "relay").expect("dials");
    let mut server_conn: Option<(ConnectionHandle, quinn_proto::Connection)> = None;
    for _ in 0..100 {
        let mut buffer = Vec::new();
        while let Some(sent) = client_conn.poll_transmit(now, 1, &mut buffer) {
            let datagram = BytesMut::from(&buffer[..sent.size]);
            match server.handle(now, here, None, None, datagram, &mut Vec::new()) {
                Some(DatagramEvent::NewConnection(incoming)) => {
                    let accepted = server.accept(incoming, now, &mut Vec::new(), None);
                    server_conn = Some(accepted.map_err(|error| error.cause).expect("accepts"));
                }
                Some(DatagramEvent::ConnectionEvent(_, event)) => {
                    server_conn.as_mut().expect("accepted").1.handle_event(event);
                }
                _ => {}
            }
            buffer.clear();
        }
        if let Some((handle, conn)) = &mut server_conn {
            while let Some(event) = conn.poll_endpoint_events() {
                if let Some(event) = server.handle_event(*handle, event) {
                    conn.handle_event(event);
                }
            }
            while let Some(sent) = conn.poll_transmit(now, 1, &mut buffer) {
                let datagram = BytesMut::from(&buffer[..sent.size]);
                if let Some(DatagramEvent::ConnectionEvent(_, event)) =
                    client.handle(now, here, None, None, datagram, &mut Vec::new())
                {
                    client_conn.handle_event(event);
                }
                buffer.clear();
            }
        }
        if let Some(rtt) = *seen.lock().expect("no panic") {
            assert_eq!(Span::from(rtt.get()), RTT);
            return rtt;
        }
    }
    panic!("no handshake");
}

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "a test needs some instant, and any will do")]
    *EPOCH.get_or_init(Instant::now)
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Ack { sent_ms_ago: u64, app_limited: bool },
    Lose { sent_ms_ago: u64, persistent: bool },
    Wait { ms: u64 },
    PacketSize { bytes: u16 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (0u64..300, prop::bool::weighted(0.2))
            .prop_map(|(sent_ms_ago, app_limited)| Step::Ack { sent_ms_ago, app_limited }),
        1 => (0u64..300, prop::bool::weighted(0.1))
            .prop_map(|(sent_ms_ago, persistent)| Step::Lose { sent_ms_ago, persistent }),
        8 => (0u64..100).prop_map(|ms| Step::Wait { ms }),
        1 => (1_200u16..1_473).prop_map(|bytes| Step::PacketSize { bytes }),
    ];
    prop::collection::vec(step, 1..800)
}

/// The windows of both after every step.
fn windows(law: &mut dyn Controller, quinns: &mut dyn QuinnController, steps: &[Step]) -> Vec<(u64, u64)> {
    let rtt = estimator();
    let instant = |time: Time| epoch() + Duration::from_nanos(time.as_nanos());
    let mut now = Time::ZERO;
    let ago = |now: Time, ms| Time::ZERO + now.since(Time::ZERO + Span::from_millis(ms));
    let mut seen = Vec::new();
    for step in steps {
        match *step {
            Step::Ack { sent_ms_ago, app_limited } => {
                let sent_at = ago(now, sent_ms_ago);
                let ours = acked(sent_at, now);
                law.on_acked(
                    now,
                    &super::Acked { rtt: RTT, app_limited, app_limited_now: app_limited, ..ours },
                );
                quinns.on_ack(instant(now), instant(sent_at), 1_200, app_limited, &rtt);
            }
            Step::Lose { sent_ms_ago, persistent } => {
                let sent_at = ago(now, sent_ms_ago);
                law.on_lost(now, &Lost { persistent, ..lost(sent_at) });
                quinns.on_congestion_event(instant(now), instant(sent_at), persistent, 1_200);
            }
            Step::Wait { ms } => now += Span::from_millis(ms),
            Step::PacketSize { bytes } => {
                law.on_packet_size(bytes.into());
                quinns.on_mtu_update(bytes);
            }
        }
        seen.push((law.window_bytes(), quinns.window()));
    }
    seen
}

proptest! {
    #[test]
    fn our_new_reno_has_quinns_window(steps in steps()) {
        let mut config = NewRenoConfig::default();
        config.initial_window(12_000);
        let mut quinns = Arc::new(config).build(epoch(), 1_200);
        let mut law = new_reno::NewReno::new(&start());
        for (ours, quinns) in windows(&mut law, quinns.as_mut(), &steps) {
            prop_assert_eq!(ours, quinns);
        }
    }

    #[test]
    fn our_cubic_has_quinns_window(steps in steps()) {
        let mut config = CubicConfig::default();
        config.initial_window(12_000);
        let mut quinns = Arc::new(config).build(epoch(), 1_200);
        let mut law = cubic::Cubic::new(&start());
        for (ours, quinns) in windows(&mut law, quinns.as_mut(), &steps) {
            // The platform's cube root may differ from ours in its last bit, which may shift the
            // moment at which a packet is added.
            prop_assert!(ours.abs_diff(quinns) <= 1_473, "{} against {}", ours, quinns);
        }
    }
}
