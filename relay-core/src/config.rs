//! From settings and keys to quinn's configuration.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use quinn_proto::congestion::ControllerFactory;
use quinn_proto::crypto::{self, HandshakeTokenKey, HmacKey};
use quinn_proto::{
    AckFrequencyConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, MtuDiscoveryConfig, QlogConfig,
    TransportConfig, VarInt,
};
use rand_chacha::ChaCha12Rng;
use rand_core::{Rng, SeedableRng};

use crate::access::{Access, Token};
use crate::settings::Settings;

/// What every machine needs besides its settings.
#[derive(Clone)]
pub struct EndpointParams {
    /// The process's base instant: quinn's name for [`units::Time::ZERO`].
    pub epoch: Instant,
    /// The seed of everything random in the machine: connection ids, packet number gaps, timer
    /// jitter. Same seed and same inputs, same bytes. On a real network it must be secret and
    /// fresh for each process.
    pub seed: [u8; 32],
    /// The key of stateless reset tokens.
    pub reset_key: Arc<dyn HmacKey>,
    /// Where QUIC's own qlog of each connection goes. Default nowhere. It changes nothing of what is sent.
    pub qlog: Option<QlogSinks>,
}

/// Gives a writer for the qlog of the connection with this peer, or none. Each record of the JSON text
/// sequence is written as it happens; times count from the epoch.
pub type QlogSinks = Arc<dyn Fn(SocketAddr) -> Option<Box<dyn io::Write + Send + Sync>> + Send + Sync>;

impl EndpointParams {
    /// Lets `transport` log the connection with `peer`, where that is asked for.
    pub(crate) fn log_quic(&self, peer: SocketAddr, transport: &mut TransportConfig) {
        let Some(writer) = self.qlog.as_ref().and_then(|sinks| sinks(peer)) else { return };
        let mut config = QlogConfig::default();
        config.writer(writer).start_time(self.epoch);
        transport.qlog_stream(config.into_stream());
    }
}

/// How an end reaches its relay.
#[derive(Clone)]
pub struct Dial {
    /// The relay's address.
    pub relay: SocketAddr,
    /// The name that the relay's certificate must carry.
    pub server_name: String,
    /// The end's side of the cryptographic handshake.
    pub crypto: Arc<dyn crypto::ClientConfig>,
    /// The session to join; robot and operator of the same session are paired.
    pub session: u64,
    /// The secret that the relay asks for, if it does.
    pub token: Option<Token>,
}

/// How a relay accepts its peers.
#[derive(Clone)]
pub struct Listen {
    /// The relay's side of the cryptographic handshake.
    pub crypto: Arc<dyn crypto::ServerConfig>,
    /// The key of the tokens that validate addresses.
    pub token_key: Arc<dyn HandshakeTokenKey>,
    /// Whom it lets into which session.
    pub access: Access,
}

/// Why a machine could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// quinn refused to dial: the server name or the address is unusable.
    #[error("dial the relay: {0}")]
    Dial(#[from] quinn_proto::ConnectError),
}

/// The configuration of one endpoint.
pub(crate) fn endpoint(params: &EndpointParams) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::clone(&params.reset_key));
    let seed = derived(&params.seed, 1);
    config.rng_seed(Some(derived(&params.seed, 2)));
    config.cid_generator(move || Box::new(SeededCids { rng: ChaCha12Rng::from_seed(seed) }));
    config
}

/// A generator of first destination connection ids for a dialling end.
pub(crate) fn first_cids(params: &EndpointParams) -> Arc<dyn Fn() -> ConnectionId + Send + Sync> {
    let rng = std::sync::Mutex::new(ChaCha12Rng::from_seed(derived(&params.seed, 3)));
    Arc::new(move || {
        let mut bytes = [0; FIRST_CID_BYTES];
        rng.lock().unwrap_or_else(std::sync::PoisonError::into_inner).fill_bytes(&mut bytes);
        ConnectionId::new(&bytes)
    })
}

