//! A network namespace without a name.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

use super::NetError;

/// A network namespace, for as long as this or a socket or device in use inside it is there.
#[derive(Debug)]
pub struct Namespace {
    file: File,
}

impl Namespace {
    /// A new, empty namespace, made by a thread that ends at once.
    ///
    /// # Errors
    ///
    /// If the process may not make one: it needs `CAP_SYS_ADMIN`, as root or inside a user namespace.
    pub fn new() -> Result<Self, NetError> {
        let make = || {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| NetError::system("make a network namespace", errno))?;
            let file = File::open("/proc/thread-self/ns/net")
                .map_err(|error| NetError::system("open the new network namespace", error))?;
            Ok(Self { file })
        };
        joined(thread::scope(|scope| scope.spawn(make).join()))
    }

    /// Runs `work` on a thread inside the namespace, and waits for it. Sockets that it makes stay in the
    /// namespace wherever they are used later.
    ///
    /// # Errors
    ///
    /// If the namespace cannot be entered, or what `work` returns.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> Result<T, NetError> + Send) -> Result<T, NetError> {
        let inside = || {
            self.enter()?;
            work()
        };
        joined(thread::scope(|scope| scope.spawn(inside).join()))
    }

    /// Moves the calling thread into the namespace, for good.
    pub(crate) fn enter(&self) -> Result<(), NetError> {
        setns(&self.file, CloneFlags::CLONE_NEWNET)
            .map_err(|errno| NetError::system("enter a network namespace", errno))
    }

    /// The number by which the system knows the namespace, as in `/proc/PID/ns/net`.
    ///
    /// # Errors
    ///
    /// If the system does not say.
    pub fn inode(&self) -> Result<u64, NetError> {
        let metadata = self.file.metadata();
        Ok(metadata.map_err(|error| NetError::system("look at a network namespace", error))?.ino())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRawFd for Namespace {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

fn joined<T>(result: thread::Result<Result<T, NetError>>) -> Result<T, NetError> {
    result.unwrap_or(Err(NetError::Panicked))
}
