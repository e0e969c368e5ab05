//! No congestion control.
//!
//! Everything goes as soon as it is there, at any rate. It separates what a link does to packets
//! from what a law does to them. It must never run on a real network, where it would push until
//! nobody gets anything through (RFC 896).

use units::Time;

use super::controller::{Acked, Controller, Lost, WINDOW_BYTES_MAX};
use crate::pacer::PacingRate;

/// The law that is none.
#[derive(Debug)]
pub(crate) struct Open;

impl Controller for Open {
    fn on_acked(&mut self, _now: Time, _acked: &Acked) {}

    fn on_lost(&mut self, _now: Time, _lost: &Lost) {}

    fn on_marked(&mut self, _now: Time, _sent_at: Time) {}

    fn on_path_change(&mut self, _now: Time) {}

    fn on_packet_size(&mut self, _packet_bytes: u64) {}

    fn window_bytes(&self) -> u64 {
        WINDOW_BYTES_MAX
    }

    fn pacing(&self) -> Option<PacingRate> {
        Some(PacingRate { bytes_per_sec: u64::MAX, burst_bytes: WINDOW_BYTES_MAX })
    }
}
