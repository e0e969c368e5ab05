//! The window outside quinn: an adapter inside, and the state that it shares with the sender.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller as QuinnController, ControllerFactory};
use units::Time;

use super::controller::{Acked, Controller, Lost, Sent, Start};
use super::registry;
use crate::clock::Clock;
use crate::loss::Outcome;
use crate::pacer::PacingRate;
use crate::settings::Congestion;

/// Who keeps back what the window does not admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enforce {
    /// The gate; quinn believes its window to be open.
    Gate,
    /// quinn itself, for data that quinn sends again on its own. quinn paces it too, by the window;
    /// a law's own pacing rate has no say.
    Quinn,
}

/// Why sending stopped the last time it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    /// There was nothing more to send.
    Data,
    /// The window was full.
    Window,
    /// The pacer asked to wait.
    Pacer {
        /// Whether what waited would have gone into the window, so that it was not the window that
        /// set the pace (RFC 9002 §7.8). False for a law with a pacing rate of its own.
        fits: bool,
    },
}

impl Held {
    fn is_app_limited(self) -> bool {
        matches!(self, Self::Data | Self::Pacer { fits: true })
    }
}

/// The sender's handle on a connection's congestion controller.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    shared: Arc<Mutex<Shared>>,
    factory: Arc<Factory>,
}

/// What the sender needs to know to decide whether a packet may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateState {
    pub(crate) window_bytes: u64,
    pub(crate) in_flight_bytes: u64,
    pub(crate) congestion_events: u64,
    /// The law's own pacing, if it has any.
    pub(crate) pacing: Option<PacingRate>,
    /// Whether the link has shown a limit.
    pub(crate) limit_found: bool,
}

impl GateState {
    /// Whether a packet of at most `bytes` fits into the window, by quinn's own rule.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        self.in_flight_bytes + bytes < self.window_bytes
    }
}

impl Gate {
    pub(crate) fn new(congestion: &Congestion, enforce: Enforce, clock: Clock) -> Self {
        let shared = Arc::new(Mutex::new(Shared {
            law: None,
            enforce,
            app_driven: false,
            in_flight_bytes: 0,
            eliciting: false,
            held: Held::Data,
            congestion_events: 0,
        }));
        let factory = Factory { congestion: congestion.clone(), clock, shared: Arc::clone(&shared) };
        Self { factory: Arc::new(factory), shared }
    }

    /// What quinn builds its controller from.
    pub(crate) fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::<Factory>::clone(&self.factory)
    }

    pub(crate) fn state(&self) -> GateState {
        let shared = lock(&self.shared);
        GateState {
            window_bytes: shared.law.as_ref().map_or(0, |law| law.window_bytes()),
            in_flight_bytes: shared.in_flight_bytes,
            congestion_events: shared.congestion_events,
            pacing: shared.law.as_ref().and_then(|law| law.pacing()),
            limit_found: shared.law.as_ref().is_some_and(|law| law.has_found_limit()),
        }
    }

    /// Says that the packet sent next makes the peer acknowledge it, and so is in flight.
    pub(crate) fn expect_eliciting(&self) {
        lock(&self.shared).eliciting = true;
    }

    /// Says why sending stopped.
    pub(crate) fn set_held(&self, held: Held) {
        lock(&self.shared).held = held;
    }

    /// Whether a packet that is sent now is app-limited, as [`Sent::app_limited`] has it.
    pub(crate) fn is_app_limited(&self) -> bool {
        lock(&self.shared).held.is_app_limited()
    }

    /// Most bytes that may go at once, whatever the law says.
    pub(crate) fn burst_bytes_max(&self) -> u64 {
        self.factory.congestion.burst.as_bytes()
    }

    /// Lets the law know that time passes.
    pub(crate) fn tick(&self, now: Time) {
        if let Some(law) = &mut lock(&self.shared).law {
            law.on_tick(now);
        }
    }

    /// From now on the law hears of packets only through [`on_sent`](Self::on_sent) and
    /// [`on_outcome`](Self::on_outcome), not from quinn, but for ECN marks, which only quinn is told of. It
    /// starts anew.
    pub(crate) fn drive_by_app(&self, now: Time) {
        let mut shared = lock(&self.shared);
        shared.app_driven = true;
        shared.in_flight_bytes = 0;
        if let Some(law) = &mut shared.law {
            law.on_path_change(now);
        }
    }

    /// A packet was sent whose outcome will be reported to [`on_outcome`](Self::on_outcome).
    pub(crate) fn on_sent(&self, now: Time, sent: &Sent) {
        let mut shared = lock(&self.shared);
        shared.in_flight_bytes = sent.in_flight_bytes;
        if let Some(law) = &mut shared.law {
            law.on_sent(now, sent);
        }
    }

    /// What is in flight by the application's own count.
    pub(crate) fn set_in_flight(&self, bytes: u64) {
        lock(&self.shared).in_flight_bytes = bytes;
    }

    /// What became of a packet, by the application's own feedback.
    pub(crate) fn on_outcome(&self, now: Time, outcome: Outcome) {
        let shared = &mut *lock(&self.shared);
        let Some(law) = &mut shared.law else { return };
        match outcome {
            Outcome::Acked(acked) => {
                shared.in_flight_bytes = acked.in_flight_bytes;
                law.on_acked(now, &Acked { app_limited_now: shared.held == Held::Data, ..acked });
            }
            Outcome::Lost(lost) => {
                shared.in_flight_bytes = lost.in_flight_bytes;
                shared.congestion_events += 1;
                law.on_lost(now, &lost);
            }
        }
    }
}

