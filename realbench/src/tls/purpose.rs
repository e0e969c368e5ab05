//! Whether a certificate is of the kind that its owner needs, before any peer has to say that it is not.
//!
//! What counts is what peers judge by: the extended key usage (RFC 5280 §4.2.1.12) and the time of validity. Its authority is not
//! asked about here, since a peer may have another one than this side; the subject means nothing.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{CertificateError, Error};

use super::{Identity, provider, tls};
use crate::error::RealError;

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Accepting connections: a relay's.
    Relay,
    /// Dialling: a robot's or an operator's.
    End,
}

impl Identity {
    /// Checks that the certificate serves its owner, which every peer would check again.
    ///
    /// # Errors
    ///
    /// If it is for the other side, or not valid at this time.
    pub fn check(&self, purpose: Purpose) -> Result<(), RealError> {
        let Some((end, between)) = self.chain.split_first() else { return Ok(()) };
        let (roots, now) = (Arc::new(self.roots()?), UnixTime::now());
        let verified = match purpose {
            Purpose::Relay => {
                let verifier =
                    WebPkiServerVerifier::builder_with_provider(roots, provider()).build().map_err(tls)?;
                // Which names it must carry is for ends to say.
                let name = ServerName::from(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
                verifier.verify_server_cert(end, between, &name, &[], now).map(drop)
            }
            Purpose::End => {
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(roots, provider()).build().map_err(tls)?;
                verifier.verify_client_cert(end, between, now).map(drop)
            }
        };
        let Err(Error::InvalidCertificate(error)) = verified else { return Ok(()) };
        match error {
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                Err(RealError::Purpose { purpose })
            }
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => Err(RealError::OutOfDate(error.to_string())),
            // Peers may have another authority, and ask for another name; what else there is they say.
            _ => Ok(()),
        }
    }
}
