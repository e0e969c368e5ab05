//! Making an authority and the certificates of one deployment.

use std::path::Path;

use bench::End;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose, PKCS_ED25519,
};

use rustls::pki_types::ServerName;

use super::files::{certificates, private_key, write_new};
use super::{Identity, tls};
use crate::error::RealError;

/// A certificate and its private key, as PEM.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// The key, as PKCS #8.
    pub key: String,
}

/// An authority's certificate, and a certificate each for relay, robot and operator. The authority's key is not kept: nobody
/// can add to the set.
#[derive(Clone)]
pub struct Certificates {
    authority: String,
    pairs: [Pair; 3],
}

impl Certificates {
    /// Makes a new set. The relay's certificate is for `names`: host names or IP addresses, by which ends may ask for it.
    ///
    /// # Errors
    ///
    /// If the system has no randomness, or a name is neither a DNS name (`*.example.org` is one) nor an IP address.
    pub fn generate(names: &[String]) -> Result<Self, RealError> {
        if let Some(wrong) = names.iter().find(|name| !is_name(name)) {
            return Err(RealError::NoName(wrong.clone()));
        }
        let mut params = CertificateParams::new(Vec::new()).map_err(tls)?;
        params.distinguished_name.push(DnType::CommonName, "arcbench authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = CertifiedIssuer::self_signed(params, key()?).map_err(tls)?;
        let pair = |end: End| {
            let (names, usage) = match end {
                End::Relay => (names.to_vec(), ExtendedKeyUsagePurpose::ServerAuth),
                End::Robot | End::Operator => {
                    (vec![end.name().to_owned()], ExtendedKeyUsagePurpose::ClientAuth)
                }
            };
            let key = key()?;
            let mut params = CertificateParams::new(names).map_err(tls)?;
            params.distinguished_name.push(DnType::CommonName, end.name());
            params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
            params.extended_key_usages = vec![usage];
            let certificate = params.signed_by(&key, &authority).map_err(tls)?;
            Ok::<_, RealError>(Pair { certificate: certificate.pem(), key: key.serialize_pem() })
        };
        let pairs = [pair(End::Robot)?, pair(End::Relay)?, pair(End::Operator)?];
        Ok(Self { authority: authority.pem(), pairs })
    }

    /// One party's share.
    ///
    /// # Errors
    ///
    /// Never for a set that was generated.
    pub fn identity(&self, end: End) -> Result<Identity, RealError> {
        let Pair { certificate, key } = &self.pairs[end as usize];
        let name = Path::new(end.name());
        Ok(Identity {
            chain: certificates(name, certificate)?,
            key: private_key(name, key)?,
            authority: certificates(name, &self.authority)?,
        })
    }

    /// The same certificates, with the authority of others as the one to trust.
    #[cfg(test)]
    pub(crate) fn trusting(&self, others: &Self) -> Self {
        Self { authority: others.authority.clone(), pairs: self.pairs.clone() }
    }

    /// Writes `ca.pem` and `relay.pem`, `relay.key`, and so on for robot and operator, into `folder`. Keys can be read by
    /// their owner alone.
    ///
    /// # Errors
    ///
    /// If one of the files is there already, or cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), RealError> {
        write_new(&folder.join("ca.pem"), &self.authority, false)?;
        for end in [End::Robot, End::Relay, End::Operator] {
            let Pair { certificate, key } = &self.pairs[end as usize];
            write_new(&folder.join(format!("{}.pem", end.name())), certificate, false)?;
            write_new(&folder.join(format!("{}.key", end.name())), key, true)?;
        }
        Ok(())
    }
}

fn is_name(text: &str) -> bool {
    let whole = text.strip_prefix("*.").unwrap_or(text);
    match ServerName::try_from(whole) {
        Ok(ServerName::DnsName(_)) => true,
        Ok(ServerName::IpAddress(_)) => whole == text,
        Ok(_) | Err(_) => false,
    }
}

fn key() -> Result<KeyPair, RealError> {
    KeyPair::generate_for(&PKCS_ED25519).map_err(tls)
}
