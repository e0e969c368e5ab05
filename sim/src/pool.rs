//! Many cells on many threads, results in cell order.
//!
//! Workers take cells in order and the caller's thread takes results in order. A worker that is too
//! far ahead of the caller waits, so that memory does not grow with the number of cells. A panic in
//! a cell is that cell's failure and nobody else's.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bench::{Cell, CellResult};

use crate::error::SimError;
use crate::runner::{Crypto, Options, run_cell};

/// Where a cell's events go.
pub type EventLog = Box<dyn io::Write + Send>;

/// A pool of workers that run cells.
#[derive(Debug, Clone, Copy)]
pub struct Pool<'a> {
    /// How many threads run cells. Zero counts as one.
    pub jobs: usize,
    /// What protects the packets.
    pub crypto: Crypto,
    /// Once true, no new cell is begun; cells that run are finished and delivered.
    pub cancel: &'a AtomicBool,
    /// The CPU time of the calling thread so far, from which `cpu_s` of each cell is told. The
    /// simulator itself has no clock.
    pub meter: fn() -> Duration,
}

/// What the workers call while they run cells, from their own threads.
#[derive(Clone, Copy)]
pub struct Hooks<'a> {
    /// Opens the event log of the cell at this index; `Ok(None)` for no log.
    pub log: &'a (dyn Fn(usize, &Cell) -> io::Result<Option<EventLog>> + Sync),
    /// Called when a cell is finished, in whatever order, with how many are and how many there are.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

impl Default for Hooks<'_> {
    fn default() -> Self {
        Self { log: &|_, _| Ok(None), progress: &|_, _| () }
    }
}

impl Pool<'_> {
    /// Runs `cells` and calls `done` on this thread with the index of each and its result, in the
    /// order of `cells`. Returns how many were delivered: all, unless cancelled.
    pub fn run(
        &self,
        cells: &[Cell],
        hooks: Hooks<'_>,
        done: impl FnMut(usize, Result<CellResult, SimError>),
    ) -> usize {
        let work = |index: usize| self.one(index, &cells[index], hooks);
        run_in_order(self.jobs.max(1), cells.len(), self.cancel, &work, hooks.progress, done)
    }

    fn one(&self, index: usize, cell: &Cell, hooks: Hooks<'_>) -> Result<CellResult, SimError> {
        let began = (self.meter)();
        let result = catch_unwind(AssertUnwindSafe(|| {
            let log = (hooks.log)(index, cell).map_err(SimError::Log)?;
            run_cell(cell, Options { crypto: self.crypto, log, ..Options::default() })
        }));
        let spent = (self.meter)().saturating_sub(began);
        let mut result = result
            .unwrap_or_else(|panic| Err(SimError::Panicked { message: panic_message(panic.as_ref()) }))?;
        result.summary.cpu_s = Some(spent.as_secs_f64());
        Ok(result)
    }
}

/// Runs `work` for 0 to `count` on `jobs` threads and hands each result to `done` in order.
fn run_in_order<T: Send>(
    jobs: usize,
    count: usize,
    cancel: &AtomicBool,
    work: &(dyn Fn(usize) -> T + Sync),
    progress: &(dyn Fn(usize, usize) + Sync),
    mut done: impl FnMut(usize, T),
) -> usize {
    let jobs = jobs.min(count);
    let desk = Desk::new(count, jobs);
    std::thread::scope(|scope| {
        // Should `done` panic, waiting workers must go home, or the scope would wait for ever.
        let _closing = OnDrop(|| desk.close());
        for _ in 0..jobs {
            scope.spawn(|| {
                let _leaving = OnDrop(|| desk.leave());
                while let Some(index) = desk.take(cancel) {
                    let result = work(index);
                    let finished = desk.put(index, result);
                    progress(finished, count);
                }
            });
        }
        let mut delivered = 0;
        while let Some(result) = desk.next() {
            done(delivered, result);
            delivered += 1;
        }
        delivered
    })
}

/// Where workers fetch indices and leave results, and the caller fetches results in order.
struct Desk<T> {
    state: Mutex<DeskState<T>>,
    /// Told when the caller took a result or closed the desk.
    room: Condvar,
    /// Told when a result came or a worker left.
    news: Condvar,
    count: usize,
    ahead_max: usize,
}

struct DeskState<T> {
    /// The next index to hand out.
    next: usize,
    /// The index of the front of `results`.
    delivered: usize,
    results: VecDeque<Option<T>>,
    finished: usize,
    workers: usize,
    closed: bool,
}

impl<T> Desk<T> {
    fn new(count: usize, workers: usize) -> Self {
        let state = DeskState {
            next: 0,
            delivered: 0,
            results: VecDeque::new(),
            finished: 0,
            workers,
            closed: false,
        };
        Self {
            state: Mutex::new(state),
            room: Condvar::new(),
            news: Condvar::new(),
            count,
            ahead_max: workers * AHEAD_PER_JOB,
        }
    }

