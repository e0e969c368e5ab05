//! The arguments of `arcbench replay`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::Span;

use super::{Crypto, Format};

/// `arcbench replay`.
#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A cell: its folder, or its id or the beginning of it, looked up in a run folder
    pub(crate) cell: String,

    /// The run folder to look in [default: the newest in ./runs]
    #[arg(long, value_name = "DIR")]
    pub(crate) run: Option<PathBuf>,

    /// Write one line for each packet of each link and what became of it
    ///
    /// JSON Lines if the name ends in .jsonl, else tab-separated; compressed if it ends in .zst.
    /// Default: nothing is written.
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pub(crate) packets: Option<PathBuf>,

    /// Write the qlog of both sides of both hops into this folder, for qvis
    ///
    /// Four files in JSON text sequences, the same bytes each time. Default: nothing is written.
    #[arg(long, value_name = "DIR", help_heading = "Outputs")]
    pub(crate) qlog: Option<PathBuf>,

    /// Write the life of frames and poses in a window of time, for Perfetto or Chrome's tracing page
    ///
    /// Default: nothing is written.
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pub(crate) trace: Option<PathBuf>,

    /// Begin of the trace's window, in time since the start of the traffic
    ///
    /// Default: the ten seconds with most frozen video, then most missing and late frames.
    #[arg(long, value_name = "TIME", value_parser = span, requires = "trace", help_heading = "Outputs")]
    pub(crate) from: Option<Span>,

    /// End of the trace's window [default: ten seconds after its begin]
    #[arg(long, value_name = "TIME", value_parser = span, requires = "trace", help_heading = "Outputs")]
    pub(crate) to: Option<Span>,

    /// Write every packet as it enters and leaves each link, for Wireshark (pcapng)
    ///
    /// With `--crypto tls` the keys are in the file, so that Wireshark reads what is in the packets.
    /// Default: nothing is written.
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pub(crate) pcap: Option<PathBuf>,

    /// At which end of each link packets are written [default: both; with TLS: sent]
    ///
    /// Wireshark takes a packet that it sees at both ends for one connection's, and then loses track of the
    /// keys when they change. One end alone it reads to the last packet.
    #[arg(long, value_name = "END", value_enum, requires = "pcap", help_heading = "Outputs")]
    pub(crate) pcap_at: Option<CaptureAt>,

    /// Write the secrets of TLS in the format of SSLKEYLOGFILE; needs `--crypto tls`
    ///
    /// Default: nothing is written.
    #[arg(long, value_name = "FILE", help_heading = "Outputs")]
    pub(crate) keylog: Option<PathBuf>,

    /// What protects the packets [default: what the run had]
    ///
    /// A cell comes to the same with either.
    #[arg(long, value_name = "KIND", value_enum)]
    pub(crate) crypto: Option<Crypto>,

    /// Replace files that are already there
    #[arg(long)]
    pub(crate) force: bool,

    /// What to print on stdout
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Human)]
    pub(crate) format: Format,
}

/// Where packets are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CaptureAt {
    /// As they enter a link, lost ones among them
    Sent,
    /// As they leave a link
    Received,
    /// Both
    Both,
}

/// Reads a duration.
pub(super) fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error: units::ParseError| error.to_string())
}

pub(super) const REPLAY_EXAMPLES: &str = "\
Examples:
  arcbench replay bad-india--best--s1
      only the check: exit 13 if it comes to another result
  arcbench replay bad-india--best--s1 --trace life.json --from 60s --to 70s
      ten seconds for ui.perfetto.dev
  arcbench replay bad-india--best--s1 --crypto tls --pcap all.pcapng --packets packets.tsv.zst

Nothing is written unless the cell comes to the same. docs/replay.md says what opens each file.";
