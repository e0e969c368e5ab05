//! The relay on real sockets: in network namespaces with a link in the middle, and on real networks.
//!
//! The machines of `relay-core` and the metrics of `bench` are used as they are; what is here owns clocks, sockets, certificates and
//! namespaces. Called by the command line only.

pub mod cell;
pub mod clock;
pub mod doctor;
pub mod driver;
mod error;
pub mod fates;
pub mod lag;
pub mod link;
pub mod net;
pub mod process;
pub mod stop;
pub mod tls;

pub use clock::Clock;
pub use error::RealError;
pub use lag::Lag;
pub use stop::Stop;
