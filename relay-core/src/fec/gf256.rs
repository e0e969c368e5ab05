//! Arithmetic in GF(2^8), and sums of many multiples of byte strings.
//!
//! The field is that of RFC 8681 §3.7.1: polynomials modulo x^8 + x^4 + x^3 + x^2 + 1. Used by the sliding
//! window only; the code within a frame brings its own field.

/// The field's polynomial without its highest term.
const POLYNOMIAL: u8 = 0x1d;

/// Products of every two elements, so that multiplying a string by one element looks in one row.
static PRODUCTS: [[u8; 256]; 256] = products();

/// Inverses of all elements; zero for zero.
static INVERSES: [u8; 256] = inverses();

/// `a` times x.
const fn times_x(a: u8) -> u8 {
    (a << 1) ^ (POLYNOMIAL & 0u8.wrapping_sub(a >> 7))
}

#[expect(clippy::large_stack_arrays, reason = "the compiler works it out; it is never on a stack")]
const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        // The row of a from the rows of its powers of two, in turn.
        let mut power = a as u8;
        let mut bit = 1;
        while bit < 256 {
            let mut low = 0;
            while low < bit {
                table[a][bit + low] = power ^ table[a][low];
                low += 1;
            }
            power = times_x(power);
            bit *= 2;
        }
        a += 1;
    }
    table
}

const fn inverses() -> [u8; 256] {
    let products = products();
    let mut inverses = [0; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while products[a][b] != 1 {
            b += 1;
        }
        inverses[a] = b as u8;
        a += 1;
    }
    inverses
}

/// The product of two elements.
#[cfg(test)]
pub(super) fn product(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

/// The element whose product with `a` is 1; zero for zero.
pub(super) fn inverse(a: u8) -> u8 {
    INVERSES[usize::from(a)]
}

/// Adds `factor` times `bytes` to `sum`, as far as both go.
pub(super) fn add_multiple(sum: &mut [u8], factor: u8, bytes: &[u8]) {
    let row = &PRODUCTS[usize::from(factor)];
    for (sum, byte) in sum.iter_mut().zip(bytes) {
        *sum ^= row[usize::from(*byte)];
    }
}

/// Multiplies every byte.
pub(super) fn scale(bytes: &mut [u8], factor: u8) {
    let row = &PRODUCTS[usize::from(factor)];
    for byte in bytes {
        *byte = row[usize::from(*byte)];
    }
}

/// A sum of many multiples of byte strings. Eight partial sums, one for each bit of the factors, need only
/// exclusive or, which a compiler makes wide; they are put together once at the end.
#[derive(Debug, Default)]
pub(super) struct Sum {
    planes: Vec<u8>,
    length: usize,
}

impl Sum {
    /// Begins a sum of strings of at most `length` bytes.
    pub(super) fn begin(&mut self, length: usize) {
        self.length = length;
        self.planes.clear();
        self.planes.resize(length * 8, 0);
    }

    /// Adds `factor` times `bytes`, which stand `at` bytes after the string's beginning. What goes beyond
    /// the length is left out.
    pub(super) fn add(&mut self, factor: u8, at: usize, bytes: &[u8]) {
        let at = at.min(self.length);
        let length = bytes.len().min(self.length - at);
        for (bit, plane) in self.planes.chunks_exact_mut(self.length.max(1)).enumerate() {
            if factor >> bit & 1 == 1 {
                for (sum, byte) in plane[at..at + length].iter_mut().zip(bytes) {
                    *sum ^= byte;
                }
            }
        }
    }

    /// The sum.
    pub(super) fn finish(&mut self) -> &[u8] {
        let length = self.length;
        let (planes, sum) = self.planes.split_at_mut(length * 7);
        for plane in planes.chunks_exact(length.max(1)).rev() {
            for (sum, plane) in sum.iter_mut().zip(plane) {
                *sum = times_x(*sum) ^ plane;
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Multiplication as the definition has it.
    fn slowly(a: u8, b: u8) -> u8 {
        let (mut power, mut product) = (a, 0);
        for bit in 0..8 {
            product ^= if b >> bit & 1 == 1 { power } else { 0 };
            power = times_x(power);
        }
        product
    }

    #[test]
    fn the_table_is_the_field_s() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(product(a, b), slowly(a, b));
            }
            assert_eq!(product(a, inverse(a)), u8::from(a > 0));
        }
        // x^8 is what the polynomial says, and x generates the whole field.
        assert_eq!(product(0x80, 2), POLYNOMIAL);
        let mut power = 1;
        let order = (1..=255).find(|_| {
            power = product(power, 2);
            power == 1
        });
        assert_eq!(order, Some(255));
    }

    proptest! {
        #[test]
        fn a_sum_is_what_its_terms_add_up_to(
            terms in prop::collection::vec((any::<u8>(), 0usize..6, prop::collection::vec(any::<u8>(), 0..40)), 0..20),
            length in 0usize..40,
        ) {
            let mut sum = Sum::default();
            sum.begin(length);
            let mut expected = vec![0; length];
            for (factor, at, bytes) in &terms {
                if *at <= length {
                    sum.add(*factor, *at, bytes);
                    add_multiple(&mut expected[*at..], *factor, bytes);
                }
            }
            prop_assert_eq!(sum.finish(), &expected[..]);
        }
    }
}