#[derive(Debug)]
struct Factory {
    congestion: Congestion,
    clock: Clock,
    shared: Arc<Mutex<Shared>>,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn QuinnController> {
        let (now, packet_bytes) = (self.clock.time(now), u64::from(current_mtu));
        let initial_window = self.congestion.initial_window.as_bytes();
        let shared = &mut *lock(&self.shared);
        if let Some(law) = &mut shared.law {
            // A connection that builds a second time has moved to another path.
            law.on_packet_size(packet_bytes);
            law.on_path_change(now);
        } else {
            let start = Start {
                now,
                initial_window_bytes: initial_window.max(2 * packet_bytes),
                packet_bytes,
                settings: &self.congestion,
            };
            shared.law = Some(registry::build(&start));
        }
        if !shared.app_driven {
            shared.in_flight_bytes = 0;
        }
        Box::new(Adapter {
            shared: Arc::clone(&self.shared),
            clock: self.clock,
            sends: SendLog::default(),
            initial_window,
        })
    }
}

#[derive(Debug)]
struct Shared {
    law: Option<Box<dyn Controller>>,
    enforce: Enforce,
    /// Whether the application's feedback drives the law, and not quinn.
    app_driven: bool,
    in_flight_bytes: u64,
    eliciting: bool,
    held: Held,
    congestion_events: u64,
}

impl Shared {
    /// Whether the sender lacks data now.
    fn lacks_data(&self, quinns: bool) -> bool {
        match self.enforce {
            // quinn, whose window is always open, would call every moment app-limited.
            Enforce::Gate => self.held == Held::Data,
            Enforce::Quinn => quinns,
        }
    }

    /// The law, if quinn is to drive it.
    fn law(&mut self) -> Option<&mut Box<dyn Controller>> {
        if self.app_driven { None } else { self.law.as_mut() }
    }
}

/// The controller as quinn sees it.
struct Adapter {
    shared: Arc<Mutex<Shared>>,
    clock: Clock,
    sends: SendLog,
    initial_window: u64,
}

