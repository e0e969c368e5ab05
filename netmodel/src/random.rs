//! Seeded random streams.
//!
//! A cell has one root key. Each use of chance (a hop, a direction, a purpose) takes its own
//! stream from it by a label, so that what one consumer draws never shifts what another meets.
//! The streams are `ChaCha8` key streams, equal on every machine. This is not for secrets.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use units::Share;

use crate::normal::normal_quantile;

/// The root of one cell's randomness: 32 bytes, from which labelled streams are taken.
#[derive(Clone, PartialEq, Eq)]
pub struct StreamKey([u8; 32]);

impl StreamKey {
    /// The root with this `seed`. Two keys with equal seeds give equal streams.
    pub const fn new(seed: [u8; 32]) -> Self {
        Self(seed)
    }

    /// The stream of `label`, from its start.
    ///
    /// The label is hashed to the 64-bit stream number of `ChaCha` (FNV-1a with the finaliser of
    /// `SplitMix64`), so the same key and label always give the same stream, whatever other streams
    /// were taken before.
    pub fn stream(&self, label: &str) -> Stream {
        let mut rng = ChaCha8Rng::from_seed(self.0);
        rng.set_stream(label_hash(label));
        Stream { rng }
    }
}

impl std::fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StreamKey({:02x}{:02x}..)", self.0[0], self.0[1])
    }
}

/// One stream of random draws.
///
/// Every method but [`Stream::u32`] takes exactly one 64-bit word of the stream, so that a
/// consumer that makes the same number of calls per item stays in step with its item numbers.
#[derive(Debug, Clone)]
pub struct Stream {
    rng: ChaCha8Rng,
}

impl Stream {
    /// A uniform 64-bit word.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        self.rng.next_u64()
    }

    /// A uniform 32-bit word; takes 32 bits of the stream.
    #[inline]
    pub fn u32(&mut self) -> u32 {
        self.rng.next_u32()
    }

    /// A uniform number in `[0, 1)`, in steps of 2⁻⁵³.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit(self.u64())
    }

    /// True with the chance of `share`.
    #[inline]
    pub fn chance(&mut self, share: Share) -> bool {
        self.unit() < share.as_f64()
    }

    /// A uniform integer in `[low, high)`; `low` if the range is empty.
    ///
    /// The word is scaled, not rejected, so that one call takes one word; the bias is under
    /// (high − low) / 2⁶⁴.
    #[inline]
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        let width = high.saturating_sub(low);
        low + ((u128::from(self.u64()) * u128::from(width)) >> 64) as u64
    }

    /// A standard normal number (mean 0, standard deviation 1), by inversion.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        normal_quantile(open_unit(self.u64()))
    }

    /// An exponential number of mean 1, by inversion.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(open_unit(self.u64()))
    }
}

/// The top 53 bits of `word` as a number in `[0, 1)`.
#[inline]
pub(crate) fn unit(word: u64) -> f64 {
    (word >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
}

/// The top 52 bits of `word` as a number in `(0, 1)`: neither end can occur.
#[inline]
pub(crate) fn open_unit(word: u64) -> f64 {
    ((word >> 12) as f64 + 0.5) * (1.0 / 4_503_599_627_370_496.0)
}

fn label_hash(label: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in label.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> StreamKey {
        StreamKey::new([7; 32])
    }

    #[test]
    fn streams_depend_on_seed_and_label_alone() {
        let mut first = key().stream("operator-hop/down/loss");
        let _ = key().stream("operator-hop/down/jitter").u64();
        let mut again = key().stream("operator-hop/down/loss");
        let mut other = key().stream("operator-hop/up/loss");
        let mut reseeded = StreamKey::new([8; 32]).stream("operator-hop/down/loss");
        let draws: Vec<u64> = (0..100).map(|_| first.u64()).collect();
        assert_eq!(draws, (0..100).map(|_| again.u64()).collect::<Vec<_>>());
        assert_ne!(draws, (0..100).map(|_| other.u64()).collect::<Vec<_>>());
        assert_ne!(draws, (0..100).map(|_| reseeded.u64()).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_words_are_pinned() {
        // A change here changes every result ever published: it must be meant.
        let mut stream = key().stream("pinned");
        let words = [stream.u64(), stream.u64()];
        assert_eq!(words, PINNED);
    }

    const PINNED: [u64; 2] = [7_639_324_640_703_648_757, 9_716_110_139_592_941_373];

    #[test]
    fn draws_have_their_moments() {
        let mut stream = key().stream("moments");
        let n = 200_000;
        let (mut unit, mut normal, mut square, mut exponential) = (0.0, 0.0, 0.0, 0.0);
        let mut range = 0;
        for _ in 0..n {
            unit += stream.unit();
            let z = stream.normal();
            normal += z;
            square += z * z;
            exponential += stream.exponential();
            range += stream.range(10, 21);
        }
        let n = f64::from(n);
        assert!((unit / n - 0.5).abs() < 0.003);
        assert!((normal / n).abs() < 0.01);
        assert!((square / n - 1.0).abs() < 0.015);
        assert!((exponential / n - 1.0).abs() < 0.01);
        assert!((f64::from(u32::try_from(range).unwrap()) / n - 15.0).abs() < 0.04);
    }

    #[test]
    fn an_empty_range_gives_its_start() {
        assert_eq!(key().stream("range").range(5, 5), 5);
    }
}
