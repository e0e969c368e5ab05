//! The command line: verbs, flags and their help. Nothing here does any work.

mod replay;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use units::Span;

pub(crate) use self::replay::{CaptureAt, Replay};
use self::replay::{REPLAY_EXAMPLES, span};
use crate::exit;

/// Everything that can be asked of the binary.
#[derive(Debug, Parser)]
#[command(
    name = "arcbench",
    version,
    about = "A bench for teleoperation relays",
    long_about = "A bench for teleoperation relays.\n\n\
        It runs a relay (camera video one way, hand poses the other) over modelled links in seeded \
        virtual time: a matrix of link profiles x relay settings x seeds, two minutes a cell, in a \
        fraction of a second each. The same seed gives the same bytes on any machine.",
    after_long_help = after_help(),
    after_help = "`arcbench --help` also shows examples and exit codes.",
    arg_required_else_help = true,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run a scenario, in the simulator or for real, and print its grid
    #[command(after_long_help = RUN_EXAMPLES)]
    Run(Run),
    /// Show what a scenario would run: cells, counts and estimated packets
    List(List),
    /// Check a scenario and everything it names; reports every error at once
    Check(Check),
    /// Show one finished cell from a run folder
    Show(Show),
    /// Say what limited one finished cell, with the numbers that say so and what to try
    #[command(after_long_help = EXPLAIN_EXAMPLES)]
    Explain(Explain),
    /// Run cells in the simulator and for real, and say where they disagree
    #[command(after_long_help = CONFIRM_HELP)]
    Confirm(Confirm),
    /// Run one finished cell again, check that it comes to the same, and write what happened in it
    #[command(after_long_help = REPLAY_EXAMPLES)]
    Replay(Replay),
    /// Make the HTML report of a run: grid, delays, timelines, before and after
    #[command(after_long_help = REPORT_EXAMPLES)]
    Report(Report),
    /// Print the grid of a run that was kept
    #[command(after_long_help = GRID_EXAMPLES)]
    Grid(Grid),
    /// Draw how late frames are: the distribution over all produced frames
    Cdf(Cdf),
    /// Compare two runs, or two settings, seed by seed: better, worse or the same
    #[command(after_long_help = COMPARE_HELP)]
    Compare(Compare),
    /// Say what becomes of each packet of a link, by the model and by real links, and where they differ
    #[command(after_long_help = FATES_EXAMPLES)]
    Fates(Fates),
    /// Make certificates and session tokens for a relay and its ends
    #[command(after_long_help = PROCESS_EXAMPLES)]
    Certs(Certs),
    /// Run the relay as a process on a real network
    #[command(after_long_help = PROCESS_EXAMPLES)]
    Relay(RelayArguments),
    /// Run a robot's end as a process: synthetic cameras
    #[command(after_long_help = PROCESS_EXAMPLES)]
    Robot(EndArguments),
    /// Run an operator's end as a process: synthetic hand poses
    #[command(after_long_help = PROCESS_EXAMPLES)]
    Operator(EndArguments),
    /// Say what this machine can do
    Doctor(Doctor),
    /// Print a JSON Schema: of a file you write, or of the result you read
    Schema(Schema),
    /// Print a completion script for a shell
    #[command(after_long_help = "Example:\n  arcbench completions bash > \
        ~/.local/share/bash-completion/completions/arcbench")]
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
}

/// Which cells: a scenario and what the command line changes in it.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Selection {
    /// A scenario file, or the name of a built-in scenario [default: seed-matrix]
    ///
    /// A name without a path separator and without `.toml` is looked up among the built-in
    /// scenarios, which work from any folder; anything else is a path.
    pub(crate) scenario: Option<String>,

    /// Seeds to run instead of the scenario's: one, a list or a range
    ///
    /// `5` is seed 5, `1,4,7` are these, `1..5` are 1 to 5 with both ends. Default: the scenario's.
    /// Two settings with the same seed meet the same link and the same camera.
    #[arg(long, value_name = "SEEDS", help_heading = "Selection")]
    pub(crate) seeds: Option<String>,

    /// Profiles to run, comma-separated: names, or globs with `*`
    ///
    /// Out of the scenario's, or else built-in ones: `bad-india-reorder` works in any scenario.
    /// Default: all of the scenario's.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) profiles: Option<Vec<String>>,

    /// Settings to run, comma-separated: names, or globs with `*`
    ///
    /// Out of those that the scenario defines. Default: all of them, in the order of the file.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = "Selection")]
    pub(crate) settings: Option<Vec<String>>,

    /// How long the traffic of each cell lasts, with its unit, for example "10 s"
    ///
    /// Simulated time, not waiting time. From 1 s to 3600 s. Default: the scenario's, which is
    /// 120 s where it says nothing.
    #[arg(long, value_name = "DURATION", help_heading = "Selection")]
    pub(crate) duration: Option<String>,

    /// Change one setting; may be given several times
    ///
    /// `--set skip.threshold=3%` changes it in every settings of the scenario,
    /// `--set tuned.skip.threshold=3%` in one. `arcbench schema settings` has the keys. Default:
    /// nothing is changed.
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Selection")]
    pub(crate) set: Vec<String>,
}

