//! Null and real handshakes, message by message.

use std::io::Cursor;
use std::sync::Arc;

use quinn_proto::Side;
use quinn_proto::crypto::{ClientConfig, ServerConfig, Session};
use quinn_proto::transport_parameters::TransportParameters;

use super::pair::{null, real};
use crate::tls::SERVER_NAME;

/// The lengths of everything written in a handshake, in order: client hello, server hello, the rest
/// of the server's flight, client finished.
fn flight_lengths((client, server): (Arc<dyn ClientConfig>, Arc<dyn ServerConfig>)) -> Vec<usize> {
    let params = TransportParameters::read(Side::Client, &mut Cursor::new(&[])).unwrap();
    let mut client = client.start_session(1, SERVER_NAME, &params).unwrap();
    let mut server = server.start_session(1, &params);
    let mut lengths = Vec::new();
    for _ in 0..4 {
        pass(&mut *client, &mut *server, &mut lengths);
        pass(&mut *server, &mut *client, &mut lengths);
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    lengths
}

/// Hands over what one call writes.
fn pass(from: &mut dyn Session, to: &mut dyn Session, lengths: &mut Vec<usize>) {
    let mut message = Vec::new();
    from.write_handshake(&mut message);
    if !message.is_empty() {
        lengths.push(message.len());
        to.read_handshake(&message).unwrap();
    }
}

#[test]
fn null_flights_are_as_long_as_real_ones() {
    assert_eq!(flight_lengths(null()), flight_lengths(real()));
}

#[test]
fn real_flights_are_always_equally_long() {
    assert_eq!(flight_lengths(real()), flight_lengths(real()));
}
