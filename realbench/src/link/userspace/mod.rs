//! The link in the program itself: frames are taken out of the middle's devices, put through the models of
//! `netmodel` by the times that the kernel stamped them with, and put in on the other side when the model says.

mod forward;
mod worker;

use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use netmodel::LinkCounters;

use super::error::{LinkError, Unsupported};
use super::plan::LinkPlan;
use super::report::LinkReport;
use super::{LinkBackend, PacketSink, RunningLink};
use crate::net::{Middle, Topology};
use worker::Worker;

/// The link by the models of `netmodel` in real time: the same fate for each packet as in the simulator. It can do
/// every stage of a profile.
#[derive(Debug, Clone, Copy)]
pub struct UserspaceLink;

impl LinkBackend for UserspaceLink {
    fn name(&self) -> &'static str {
        "userspace"
    }

    fn middle(&self) -> Middle {
        Middle::Cut
    }

    fn refusals(&self, _: &LinkPlan) -> Vec<Unsupported> {
        Vec::new()
    }

    fn start(
        &self,
        topology: &Topology,
        plan: &LinkPlan,
        sink: Box<dyn PacketSink>,
    ) -> Result<Box<dyn RunningLink>, LinkError> {
        if topology.kind() != self.middle() {
            return Err(LinkError::WrongTopology { backend: self.name() });
        }
        let (stop, stopped) =
            UnixStream::pair().map_err(|error| LinkError::system("make the link's stop signal", error))?;
        let counters = Shared::default();
        // The sockets are made in the middle; the thread that uses them may then be anywhere.
        let sockets = topology.middle().run(|| Ok(worker::open_sockets()))??;
        let worker = Worker::new(plan, sockets, stopped, sink, Arc::clone(&counters))?;
        let thread = thread::Builder::new().name("link".to_owned()).spawn(move || worker.run());
        let thread = thread.map_err(|error| LinkError::system("start the link's thread", error))?;
        Ok(Box::new(Running { stop: Some(stop), thread: Some(thread), counters }))
    }
}

/// What the worker counted up to a little while ago.
type Shared = Arc<Mutex<[LinkCounters; 4]>>;

struct Running {
    /// Closing it is the signal.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<Result<LinkReport, LinkError>>>,
    counters: Shared,
}

impl Running {
    fn end(&mut self) -> Result<LinkReport, LinkError> {
        self.stop.take();
        let thread = self.thread.take().ok_or(LinkError::Panicked)?;
        thread.join().unwrap_or(Err(LinkError::Panicked))
    }
}

impl RunningLink for Running {
    fn counters(&self) -> [LinkCounters; 4] {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stop(mut self: Box<Self>) -> Result<LinkReport, LinkError> {
        self.end()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Whoever wanted to know how it ended would have stopped it.
            let _ = self.end();
        }
    }
}