    /// The next index to work on, once the caller is near enough; `None` when there is no more.
    fn take(&self, cancel: &AtomicBool) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.closed || state.next == self.count || cancel.load(Ordering::Relaxed) {
                return None;
            }
            if state.next < state.delivered + self.ahead_max {
                let index = state.next;
                state.next += 1;
                state.results.push_back(None);
                return Some(index);
            }
            // The caller always wakes us: what it waits for is being worked on by somebody.
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Leaves the result of `index`; answers how many results there have been.
    fn put(&self, index: usize, result: T) -> usize {
        let mut state = self.lock();
        let place = index - state.delivered;
        state.results[place] = Some(result);
        state.finished += 1;
        self.news.notify_one();
        state.finished
    }

    /// The next result in order; `None` when it will never come.
    fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(Some(_)) = state.results.front() {
                let result = state.results.pop_front().flatten();
                state.delivered += 1;
                self.room.notify_all();
                return result;
            }
            if state.workers == 0 {
                return None;
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn leave(&self) {
        self.lock().workers -= 1;
        self.news.notify_one();
    }

    fn close(&self) {
        self.lock().closed = true;
        self.room.notify_all();
    }

    /// No code that can panic runs under the lock, so what is behind it is whole.
    fn lock(&self) -> MutexGuard<'_, DeskState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

/// How many cells a worker may be ahead of the caller, for each worker.
const AHEAD_PER_JOB: usize = 4;

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// Takes long enough for other threads to overtake, without a clock.
    fn dawdle(rounds: u64) -> u64 {
        (0..rounds).fold(1, |a, b| std::hint::black_box(a ^ (b << 3)))
    }

    fn no_progress(_: usize, _: usize) {}

    #[test]
    fn results_come_in_order_whatever_the_completion_order() {
        let cancel = AtomicBool::new(false);
        // The first cells take longest.
        let work = |index: usize| {
            dawdle(2_000_000 / (index as u64 + 1));
            index * 10
        };
        let seen = AtomicUsize::new(0);
        let progress = |_: usize, total: usize| {
            assert_eq!(total, 100);
            seen.fetch_add(1, Ordering::Relaxed);
        };
        let mut got = Vec::new();
        let delivered = run_in_order(4, 100, &cancel, &work, &progress, |index, result| {
            got.push((index, result));
        });
        assert_eq!(delivered, 100);
        assert_eq!(seen.load(Ordering::Relaxed), 100);
        assert_eq!(got, (0..100).map(|i| (i, i * 10)).collect::<Vec<_>>());
    }

    #[test]
    fn workers_stay_near_the_caller() {
        let cancel = AtomicBool::new(false);
        let delivered = AtomicUsize::new(0);
        let furthest = AtomicUsize::new(0);
        let work = |index: usize| {
            let ahead = index - delivered.load(Ordering::SeqCst).min(index);
            furthest.fetch_max(ahead, Ordering::SeqCst);
        };
        run_in_order(3, 500, &cancel, &work, &no_progress, |index, ()| {
            dawdle(20_000);
            delivered.store(index + 1, Ordering::SeqCst);
        });
        // One more than the bound, since a result is taken before `done` sees it.
        assert!(furthest.load(Ordering::SeqCst) <= 3 * AHEAD_PER_JOB, "{furthest:?}");
    }

    #[test]
    fn cancelling_finishes_what_runs_and_begins_nothing() {
        let cancel = AtomicBool::new(false);
        let begun = AtomicUsize::new(0);
        let work = |index: usize| {
            begun.fetch_add(1, Ordering::SeqCst);
            if index == 5 {
                cancel.store(true, Ordering::Relaxed);
            }
            index
        };
        let mut got = Vec::new();
        let delivered = run_in_order(2, 1_000, &cancel, &work, &no_progress, |index, _| got.push(index));
        assert_eq!(delivered, begun.load(Ordering::SeqCst));
        assert!((6..=8).contains(&delivered), "{delivered}");
        assert_eq!(got, (0..delivered).collect::<Vec<_>>());
    }

    #[test]
    fn a_caller_that_panics_does_not_hang_the_workers() {
        let cancel = AtomicBool::new(false);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            run_in_order(2, 1_000, &cancel, &|index| index, &no_progress, |index, _| {
                assert!(index < 3, "the caller has had enough");
            })
        }));
        assert!(caught.is_err());
    }

    #[test]
    fn no_cells_are_no_work() {
        let cancel = AtomicBool::new(false);
        assert_eq!(run_in_order(4, 0, &cancel, &|index| index, &no_progress, |_, _| ()), 0);
    }
}
