//! The teleoperation relay as three sans-IO machines on quinn-proto.
//!
//! A [`Robot`] dials the [`Relay`] and sends camera frames; an [`Operator`] dials the relay and
//! sends hand poses; the relay pairs the two by session, forwards frames one way and turns poses
//! into commands the other way. None of them reads a clock, opens a socket, draws randomness from
//! the operating system or knows whether it runs in a simulator: whoever drives a machine hands it
//! datagrams and the time, and takes datagrams, events and the next wake-up out of it.
//!
//! The same code runs in virtual time and over real sockets. There is no simulator mode.

pub use units;

mod access;
mod arena;
mod carried;
mod clock;
mod config;
pub mod congestion;
mod end;
mod event;
mod fec;
mod hop;
mod host;
mod loss;
mod machine;
mod operator;
mod pacer;
mod redial;
mod refusal;
mod relay;
mod repair;
mod resize;
mod robot;
pub mod settings;
mod skip;
mod streams;
mod video;
pub mod wire;

pub use access::{Access, Token, TokenError, TokenHash};
pub use carried::{Carried, PartKind, VideoPart};
pub use config::{Dial, EndpointParams, Listen, QlogSinks, SetupError};
pub use event::{Camera, DropPlace, DropReason, Event, FrameId, LeaveReason, Role};
pub use machine::{Counters, Machine, Output, RoundTrip, Snapshot, Totals, Transmit};
pub use operator::Operator;
pub use refusal::{Refusal, TurnedAway};
pub use relay::Relay;
pub use robot::Robot;
pub use settings::Settings;