/// `arcbench run`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own on the command line")]
pub(crate) struct Run {
    /// Which cells to run.
    #[command(flatten)]
    pub(crate) selection: Selection,

    /// Cells to run at the same time [default: one per core]
    ///
    /// At most four per core are at work whatever is asked for, since each takes memory. Results do
    /// not depend on it.
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,

    /// The run folder [default: runs/SCENARIO-HASH]
    ///
    /// The hash covers the resolved scenario, `--crypto` and the build of arcbench, so that the same
    /// command finds its own finished cells and goes on, and a changed relay starts anew.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Discard the cells that this same run has finished, and run them again
    ///
    /// Default: finished cells are kept and not run again.
    #[arg(long)]
    pub(crate) fresh: bool,

    /// Metrics to print, comma-separated, or `all`
    ///
    /// A grid for each. `arcbench run --metric help` lists them. Default: delivered, frozen,
    /// delay-p50, delay-p99, hand-p50. Every metric is in the JSON whatever is printed.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,

    /// What results must keep to; may be given several times. Default: nothing
    ///
    /// PROFILE[/SETTINGS].FIELD OPERATOR NUMBER, over the mean of the seeds, or worst(…) for every
    /// seed: `'worst(bad-india/best.main.delivered_ratio) >= 0.99'`. FIELD is a path in a cell's
    /// summary as `show --format json` prints it, or begins with a camera. `*` stands for every
    /// profile, settings or camera. What is `null` fails. Exit code 10 if a gate does not hold.
    #[arg(long, value_name = "GATE")]
    pub(crate) gate: Vec<String>,

    /// What protects the packets in the simulator
    #[arg(long, value_name = "KIND", value_enum, default_value_t = Crypto::Null)]
    pub(crate) crypto: Crypto,

    /// Write every event of every cell to events.jsonl.zst in the cell's folder
    ///
    /// A few megabytes for a two-minute cell, which takes about twice the processor time. Default: no event
    /// log. A finished cell without one is not run again for it; add `--fresh`.
    #[arg(long)]
    pub(crate) events: bool,

    /// Do not write report.html into the run folder at the end
    ///
    /// Default: it is written, from all cells that have ended. `arcbench report` makes it at any time.
    #[arg(long)]
    pub(crate) no_report: bool,

    /// No progress and no footer on stderr; errors and warnings are still printed
    #[arg(long, short)]
    pub(crate) quiet: bool,

    /// In virtual time, or over real sockets in network namespaces
    ///
    /// For real, each cell takes as long as it is, and a little: cells run one after the other, in random
    /// seeded order. `arcbench doctor` says whether this machine can.
    #[arg(long, value_name = "MODE", value_enum, default_value_t = RunMode::Sim)]
    pub(crate) mode: RunMode,

    /// What carries the packets of real cells
    #[arg(long, value_name = "BACKEND", value_enum, default_value_t = RealBackend::Auto)]
    pub(crate) backend: RealBackend,

    /// How often each real cell is run; the spread is what the machine alone makes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: u32,
}

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

