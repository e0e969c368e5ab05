//! The one [`Instant`] that cells count from.
//!
//! quinn-proto wants instants and an instant can only be had from a clock. This is the only place
//! in the data path that asks one, once a process. Everything else is an offset from it, so its
//! value reaches no result.

use std::sync::OnceLock;
use std::time::Instant;

/// What `Time::ZERO` of every cell of this process is to quinn-proto.
pub(crate) fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(|| {
        #[expect(clippy::disallowed_methods, reason = "an origin for offsets; its value reaches no result")]
        Instant::now()
    })
}
