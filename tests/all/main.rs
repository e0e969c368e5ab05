//! The integration tests, as one binary.

mod admission;
mod architecture;
mod baseline;
mod causes;
mod clean_link;
mod delivery;
mod determinism;
mod fairness;
mod hostile;
mod links;
mod outage;
mod pairing;
mod session;
mod shipped;
