//! What can be typed after `samovar agents`.

use clap::Subcommand;
use samovar_locale::help;

use super::{Common, Level};
use crate::arguments::whole;

/// `samovar agents`.
#[derive(Subcommand)]
pub(crate) enum Agents {
    #[command(about = help::agents_list(), alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::agents_show())]
    Show {
        #[arg(help = help::agent_name())]
        name: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::agents_add())]
    Add(ChangeAgent),
    #[command(about = help::agents_edit())]
    Edit(ChangeAgent),
    #[command(about = help::agents_remove())]
    Remove {
        #[arg(help = help::agent_name())]
        name: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::agents_graph())]
    Graph {
        #[command(flatten)]
        common: Common,
    },
}

/// `samovar agents add` and `samovar agents edit`.
#[derive(clap::Args)]
pub(crate) struct ChangeAgent {
    #[arg(help = help::agent_name())]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) fields: AgentFields,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// The agent of a new session, and what it is told.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct SessionAgent {
    #[arg(long, value_name = "NAME", help = help::session_agent(), conflicts_with_all = ["session", "continue_last"])]
    pub(crate) agent: Option<String>,
    #[arg(long, value_name = "TEXT|@FILE", help = help::system_prompt(), conflicts_with_all = ["session", "continue_last"])]
    pub(crate) system_prompt: Option<String>,
}

/// The parts of a definition; what is not given stays, or has its default.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub(crate) struct AgentFields {
    #[arg(long, value_name = "TEXT|@FILE", help = help::agent_prompt())]
    pub(crate) prompt: Option<String>,
    #[arg(long, value_name = "KEYS", help = help::agent_tools(), value_delimiter = ',')]
    pub(crate) tools: Option<Vec<String>>,
    #[arg(long, value_name = "NAMES", help = help::agent_agents(), value_delimiter = ',')]
    pub(crate) agents: Option<Vec<String>>,
    #[arg(long, value_name = "NAME", help = help::agent_model())]
    pub(crate) model: Option<String>,
    #[arg(
        long,
        value_name = "N",
        help = help::agent_max_steps(),
        value_parser = |typed: &str| whole(typed, 1_u32, 1000),
    )]
    pub(crate) max_steps: Option<u32>,
    #[arg(
        long,
        value_name = "N",
        help = help::agent_max_depth(),
        value_parser = |typed: &str| whole(typed, 0_u32, 8),
    )]
    pub(crate) max_depth: Option<u32>,
    #[arg(long, value_name = "TEXT", help = help::agent_display_name())]
    pub(crate) display_name: Option<String>,
    #[arg(long, value_name = "LEVEL", help = help::agent_approval())]
    pub(crate) approval: Option<Level>,
    #[arg(long, value_name = "IDS", help = help::agent_pages(), value_delimiter = ',')]
    pub(crate) pages: Option<Vec<String>>,
    #[arg(long, value_name = "true|false", help = help::agent_enabled())]
    pub(crate) enabled: Option<bool>,
}
