//! Real TLS 1.3 for `Crypto::Tls`: rustls and ring behind quinn-proto's own adapter.
//!
//! One Ed25519 certificate a process, which clients trust and nothing else. Ed25519, because its
//! signatures have one length; a fixed serial number and clock, because theirs would vary. What is
//! left to chance is the content of keys, which reaches no length and no decision, so that a cell
//! sends the same packets in every process.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair, PKCS_ED25519, SerialNumber};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, KeyLog, RootCertStore, ServerConfig, version};

use crate::error::SimError;
use crate::tap::KeyLogSink;

/// The two configurations that trust each other.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) client: Arc<QuicClientConfig>,
    pub(crate) server: Arc<QuicServerConfig>,
}

/// The name that the certificate is for.
pub(crate) const SERVER_NAME: &str = "relay";

/// This process's configurations, made at the first call.
pub(crate) fn tls() -> Result<Tls, SimError> {
    static TLS: OnceLock<Result<Tls, String>> = OnceLock::new();
    TLS.get_or_init(|| make(None)).clone().map_err(SimError::Tls)
}

/// Configurations of their own that tell the secrets of every connection.
pub(crate) fn tls_with_key_log(sink: &KeyLogSink) -> Result<Tls, SimError> {
    make(Some(Arc::new(Keys(Arc::clone(sink))))).map_err(SimError::Tls)
}

fn make(key_log: Option<Arc<Keys>>) -> Result<Tls, String> {
    let (certificate, key) = certificate().map_err(|error| error.to_string())?;
    let provider = Arc::new(ring::default_provider());
    Ok(Tls {
        client: client(&provider, certificate.clone())?,
        server: server(&provider, certificate, key, key_log)?,
    })
}

fn certificate() -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
    let key = KeyPair::generate_for(&PKCS_ED25519)?;
    let mut params = CertificateParams::new([SERVER_NAME.to_owned()])?;
    // Otherwise it is a hash of the key, and some hashes are a byte shorter than others.
    params.serial_number = Some(SerialNumber::from(SERIAL));
    let certificate = params.self_signed(&key)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Ok((certificate.der().clone(), key.into()))
}

fn client(
    provider: &Arc<CryptoProvider>,
    trusted: CertificateDer<'static>,
) -> Result<Arc<QuicClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).map_err(|error| error.to_string())?;
    let mut config = ClientConfig::builder_with_details(provider.clone(), Arc::new(FixedTime))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![ALPN.to_vec()];
    // A ticket from one cell must not shorten the handshake of the next.
    config.resumption = rustls::client::Resumption::disabled();
    let config = QuicClientConfig::try_from(config).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

fn server(
    provider: &Arc<CryptoProvider>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    key_log: Option<Arc<Keys>>,
) -> Result<Arc<QuicServerConfig>, String> {
    let mut config = ServerConfig::builder_with_details(provider.clone(), Arc::new(FixedTime))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(|error| error.to_string())?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    // Both sides know the same secrets; one of them telling is enough.
    if let Some(key_log) = key_log {
        config.key_log = key_log;
    }
    let config = QuicServerConfig::try_from(config).map_err(|error| error.to_string())?;
    Ok(Arc::new(config))
}

/// Tells secrets in the format of NSS: label, client random and secret.
struct Keys(KeyLogSink);

impl KeyLog for Keys {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        (self.0)(&format!("{label} {} {}", hex(client_random), hex(secret)));
    }
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

/// Certificates are judged as of one fixed moment, since the simulator has no calendar.
#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(NOON))
    }
}

/// 2026-01-01 12:00 UTC, within the validity that rcgen gives by default (1975 to 4096).
const NOON: Duration = Duration::from_secs(1_767_268_800);

const SERIAL: u64 = 0x4152_4342_454e_4348;

const ALPN: &[u8] = b"arcbench";
