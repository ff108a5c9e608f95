//! The arguments of `samovar sessions`.

use std::path::PathBuf;

use clap::Subcommand;
use samovar_locale::help;

use super::{Common, DirArgs, Resume, SearchSessions};
use crate::arguments::{self, whole};

/// `samovar sessions`.
#[derive(Subcommand)]
pub(crate) enum Sessions {
    #[command(about = help::sessions_list(), alias = "ls")]
    List(ListSessions),
    #[command(about = help::sessions_search())]
    Search(SearchSessions),
    #[command(about = help::sessions_show())]
    Show {
        #[arg(help = help::session_id(), value_parser = arguments::session)]
        id: String,
        #[arg(long, help = help::message_limit(), default_value_t = 50, value_parser = |typed: &str| whole(typed, 1_u32, 1000))]
        limit: u32,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::context())]
    Context {
        #[arg(help = help::session_id(), value_parser = arguments::session)]
        id: String,
        #[arg(long, value_name = "TURN", help = help::context_turn())]
        turn: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::sessions_resume())]
    Resume(Resume),
    #[command(about = help::sessions_cancel())]
    Cancel {
        #[arg(help = help::session_id(), value_parser = arguments::session)]
        id: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::sessions_undo())]
    Undo {
        #[arg(help = help::session_id(), value_parser = arguments::session)]
        id: String,
        #[arg(long, help = help::undo_files())]
        files: bool,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::sessions_fork())]
    Fork(ForkSession),
    #[command(about = help::sessions_export())]
    Export {
        #[arg(help = help::session_id(), value_parser = arguments::old_session, required_unless_present = "all")]
        id: Option<String>,
        #[arg(long, help = help::export_all(), conflicts_with = "id")]
        all: bool,
        #[command(flatten)]
        places: DirArgs,
    },
    #[command(about = help::sessions_import())]
    Import {
        #[arg(help = help::import_file())]
        file: PathBuf,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::sessions_rename())]
    Rename {
        #[arg(help = help::session_id(), value_parser = arguments::session)]
        id: String,
        #[arg(help = help::title(), value_parser = arguments::title)]
        title: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::sessions_move())]
    Move {
        #[arg(long, value_name = "DIR", help = help::sessions_move_from())]
        from: Option<PathBuf>,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::sessions_delete())]
    Delete {
        #[arg(help = help::session_id(), value_parser = arguments::old_session)]
        id: String,
        #[arg(long, help = help::yes())]
        yes: bool,
        #[command(flatten)]
        common: Common,
    },
}

/// `samovar sessions fork`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ForkSession {
    #[arg(help = help::session_id(), value_parser = arguments::session)]
    pub(crate) id: String,
    #[arg(long, value_name = "MESSAGE", help = help::fork_at())]
    pub(crate) at: Option<String>,
    #[arg(long, value_name = "ID", help = help::fork_into(), value_parser = arguments::new_session)]
    pub(crate) into: Option<String>,
    #[arg(long, help = help::fork_title(), value_parser = arguments::title)]
    pub(crate) title: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// `samovar sessions list`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ListSessions {
    #[arg(long, help = help::sessions_all(), conflicts_with = "offset")]
    pub(crate) all: bool,
    #[arg(long, help = help::limit(), default_value_t = 50, value_parser = |typed: &str| whole(typed, 1_u32, 200))]
    pub(crate) limit: u32,
    #[arg(long, help = help::offset(), default_value_t = 0, value_parser = |typed: &str| whole(typed, 0, u32::MAX))]
    pub(crate) offset: u32,
    #[arg(long, value_name = "TEXT", help = help::query())]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}
