//! What can be typed. The variables that stand in the help are read in `config`, where an empty one
//! counts as none.

mod agents;
mod approvals;
mod audit;
mod budget;
mod chat_global;
mod dirs;
mod memory;
mod models;
mod relay;
mod search;
mod sessions;
mod token;
mod tools;
mod turns;
mod words;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use samovar_locale::help;
use samovar_wire::api::TokenScope;

pub(crate) use self::agents::{AgentFields, Agents, ChangeAgent, SessionAgent};
pub(crate) use self::approvals::{AllowFor, Approvals};
pub(crate) use self::audit::Audit;

pub(crate) use self::budget::BudgetArgs;
pub(crate) use self::chat_global::ChatGlobal;
pub(crate) use self::dirs::{DirArgs, WALK};
pub(crate) use self::memory::Memory;
pub(crate) use self::models::{Models, TestModel};
pub(crate) use self::relay::{Demo, Join, Logs, Relay};
pub(crate) use self::search::SearchSessions;
pub(crate) use self::sessions::{ForkSession, ListSessions, Sessions};
pub(crate) use self::token::Token;
pub(crate) use self::tools::AddTool;
pub(crate) use self::turns::Turns;
pub(crate) use self::words::{Delivery, Effect, Level};
use crate::arguments::{self, address, seconds, whole};
use crate::output::{Machine, TurnFormat};

/// The version; that of a package names its commit, which `cargo xtask dist` sets.
const VERSION: &str = match option_env!("SAMOVAR_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// The whole command line.
#[derive(Parser)]
#[command(
    name = "samovar",
    version = VERSION,
    about = help::samovar(),
    max_term_width = 100,
    after_help = help::exit_codes(),
    disable_help_subcommand = true,
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    #[command(about = help::run())]
    Run(Run),
    #[command(about = help::chat())]
    Chat(Chat),
    #[command(about = help::chat_global(), subcommand)]
    ChatGlobal(ChatGlobal),
    #[command(about = help::relay(), subcommand)]
    Relay(Relay),
    #[command(about = help::serve())]
    Serve(Serve),
    #[command(about = help::open())]
    Open(Open),
    #[command(about = help::sessions(), subcommand)]
    Sessions(Sessions),
    #[command(about = help::tools(), subcommand)]
    Tools(Tools),
    #[command(about = help::skills(), subcommand)]
    Skills(Skills),
    #[command(about = help::memory(), subcommand)]
    Memory(Memory),
    #[command(about = help::turns(), subcommand)]
    Turns(Turns),
    #[command(about = help::approvals(), subcommand)]
    Approvals(Approvals),
    #[command(about = help::agents(), subcommand)]
    Agents(Agents),
    #[command(about = help::models(), subcommand)]
    Models(Models),
    #[command(about = help::token(), subcommand)]
    Token(Token),
    #[command(about = help::audit(), subcommand)]
    Audit(Audit),
    #[command(about = help::stats())]
    Stats(Stats),
    #[command(about = help::backup())]
    Backup(Backup),
    #[command(about = help::restore())]
    Restore(Restore),
    #[command(about = help::config(), subcommand)]
    Config(Config),
    #[command(about = help::init())]
    Init(Init),
    #[command(about = help::doctor())]
    Doctor(Doctor),
    #[command(about = help::prove())]
    Prove(Prove),
    #[command(about = help::completions())]
    Completions(Completions),
    #[command(about = help::help())]
    Help {
        #[arg(value_name = "COMMAND", help = help::help_command())]
        command: Vec<String>,
    },
    /// What a start lets a process of its own do, which may die of it.
    #[command(name = WALK, hide = true)]
    Walk { data_dir: PathBuf },
}

/// Who answers.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModelArgs {
    #[arg(long, value_name = "NAME", help = help::model())]
    pub(crate) model: Option<String>,
    #[arg(long, help = help::no_probe())]
    pub(crate) no_probe: bool,
}

/// A session that is there already.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct KnownSession {
    #[arg(long, value_name = "ID", help = help::session(), value_parser = arguments::session, conflicts_with = "continue_last")]
    pub(crate) session: Option<String>,
    #[arg(long = "continue", help = help::continue_last())]
    pub(crate) continue_last: bool,
    #[arg(long, help = help::fork())]
    pub(crate) fork: bool,
}

impl KnownSession {
    /// Whether one is named.
    pub(crate) fn is_some(&self) -> bool {
        self.session.is_some() || self.continue_last
    }
}

