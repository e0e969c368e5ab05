//! What the process may do, and how it comes to be allowed what it needs without root.

use std::fs;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::{getegid, geteuid};

use super::NetError;

/// By which right the process makes network namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privileges {
    /// It has the capabilities already.
    Own,
    /// It is root inside a user namespace of its own, and nothing outside.
    UserNamespace,
}

/// The capabilities that real mode asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// `CAP_SYS_ADMIN`: to make and enter namespaces.
    pub sys_admin: bool,
    /// `CAP_NET_ADMIN`: to make devices, addresses and queueing disciplines.
    pub net_admin: bool,
    /// `CAP_NET_RAW`: to take frames out of a device and put them in.
    pub net_raw: bool,
}

impl Capabilities {
    /// What the calling thread has in effect.
    ///
    /// # Errors
    ///
    /// If `/proc` does not say.
    pub fn of_this_thread() -> Result<Self, NetError> {
        let status = read("/proc/thread-self/status")?;
        let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let mask = u64::from_str_radix(mask.unwrap_or_default().trim(), 16).unwrap_or(0);
        let has = |bit: u32| mask & (1 << bit) != 0;
        Ok(Self { sys_admin: has(21), net_admin: has(12), net_raw: has(13) })
    }

    /// Whether nothing is missing.
    pub fn all(self) -> bool {
        self.sys_admin && self.net_admin && self.net_raw
    }
}

/// Makes sure that the process may make network namespaces: with the capabilities it has, or else as root inside
/// a new user namespace.
///
/// To be called first thing in `main`, since a user namespace can be entered only before there is a second
/// thread. It changes who the process is within it: files are made as before, by the same user.
///
/// # Errors
///
/// If there is a second thread, or the system does not let this user make user namespaces
/// (`user.max_user_namespaces`, `kernel.unprivileged_userns_clone`, a security module, a container).
pub fn enter_user_namespace() -> Result<Privileges, NetError> {
    if Capabilities::of_this_thread()?.all() {
        return Ok(Privileges::Own);
    }
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads != 1 {
        return Err(NetError::Threads { threads });
    }
    let (user, group) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(|errno| NetError::system("make a user namespace", errno))?;
    // A user without privileges may map only itself, and its group only once it has given up setgroups.
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))?;
    Ok(Privileges::UserNamespace)
}

fn read(path: &str) -> Result<String, NetError> {
    fs::read_to_string(path).map_err(|error| NetError::system(format!("read {path}"), error))
}

fn write(path: &str, text: &str) -> Result<(), NetError> {
    fs::write(path, text).map_err(|error| NetError::system(format!("write {path}"), error))
}