/// `arcbench list`.
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Which cells to list.
    #[command(flatten)]
    pub(crate) selection: Selection,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench check`.
#[derive(Debug, Args)]
pub(crate) struct Check {
    /// What to check.
    #[command(flatten)]
    pub(crate) selection: Selection,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench show`.
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// A cell: its folder, or its id or the beginning of it, looked up in a run folder
    pub(crate) cell: String,

    /// The run folder to look in [default: the newest in ./runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// Tell what happened around this moment, packet by packet, for example "73s"
    ///
    /// In time since the start of the traffic. The cell is run again for it, and must come to the same.
    /// Default: the summary and the cell over time.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) at: Option<Span>,

    /// How far before and after that moment [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = span, requires = "at")]
    pub(crate) around: Option<Span>,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench explain`.
#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A cell: its folder, or its id or the beginning of it, looked up in a run folder
    pub(crate) cell: String,

    /// The run folder to look in [default: the newest in ./runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench report`.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run folder [default: the newest in ./runs]
    pub(crate) run: Option<PathBuf>,

    /// Where to write the page [default: report.html in the run folder]
    ///
    /// It is one file that asks the network for nothing, so it can be sent as it is.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// `arcbench grid`.
#[derive(Debug, Args)]
pub(crate) struct Grid {
    /// The run folder [default: the newest in ./runs]
    pub(crate) run: Option<PathBuf>,

    /// Metrics to print, comma-separated, or `all`; as for `run`
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,

    /// What results must keep to, as for `run`; may be given several times
    #[arg(long, value_name = "GATE")]
    pub(crate) gate: Vec<String>,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench cdf`.
#[derive(Debug, Args)]
pub(crate) struct Cdf {
    /// A run folder, or a cell as `show` takes it [default: the newest run in ./runs]
    pub(crate) what: Option<String>,

    /// The run folder to look for a cell in [default: the newest in ./runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// Profiles of a run, comma-separated: names, or globs with `*` [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) profiles: Vec<String>,

    /// Settings of a run, comma-separated: names, or globs with `*` [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) settings: Vec<String>,

    /// The camera whose frames are counted [default: the main one]
    #[arg(long, value_name = "NAME")]
    pub(crate) camera: Option<String>,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench compare`.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// What to compare with: a run folder, RUN:SETTINGS, or the name of settings in --run
    pub(crate) before: String,

    /// What to compare: a run folder, RUN:SETTINGS, or the name of settings in --run
    pub(crate) after: String,

    /// The run that bare settings names are looked up in [default: the newest in ./runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// Profiles to compare, comma-separated: names, or globs with `*` [default: all]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) profiles: Vec<String>,

    /// Metrics to compare, comma-separated, or `all`; as for `run`
    ///
    /// The more results there are, the surer each must be: p-values are adjusted for all that are
    /// compared together.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) metric: Vec<String>,

    /// What results of AFTER must keep to, as for `run`; may be given several times
    #[arg(long, value_name = "GATE")]
    pub(crate) gate: Vec<String>,

    /// What ends with exit code 14
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = FailOn::Worse)]
    pub(crate) fail_on: FailOn,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
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

/// `arcbench doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// `arcbench certs`.
#[derive(Debug, Args)]
pub(crate) struct Certs {
    /// The folder to write them to; files that are there are not replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Names and addresses by which ends reach the relay, comma-separated [default: relay]
    ///
    /// `relay` is what ends ask for unless they are told `--server-name`.
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', default_values_t = [realbench::tls::SERVER_NAME.to_owned()], hide_default_value = true)]
    pub(crate) names: Vec<String>,

    /// The session that the tokens are for
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) session: u64,
}

/// What relay, robot and operator have in common.
#[derive(Debug, Args)]
pub(crate) struct Party {
    /// This process's certificate, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: PathBuf,

    /// Its private key, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) key: PathBuf,

    /// The certificate of the authority that the peers' certificates must come from, as PEM
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: PathBuf,

    /// Session tokens: at the relay, a line `SESSION robot|operator HASH` for each; at an end, its secret
    ///
    /// Default: none. A relay without lets everybody in whose certificate is of the authority.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// The scenario that has the settings and the workload [default: best]
    ///
    /// A file, or the name of a built-in scenario. Relay and ends should all have the same.
    #[arg(long, value_name = "SCENARIO", help_heading = "Settings")]
    pub(crate) scenario: Option<String>,

    /// Which of the scenario's settings [default: its first]
    #[arg(long, value_name = "NAME", help_heading = "Settings")]
    pub(crate) settings: Option<String>,

    /// Change one setting; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE", help_heading = "Settings")]
    pub(crate) set: Vec<String>,

    /// Allow `congestion.kind = "open"` although others use the network too
    #[arg(long, help_heading = "Settings")]
    pub(crate) allow_open_congestion: bool,

