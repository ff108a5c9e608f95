//! What can be typed.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use samovar_core::Approval;

/// What a script can rely on (FC-2), for people; `exit` has the same for the program.
const EXIT_CODES: &str = "\
Exit codes:
    0  all is well
    1  the turn failed
    2  what was typed is wrong
    3  what is configured is wrong
    4  no model can be used
    5  the model's server failed
    6  a call needed an approval that nobody gave
    7  a limit was reached
    8  the port or the data directory is taken
  130  it was interrupted";

/// Runs AI agents that survive.
#[derive(Parser)]
#[command(name = "samovar", version, about, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run one turn here: an agent does what PROMPT says with the files of this folder
    Run(Run),
    /// Serve the API on a local port
    Serve(Serve),
    /// Say what was found here, and what to type next
    Doctor(Doctor),
}

/// Where things are, and who answers. The variables are read in `config`, where an empty one counts
/// as none.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Where everything is kept [env: `DATA_DIR`; default: ./data if it is ours, else the user's
    /// data folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The folder that tools work in [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// The model for sessions that ask for none [env: `AGENT_MODEL`; default: that of the first
    /// provider with a key, else `demo`]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
}

/// `samovar run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// What is to be done; `-` reads it from stdin
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) common: Common,
    /// Go on with this session [default: a new one, which --verbose names]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// How much is asked before a tool runs
    #[arg(long, value_name = "LEVEL", default_value = "auto")]
    pub(crate) approval: Level,
    /// Passes of the loop, at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_iterations: u32,
    /// Say more: where it is kept, in which session, what it cost
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// `samovar serve`.
#[derive(clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) common: Common,
    /// The address to listen on [env: `SAMOVAR_HOST`; default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<IpAddr>,
    /// The port; 0 lets the system choose one [env: `SAMOVAR_PORT`; default: 4747]
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// How much is asked before a tool runs
    #[arg(long, value_name = "LEVEL", default_value = "supervised")]
    pub(crate) approval: Level,
}

/// `samovar doctor`.
#[derive(clap::Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) common: Common,
    /// One JSON document on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// An approval level, as it is typed.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Level {
    /// What stays in the workspace runs unasked
    Auto,
    /// What changes something is asked for; until somebody can be asked, it is refused
    Supervised,
    /// What changes something is refused
    ReadOnly,
}

impl From<Level> for Approval {
    fn from(level: Level) -> Self {
        match level {
            Level::Auto => Self::Auto,
            Level::Supervised => Self::Supervised,
            Level::ReadOnly => Self::ReadOnly,
        }
    }
}
