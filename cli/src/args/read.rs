//! The arguments of verbs that read what a run left.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::Span;

use super::Format;
use super::replay::span;

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

    /// Replace a file that is already there
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
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

pub(super) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  arcbench explain bad-india--before--s1
  arcbench explain bad-india--before--s1 --format json | jq -r '.findings[0].setting.command'

Findings are ranked by what they cost. Those that cover no others share out all missing and late frames. Each
number is named with the file and field, or the DuckDB query, that it comes from.";

pub(super) const REPORT_EXAMPLES: &str = "\
Examples:
  arcbench report
  arcbench report runs/seed-matrix-0123456789 --out before-after.html

The page's path goes to stdout. The same run folder gives the same bytes.";

pub(super) const GRID_EXAMPLES: &str = "\
Examples:
  arcbench grid
  arcbench grid runs/seed-matrix-0123456789 --metric all --format markdown
  arcbench grid --gate 'worst(*/best.main.delivered_ratio) >= 0.99'";

pub(super) const COMPARE_HELP: &str = "\
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
