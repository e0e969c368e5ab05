//! CoDel (RFC 8289): drops as packets leave, while none of them waited less than the target.

use units::{Span, Time};

use super::{Active, FULL_PACKET_BYTES, Held};
use crate::profile::CodelParameters;

/// The state of RFC 8289 §5.
#[derive(Debug, Clone, Default)]
pub(super) struct Codel {
    /// When the delay will have been above the target for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    count: u64,
    last_count: u64,
}

/// The packet to send, after the drops that are due (RFC 8289 §5.5).
pub(super) fn dequeue<T>(active: &mut Active<T>, now: Time, parameters: CodelParameters) -> Option<Held<T>> {
    let (mut held, mut over) = judge(active, now, parameters);
    if active.codel.dropping {
        active.codel.dropping = over;
        while active.codel.dropping && now >= active.codel.drop_next {
            active.codel.count += 1;
            let due = active.codel.drop_next;
            let (again, marked) = punish(active, now, held, parameters);
            held = again;
            if marked {
                active.codel.drop_next = control_law(due, active.codel.count, parameters);
                break;
            }
            (held, over) = judge(active, now, parameters);
            if over {
                active.codel.drop_next = control_law(due, active.codel.count, parameters);
            } else {
                active.codel.dropping = false;
            }
        }
    } else if over {
        let (again, marked) = punish(active, now, held, parameters);
        held = again;
        if !marked {
            held = judge(active, now, parameters).0;
        }
        let codel = &mut active.codel;
        codel.dropping = true;
        // A controller that only just stopped dropping goes on about where it was (§5.4).
        let delta = codel.count - codel.last_count;
        let recent = now.since(codel.drop_next) < parameters.interval * RECENT_INTERVALS;
        codel.count = if delta > 1 && recent { delta } else { 1 };
        codel.drop_next = control_law(now, codel.count, parameters);
        codel.last_count = codel.count;
    }
    held
}

/// The next packet, and whether the queue has been above the target for an interval (§5.6).
fn judge<T>(active: &mut Active<T>, now: Time, parameters: CodelParameters) -> (Option<Held<T>>, bool) {
    let Some(held) = active.take(false) else {
        active.codel.first_above = None;
        return (None, false);
    };
    let backlog = active.bytes() + u64::from(held.ip_bytes);
    if now.since(held.arrived) < parameters.target || backlog <= FULL_PACKET_BYTES {
        active.codel.first_above = None;
        return (Some(held), false);
    }
    let over = match active.codel.first_above {
        None => {
            active.codel.first_above = Some(now + parameters.interval);
            false
        }
        Some(at) => now >= at,
    };
    (Some(held), over)
}

/// Drops a packet, or marks and keeps it where that is asked for and the packet's sender can be told so.
fn punish<T>(
    active: &mut Active<T>,
    now: Time,
    held: Option<Held<T>>,
    parameters: CodelParameters,
) -> (Option<Held<T>>, bool) {
    match held {
        Some(held) if parameters.ecn && held.ecn != 0 => (Some(active.mark(held)), true),
        Some(held) => {
            active.discard(now, held);
            (None, false)
        }
        None => (None, false),
    }
}

/// When the next drop is due: the interval over the square root of the count (§3.3).
fn control_law(from: Time, count: u64, parameters: CodelParameters) -> Time {
    let gap = parameters.interval.as_nanos() as f64 / libm::sqrt(count.max(1) as f64);
    from + Span::from_nanos(gap as u64)
}

/// For so many intervals after dropping the count is remembered (§5.4: "within 16 intervals").
const RECENT_INTERVALS: u64 = 16;
