//! The last things that a machine did, for whoever has to say why it stopped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bench::relay_core::Event;
use bench::units::Time;

/// The last events of one machine. Clones are the same list.
#[derive(Debug, Clone, Default)]
pub struct Recent(Arc<Mutex<VecDeque<(Time, Event)>>>);

impl Recent {
    pub(super) fn note(&self, now: Time, event: &Event) {
        let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() == EVENTS_MAX {
            list.pop_front();
        }
        list.push_back((now, event.clone()));
    }

    /// The events as lines, the newest last.
    pub fn lines(&self) -> Vec<String> {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        list.iter().map(|(at, event)| format!("{:.6} s {event:?}", at.as_secs_f64())).collect()
    }
}

const EVENTS_MAX: usize = 8;
