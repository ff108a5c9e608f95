//! What can be typed.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use samovar_core::Approval;

/// Runs AI agents that survive.
#[derive(Parser)]
#[command(name = "samovar", version, about, max_term_width = 100)]
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

/// Where things are.
#[derive(clap::Args)]
pub(crate) struct Places {
    /// Where everything is kept [default: ./data if it is ours, else the user's data folder]
    #[arg(long, value_name = "DIR", env = "DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// The folder that tools work in [default: the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}

/// `samovar run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// What is to be done; `-` reads it from stdin
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Go on with this session, or make it [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// The model to ask [default: what is found, else `demo`]
    #[arg(long, value_name = "NAME", env = "AGENT_MODEL")]
    pub(crate) model: Option<String>,
    /// How much is asked before a tool runs
    #[arg(long, value_name = "LEVEL", default_value = "auto")]
    pub(crate) approval: Level,
    /// Passes of the loop, at most
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) max_iterations: u32,
    /// Say more: how the model was chosen, what it cost
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// `samovar serve`.
#[derive(clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) places: Places,
    /// The address to listen on
    #[arg(long, env = "SAMOVAR_HOST", default_value = "127.0.0.1")]
    pub(crate) host: IpAddr,
    /// The port; 0 lets the system choose one
    #[arg(long, env = "SAMOVAR_PORT", default_value_t = 4747)]
    pub(crate) port: u16,
    /// The model for sessions that ask for none
    #[arg(long, value_name = "NAME", env = "AGENT_MODEL")]
    pub(crate) model: Option<String>,
    /// How much is asked before a tool runs
    #[arg(long, value_name = "LEVEL", default_value = "supervised")]
    pub(crate) approval: Level,
}

/// `samovar doctor`.
#[derive(clap::Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) places: Places,
    /// The model to look at
    #[arg(long, value_name = "NAME", env = "AGENT_MODEL")]
    pub(crate) model: Option<String>,
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