/// In which session, and how far.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Talk {
    #[command(flatten)]
    pub(crate) places: DirArgs,
    #[command(flatten)]
    pub(crate) who: ModelArgs,
    #[command(flatten)]
    pub(crate) known: KnownSession,
    #[arg(long, value_name = "LEVEL", help = help::approval())]
    pub(crate) approval: Option<Level>,
    #[arg(
        long,
        value_name = "N",
        help = help::max_iterations(),
        value_parser = |typed: &str| whole(typed, 1_u32, 1000),
    )]
    pub(crate) max_iterations: Option<u32>,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) session_agent: SessionAgent,
    #[arg(long, help = help::trust())]
    pub(crate) trust: bool,
    #[arg(short, long, help = help::verbose())]
    pub(crate) verbose: bool,
}

/// `samovar run`.
#[derive(clap::Args)]
pub(crate) struct Run {
    #[arg(help = help::prompt())]
    pub(crate) prompt: String,
    #[command(flatten)]
    pub(crate) talk: Talk,
    #[arg(long, value_name = "FILE", help = help::image())]
    pub(crate) image: Vec<PathBuf>,
    #[arg(
        long,
        value_name = "HOW",
        help = help::delivery(),
        value_enum,
        default_value_t = Delivery::Queue,
    )]
    pub(crate) delivery: Delivery,
    #[arg(long, help = help::detach())]
    pub(crate) detach: bool,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// How a turn is shown, and for how long.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Show {
    #[arg(long, value_name = "SECONDS", help = help::timeout(), value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[arg(long, help = help::no_input())]
    pub(crate) no_input: bool,
    #[arg(
        short,
        long,
        value_name = "FORMAT",
        help = help::output(),
        value_enum,
        default_value_t = TurnFormat::Text,
    )]
    pub(crate) output: TurnFormat,
}

/// `samovar sessions resume`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Resume {
    #[arg(help = help::session_id(), value_parser = arguments::session)]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) places: DirArgs,
    #[command(flatten)]
    pub(crate) show: Show,
}

/// `samovar chat`.
#[derive(Default, clap::Args)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// `samovar serve`.
#[derive(clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) places: DirArgs,
    #[command(flatten)]
    pub(crate) who: ModelArgs,
    #[arg(long, value_name = "ADDRESS", help = help::host(), value_parser = address)]
    pub(crate) host: Option<IpAddr>,
    #[arg(long, help = help::port(), value_parser = |typed: &str| whole(typed, 0, u16::MAX))]
    pub(crate) port: Option<u16>,
    #[arg(long, help = help::behind_proxy())]
    pub(crate) behind_proxy: bool,
    #[command(flatten)]
    pub(crate) page: PageArgs,
    #[arg(long, value_name = "LEVEL", help = help::approval_serve())]
    pub(crate) approval: Option<Level>,
    #[arg(long, help = help::trust())]
    pub(crate) trust: bool,
    /// Ends when whoever started it does: for a proof, whose servers nobody else would end.
    #[arg(long, hide = true)]
    pub(crate) with_parent: bool,
}

/// What becomes of the web page.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct PageArgs {
    #[arg(long, help = help::serve_open(), conflicts_with = "no_ui")]
    pub(crate) open: bool,
    #[arg(long, help = help::no_ui())]
    pub(crate) no_ui: bool,
}

/// `samovar open`.
#[derive(clap::Args)]
pub(crate) struct Open {
    #[arg(long, help = help::open_print())]
    pub(crate) print: bool,
    #[arg(long, value_name = "SCOPE", help = help::open_scope(), value_parser = arguments::scope)]
    pub(crate) scope: Option<TokenScope>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command that looks at the data directory takes.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Common {
    #[command(flatten)]
    pub(crate) places: DirArgs,
    #[command(flatten)]
    pub(crate) machine: Machine,
}

/// `samovar tools`.
#[derive(Subcommand)]
pub(crate) enum Tools {
    #[command(about = help::tools_list(), alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::tools_show())]
    Show {
        #[arg(help = help::tool_name())]
        name: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::tools_call())]
    Call(CallTool),
    #[command(about = help::tools_add())]
    Add(AddTool),
    #[command(about = help::tools_remove())]
    Remove {
        #[arg(help = help::tool_name())]
        name: String,
        #[command(flatten)]
        common: Common,
    },
}

