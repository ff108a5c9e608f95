//! What can be typed of the relay.

use std::path::PathBuf;

use clap::Subcommand;
use samovar_locale::help;

use super::{Common, DirArgs, ModelArgs};
use crate::arguments::{self, whole};
use crate::output::Machine;

/// `samovar relay`.
#[derive(Subcommand)]
pub(crate) enum Relay {
    #[command(about = help::relay_demo())]
    Demo(Demo),
    #[command(about = help::relay_agent())]
    Agent(Join),
    #[command(about = help::relay_rooms())]
    Rooms {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::relay_say())]
    Say {
        #[arg(help = help::relay_text())]
        text: Vec<String>,
        #[command(flatten)]
        room: Room,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::relay_do())]
    Do {
        #[arg(help = help::relay_tool())]
        tool: String,
        #[arg(help = help::relay_params(), default_value = "{}")]
        params: String,
        #[command(flatten)]
        room: Room,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::relay_logs())]
    Logs(Logs),
    #[command(about = help::relay_replay())]
    Replay {
        #[arg(help = help::relay_file())]
        file: PathBuf,
        #[command(flatten)]
        machine: Machine,
    },
}

/// Which room.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Room {
    #[arg(
        long = "room",
        value_name = "NAME",
        help = help::relay_room(),
        value_parser = arguments::room,
        default_value = "default",
    )]
    pub(crate) name: String,
}

/// `samovar relay demo`.
#[derive(clap::Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) room: Room,
    #[arg(long, help = help::relay_port(), value_parser = |typed: &str| whole(typed, 0, u16::MAX))]
    pub(crate) port: Option<u16>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `samovar relay agent`.
#[derive(clap::Args)]
pub(crate) struct Join {
    #[command(flatten)]
    pub(crate) room: Room,
    #[arg(long, value_name = "URL", help = help::relay_url(), requires = "token_file")]
    pub(crate) url: Option<String>,
    #[arg(long, value_name = "FILE", help = help::relay_token_file(), requires = "url")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) who: ModelArgs,
    #[command(flatten)]
    pub(crate) places: DirArgs,
}

/// `samovar relay logs`.
#[derive(clap::Args)]
pub(crate) struct Logs {
    #[arg(help = help::relay_study(), value_parser = arguments::study)]
    pub(crate) id: Option<String>,
    #[arg(
        long,
        value_name = "FILE",
        help = help::relay_logs_csv(),
        num_args = 0..=1,
        default_missing_value = "-",
        requires = "id",
        conflicts_with_all = ["json", "jsonl"],
    )]
    pub(crate) csv: Option<PathBuf>,
    #[arg(long, help = help::relay_logs_all(), requires = "csv")]
    pub(crate) all: bool,
    #[arg(long, help = help::relay_logs_host(), requires = "id", conflicts_with = "all")]
    pub(crate) host_view: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}
