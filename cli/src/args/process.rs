//! The arguments of relay, robot and operator as processes, and of their certificates.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// `arcbench certs`.
#[derive(Debug, Args)]
pub(crate) struct Certs {
    /// The folder to write them to; files that are there are not replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Names and addresses by which ends reach the relay, comma-separated [default: relay]
    ///
    /// DNS names or IP addresses. `relay` is what ends ask for unless they are told `--server-name`.
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
    ///
    /// A certificate or token that does not fit ends it at once. The place of an end that was killed is free a few
    /// seconds after somebody asks for it.
    #[arg(long, value_name = "DURATION", default_value = "60 s")]
    pub(crate) join_within: String,

    /// Certificates, tokens and settings.
    #[command(flatten)]
    pub(crate) party: Party,
}

pub(super) const PROCESS_EXAMPLES: &str = "\
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