/// `samovar skills`.
#[derive(Subcommand)]
pub(crate) enum Skills {
    #[command(about = help::skills_list(), alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::skills_show())]
    Show {
        #[arg(help = help::skill_name())]
        name: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::skills_path())]
    Path {
        #[command(flatten)]
        common: Common,
    },
}

/// `samovar tools call`.
#[derive(clap::Args)]
pub(crate) struct CallTool {
    #[arg(help = help::tool_name())]
    pub(crate) name: String,
    #[arg(help = help::tool_args(), default_value = "{}")]
    pub(crate) args: String,
    #[arg(long, value_name = "LEVEL", help = help::approval())]
    pub(crate) approval: Option<Level>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `samovar stats`.
#[derive(clap::Args)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `samovar backup`.
#[derive(clap::Args)]
pub(crate) struct Backup {
    #[arg(value_name = "FOLDER", help = help::backup_folder())]
    pub(crate) folder: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `samovar restore`.
#[derive(clap::Args)]
pub(crate) struct Restore {
    #[arg(value_name = "FOLDER", help = help::restore_folder())]
    pub(crate) folder: PathBuf,
    #[arg(long, help = help::restore_force())]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `samovar config`.
#[derive(Subcommand)]
pub(crate) enum Config {
    #[command(about = help::config_show(), alias = "list")]
    Show {
        #[command(flatten)]
        who: ModelArgs,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::config_explain())]
    Explain {
        #[arg(help = help::config_key())]
        key: Option<String>,
        #[command(flatten)]
        who: ModelArgs,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::config_schema())]
    Schema,
    #[command(about = help::config_path())]
    Path {
        #[command(flatten)]
        machine: Machine,
    },
    #[command(about = help::config_trust())]
    Trust {
        #[arg(long, help = help::yes())]
        yes: bool,
        #[arg(long, help = help::config_forget(), conflicts_with = "yes")]
        forget: bool,
    },
}

/// `samovar init`.
#[derive(clap::Args)]
pub(crate) struct Init {
    #[command(flatten)]
    pub(crate) machine: Machine,
}

/// `samovar doctor`.
#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) places: DirArgs,
    #[command(flatten)]
    pub(crate) who: ModelArgs,
    #[arg(long, help = help::json())]
    pub(crate) json: bool,
    #[arg(short, long, help = help::doctor_verbose())]
    pub(crate) verbose: bool,
    #[arg(long, help = help::fix())]
    pub(crate) fix: bool,
    #[arg(long, help = help::deep())]
    pub(crate) deep: bool,
}

impl Doctor {
    /// Looks, and mends nothing.
    pub(crate) fn looking(places: DirArgs, who: ModelArgs) -> Self {
        Self {
            places,
            who,
            json: false,
            verbose: false,
            fix: false,
            deep: false,
        }
    }
}

/// `samovar prove`.
#[derive(clap::Args)]
pub(crate) struct Prove {
    #[arg(
        long,
        value_name = "N",
        help = help::prove_kills(),
        default_value_t = 200,
        value_parser = |typed: &str| whole(typed, 1, 10_000_000_u64),
    )]
    pub(crate) kills: u64,
    #[arg(long, value_name = "SECONDS", help = help::prove_seconds(), value_parser = seconds)]
    pub(crate) seconds: Option<Duration>,
    #[arg(long, value_name = "NAMES", help = help::prove_points())]
    pub(crate) points: Option<String>,
    #[arg(long, value_name = "N", help = help::prove_seed(), value_parser = |typed: &str| whole(typed, 0, u64::MAX))]
    pub(crate) seed: Option<u64>,
    #[arg(long, value_name = "FILE", help = help::prove_report())]
    pub(crate) report: Option<PathBuf>,
    #[arg(long, value_name = "NAME", help = help::prove_plant())]
    pub(crate) plant: Option<String>,
    #[arg(long, help = help::prove_cut())]
    pub(crate) cut: bool,
    #[arg(
        long,
        value_name = "SECONDS",
        help = help::prove_stuck_after(),
        default_value = "60",
        value_parser = seconds,
    )]
    pub(crate) stuck_after: Duration,
    #[arg(long, help = help::prove_fail_fast())]
    pub(crate) fail_fast: bool,
    #[arg(long, help = help::json())]
    pub(crate) json: bool,
}

/// `samovar completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    #[arg(help = help::shell(), value_enum)]
    pub(crate) shell: Shell,
}
