//! `arcbench doctor`: what this machine can do, tried out rather than guessed.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;

use realbench::doctor::{Capability, CapabilityState};
use realbench::net::enter_user_namespace;
use report::{Align, Sheet};

use crate::args::{Doctor, Format, Selection};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host::{Build, Host};
use crate::records::{self, BuildRecord, DoctorCheck, DoctorRecord};
use crate::{input, meter, output, place};

/// Looks at the machine and says what it found.
pub(crate) fn run(arguments: &Doctor) -> Result<Exit, Failure> {
    // First of all: a user namespace can be entered only before there is a second thread.
    let privileges = enter_user_namespace();
    let host = Host::look();
    let mut checks = vec![simulator(), cores(&host), memory(&host), run_folder(), terminal()];
    checks.extend(realbench::doctor::doctor(&privileges).into_iter().map(real_mode));
    match arguments.format {
        Format::Human => output::data(&human(&checks))?,
        Format::Json => output::data(&records::line(&record(&host, &checks))?)?,
        Format::Markdown => output::data(&sheet(&checks).markdown())?,
        Format::Csv => output::data(&sheet(&checks).csv())?,
    }
    let broken = checks.iter().any(|check| check.state == State::Broken);
    Ok(if broken { Exit::Unexpected } else { Exit::Ok })
}

struct Check {
    name: &'static str,
    state: State,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    /// Works, with something to know.
    Note,
    /// Not there, and nothing is wrong with that.
    Unsupported,
    /// Should work and does not.
    Broken,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Unsupported => "unsupported",
            Self::Broken => "broken",
        }
    }
}

/// Runs a short cell of the built-in matrix.
fn simulator() -> Check {
    let check = |state, text| Check { name: "simulator", state, text };
    let selection = Selection { duration: Some(PROBE_DURATION.to_owned()), ..Selection::default() };
    let cells = match input::load(&selection) {
        Ok(loaded) => loaded.cells,
        Err(failure) => return check(State::Broken, failure.message),
    };
    let began = meter::thread_cpu();
    let result = sim::run_cell(&cells[0], sim::Options::default());
    let cpu_s = meter::thread_cpu().saturating_sub(began).as_secs_f64();
    match result {
        Ok(result) => {
            let rate = result.summary.packets as f64 / cpu_s.max(1e-6);
            check(State::Ok, format!("{:.0} thousand packets a CPU second", rate / 1e3))
        }
        Err(error) => check(State::Broken, format!("a short cell failed: {error}")),
    }
}

fn cores(host: &Host) -> Check {
    let text = format!("{}: `run` has that many cells at work, unless --jobs says otherwise", host.cores);
    Check { name: "cores", state: State::Ok, text }
}

fn memory(host: &Host) -> Check {
    let check = |state, text| Check { name: "memory", state, text };
    let (Some(total), Some(available)) = (host.memory_bytes, host.memory_available_bytes) else {
        return check(State::Note, "the system does not say".to_owned());
    };
    let text = format!("{:.1} GB free of {:.1} GB", available as f64 / 1e9, total as f64 / 1e9);
    if available < MEMORY_ENOUGH_BYTES {
        return check(State::Note, format!("{text}: fewer --jobs need less"));
    }
    check(State::Ok, text)
}

fn run_folder() -> Check {
    let check = |state, text| Check { name: "run folder", state, text };
    match place::writable(Path::new(place::RUNS)) {
        Ok(()) => check(State::Ok, "./runs can be written".to_owned()),
        Err(reason) => check(State::Note, format!("./runs: {reason}; use --out")),
    }
}

fn terminal() -> Check {
    let text = if std::io::stderr().is_terminal() {
        format!("progress is a bar; grids are {} columns wide", output::columns())
    } else {
        format!("stderr is none: progress is lines; grids are {} columns wide", output::columns())
    };
    Check { name: "terminal", state: State::Ok, text }
}

fn real_mode(capability: Capability) -> Check {
    let state = match capability.state {
        CapabilityState::Possible => State::Ok,
        CapabilityState::Limited => State::Note,
        CapabilityState::Impossible => State::Unsupported,
    };
    Check { name: capability.name, state, text: capability.text }
}

fn human(checks: &[Check]) -> String {
    let build = Build::this();
    let commit = build.commit.map(|commit| format!(" ({commit})")).unwrap_or_default();
    let mut out = format!("arcbench {}{commit}, {} build, {}\n", build.version, build.profile, build.rustc);
    for check in checks {
        let _ = writeln!(out, "  {:<11}  {:<14}  {}", check.state.word(), check.name, check.text);
    }
    out
}

/// A row for each check.
fn sheet(checks: &[Check]) -> Sheet {
    let mut sheet = Sheet::new(["state", "name", "text"].map(|name| (name, Align::Left)));
    for check in checks {
        sheet.row([check.state.word(), check.name, &check.text]);
    }
    sheet
}

fn record(host: &Host, checks: &[Check]) -> DoctorRecord {
    let build = Build::this();
    let check = |check: &Check| DoctorCheck {
        name: check.name.to_owned(),
        state: check.state.word().to_owned(),
        text: check.text.clone(),
    };
    DoctorRecord {
        schema: "arcbench.doctor",
        version: records::VERSION,
        arcbench: BuildRecord {
            version: build.version.to_owned(),
            commit: build.commit.map(str::to_owned),
            rustc: build.rustc.to_owned(),
            profile: build.profile.to_owned(),
        },
        host: host.facts(),
        checks: checks.iter().map(check).collect(),
    }
}

/// Long enough for the connections to come up and some frames to cross.
const PROBE_DURATION: &str = "2 s";
/// Below this `doctor` says so. A cell needs some tens of megabytes.
const MEMORY_ENOUGH_BYTES: u64 = 500_000_000;
