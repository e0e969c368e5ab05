//! The keys of an endpoint: for stateless resets and for address validation tokens.
//!
//! Used with real TLS too: neither protects a packet, and the usual ones are drawn from the
//! operating system.

use quinn_proto::crypto::{AeadKey, CryptoError, HandshakeTokenKey, HmacKey};

use super::mix;
use super::packet::{TAG_BYTES, TOKEN_BIT_CLEAR};

/// Signs connection ids for stateless reset tokens.
///
/// No signature has the bit set that every packet's tag begins with, so no packet is ever taken for
/// a stateless reset.
#[derive(Debug, Clone, Copy)]
pub struct NullHmacKey {
    secret: u64,
}

impl NullHmacKey {
    /// The key that follows from `seed`.
    pub fn new(seed: &[u8; 32]) -> Self {
        Self { secret: mix::bytes(HMAC, seed) }
    }
}

impl HmacKey for NullHmacKey {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        mix::fill(mix::bytes(self.secret, data), signature_out);
        if let Some(first) = signature_out.first_mut() {
            *first &= !TOKEN_BIT_CLEAR;
        }
    }

    fn signature_len(&self) -> usize {
        SIGNATURE_BYTES
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = [0; SIGNATURE_BYTES];
        self.sign(data, &mut expected);
        if signature == expected { Ok(()) } else { Err(CryptoError) }
    }
}

/// Seals retry and address validation tokens.
#[derive(Debug, Clone, Copy)]
pub struct NullTokenKey {
    secret: u64,
}

impl NullTokenKey {
    /// The key that follows from `seed`.
    pub fn new(seed: &[u8; 32]) -> Self {
        Self { secret: mix::bytes(TOKEN, seed) }
    }
}

impl HandshakeTokenKey for NullTokenKey {
    fn aead_from_hkdf(&self, random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(NullAead { secret: mix::bytes(self.secret, random_bytes) })
    }
}

struct NullAead {
    secret: u64,
}

impl NullAead {
    fn tag(&self, data: &[u8], additional_data: &[u8]) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        mix::fill(mix::bytes(mix::bytes(self.secret, additional_data), data), &mut tag);
        tag
    }
}

impl AeadKey for NullAead {
    fn seal(&self, data: &mut Vec<u8>, additional_data: &[u8]) -> Result<(), CryptoError> {
        let tag = self.tag(data, additional_data);
        data.extend_from_slice(&tag);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let length = data.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        let (data, tag) = data.split_at_mut(length);
        if *tag == self.tag(data, additional_data) { Ok(data) } else { Err(CryptoError) }
    }
}

/// That of HMAC-SHA-256.
const SIGNATURE_BYTES: usize = 32;

/// Keep the two secrets of one seed apart.
const HMAC: u64 = 0x686d_6163_6b65_7931;
const TOKEN: u64 = 0x746f_6b65_6e6b_6579;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::packet::MAGIC;
    use super::*;

    proptest! {
        /// quinn takes a datagram for a stateless reset when its last 16 bytes are the first 16 of
        /// a signature; every packet's last 16 bytes begin with the magic.
        #[test]
        fn no_signature_begins_like_a_tag(seed: [u8; 32], id in proptest::collection::vec(any::<u8>(), 0..=20)) {
            let key = NullHmacKey::new(&seed);
            let mut signature = vec![0; key.signature_len()];
            key.sign(&id, &mut signature);
            prop_assert_eq!(signature[0] & TOKEN_BIT_CLEAR, 0);
            prop_assert_ne!(&signature[..4], &MAGIC[..]);
            prop_assert!(key.verify(&id, &signature).is_ok());
        }

        #[test]
        fn tokens_open_only_whole(data in proptest::collection::vec(any::<u8>(), 0..64), bit: prop::sample::Index) {
            let key = NullTokenKey::new(&[1; 32]).aead_from_hkdf(b"nonce");
            let mut sealed = data.clone();
            key.seal(&mut sealed, b"more").expect("sealing cannot fail");
            let bit = bit.index(sealed.len() * 8);
            let mut altered = sealed.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(key.open(&mut altered, b"more").is_err());
            prop_assert!(key.open(&mut sealed.clone(), b"other").is_err());
            prop_assert_eq!(key.open(&mut sealed, b"more").expect("it is genuine"), &data[..]);
        }
    }

    #[test]
    fn signatures_differ_by_seed_and_data() {
        let sign = |seed: u8, data: &[u8]| {
            let mut out = [0; SIGNATURE_BYTES];
            NullHmacKey::new(&[seed; 32]).sign(data, &mut out);
            out
        };
        assert_ne!(sign(1, b"a"), sign(2, b"a"));
        assert_ne!(sign(1, b"a"), sign(1, b"b"));
        assert!(NullHmacKey::new(&[1; 32]).verify(b"a", &sign(1, b"b")).is_err());
        assert!(NullHmacKey::new(&[1; 32]).verify(b"a", &sign(1, b"a")[..31]).is_err());
    }
}
