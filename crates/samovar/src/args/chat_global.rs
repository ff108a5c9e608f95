//! What can be typed of the server's one chat.

use clap::Subcommand;
use samovar_locale::help;

use super::DirArgs;
use crate::arguments::whole;
use crate::output::Machine;

/// `samovar chat-global`.
#[derive(Subcommand)]
pub(crate) enum ChatGlobal {
    #[command(about = help::chat_global_tail())]
    Tail {
        #[arg(long, value_name = "ID", help = help::chat_after(), value_parser = |typed: &str| whole(typed, 0, u64::MAX))]
        after: Option<u64>,
        #[arg(long, help = help::jsonl())]
        jsonl: bool,
        #[command(flatten)]
        places: DirArgs,
    },
    #[command(about = help::chat_global_say())]
    Say {
        #[arg(help = help::chat_text())]
        text: Vec<String>,
        #[arg(long, value_name = "ID", help = help::chat_reply_to(), value_parser = |typed: &str| whole(typed, 0, u64::MAX))]
        reply_to: Option<u64>,
        #[command(flatten)]
        machine: Machine,
        #[command(flatten)]
        places: DirArgs,
    },
    #[command(about = help::chat_global_history())]
    History {
        #[arg(long, value_name = "ID", help = help::chat_after(), value_parser = |typed: &str| whole(typed, 0, u64::MAX))]
        after: Option<u64>,
        #[arg(long, value_name = "N", help = help::chat_limit(), value_parser = |typed: &str| whole(typed, 1_u32, 1000))]
        limit: Option<u32>,
        #[command(flatten)]
        machine: Machine,
        #[command(flatten)]
        places: DirArgs,
    },
}
