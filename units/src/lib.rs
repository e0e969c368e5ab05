//! Time, rate, size and share as integer newtypes.
//!
//! Every quantity that a person writes in a profile or a scenario carries its unit (`"120 s"`,
//! `"2.5 Mbit/s"`, `"1.5 %"`), and every quantity in the code is an integer of a fixed unit, so
//! that arithmetic is exact and equal on every machine. Parsing what was printed gives the value
//! back: the printed form is the largest unit in which the value is a short decimal.
//!
//! This crate knows nothing of links, relays or files. A bare number is an error that names the
//! units it could have had.

mod decimal;
mod error;
mod rate;
mod share;
mod size;
mod span;
mod time;

pub use error::ParseError;
pub use rate::Rate;
pub use share::Share;
pub use size::Size;
pub use span::Span;
pub use time::Time;
