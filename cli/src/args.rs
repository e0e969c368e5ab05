//! The command line: verbs, flags and their help. Nothing here does any work.

mod process;
mod read;
mod real;
mod replay;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use self::process::PROCESS_EXAMPLES;
pub(crate) use self::process::{Certs, EndArguments, Party, RelayArguments};
use self::read::{COMPARE_HELP, EXPLAIN_EXAMPLES, GRID_EXAMPLES, REPORT_EXAMPLES};
pub(crate) use self::read::{Cdf, Compare, Explain, FailOn, Grid, Report, Show};
use self::real::{CONFIRM_HELP, FATES_EXAMPLES};
pub(crate) use self::real::{Confirm, FateBackend, FateDirection, Fates, RealBackend, RunMode};
use self::replay::REPLAY_EXAMPLES;
pub(crate) use self::replay::{CaptureAt, Replay};
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
    #[command(after_long_help = CONFIRM_HELP, mut_arg("scenario", |arg| {
        arg.help("Scenario: a file, or the name of a built-in one [default: confirm]")
    }))]
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
    /// Simulated time; of a real cell, time. From 1 s to 3600 s. Default: the scenario's, which is
    /// 120 s where it says nothing.
    #[arg(long, value_name = "DURATION", help_heading = "Selection")]
    pub(crate) duration: Option<String>,

    /// Change one setting; may be given several times
    ///
    /// `--set skip.threshold=3%` changes it in every settings of the scenario,
    /// `--set tuned.skip.threshold=3%` in one. `arcbench schema settings` has the keys; of real cells there are
    /// `real.gso` and `real.gro` beside them. Default: nothing is changed.
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
    /// not depend on it. Not with `--mode real`, which runs one at a time.
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

    /// What protects the packets [default: null; with `--mode real` tls]
    ///
    /// Real cells always have TLS.
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) crypto: Option<Crypto>,

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

impl Run {
    /// What protects the packets.
    pub(crate) fn crypto(&self) -> Crypto {
        match self.mode {
            RunMode::Sim => self.crypto.unwrap_or(Crypto::Null),
            RunMode::Real => Crypto::Tls,
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

/// `arcbench doctor`.
#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
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
    /// What `--help` and `--version` print with `--format json`
    Help,
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

const RUN_EXAMPLES: &str = "\
Examples:
  arcbench run scenarios/seed-matrix.toml
  arcbench run --profiles bad-india,bad-india-reorder --seeds 1 --events
  arcbench run --set tuned.skip.threshold=3% --metric all --format markdown
  arcbench run confirm --mode real --repeat 2

A run that is stopped keeps every finished cell; the same command goes on where it stopped.";

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
