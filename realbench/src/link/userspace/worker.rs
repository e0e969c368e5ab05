//! The link's thread: sleeps until a frame comes or one is nearly due, and spins for the last microseconds.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use netmodel::LinkCounters;
use netmodel::units::{Span, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId as CpuClock, clock_gettime};

use super::super::PacketSink;
use super::super::error::LinkError;
use super::super::packet_socket::PacketSocket;
use super::super::plan::LinkPlan;
use super::super::report::LinkReport;
use super::super::scheduling;
use super::Shared;
use super::forward::{Forward, Tally};
use crate::clock::Clock;
use crate::lag::Lag;
use crate::net::PORTS;

/// Everything that the thread has.
pub(super) struct Worker {
    clock: Clock,
    /// In the order of [`PORTS`]: what a port's end sends comes from its socket.
    sockets: Vec<PacketSocket>,
    forwards: Vec<Forward>,
    timer: TimerFd,
    stopped: UnixStream,
    tally: Tally,
    shared: Shared,
    next_share: Time,
}

/// Opens the sockets on the middle's devices; the calling thread is in the middle.
pub(super) fn open_sockets() -> Result<Vec<PacketSocket>, LinkError> {
    PORTS.iter().map(|port| PacketSocket::open(port.middle_device)).collect()
}

impl Worker {
    pub(super) fn new(
        plan: &LinkPlan,
        sockets: Vec<PacketSocket>,
        stopped: UnixStream,
        sink: Box<dyn PacketSink>,
        shared: Shared,
    ) -> Result<Self, LinkError> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)
            .map_err(|errno| LinkError::system("make the link's timer", errno))?;
        let tally = Tally {
            release_lag: Lag::default(),
            arrival_lag: Lag::default(),
            strays: 0,
            unstamped: 0,
            send_failures: 0,
            sink,
        };
        let forwards = PORTS.iter().map(|port| Forward::new(port, plan)).collect();
        let clock = Clock::new(plan.epoch);
        Ok(Self { clock, sockets, forwards, timer, stopped, tally, shared, next_share: Time::ZERO })
    }

    /// Forwards until the signal, then reports.
    pub(super) fn run(mut self) -> Result<LinkReport, LinkError> {
        let notes = scheduling::keep_time();
        let began = self.clock.now();
        while !self.step().map_err(|error| LinkError::system("forward packets", error))? {}
        self.share();
        let cpu = clock_gettime(CpuClock::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from);
        Ok(LinkReport {
            backend: "userspace",
            links: self.counters(),
            release_lag: self.tally.release_lag,
            arrival_lag: self.tally.arrival_lag,
            strays: self.tally.strays,
            unstamped: self.tally.unstamped,
            socket_drops: self.sockets.iter().map(PacketSocket::drops).sum(),
            send_failures: self.tally.send_failures,
            events_dropped: self.tally.sink.dropped(),
            cpu,
            wall: Duration::from_nanos(self.clock.now().since(began).as_nanos()),
            notes,
        })
    }

    /// Takes in, lets out and waits once; true at the signal.
    fn step(&mut self) -> io::Result<bool> {
        for (forward, socket) in self.forwards.iter_mut().zip(&mut self.sockets) {
            forward.take_in(socket, self.clock, &mut self.tally)?;
        }
        for (index, forward) in self.forwards.iter_mut().enumerate() {
            // The two ports of a hop stand beside each other in the table.
            forward.let_out(&self.sockets[index ^ 1], self.clock, &mut self.tally);
        }
        let now = self.clock.now();
        if now >= self.next_share {
            self.share();
            self.next_share = now + SHARE_INTERVAL;
        }
        let next = self.forwards.iter().map(Forward::next_exit).min().unwrap_or(Time::MAX);
        if next.since(now) > SPIN {
            return self.sleep(next);
        }
        while self.clock.now() < next {
            std::hint::spin_loop();
        }
        // Without a look at the signal a link that is never idle would never end.
        self.signalled()
    }

    /// Sleeps until shortly before `next`, or until a frame comes.
    fn sleep(&mut self, next: Time) -> io::Result<bool> {
        if next == Time::MAX {
            self.timer.unset()?;
        } else {
            let at = self.clock.absolute(next.max(Time::ZERO + SPIN) - SPIN);
            self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
        }
        let mut watched: Vec<PollFd<'_>> = Vec::with_capacity(self.sockets.len() + 2);
        watched.push(PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN));
        watched.push(PollFd::new(self.timer.as_fd(), PollFlags::POLLIN));
        watched.extend(self.sockets.iter().map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN)));
        // Not for ever, so that what was counted last is shown.
        match poll(&mut watched, IDLE_MAX_MS) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        Ok(watched[0].any() == Some(true))
    }

    fn signalled(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(self.stopped.as_fd(), PollFlags::POLLIN)];
        match poll(&mut watched, PollTimeout::ZERO) {
            Ok(_) | Err(Errno::EINTR) => Ok(watched[0].any() == Some(true)),
            Err(errno) => Err(errno.into()),
        }
    }

    fn counters(&self) -> [LinkCounters; 4] {
        let mut counters: [LinkCounters; 4] = Default::default();
        for forward in &self.forwards {
            counters[forward.place().index()] = forward.link_counters().clone();
        }
        counters
    }

    /// Shows the counters, unless somebody is just looking.
    fn share(&self) {
        if let Ok(mut shared) = self.shared.try_lock() {
            *shared = self.counters();
        }
    }
}

/// How long before an exit the thread is awake: more than a timer is late on a quiet machine (some tens of
/// microseconds), and small beside the time between packets, of which it is the share that is burnt.
const SPIN: Span = Span::from_micros(60);
/// Short enough for a progress display.
const SHARE_INTERVAL: Span = Span::from_millis(200);
const IDLE_MAX_MS: u8 = 250;