    /// Hand datagrams to the kernel one by one, and take them one by one
    ///
    /// Default: many in one call where the kernel can (GSO and GRO).
    #[arg(long)]
    pub(crate) no_offload: bool,

    /// How often a line of statistics goes to stderr
    #[arg(long, value_name = "DURATION", default_value = "5 s")]
    pub(crate) every: String,
}

/// `arcbench relay`.
#[derive(Debug, Args)]
pub(crate) struct RelayArguments {
    /// The address to listen on, for example 0.0.0.0:4433
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: SocketAddr,

    /// Certificates, tokens and settings.
    #[command(flatten)]
    pub(crate) party: Party,
}

/// `arcbench robot` and `arcbench operator`.
#[derive(Debug, Args)]
pub(crate) struct EndArguments {
    /// The relay's address, or name and port
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) relay: String,

    /// The name that the relay's certificate must carry
    #[arg(long, value_name = "NAME", default_value = realbench::tls::SERVER_NAME)]
    pub(crate) server_name: String,

    /// The session to join; robot and operator of one session are paired
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) session: u64,

    /// How long to send, from joining on [default: until it is stopped]
    #[arg(long, value_name = "DURATION")]
    pub(crate) duration: Option<String>,

    /// How long to try to join for the first time before giving up
    #[arg(long, value_name = "DURATION", default_value = "30 s")]
    pub(crate) join_within: String,

    /// Certificates, tokens and settings.
    #[command(flatten)]
    pub(crate) party: Party,
}

/// `arcbench schema`.
#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Of what
    #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
    pub(crate) of: SchemaOf,
}

/// In which form a verb prints what it found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For reading: as wide as the terminal; 80 columns where there is none
    #[value(name = "table", alias = "human")]
    Human,
    /// One object with everything, for programs (`arcbench schema`)
    Json,
    /// Tables in Markdown
    Markdown,
    /// A header and rows, nothing rounded; where there are several tables, an empty line between them
    Csv,
}

/// What makes a comparison end with exit code 14.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Nothing
    None,
    /// A verdict of worse
    Worse,
    /// That, or too few seeds where the mean got worse by as much as matters
    Unsettled,
}

/// What protects packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Crypto {
    /// A 16-byte tag without encryption: the same packet sizes as TLS, and faster
    Null,
    /// Real TLS 1.3 with Ed25519 certificates, to check the other against
    Tls,
}

impl Crypto {
    /// The simulator's word for it.
    pub(crate) fn sim(self) -> sim::Crypto {
        match self {
            Self::Null => sim::Crypto::Null,
            Self::Tls => sim::Crypto::Tls,
        }
    }

    /// The word that the command line takes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Tls => "tls",
        }
    }
}

/// What a schema can describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// Scenario files
    Scenario,
    /// Profile files
    Profile,
    /// The settings tables of a scenario
    Settings,
    /// What `run` and `grid` print with `--format json`
    Grid,
    /// What `compare --format json` prints
    Compare,
    /// What `show --format json` prints
    Show,
    /// What `show --at --format json` prints
    Moments,
    /// What `explain --format json` prints
    Explain,
    /// What `replay --format json` prints
    Replay,
    /// What `list --format json` prints
    List,
    /// What `check --format json` prints
    Check,
    /// What `cdf --format json` prints
    Cdf,
    /// What `fates --format json` prints
    Fates,
    /// What `doctor --format json` prints
    Doctor,
    /// What a command prints with `--format json` in place of its result when it fails
    Error,
    /// What `confirm --format json` prints
    Confirm,
}

fn after_help() -> String {
    format!(
        "Examples:\n  \
         arcbench run\n      \
         the built-in matrix: five links, every settings, every seed\n  \
         arcbench run my.toml --profiles bad-india --seeds 1..5 --metric delivered,delay-p99\n      \
         one link of your scenario under five seeds, two metrics\n  \
         arcbench run --duration \"10 s\" --format json | jq '.cells[].all.delivered_ratio'\n      \
         a quick pass, for a program to read\n\n{}\n\n\
         Data goes to stdout, progress and errors to stderr. NO_COLOR is honoured. With `--format json` there is\n\
         always one object on stdout: the result, or an `arcbench.error` with the exit code, what is wrong and\n\
         where. `arcbench schema` has the schema of each.",
        exit::TABLE
    )
}

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  arcbench explain bad-india--before--s1
  arcbench explain bad-india--before--s1 --format json | jq -r '.findings[0].setting.command'

