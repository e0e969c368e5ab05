//! Frames on their way through a machine: waiting to be sent, and being put together.

mod assembly;
mod frame_buffer;
mod queue;
mod receiver;
mod sender;

pub(crate) use assembly::{Assembly, Progress};
pub(crate) use frame_buffer::FrameBuffer;
pub(crate) use queue::{Finished, Limits, VideoQueue};
pub(crate) use receiver::{FrameReceiver, Outcome, Whole};
pub(crate) use sender::VideoSender;
