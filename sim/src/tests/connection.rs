//! Whole connections between two quinn-proto endpoints under null and under real crypto.

use std::time::Duration;

use bytes::Bytes;
use quinn_proto::{Dir, StreamId};

use super::pair::{Crypto, Pair, null, real};

const MOMENT: Duration = Duration::from_millis(50);

fn connected(crypto: Crypto) -> Pair {
    let mut pair = Pair::new(crypto);
    pair.run(MOMENT);
    assert!(pair.client.connected && pair.server.connected, "{:?}", pair.client.lost);
    pair
}

fn exchange_datagrams(pair: &mut Pair) {
    for number in 0..20_u8 {
        let payload = Bytes::from(vec![number; 1000]);
        pair.client.connection().datagrams().send(payload.clone(), false).unwrap();
        pair.server.connection().datagrams().send(payload, false).unwrap();
        pair.run(MOMENT);
    }
    for end in [&pair.client, &pair.server] {
        let expected = (0..20).map(|number| vec![number; 1000]).collect::<Vec<_>>();
        assert_eq!(end.received, expected);
        assert_eq!(end.lost, None);
    }
}

fn send_stream(pair: &mut Pair, bytes: usize) -> Vec<u8> {
    let stream = pair.client.connection().streams().open(Dir::Uni).unwrap();
    let mut rest = &vec![0x5a; bytes][..];
    let mut got = Vec::new();
    for _ in 0..1000 {
        let mut sender = pair.client.connection().send_stream(stream);
        if let Ok(written) = sender.write(rest) {
            rest = &rest[written..];
        }
        if rest.is_empty() {
            let _ = sender.finish();
        }
        pair.run(Duration::from_millis(5));
        read_stream(pair, stream, &mut got);
        if got.len() == bytes {
            break;
        }
    }
    got
}

fn read_stream(pair: &mut Pair, stream: StreamId, got: &mut Vec<u8>) {
    let mut receiver = pair.server.connection().recv_stream(stream);
    let Ok(mut chunks) = receiver.read(true) else { return };
    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
        got.extend_from_slice(&chunk.bytes);
    }
    let _ = chunks.finalize();
}

fn converse(crypto: Crypto) {
    let mut pair = connected(crypto);
    exchange_datagrams(&mut pair);
    assert_eq!(send_stream(&mut pair, 300_000), vec![0x5a; 300_000]);
    for _ in 0..5 {
        pair.client.connection().force_key_update();
        pair.run(MOMENT);
        pair.client.received.clear();
        pair.server.received.clear();
        exchange_datagrams(&mut pair);
    }
    assert_eq!(pair.client.connection().stats().path.lost_packets, 0);
}

#[test]
fn null_connections_carry_datagrams_and_streams_across_key_updates() {
    converse(null());
}

#[test]
fn real_connections_carry_datagrams_and_streams_across_key_updates() {
    converse(real());
}

#[test]
fn both_send_the_same_datagrams() {
    let lengths = |crypto| {
        let mut pair = connected(crypto);
        exchange_datagrams(&mut pair);
        pair.datagrams
    };
    assert_eq!(lengths(null()), lengths(real()));
}

/// An altered tag is a lost packet, as with TLS, and nothing worse.
#[test]
fn altered_packets_are_dropped() {
    for crypto in [null(), real()] {
        let mut pair = connected(crypto);
        pair.meddle = Box::new(|datagram| *datagram.last_mut().unwrap() ^= 1);
        pair.client.connection().datagrams().send(Bytes::from_static(b"lost"), false).unwrap();
        pair.run(MOMENT);
        assert!(pair.server.received.is_empty());
        pair.meddle = Box::new(|_| ());
        pair.client.connection().datagrams().send(Bytes::from_static(b"not lost"), false).unwrap();
        pair.run(Duration::from_secs(1));
        assert_eq!(pair.server.received, [b"not lost"]);
        assert_eq!((pair.client.lost, pair.server.lost), (None, None));
    }
}

/// Bits of the first flights flipped one by one: no panic, and then a connection or a typed error.
#[test]
fn altered_handshakes_harm_nobody() {
    for bit in (0..1200 * 8).step_by(7) {
        let mut pair = Pair::new(null());
        pair.meddle = Box::new(move |datagram| {
            let bit = bit % (datagram.len() * 8);
            datagram[bit / 8] ^= 1 << (bit % 8);
        });
        pair.run(Duration::from_millis(3));
        pair.meddle = Box::new(|_| ());
        pair.run(Duration::from_secs(10));
        assert!(pair.client.connected || pair.client.lost.is_some(), "bit {bit}");
    }
}
