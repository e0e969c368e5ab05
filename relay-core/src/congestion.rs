//! Congestion control of a hop: the window that quinn's controllers compute, enforced here.
//!
//! quinn-proto, when its window is shut while data is queued, also withholds acknowledgements,
//! which starves the peer's sender. So for datagrams the controller tells quinn that its window is
//! always open, and the [`Gate`] keeps back what the true window does not admit. The controller
//! itself runs inside quinn and sees what quinn sees.

mod gate;

pub(crate) use gate::{Enforce, Gate, GateState};