Findings are ranked by what they cost. Those that cover no others share out all missing and late frames. Each
number is named with the file and field, or the DuckDB query, that it comes from.";

const REPORT_EXAMPLES: &str = "\
Examples:
  arcbench report
  arcbench report runs/seed-matrix-0123456789 --out before-after.html

The page's path goes to stdout. The same run folder gives the same bytes.";

const FATES_EXAMPLES: &str = "\
Examples:
  arcbench fates --profile bad-india --packets 20
  arcbench fates --profile bad-india --seed 2 --packets 1000 --backend sim,userspace --format json

Exits with 13 if a packet met another fate than the model gives one that is sent at the same time.";

const PROCESS_EXAMPLES: &str = "\
Three terminals on one machine:
  arcbench certs --out certs
  arcbench relay --listen 127.0.0.1:4433 --cert certs/relay.pem --key certs/relay.key \\
      --ca certs/ca.pem --token-file certs/tokens
  arcbench operator --relay 127.0.0.1:4433 --cert certs/operator.pem --key certs/operator.key \\
      --ca certs/ca.pem --token-file certs/operator.token --duration \"12 s\"
  arcbench robot --relay 127.0.0.1:4433 --cert certs/robot.pem --key certs/robot.key \\
      --ca certs/ca.pem --token-file certs/robot.token --duration \"10 s\"

Each prints statistics on stderr and, at its end, one JSON object on stdout. Ctrl-C and SIGTERM end it
in order, with exit code 0.";

const RUN_EXAMPLES: &str = "\
Examples:
  arcbench run scenarios/seed-matrix.toml
  arcbench run --profiles bad-india,bad-india-reorder --seeds 1 --events
  arcbench run --set tuned.skip.threshold=3% --metric all --format markdown
  arcbench run confirm --mode real --repeat 2

A run that is stopped keeps every finished cell; the same command goes on where it stopped.";

const CONFIRM_HELP: &str = "\
Examples:
  arcbench confirm
      the built-in scenario: five links, three relays, 60 s each
  arcbench confirm --profiles same-region,bad-india --settings best --duration \"10 s\" --repeat 3
  arcbench confirm my.toml --format markdown

Tolerances: delivered 2 points, frame delay p50 3 ms and p95 10 ms, hand to command p50 3 ms, frozen 1 s a minute.
A cell whose machine was too noisy is `tainted` and gets no verdict. A figure is `chaotic` where the simulator's own
are further apart than the tolerance when packets are some tenths of a millisecond late (sim range), and it is among them.

Exit codes: 10 if a verdict is `differs`; 11 if a cell failed; 12 interrupted.";

const GRID_EXAMPLES: &str = "\
Examples:
  arcbench grid
  arcbench grid runs/seed-matrix-0123456789 --metric all --format markdown
  arcbench grid --gate 'worst(*/best.main.delivered_ratio) >= 0.99'";

const COMPARE_HELP: &str = "\
Examples:
  arcbench compare before best
      two settings of the newest run in ./runs
  arcbench compare runs/old runs/new
      two runs of one scenario, each settings with its namesake: what a change to the relay did
  arcbench compare runs/old:best runs/new:tuned --metric all --format json
  arcbench compare before best --gate '*/best.main.delivered_ratio >= 0.99' --fail-on unsettled

Cells are paired by profile and seed. A result is better or worse if the mean difference is at least the
metric's smallest difference that matters, its 95 % bootstrap interval excludes zero, and the p-value of
the sign-flip test, adjusted for all results (Benjamini-Hochberg), is at most 0.05; the same if the interval
lies within the smallest difference that matters; otherwise the seeds are too few to tell, as fewer than six
always are. docs/compare.md has the method and the numbers.

Exit codes: 14 if anything got worse; 10 if a gate failed; 11 if a cell failed only in AFTER; 15 if there was
no pair to compare; 2 if the runs' profiles, workload, duration or metrics differ.";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_shows_exit_codes_and_three_examples() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("Exit codes:"));
        assert!(help.matches("\n  arcbench run").count() >= 3, "{help}");
    }

    #[test]
    fn every_argument_has_help() {
        for verb in Cli::command().get_subcommands() {
            for argument in verb.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", verb.get_name(), argument.get_id());
            }
        }
    }
}
