//! Forward error correction: Reed-Solomon parity beside a frame's fragments, so that any `count` of them
//! make the frame; or parity over a sliding window of fragments, across frames.
//!
//! The code within a frame is Leopard's (Lin, Al-Naffouri, Han and Chung, "Novel Polynomial Basis with Fast Fourier
//! Transform and Its Application to Reed-Solomon Erasure Codes", 2016) in the `reed-solomon-simd` crate.

mod codec;
mod gf256;
mod plan;
mod trailing;
mod window;

pub(crate) use codec::{Codec, Shards};
pub(crate) use plan::{LossEstimate, Plan};
pub(crate) use trailing::Trailing;
pub(crate) use window::{WindowDecoder, WindowEncoder};
