//! The window outside quinn: an adapter inside, and the state that it shares with the sender.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};

use crate::settings::{Congestion, CongestionKind};

/// Who keeps back what the window does not admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Enforce {
    /// The gate; quinn believes its window to be open.
    Gate,
    /// quinn itself, for data that quinn sends again on its own.
    Quinn,
}

/// The sender's handle on a connection's congestion controller.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    shared: Arc<Mutex<Shared>>,
    factory: Arc<Law>,
}

/// What the sender needs to know to decide whether a packet may go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateState {
    pub(crate) window_bytes: u64,
    pub(crate) in_flight_bytes: u64,
    pub(crate) congestion_events: u64,
}

impl GateState {
    /// Whether a packet of at most `bytes` fits into the window, by quinn's own rule.
    pub(crate) fn admits(&self, bytes: u64) -> bool {
        self.in_flight_bytes + bytes < self.window_bytes
    }
}

impl Gate {
    pub(crate) fn new(congestion: &Congestion, enforce: Enforce) -> Self {
        let shared = Arc::new(Mutex::new(Shared {
            inner: None,
            enforce,
            in_flight_bytes: 0,
            eliciting: false,
            app_limited: true,
            congestion_events: 0,
        }));
        Self {
            factory: Arc::new(Law { congestion: congestion.clone(), shared: Arc::clone(&shared) }),
            shared,
        }
    }

    /// What quinn builds its controller from.
    pub(crate) fn factory(&self) -> Arc<dyn ControllerFactory + Send + Sync> {
        Arc::<Law>::clone(&self.factory)
    }

    pub(crate) fn state(&self) -> GateState {
        let shared = lock(&self.shared);
        GateState {
            window_bytes: shared.inner.as_ref().map_or(0, |inner| inner.window()),
            in_flight_bytes: shared.in_flight_bytes,
            congestion_events: shared.congestion_events,
        }
    }

    /// Says that the packet sent next makes the peer acknowledge it, and so is in flight.
    pub(crate) fn expect_eliciting(&self) {
        lock(&self.shared).eliciting = true;
    }

    /// Says whether sending stopped for lack of data (and not for lack of window).
    pub(crate) fn set_app_limited(&self, app_limited: bool) {
        lock(&self.shared).app_limited = app_limited;
    }
}

#[derive(Debug)]
struct Law {
    congestion: Congestion,
    shared: Arc<Mutex<Shared>>,
}

impl ControllerFactory for Law {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let initial = self.congestion.initial_window.as_bytes();
        let inner = match self.congestion.kind {
            CongestionKind::NewReno => {
                let mut config = NewRenoConfig::default();
                config.initial_window(initial);
                Arc::new(config).build(now, current_mtu)
            }
            CongestionKind::Cubic => {
                let mut config = CubicConfig::default();
                config.initial_window(initial);
                Arc::new(config).build(now, current_mtu)
            }
        };
        let mut shared = lock(&self.shared);
        shared.inner = Some(inner);
        shared.in_flight_bytes = 0;
        Box::new(Adapter { shared: Arc::clone(&self.shared), initial_window: initial })
    }
}

struct Shared {
    inner: Option<Box<dyn Controller>>,
    enforce: Enforce,
    in_flight_bytes: u64,
    eliciting: bool,
    app_limited: bool,
    congestion_events: u64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("in_flight_bytes", &self.in_flight_bytes).finish_non_exhaustive()
    }
}

/// The controller as quinn sees it.
struct Adapter {
    shared: Arc<Mutex<Shared>>,
    initial_window: u64,
}

impl Adapter {
    fn app_limited(shared: &Shared, quinns: bool) -> bool {
        match shared.enforce {
            // quinn, whose window is always open, would call every moment app-limited.
            Enforce::Gate => shared.app_limited,
            Enforce::Quinn => quinns,
        }
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        let mut shared = lock(&self.shared);
        // quinn reports every packet here; those that nobody acknowledges are not in flight. The
        // count is set right at every acknowledgement.
        if std::mem::take(&mut shared.eliciting) {
            shared.in_flight_bytes += bytes;
        }
        if let Some(inner) = &mut shared.inner {
            inner.on_sent(now, bytes, last_packet_number);
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        let mut shared = lock(&self.shared);
        let app_limited = Self::app_limited(&shared, app_limited);
        if let Some(inner) = &mut shared.inner {
            inner.on_ack(now, sent, bytes, app_limited, rtt);
        }
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        let mut shared = lock(&self.shared);
        shared.in_flight_bytes = in_flight;
        let app_limited = Self::app_limited(&shared, app_limited);
        if let Some(inner) = &mut shared.inner {
            inner.on_end_acks(now, in_flight, app_limited, largest);
        }
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, lost_bytes: u64) {
        let mut shared = lock(&self.shared);
        shared.in_flight_bytes = shared.in_flight_bytes.saturating_sub(lost_bytes);
        shared.congestion_events += 1;
        if let Some(inner) = &mut shared.inner {
            inner.on_congestion_event(now, sent, persistent, lost_bytes);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        if let Some(inner) = &mut lock(&self.shared).inner {
            inner.on_mtu_update(new_mtu);
        }
    }

    fn window(&self) -> u64 {
        let shared = lock(&self.shared);
        match (shared.enforce, &shared.inner) {
            (Enforce::Quinn, Some(inner)) => inner.window(),
            _ => OPEN,
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        lock(&self.shared).inner.as_ref().map(|inner| inner.metrics()).unwrap_or_default()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self { shared: Arc::clone(&self.shared), initial_window: self.initial_window })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// A window that never shuts and at which quinn's own pacer steps aside.
const OPEN: u64 = 1 << 40;

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // Nothing in here panics half-way through a change, so a poisoned state is still whole.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use units::Size;

    use super::*;

    fn gate(enforce: Enforce) -> (Gate, Box<dyn Controller>, Instant) {
        let congestion =
            Congestion { kind: CongestionKind::NewReno, initial_window: Size::from_bytes(12_000) };
        let gate = Gate::new(&congestion, enforce);
        #[expect(clippy::disallowed_methods, reason = "a test needs some instant, and any will do")]
        let now = Instant::now();
        let controller = gate.factory().build(now, 1200);
        (gate, controller, now)
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
        controller.on_congestion_event(now + std::time::Duration::from_millis(1), now, false, 1200);
        assert_eq!(gate.state().in_flight_bytes, 0);
        assert_eq!(gate.state().congestion_events, 1);
    }
}
