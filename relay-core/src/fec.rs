//! Forward error correction within a frame: Reed-Solomon parity beside its fragments, so that any
//! `count` of them make the frame.
//!
//! The code is Leopard's (Lin, Al-Naffouri, Han and Chung, "Novel Polynomial Basis with Fast Fourier
//! Transform and Its Application to Reed-Solomon Erasure Codes", 2016) in the `reed-solomon-simd` crate.

mod codec;
mod plan;
mod trailing;

pub(crate) use codec::{Codec, Shards};
pub(crate) use plan::{LossEstimate, Plan};
pub(crate) use trailing::Trailing;
