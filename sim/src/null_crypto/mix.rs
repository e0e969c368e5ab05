//! A fast keyed digest that is not cryptographic.

/// Folds one word into a state. For either argument held fixed this is a bijection of the other, so
/// two inputs that differ in one word never meet.
pub(super) const fn word(state: u64, word: u64) -> u64 {
    let mixed = (state ^ word).wrapping_mul(ODD);
    mixed ^ (mixed >> 29)
}

/// Folds bytes into a state, with their length, so that no padding can be mistaken for content.
pub(super) fn bytes(state: u64, data: &[u8]) -> u64 {
    let mut state = word(state, data.len() as u64);
    let mut chunks = data.chunks_exact(8);
    for chunk in &mut chunks {
        let whole = <[u8; 8]>::try_from(chunk).expect("chunks of eight are eight bytes");
        state = word(state, u64::from_le_bytes(whole));
    }
    let rest = chunks.remainder();
    if rest.is_empty() {
        return state;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    word(state, u64::from_le_bytes(last))
}

/// Fills `out` with words derived from `state`.
pub(super) fn fill(state: u64, out: &mut [u8]) {
    for (index, chunk) in out.chunks_mut(8).enumerate() {
        let derived = word(word(state, index as u64), FILL);
        chunk.copy_from_slice(&derived.to_le_bytes()[..chunk.len()]);
    }
}

/// 2^64 divided by the golden ratio, made odd: the multiplier of Fibonacci hashing.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Separates what [`fill`] derives from what is folded further.
const FILL: u64 = 0x6669_6c6c_6669_6c6c;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_not_content() {
        assert_ne!(bytes(1, b"abc"), bytes(1, b"abc\0"));
        assert_ne!(bytes(1, b""), bytes(1, b"\0"));
    }

    #[test]
    fn every_flipped_bit_changes_the_digest() {
        let data = *b"twenty-one bytes long";
        let digest = bytes(7, &data);
        for bit in 0..data.len() * 8 {
            let mut other = data;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(bytes(7, &other), digest, "bit {bit}");
        }
    }
}
