//! QUIC packet protection that protects nothing, for simulation.
//!
//! Real TLS would spend a third of a cell's time on ciphers whose outcome is known beforehand, and
//! draws its keys from the operating system. This takes its place behind quinn-proto's crypto
//! traits: the same flights in the same packets, a tag of the same length on every packet that is
//! checked on receipt, key updates, and no encryption, no randomness and no secrecy. Handshake
//! messages are as long as those of rustls with an Ed25519 certificate, so that a connection takes
//! the same packets with either.
//!
//! It keeps honest peers honest: a packet under the wrong keys, of another space, direction,
//! generation or connection, with another packet number or header is refused, as with TLS. It
//! defends against nobody. What the network hands in is still treated as hostile: it gives a typed
//! error and never a panic.

mod config;
mod keys;
mod message;
mod mix;
mod packet;
mod session;

pub use config::{NullClientConfig, NullServerConfig};
pub use keys::{NullHmacKey, NullTokenKey};
pub use packet::TAG_BYTES;
pub use session::HandshakeData;