/// The transport of the hop between relay and operator, at either of its ends.
pub(crate) fn operator_hop(
    settings: &Settings,
    congestion: Arc<dyn ControllerFactory + Send + Sync>,
) -> TransportConfig {
    let mut config = common(settings, congestion);
    config
        .packet_threshold(settings.loss_detection.packet_threshold)
        .time_threshold(settings.loss_detection.time_threshold);
    if settings.feedback.ack_packets > 1 {
        let mut acks = AckFrequencyConfig::default();
        acks.ack_eliciting_threshold(VarInt::from_u32(settings.feedback.ack_packets))
            .max_ack_delay(Some(settings.feedback.ack_delay.into()))
            // Reordering is for loss detection to judge, and asks for no acknowledgement.
            .reordering_threshold(VarInt::from_u32(0));
        config.ack_frequency_config(Some(acks));
    }
    config
}

/// The transport of the robot's end: its hop to the relay is short and clean, so QUIC's own loss
/// detection serves.
pub(crate) fn robot_hop(
    settings: &Settings,
    congestion: Arc<dyn ControllerFactory + Send + Sync>,
) -> TransportConfig {
    common(settings, congestion)
}

fn common(settings: &Settings, congestion: Arc<dyn ControllerFactory + Send + Sync>) -> TransportConfig {
    let mut config = TransportConfig::default();
    let idle = VarInt::from_u32(IDLE_TIMEOUT_MS);
    config
        .congestion_controller_factory(congestion)
        .initial_mtu(settings.mtu.initial.as_bytes() as u16)
        .mtu_discovery_config(settings.mtu.discovery.then(mtu_discovery))
        .enable_segmentation_offload(false)
        .max_idle_timeout(Some(idle.into()))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .max_concurrent_bidi_streams(VarInt::from_u32(1))
        .max_concurrent_uni_streams(VarInt::from_u32(STREAMS_MAX));
    config
}

fn mtu_discovery() -> MtuDiscoveryConfig {
    let mut config = MtuDiscoveryConfig::default();
    // A full queue that drops a run of large packets looks like a path that has stopped taking them.
    config.black_hole_cooldown(MTU_RETRY);
    config
}

/// How soon larger packets are tried again after they seemed not to get through.
const MTU_RETRY: Duration = Duration::from_secs(10);
/// Streams of frames that a peer may have open at once, when frames travel as streams.
const STREAMS_MAX: u32 = 256;
/// A peer that is silent this long is gone. Longer than any outage worth riding out.
const IDLE_TIMEOUT_MS: u32 = 30_000;
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Four bytes tell apart a relay's connections and cost the video little.
const CID_BYTES: usize = 4;
/// RFC 9000 §7.2: at least eight unpredictable bytes.
const FIRST_CID_BYTES: usize = 8;

/// Connection ids from a seed, since quinn's own come from the operating system.
struct SeededCids {
    rng: ChaCha12Rng,
}

impl ConnectionIdGenerator for SeededCids {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [0; CID_BYTES];
        self.rng.fill_bytes(&mut bytes);
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        CID_BYTES
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// The seed of the waiting times between dialling.
pub(crate) fn redial_seed(params: &EndpointParams) -> [u8; 32] {
    derived(&params.seed, 4)
}

/// An independent seed for each `purpose`.
fn derived(seed: &[u8; 32], purpose: u64) -> [u8; 32] {
    let mut rng = ChaCha12Rng::from_seed(*seed);
    rng.set_stream(purpose);
    let mut out = [0; 32];
    rng.fill_bytes(&mut out);
    out
}

/// quinn stamps address-validation tokens with calendar time. No such tokens are handed out here,
/// and a core without a clock has no calendar.
pub(crate) struct NoCalendar;

impl quinn_proto::TimeSource for NoCalendar {
    fn now(&self) -> std::time::SystemTime {
        std::time::SystemTime::UNIX_EPOCH
    }
}
