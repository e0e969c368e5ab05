//! The tag on a packet, and the header protection that does nothing.

use bytes::BytesMut;
use quinn_proto::Side;
use quinn_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};

use super::mix;

/// Length of the tag that ends every packet; that of AES-GCM.
pub const TAG_BYTES: usize = 16;

/// What every tag begins with. A stateless reset ends in a token that is compared with the same 16
/// bytes of the packet, so no token may begin with it: tokens have [`TOKEN_BIT_CLEAR`] clear.
pub(super) const MAGIC: [u8; 4] = [0xf1, b'n', b'u', b'l'];

/// The bit of the first byte that is set in every tag and clear in every signature.
pub(super) const TOKEN_BIT_CLEAR: u8 = 0x80;

const _: () = assert!(MAGIC[0] & TOKEN_BIT_CLEAR != 0);

/// The packet number space that keys are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Space {
    Initial = 0,
    Handshake = 1,
    Data = 2,
}

/// Seals and opens the packets of one direction.
///
/// The tag is: the magic, the space, the sending side, the generation, and a digest keyed by the
/// connection's secret. The digest covers packet number, header and payload length, but not the
/// payload: it is there to refuse packets that belong elsewhere, and reading every byte twice more
/// would cost more than the rest of the simulator. Nothing in the simulator alters payloads: a
/// corrupted datagram is altered in its tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct NullPacketKey {
    prefix: [u8; 8],
    seed: u64,
}

impl NullPacketKey {
    pub(super) fn new(secret: u64, space: Space, sender: Side, generation: u32) -> Self {
        let [low, high, ..] = generation.to_le_bytes();
        let prefix = [MAGIC[0], MAGIC[1], MAGIC[2], MAGIC[3], space as u8, sender as u8, low, high];
        let seed = mix::word(mix::word(secret, u64::from_le_bytes(prefix)), u64::from(generation));
        Self { prefix, seed }
    }

    fn tag(&self, packet: u64, header: &[u8], payload_bytes: usize) -> [u8; TAG_BYTES] {
        let state = mix::word(mix::word(self.seed, packet), payload_bytes as u64);
        let mut tag = [0; TAG_BYTES];
        tag[..8].copy_from_slice(&self.prefix);
        tag[8..].copy_from_slice(&mix::bytes(state, header).to_le_bytes());
        tag
    }
}

impl PacketKey for NullPacketKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        let (header, rest) = buf.split_at_mut(header_len);
        let payload_bytes = rest.len() - TAG_BYTES;
        rest[payload_bytes..].copy_from_slice(&self.tag(packet, header, payload_bytes));
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let payload_bytes = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        if payload[payload_bytes..] != self.tag(packet, header, payload_bytes) {
            return Err(CryptoError);
        }
        payload.truncate(payload_bytes);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    /// That of AES-GCM in rustls, so that key updates happen at the same packets.
    fn confidentiality_limit(&self) -> u64 {
        1 << 24
    }

    /// That of AES-GCM (RFC 9001 §6.6).
    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

/// Leaves headers as they are.
#[derive(Debug, Clone, Copy)]
struct NullHeaderKey;

impl HeaderKey for NullHeaderKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}

    fn encrypt(&self, _: usize, _: &mut [u8]) {}

    /// That of AES (RFC 9001 §5.4.3): the least length of a packet follows from it.
    fn sample_size(&self) -> usize {
        16
    }
}

/// Both directions of packet protection as `side` uses them.
pub(super) fn packet_keys(
    secret: u64,
    space: Space,
    side: Side,
    generation: u32,
) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: Box::new(NullPacketKey::new(secret, space, side, generation)),
        remote: Box::new(NullPacketKey::new(secret, space, !side, generation)),
    }
}

/// All keys of a space in their first generation.
pub(super) fn keys(secret: u64, space: Space, side: Side) -> Keys {
    Keys {
        header: KeyPair { local: Box::new(NullHeaderKey), remote: Box::new(NullHeaderKey) },
        packet: packet_keys(secret, space, side, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &[u8] = b"\x41destcid\x00\x07";
    const PAYLOAD: &[u8] = b"a payload of some bytes";

    fn seal(key: &NullPacketKey, packet: u64) -> BytesMut {
        let mut buffer = [HEADER, PAYLOAD, &[0; TAG_BYTES]].concat();
        key.encrypt(packet, &mut buffer, HEADER.len());
        assert_eq!(&buffer[..HEADER.len()], HEADER, "the header is not altered");
        BytesMut::from(&buffer[HEADER.len()..])
    }

    fn client_data() -> NullPacketKey {
        NullPacketKey::new(99, Space::Data, Side::Client, 3)
    }

    #[test]
    fn what_was_sealed_opens() {
        let mut sealed = seal(&client_data(), 7);
        assert_eq!(sealed.len(), PAYLOAD.len() + TAG_BYTES);
        client_data().decrypt(7, HEADER, &mut sealed).expect("it is genuine");
        assert_eq!(&sealed[..], PAYLOAD);
    }

    #[test]
    fn every_flipped_bit_of_the_tag_is_refused() {
        for bit in 0..TAG_BYTES * 8 {
            let mut sealed = seal(&client_data(), 7);
            sealed[PAYLOAD.len() + bit / 8] ^= 1 << (bit % 8);
            assert!(client_data().decrypt(7, HEADER, &mut sealed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn every_flipped_bit_of_the_header_is_refused() {
        for bit in 0..HEADER.len() * 8 {
            let mut sealed = seal(&client_data(), 7);
            let mut header = HEADER.to_vec();
            header[bit / 8] ^= 1 << (bit % 8);
            assert!(client_data().decrypt(7, &header, &mut sealed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn keys_of_anything_else_refuse() {
        let others = [
            NullPacketKey::new(98, Space::Data, Side::Client, 3),
            NullPacketKey::new(99, Space::Handshake, Side::Client, 3),
            NullPacketKey::new(99, Space::Initial, Side::Client, 3),
            NullPacketKey::new(99, Space::Data, Side::Server, 3),
            NullPacketKey::new(99, Space::Data, Side::Client, 4),
            NullPacketKey::new(99, Space::Data, Side::Client, 3 + (1 << 16)),
        ];
        for other in others {
            assert!(other.decrypt(7, HEADER, &mut seal(&client_data(), 7)).is_err(), "{other:?}");
        }
        assert!(client_data().decrypt(8, HEADER, &mut seal(&client_data(), 7)).is_err());
    }

    #[test]
    fn lengths_that_no_seal_makes_are_refused() {
        for bytes in 0..TAG_BYTES {
            let mut short = BytesMut::zeroed(bytes);
            assert!(client_data().decrypt(7, HEADER, &mut short).is_err(), "{bytes}");
        }
        let mut longer = BytesMut::from(&[b"x", &seal(&client_data(), 7)[..]].concat()[..]);
        assert!(client_data().decrypt(7, HEADER, &mut longer).is_err());
    }

    #[test]
    fn both_sides_agree_on_directions() {
        let client = packet_keys(5, Space::Handshake, Side::Client, 0);
        let server = packet_keys(5, Space::Handshake, Side::Server, 0);
        let mut buffer = [HEADER, PAYLOAD, &[0; TAG_BYTES]].concat();
        client.local.encrypt(1, &mut buffer, HEADER.len());
        let sealed = BytesMut::from(&buffer[HEADER.len()..]);
        assert!(server.remote.decrypt(1, HEADER, &mut sealed.clone()).is_ok());
        assert!(client.remote.decrypt(1, HEADER, &mut sealed.clone()).is_err(), "not one's own packets");
    }
}
