//! Parity over a sliding window of fragments, so that a burst which kills more of a frame than the frame's own
//! parity can make up for is made up for by the parity of the next frames.
//!
//! A systematic sliding-window code as in RFC 8681 (RLC for FECFRAME): every fragment that is sent for the
//! first time is a source symbol with the next number, and a parity packet is a linear combination over GF(2^8) of
//! the last symbols before it. The window runs over all cameras of a hop and not over one: frames of some
//! camera come every 30 ms and of one camera every 67 ms or more, so help comes sooner, and a burst of loss
//! does not ask whose packets it hits.
//!
//! Where RFC 8681 §3.6 draws coefficients at random, these are a Cauchy matrix (Blömer et al., "An XOR-Based
//! Erasure-Resilient Coding Scheme", 1995), which both ends work out from the numbers of symbol and row: any n
//! parity packets of one window recover any n of its symbols for certain. Between windows that share only a
//! part of their symbols it is as good as random: one set of equations in some 256 is short by one.

mod decoder;
mod encoder;

pub(crate) use decoder::WindowDecoder;
pub(crate) use encoder::WindowEncoder;

use super::gf256;
use crate::wire::WINDOW_MAX;

/// The coefficient of source symbol `source` in parity packets of row `row`, which is below
/// [`WINDOW_MAX`]. Never zero.
fn coefficient(row: u8, source: u32) -> u8 {
    // Cauchy: 1 / (x + y) with the rows' x in the upper half of the field and the symbols' y in the lower.
    // No window has two symbols with the same y.
    let y = (source % u32::from(WINDOW_MAX)) as u8;
    gf256::inverse((row | WINDOW_MAX) ^ y)
}

#[cfg(test)]
mod tests;
