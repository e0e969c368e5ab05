//! Real TLS 1.3 between relay and ends, each of which shows the other a certificate of the same authority.
//!
//! One authority a run or a deployment, Ed25519 throughout. The relay's certificate serves for accepting and the ends' for
//! dialling, so that an end cannot stand in for the relay. Certificates of other authorities, the system's too, count for nothing.

mod certificates;
mod files;
mod purpose;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::crypto::{self, HandshakeTokenKey, HmacKey};
use ring::rand::SecureRandom;
use ring::{hkdf, hmac};
use rustls::crypto::{CryptoProvider, ring as ring_provider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, InconsistentKeys, RootCertStore, ServerConfig, version};

use crate::error::RealError;

pub use certificates::{Certificates, Pair};
pub use files::{others_can_read, read_text, write_new};
pub use purpose::Purpose;

/// The name that a relay's certificate carries when nobody says otherwise, and that ends ask for.
pub const SERVER_NAME: &str = "relay";

/// One party's certificate and key, and the authority that its peers' certificates must come from.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authority: Vec<CertificateDer<'static>>,
}

impl Identity {
    /// Reads them from PEM files. `certificate` may hold intermediate certificates after the party's own.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or does not hold what it should, or if the key is not the certificate's.
    pub fn read(certificate: &Path, key: &Path, authority: &Path) -> Result<Self, RealError> {
        let read = Self {
            chain: files::certificates(certificate, &read_text(certificate)?)?,
            key: files::private_key(key, &read_text(key)?)?,
            authority: files::certificates(authority, &read_text(authority)?)?,
        };
        let pair = CertifiedKey::from_der(read.chain.clone(), read.key.clone_key(), &provider());
        match pair {
            Ok(_) => Ok(read),
            Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                Err(RealError::KeyMismatch { key: key.to_owned(), certificate: certificate.to_owned() })
            }
            Err(error) => Err(files::failed("use the key", key, &error)),
        }
    }

    /// What an end dials with.
    ///
    /// # Errors
    ///
    /// If key and certificate do not belong together, or are of a kind that is not supported.
    pub fn client(&self) -> Result<Arc<dyn crypto::ClientConfig>, RealError> {
        let mut config = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(tls)?
            .with_root_certificates(self.roots()?)
            .with_client_auth_cert(self.chain.clone(), self.key.clone_key())
            .map_err(tls)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        // A ticket would let a peer back in without its certificate.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Arc::new(QuicClientConfig::try_from(config).map_err(tls)?))
    }

    /// What a relay accepts with. Peers without a certificate of the authority do not get through the handshake.
    ///
    /// # Errors
    ///
    /// As [`client`](Self::client).
    pub fn server(&self) -> Result<Arc<dyn crypto::ServerConfig>, RealError> {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(self.roots()?), provider())
            .build()
            .map_err(tls)?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&version::TLS13])
            .map_err(tls)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .map_err(tls)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        config.send_tls13_tickets = 0;
        Ok(Arc::new(QuicServerConfig::try_from(config).map_err(tls)?))
    }

    /// The key of stateless reset tokens. It follows from the private key, so that a relay that was killed and started
    /// again can tell its old peers at once that it has forgotten them (RFC 9000 §10.3).
    pub fn reset_key(&self) -> Arc<dyn HmacKey> {
        let secret = hmac::Key::new(hmac::HMAC_SHA256, self.key.secret_der());
        let derived = hmac::sign(&secret, b"arcbench stateless reset");
        Arc::new(hmac::Key::new(hmac::HMAC_SHA256, derived.as_ref()))
    }

    fn roots(&self) -> Result<RootCertStore, RealError> {
        let mut roots = RootCertStore::empty();
        for certificate in &self.authority {
            roots.add(certificate.clone()).map_err(tls)?;
        }
        Ok(roots)
    }
}

/// A fresh key of address-validation tokens, which are not handed out; what comes as one is refused by it.
///
/// # Errors
///
/// If the system has no randomness.
pub fn token_key() -> Result<Arc<dyn HandshakeTokenKey>, RealError> {
    Ok(Arc::new(hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(&random()?)))
}

/// Fresh secret randomness of the operating system.
///
/// # Errors
///
/// If the system has none.
pub fn random() -> Result<[u8; 32], RealError> {
    let mut bytes = [0; 32];
    ring::rand::SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| RealError::Tls("the system gives no randomness".to_owned()))?;
    Ok(bytes)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring_provider::default_provider())
}

fn tls(error: impl std::fmt::Display) -> RealError {
    RealError::Tls(error.to_string())
}

const ALPN: &[u8] = b"arcbench";
