//! A law under observation, for tests of the phases it goes through.

use units::Time;

use super::controller::{Acked, Controller, Lost, Sent};
use crate::pacer::PacingRate;

/// Notes what `see` sees of the law whenever that changes.
#[derive(Debug)]
pub(crate) struct Watch<L, S> {
    pub(crate) law: L,
    see: fn(&L) -> S,
    pub(crate) seen: Vec<(Time, S)>,
}

impl<L, S: PartialEq> Watch<L, S> {
    pub(crate) fn new(law: L, see: fn(&L) -> S) -> Self {
        Self { seen: vec![(Time::ZERO, see(&law))], law, see }
    }

    fn look(&mut self, now: Time) {
        let new = (self.see)(&self.law);
        if self.seen.last().is_none_or(|(_, last)| *last != new) {
            self.seen.push((now, new));
        }
    }

    /// What followed what.
    pub(crate) fn steps(&self) -> impl Iterator<Item = (&S, &S)> {
        self.seen.windows(2).map(|pair| (&pair[0].1, &pair[1].1))
    }
}

impl<L, S> Controller for Watch<L, S>
where
    L: Controller,
    S: PartialEq + Send + std::fmt::Debug,
{
    fn on_sent(&mut self, now: Time, sent: &Sent) {
        self.law.on_sent(now, sent);
        self.look(now);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked) {
        self.law.on_acked(now, acked);
        self.look(now);
    }

    fn on_lost(&mut self, now: Time, lost: &Lost) {
        self.law.on_lost(now, lost);
        self.look(now);
    }

    fn on_marked(&mut self, now: Time, sent_at: Time) {
        self.law.on_marked(now, sent_at);
        self.look(now);
    }

    fn on_tick(&mut self, now: Time) {
        self.law.on_tick(now);
        self.look(now);
    }

    fn on_path_change(&mut self, now: Time) {
        self.law.on_path_change(now);
        self.look(now);
    }

    fn on_packet_size(&mut self, packet_bytes: u64) {
        self.law.on_packet_size(packet_bytes);
    }

    fn window_bytes(&self) -> u64 {
        self.law.window_bytes()
    }

    fn pacing(&self) -> Option<PacingRate> {
        self.law.pacing()
    }
}
