//! Runs one machine of `relay-core` on a real socket by the real clock.
//!
//! One thread and one single-threaded tokio runtime for each machine, so that none waits for another's work. The driver takes
//! what the socket has, wakes the machine when its time has come, and asks it for output until it has none: what the simulator
//! does, in the same order. It knows no roles and no metrics; what feeds the machine and hears its events is an [`App`].
//!
//! Every turn of the loop is bounded, so that a flood of datagrams keeps no timeout waiting and a large frame no datagram.

mod options;
mod recent;
mod socket;
mod sockopt;
#[cfg(test)]
mod tests;
mod timer;

use std::net::UdpSocket;

use bench::relay_core::{Event, Machine, Output, Transmit};
use bench::units::{Span, Time};

use self::socket::{Received, Socket};
use self::timer::Timer;
use crate::clock::Clock;
use crate::error::RealError;
use crate::stop::Stop;

pub use options::{Options, Report};
pub use recent::Recent;

/// Whether a driver goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It does.
    Continue,
    /// It sends what is left and returns.
    Stop,
}

/// What a driver's machine is for: where its inputs come from and who hears its events.
pub trait App<M> {
    /// When [`act`](Self::act) is due; [`Time::MAX`] for never.
    fn next_at(&self) -> Time;

    /// It is `now`, at or after the time that was asked for. Called again at once while one is due.
    fn act(&mut self, now: Time, machine: &mut M) -> Flow;

    /// The machine said something.
    fn event(&mut self, now: Time, event: &Event);

    /// The machine wants a datagram sent. It may yet not be: the kernel may refuse it.
    fn transmit(&mut self, _now: Time, _transmit: &Transmit) {}

    /// Somebody asked to stop: tells the machine to close its connections.
    fn close(&mut self, _now: Time, _machine: &mut M) {}
}

/// Runs `machine` on `socket` until its `app` says stop, or `stop` is asked for.
///
/// `recent` keeps the last events for whoever has to say what a machine did before it crashed.
///
/// # Errors
///
/// When the socket or the timer fails for good.
///
/// # Panics
///
/// When the machine or the app does.
pub fn drive<M: Machine, A: App<M>>(
    clock: Clock,
    socket: UdpSocket,
    machine: M,
    app: &mut A,
    stop: &Stop,
    recent: &Recent,
    options: &Options,
) -> Result<(M, Report), RealError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .map_err(RealError::io("start a tokio runtime"))?;
    runtime.block_on(async {
        let spin = options.spin.min(SPIN_MAX);
        let mut driver = Driver {
            clock,
            socket: Socket::new(socket, options).map_err(RealError::io("set up a socket"))?,
            timer: Timer::new().map_err(RealError::io("make a timer"))?,
            spin,
            machine,
            app,
            recent,
            now: Time::ZERO,
            wake: Time::ZERO,
            blocked: false,
            unfinished: false,
            buffer: Vec::with_capacity(BUFFER_BYTES),
            received: Vec::new(),
            report: Report::default(),
        };
        driver.run(stop).await?;
        driver.report.dropped_at_socket = driver.socket.drops();
        Ok((driver.machine, driver.report))
    })
}

struct Driver<'a, M, A> {
    clock: Clock,
    socket: Socket,
    timer: Timer,
    spin: Span,
    machine: M,
    app: &'a mut A,
    recent: &'a Recent,
    /// The latest time that the machine was told; it is never told an earlier one.
    now: Time,
    /// When the machine wants to be woken.
    wake: Time,
    /// Whether the socket had no room. Nothing is asked of the machine until it has.
    blocked: bool,
    /// Whether the machine may have more output.
    unfinished: bool,
    buffer: Vec<u8>,
    received: Vec<Received>,
    report: Report,
}

