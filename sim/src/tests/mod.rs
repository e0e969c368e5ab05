//! Tests that take more than one module: connections under each crypto, and whole cells.

mod cells;
mod connection;
mod flights;
mod pair;
