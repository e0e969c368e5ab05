//! What quinn-proto's endpoint configurations take in place of a TLS configuration.

use std::sync::Arc;

use quinn_proto::crypto::{ClientConfig, Keys, ServerConfig, Session, UnsupportedVersion};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, DEFAULT_SUPPORTED_VERSIONS, Side};

use super::message::NAME_BYTES_MAX;
use super::session::{NullSession, initial_keys, retry_tag};

/// Starts client sessions without encryption.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullClientConfig;

impl ClientConfig for NullClientConfig {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        if !DEFAULT_SUPPORTED_VERSIONS.contains(&version) {
            return Err(ConnectError::UnsupportedVersion);
        }
        if server_name.len() > NAME_BYTES_MAX {
            return Err(ConnectError::InvalidServerName(server_name.to_owned()));
        }
        Ok(Box::new(NullSession::client(server_name, params)))
    }
}

/// Starts server sessions without encryption.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullServerConfig;

impl ServerConfig for NullServerConfig {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        if !DEFAULT_SUPPORTED_VERSIONS.contains(&version) {
            return Err(UnsupportedVersion);
        }
        Ok(initial_keys(dst_cid, Side::Server))
    }

    fn retry_tag(&self, _version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        retry_tag(orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(NullSession::server(params))
    }
}