impl<M: Machine, A: App<M>> Driver<'_, M, A> {
    async fn run(&mut self, stop: &Stop) -> Result<(), RealError> {
        let now = self.tick();
        self.drain(now);
        loop {
            if stop.is_triggered() {
                self.close().await;
                return Ok(());
            }
            if self.blocked && self.socket.flush(&mut self.report) {
                self.blocked = false;
                self.unfinished = true;
            }
            if self.unfinished {
                let now = self.tick();
                self.drain(now);
            }
            let more = self.receive()?;
            if self.act() == Flow::Stop {
                self.socket.flush(&mut self.report);
                return Ok(());
            }
            self.time_out();
            if more || (self.unfinished && !self.blocked) {
                tokio::task::yield_now().await;
            } else {
                self.wait(stop).await.map_err(RealError::io("wait for the socket or the timer"))?;
            }
        }
    }

    /// The time; never earlier than what the machine was told.
    fn tick(&mut self) -> Time {
        self.now = self.now.max(self.clock.now());
        self.now
    }

    /// Takes what the socket has, up to a limit. Whether there may be more.
    fn receive(&mut self) -> Result<bool, RealError> {
        for _ in 0..RECEIVE_CALLS_MAX {
            let mut received = std::mem::take(&mut self.received);
            let more = self.socket.receive(self.clock, &mut received, &mut self.report);
            for Received { at, from, ecn, datagram } in received.drain(..) {
                self.now = self.now.max(at);
                let now = self.now;
                self.machine.handle_datagram(now, from, ecn, datagram);
                self.drain(now);
            }
            self.received = received;
            if !more.map_err(RealError::io("receive from the socket"))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Deals with the inputs that are due, up to a limit.
    fn act(&mut self) -> Flow {
        for _ in 0..INPUTS_MAX {
            let (now, due) = (self.tick(), self.app.next_at());
            if due > now {
                break;
            }
            self.report.timer_lag.record(now.since(due));
            let flow = self.app.act(now, &mut self.machine);
            self.drain(now);
            if flow == Flow::Stop {
                return flow;
            }
        }
        Flow::Continue
    }

    fn time_out(&mut self) {
        let now = self.tick();
        if self.wake <= now && !self.blocked {
            self.report.timer_lag.record(now.since(self.wake));
            self.machine.handle_timeout(now);
            self.drain(now);
        }
    }

    /// Takes everything that the machine wants out of it, up to a limit, and notes when to wake it.
    fn drain(&mut self, now: Time) {
        if self.blocked {
            return;
        }
        self.unfinished = true;
        for _ in 0..OUTPUTS_MAX {
            match self.machine.poll_output(now, &mut self.buffer) {
                Output::Transmit(transmit) => {
                    self.app.transmit(now, &transmit);
                    self.blocked = !self.socket.push(transmit, &self.buffer, &mut self.report);
                    if self.blocked {
                        return;
                    }
                }
                Output::Event(event) => {
                    self.recent.note(now, &event);
                    self.app.event(now, &event);
                }
                Output::Wait(until) => {
                    self.wake = until;
                    self.unfinished = false;
                    break;
                }
            }
        }
        self.blocked = !self.socket.flush(&mut self.report);
    }

    /// Sleeps until there is something to do.
    async fn wait(&mut self, stop: &Stop) -> std::io::Result<()> {
        let wake = if self.blocked { Time::MAX } else { self.wake };
        let due = wake.min(self.app.next_at());
        let now = self.tick();
        let sleep_until = if due == Time::MAX {
            due
        } else {
            Time::from_nanos(due.as_nanos().saturating_sub(self.spin.as_nanos())).max(now)
        };
        self.timer.set(now, sleep_until)?;
        tokio::select! {
            biased;
            () = stop.triggered() => {}
            readable = self.socket.readable() => return readable,
            writable = self.socket.writable(), if self.blocked => return writable,
            expired = self.timer.expired() => {
                expired?;
                while !self.spin.is_zero() && self.clock.now() < due {
                    std::hint::spin_loop();
                }
            }
        }
        Ok(())
    }

    /// Has the connections closed and gives that a moment to be sent.
    async fn close(&mut self) {
        let now = self.tick();
        self.app.close(now, &mut self.machine);
        for _ in 0..CLOSE_TURNS_MAX {
            self.drain(now);
            if !self.blocked {
                return;
            }
            if self.socket.writable().await.is_err() {
                return;
            }
            self.blocked = !self.socket.flush(&mut self.report);
        }
    }
}

/// Room for the largest datagram.
const BUFFER_BYTES: usize = 64 << 10;
/// Batches received in one turn, of 32 datagrams each or of as many as receive offload puts together.
const RECEIVE_CALLS_MAX: usize = 4;
/// Inputs in one turn.
const INPUTS_MAX: usize = 16;
/// Packets and events taken out of the machine at once: a frame of the largest size a camera may make, and more.
const OUTPUTS_MAX: usize = 2048;
/// Times that the last packets wait for room in the socket.
const CLOSE_TURNS_MAX: usize = 8;
const SPIN_MAX: Span = Span::from_micros(100);
