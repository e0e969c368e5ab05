//! The relay on real sockets: in network namespaces with a link in the middle, and on real networks.
//!
//! The machines of `relay-core` and the metrics of `bench` are used as they are; what is here owns clocks, sockets, certificates and
//! namespaces. Called by the command line only.

pub mod doctor;
pub mod fates;
pub mod link;
pub mod net;
