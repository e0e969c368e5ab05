//! What is known about this build and this machine. Written into manifests and shown by `doctor`;
//! no result depends on it.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// The build that is running.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    /// The package version.
    pub(crate) version: &'static str,
    /// The commit that was checked out when it was built, where there was one. The tree may have
    /// had changes; what was really built is told by [`Build::fingerprint`].
    pub(crate) commit: Option<&'static str>,
    /// The compiler.
    pub(crate) rustc: &'static str,
    /// Optimised or not.
    pub(crate) profile: &'static str,
}

impl Build {
    /// The one that is running.
    pub(crate) const fn this() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: option_env!("ARCBENCH_COMMIT"),
            rustc: env!("ARCBENCH_RUSTC"),
            profile: env!("ARCBENCH_PROFILE"),
        }
    }

    /// A hash of the running program. Any change to the relay, the links or the metrics gives
    /// another one, committed or not, so that cells of different builds are never mixed.
    pub(crate) fn fingerprint() -> io::Result<String> {
        let program = fs::read(std::env::current_exe()?)?;
        Ok(blake3::hash(&program).to_hex()[..16].to_owned())
    }
}

/// The machine.
#[derive(Debug, Clone)]
pub(crate) struct Host {
    /// Operating system.
    pub(crate) os: &'static str,
    /// Kernel release.
    pub(crate) kernel: String,
    /// Processor architecture.
    pub(crate) arch: &'static str,
    /// Processor model, where the system says.
    pub(crate) cpu: Option<String>,
    /// Threads that may run at once.
    pub(crate) cores: usize,
    /// Memory in bytes, where the system says.
    pub(crate) memory_bytes: Option<u64>,
    /// Memory that is free to use in bytes, where the system says.
    pub(crate) memory_available_bytes: Option<u64>,
}

impl Host {
    /// Looks at this machine.
    pub(crate) fn look() -> Self {
        let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Self {
            os: std::env::consts::OS,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            arch: std::env::consts::ARCH,
            cpu: field(&cpu, "model name").map(str::to_owned),
            cores: cores(),
            memory_bytes: kibibytes(&memory, "MemTotal"),
            memory_available_bytes: kibibytes(&memory, "MemAvailable"),
        }
    }

    /// All of it by name; what is not known is left out. Memory that is free changes by the moment
    /// and is no fact about the machine.
    pub(crate) fn facts(&self) -> BTreeMap<String, String> {
        let facts = [
            ("os", Some(self.os.to_owned())),
            ("kernel", Some(self.kernel.clone())),
            ("arch", Some(self.arch.to_owned())),
            ("cpu", self.cpu.clone()),
            ("cores", Some(self.cores.to_string())),
            ("memory_bytes", self.memory_bytes.map(|bytes| bytes.to_string())),
        ];
        facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// Threads that may run at once; 1 where the system does not say.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The value of the first `name : value` line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    let number: u64 = field(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proc_files_are_read() {
        let text = "MemTotal:       24000000 kB\nMemFree: 1 kB\nMemAvailable:   22000000 kB\n";
        assert_eq!(kibibytes(text, "MemAvailable"), Some(22_000_000 * 1024));
        assert_eq!(kibibytes(text, "Missing"), None);
        assert_eq!(field("model name\t: Fast One\n", "model name"), Some("Fast One"));
    }

    #[test]
    fn the_fingerprint_is_stable() {
        let print = Build::fingerprint().unwrap();
        assert_eq!(print.len(), 16);
        assert_eq!(print, Build::fingerprint().unwrap());
    }
}
