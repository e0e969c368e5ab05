//! A way to ask everything that runs to end soon.

use std::sync::Arc;

use tokio::sync::watch;

/// Asks drivers to close their connections and return. Clones ask the same ones; asking twice changes nothing.
#[derive(Debug, Clone)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl Stop {
    /// Asks. May be called from any thread, a signal handler's thread too.
    pub fn trigger(&self) {
        self.0.send_replace(true);
    }

    /// Whether somebody asked.
    pub fn is_triggered(&self) -> bool {
        *self.0.borrow()
    }

    /// Returns when somebody has asked.
    pub(crate) async fn triggered(&self) {
        // It can only fail when the sender is gone, and this holds it.
        let _ = self.0.subscribe().wait_for(|asked| *asked).await;
    }
}
