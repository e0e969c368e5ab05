//! The arguments of real mode: cells for real, and what becomes of packets.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{Format, Selection};

/// `arcbench confirm`.
#[derive(Debug, Args)]
pub(crate) struct Confirm {
    /// Which cells to run; the scenario is `confirm` where none is named.
    #[command(flatten)]
    pub(crate) selection: Selection,

    /// How often each cell is run for real; the spread is what the machine alone makes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,

    /// What carries the packets of the real cells
    #[arg(long, value_name = "BACKEND", value_enum, default_value_t = RealBackend::Auto)]
    pub(crate) backend: RealBackend,

    /// The run folder of the real cells [default: runs/SCENARIO-HASH]
    ///
    /// As for `run`: the same command goes on where it stopped.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Discard the real cells that this same run has finished, and run them again
    #[arg(long)]
    pub(crate) fresh: bool,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// No progress on stderr
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// How cells are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunMode {
    /// In the simulator, in virtual time
    Sim,
    /// Over real sockets in network namespaces, in real time
    Real,
}

/// What carries the packets of real cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RealBackend {
    /// The one that can do every profile and knows each packet's fate: `userspace`
    Auto,
    /// The simulator's link models, driven in real time
    Userspace,
    /// The kernel's netem and token bucket
    Netem,
    /// A cable: no delay, no loss
    None,
}

impl RealBackend {
    /// The backend's own name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Auto | Self::Userspace => "userspace",
            Self::Netem => "netem",
            Self::None => "none",
        }
    }
}

/// `arcbench fates`.
#[derive(Debug, Args)]
pub(crate) struct Fates {
    /// The profile of the link: a built-in name, or the path of a file
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: String,

    /// The seed: packets meet the fates that they meet in a cell of this seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// How many packets are sent
    #[arg(long, value_name = "K", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) packets: u32,

    /// By what, comma-separated: the model, or a real link in network namespaces
    ///
    /// `sim` sends packets at their nominal times. A real link's are sent when the machine gets to it; beside each stands
    /// the model's fate of a packet sent at that time (`sim@userspace`), which it is compared with.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_enum, default_values_t = [FateBackend::Sim])]
    pub(crate) backend: Vec<FateBackend>,

    /// The direction of the operator's hop
    #[arg(long, value_enum, default_value_t = FateDirection::Down)]
    pub(crate) direction: FateDirection,

    /// The bytes of each IP packet, from 32 to 1500
    #[arg(long, value_name = "BYTES", default_value_t = 1200, value_parser = clap::value_parser!(u32).range(32..=1500))]
    pub(crate) bytes: u32,

    /// The time between two packets, with its unit
    #[arg(long, value_name = "DURATION", default_value = "2 ms")]
    pub(crate) interval: String,

    /// The most by which a delay that is measured from outside may be longer than the model's, with its unit
    ///
    /// Only netem's delays are measured from outside: from before a datagram is handed over until it has been
    /// taken in, which the machine adds its own to. They are never to be shorter. Default: any longer one is taken.
    #[arg(long, value_name = "DURATION")]
    pub(crate) late_max: Option<String>,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// What a packet's fate can be asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FateBackend {
    /// The model, as the simulator has it
    Sim,
    /// The model driven in real time, with real packets
    Userspace,
    /// The kernel's netem
    Netem,
}

impl FateBackend {
    /// The word that the command line takes, which for a real link is the link's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Userspace => "userspace",
            Self::Netem => "netem",
        }
    }
}

/// A direction of the operator's hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FateDirection {
    /// From the operator to the relay
    Up,
    /// From the relay to the operator
    Down,
}

pub(super) const FATES_EXAMPLES: &str = "\
Examples:
  arcbench fates --profile bad-india --packets 20
  arcbench fates --profile bad-india --seed 2 --packets 1000 --backend sim,userspace --format json

Exits with 13 if a packet met another fate than the model gives one that is sent at the same time.";

pub(super) const CONFIRM_HELP: &str = "\
Examples:
  arcbench confirm
      the built-in scenario: five links, three relays, 60 s each
  arcbench confirm --profiles same-region,bad-india --settings best --duration \"10 s\" --repeat 3
  arcbench confirm my.toml --format markdown

Tolerances: delivered 2 points, frame delay p50 3 ms and p95 10 ms, hand to command p50 3 ms, frozen 1 s a minute.
A cell whose machine was too noisy is `tainted` and gets no verdict. A figure is `chaotic` where the simulator's own
are further apart than the tolerance when packets are some tenths of a millisecond late (sim range), and it is among them.

Exit codes: 10 if a verdict is `differs`; 11 if a cell failed; 12 interrupted.";
