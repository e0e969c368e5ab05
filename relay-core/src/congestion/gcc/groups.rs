//! Packets taken together in groups (draft-ietf-rmcat-gcc-02 §5.2), and what changes between them.

use units::{Span, Time};

/// What changed from one group to the next, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Delta {
    /// Between the last packets of the two, as sent.
    pub(super) sent_ms: f64,
    /// Between the last packets of the two, as they arrived.
    pub(super) arrived_ms: f64,
}

/// The group that is filling and the one before.
#[derive(Debug, Default)]
pub(super) struct Groups {
    previous: Option<Group>,
    current: Option<Group>,
    /// Groups in a row that arrived before the one ahead of them.
    reordered: u32,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    /// Arrivals are sending time and one-way time, up to the offset of the receiver's clock.
    first_arrived: i128,
    last_arrived: i128,
}

impl Groups {
    /// Takes an acknowledged packet in; when it begins a group, says how the one that it ends
    /// differs from the one before.
    pub(super) fn on_acked(&mut self, sent_at: Time, one_way_nanos: i64) -> Option<Delta> {
        let arrived = i128::from(sent_at.as_nanos()) + i128::from(one_way_nanos);
        let fresh =
            Group { first_sent: sent_at, last_sent: sent_at, first_arrived: arrived, last_arrived: arrived };
        let Some(current) = &mut self.current else {
            self.current = Some(fresh);
            return None;
        };
        if sent_at < current.first_sent {
            return None;
        }
        if current.takes(sent_at, arrived) {
            current.last_sent = sent_at.max(current.last_sent);
            current.last_arrived = arrived.max(current.last_arrived);
            return None;
        }
        let ended = *current;
        self.current = Some(fresh);
        let before = self.previous.replace(ended)?;
        let arrived = ended.last_arrived - before.last_arrived;
        if arrived < 0 {
            self.reordered += 1;
            if self.reordered >= REORDERED_MAX {
                *self = Self { current: self.current, ..Self::default() };
            }
            return None;
        }
        self.reordered = 0;
        Some(Delta {
            sent_ms: ended.last_sent.since(before.last_sent).as_millis_f64(),
            arrived_ms: arrived as f64 / 1e6,
        })
    }
}

impl Group {
    fn takes(&self, sent_at: Time, arrived: i128) -> bool {
        if sent_at.since(self.first_sent) <= BURST_TIME {
            return true;
        }
        // A burst that the path let go of at once: it arrives faster than it was sent.
        let nanos = |span: Span| i128::from(span.as_nanos());
        let arrived_after = arrived - self.last_arrived;
        arrived_after <= nanos(BURST_TIME)
            && arrived_after < nanos(sent_at.since(self.last_sent))
            && arrived - self.first_arrived < nanos(BURST_MAX)
    }
}

const BURST_TIME: Span = Span::from_millis(5);
/// No burst lasts longer (WebRTC, `inter_arrival.cc`).
const BURST_MAX: Span = Span::from_millis(100);
/// After this many groups in a row out of order all starts anew (WebRTC, `inter_arrival.cc`).
const REORDERED_MAX: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(groups: &mut Groups, sent_ms: u64, arrived_ms: i64) -> Option<(f64, f64)> {
        let one_way = (arrived_ms - sent_ms as i64) * 1_000_000;
        let delta = groups.on_acked(Time::ZERO + Span::from_millis(sent_ms), one_way)?;
        Some((delta.sent_ms, delta.arrived_ms))
    }

    #[test]
    fn packets_sent_close_together_are_one_group() {
        let mut groups = Groups::default();
        for (sent, arrived) in [(0, 50), (2, 53), (5, 56), (20, 75), (21, 76)] {
            assert_eq!(at(&mut groups, sent, arrived), None);
        }
        assert_eq!(at(&mut groups, 40, 96), Some((16.0, 20.0)));
    }

    #[test]
    fn a_burst_out_of_a_stall_is_one_group() {
        let mut groups = Groups::default();
        for (sent, arrived) in [(0, 50), (20, 200), (40, 201), (60, 202), (80, 203)] {
            assert_eq!(at(&mut groups, sent, arrived), None);
        }
        assert_eq!(at(&mut groups, 300, 350), Some((80.0, 153.0)));
    }

    #[test]
    fn what_overtakes_is_left_out() {
        let mut groups = Groups::default();
        for (sent, arrived) in [(0, 50), (20, 70), (10, 71)] {
            assert_eq!(at(&mut groups, sent, arrived), None);
        }
        assert_eq!(at(&mut groups, 40, 90), Some((20.0, 20.0)));
    }
}