impl QuinnController for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        let mut shared = lock(&self.shared);
        // quinn reports every packet here; those that nobody acknowledges are not in flight. The
        // count is set right at every acknowledgement. What quinn sends of itself is told apart by
        // its size: a mere acknowledgement is small.
        let flagged = std::mem::take(&mut shared.eliciting);
        let eliciting = match shared.enforce {
            Enforce::Gate => flagged,
            Enforce::Quinn => flagged || bytes > ACK_BYTES_MAX,
        };
        if !eliciting || shared.app_driven {
            return;
        }
        shared.in_flight_bytes += bytes;
        let now = self.clock.time(now);
        let app_limited = shared.held.is_app_limited();
        self.sends.push(now, app_limited);
        let sent = Sent { bytes, in_flight_bytes: shared.in_flight_bytes, app_limited };
        if let Some(law) = shared.law() {
            law.on_sent(now, &sent);
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        let mut shared = lock(&self.shared);
        if shared.app_driven {
            return;
        }
        shared.in_flight_bytes = shared.in_flight_bytes.saturating_sub(bytes);
        let (now, sent_at) = (self.clock.time(now), self.clock.time(sent));
        let lacks_data = shared.lacks_data(app_limited);
        let acked = Acked {
            bytes,
            sent_at,
            received_at: None,
            rtt: now.since(sent_at),
            in_flight_bytes: shared.in_flight_bytes,
            app_limited: match shared.enforce {
                Enforce::Gate => self.sends.was_app_limited(sent_at).unwrap_or(lacks_data),
                Enforce::Quinn => lacks_data,
            },
            app_limited_now: lacks_data,
        };
        if let Some(law) = shared.law() {
            law.on_acked(now, &acked);
        }
    }

    fn on_end_acks(&mut self, _now: Instant, in_flight: u64, _app_limited: bool, _largest: Option<u64>) {
        let mut shared = lock(&self.shared);
        if !shared.app_driven {
            shared.in_flight_bytes = in_flight;
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let mut shared = lock(&self.shared);
        let (now, sent_at) = (self.clock.time(now), self.clock.time(sent));
        if shared.app_driven {
            // The application's reports know of losses, but not of marks: those only quinn is told of.
            if lost_bytes == 0
                && let Some(law) = &mut shared.law
            {
                law.on_marked(now, sent_at);
                shared.congestion_events += 1;
            }
            return;
        }
        shared.in_flight_bytes = shared.in_flight_bytes.saturating_sub(lost_bytes);
        shared.congestion_events += 1;
        let in_flight_bytes = shared.in_flight_bytes;
        if let Some(law) = shared.law() {
            if lost_bytes == 0 {
                law.on_marked(now, sent_at);
            } else {
                law.on_lost(now, &Lost { bytes: lost_bytes, sent_at, in_flight_bytes, persistent });
            }
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        if let Some(law) = &mut lock(&self.shared).law {
            law.on_packet_size(new_mtu.into());
        }
    }

    fn window(&self) -> u64 {
        let shared = lock(&self.shared);
        match (shared.enforce, &shared.law) {
            (Enforce::Quinn, Some(law)) => law.window_bytes(),
            _ => OPEN,
        }
    }

    fn clone_box(&self) -> Box<dyn QuinnController> {
        Box::new(Self {
            shared: Arc::clone(&self.shared),
            clock: self.clock,
            sends: self.sends.clone(),
            initial_window: self.initial_window,
        })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// When the sender began or ceased to lack data; quinn does not remember it for each packet.
#[derive(Debug, Clone, Default)]
struct SendLog {
    /// The first packets of stretches of packets that were alike, the oldest first.
    turns: std::collections::VecDeque<(Time, bool)>,
}

impl SendLog {
    fn push(&mut self, now: Time, app_limited: bool) {
        if self.turns.back().is_some_and(|(_, last)| *last == app_limited) {
            return;
        }
        if self.turns.len() >= TURNS_MAX {
            self.turns.pop_front();
        }
        self.turns.push_back((now, app_limited));
    }

    /// What was said of the packets sent at `sent_at`; of several turns at one moment, the last.
    fn was_app_limited(&self, sent_at: Time) -> Option<bool> {
        let after = self.turns.partition_point(|(at, _)| *at <= sent_at);
        after.checked_sub(1).and_then(|index| self.turns.get(index)).map(|(_, app_limited)| *app_limited)
    }
}

/// A window that never shuts and at which quinn's own pacer steps aside.
const OPEN: u64 = 1 << 40;
/// No packet with nothing but an acknowledgement is larger, short of dozens of ranges.
const ACK_BYTES_MAX: u64 = 200;
/// Turns remembered: two a frame, so some seconds of the default workload.
const TURNS_MAX: usize = 256;

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing in here panics half-way through a change, so a poisoned state is still whole.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use units::{Size, Span};

    use super::*;
    use crate::settings::CongestionKind;

    fn gate(enforce: Enforce) -> (Gate, Box<dyn QuinnController>, Instant) {
        let congestion = Congestion {
            kind: CongestionKind::NewReno,
            initial_window: Size::from_bytes(12_000),
            ..Congestion::default()
        };
        #[expect(clippy::disallowed_methods, reason = "a test needs some instant, and any will do")]
        let now = Instant::now();
        let gate = Gate::new(&congestion, enforce, Clock::new(now));
        let controller = gate.factory().build(now, 1200);
        (gate, controller, now)
    }

    fn ms(epoch: Instant, ms: u64) -> Instant {
        epoch + std::time::Duration::from_millis(ms)
    }

    #[test]
    fn quinn_sees_an_open_window_and_the_gate_the_true_one() {
        let (gate, controller, _) = gate(Enforce::Gate);
        assert!(controller.window() > u64::from(u32::MAX));
        assert_eq!(gate.state().window_bytes, 12_000);
        let (_, controller, _) = self::gate(Enforce::Quinn);
        assert_eq!(controller.window(), 12_000);
    }

    #[test]
    fn only_packets_that_are_acknowledged_are_in_flight() {
        let (gate, mut controller, now) = gate(Enforce::Gate);
        controller.on_sent(now, 40, 0);
        assert_eq!(gate.state().in_flight_bytes, 0);
        gate.expect_eliciting();
        controller.on_sent(now, 1200, 1);
        controller.on_sent(now, 40, 2);
        assert_eq!(gate.state().in_flight_bytes, 1200);
        assert!(gate.state().admits(10_799) && !gate.state().admits(10_800));
        controller.on_congestion_event(ms(now, 1), now, false, 1200);
        assert_eq!(gate.state().in_flight_bytes, 0);
        assert_eq!(gate.state().congestion_events, 1);
    }

    #[test]
    fn a_law_that_the_application_drives_hears_of_marks_and_of_no_loss() {
        let (gate, mut controller, now) = gate(Enforce::Gate);
        gate.drive_by_app(Clock::new(now).time(now));
        controller.on_congestion_event(ms(now, 10), now, false, 1200);
        assert_eq!(gate.state().window_bytes, 12_000, "the application's reports say what was lost");
        controller.on_congestion_event(ms(now, 20), ms(now, 1), false, 0);
        assert_eq!(gate.state().window_bytes, 6_000);
    }

    #[test]
    fn loss_and_mark_reach_the_law_as_what_they_are() {
        let (gate, mut controller, epoch) = gate(Enforce::Gate);
        controller.on_congestion_event(ms(epoch, 100), ms(epoch, 50), false, 0);
        assert_eq!(gate.state().window_bytes, 6_000);
        controller.on_congestion_event(ms(epoch, 200), ms(epoch, 150), true, 1200);
        assert_eq!(gate.state().window_bytes, 2_400);
    }

    #[test]
    fn once_the_application_drives_the_law_quinn_does_not() {
        let (gate, mut controller, epoch) = gate(Enforce::Gate);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        controller.on_congestion_event(ms(epoch, 100), ms(epoch, 50), false, 1200);
        gate.drive_by_app(at(200));
        assert_eq!(gate.state().window_bytes, 12_000);
        controller.on_congestion_event(ms(epoch, 300), ms(epoch, 250), false, 1200);
        controller.on_sent(ms(epoch, 300), 1200, 7);
        assert_eq!(gate.state().window_bytes, 12_000);
        gate.on_sent(at(400), &Sent { bytes: 1200, in_flight_bytes: 1200, app_limited: true });
        assert_eq!(gate.state().in_flight_bytes, 1200);
        let lost = Lost { bytes: 1200, sent_at: at(400), in_flight_bytes: 0, persistent: false };
        gate.on_outcome(at(600), Outcome::Lost(lost));
        assert_eq!(gate.state().window_bytes, 6_000);
        assert_eq!(gate.state().in_flight_bytes, 0);
    }

    #[test]
    fn whether_data_lacked_is_remembered_for_when_a_packet_was_sent() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut log = SendLog::default();
        assert_eq!(log.was_app_limited(at(5)), None);
        for (when, app_limited) in [(10, true), (11, true), (20, false), (30, false), (40, true)] {
            log.push(at(when), app_limited);
        }
        let said: Vec<_> = [9, 10, 15, 25, 35, 41].map(|when| log.was_app_limited(at(when))).into();
        assert_eq!(said, [None, Some(true), Some(true), Some(false), Some(false), Some(true)]);
    }
}
