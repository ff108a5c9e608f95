//! What can be typed of what agents remember.

use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;
use samovar_locale::help;

use super::Common;

/// `samovar memory`.
#[derive(Subcommand)]
pub(crate) enum Memory {
    #[command(about = help::memory_list(), alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_search())]
    Search {
        #[arg(help = help::memory_query())]
        query: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_show())]
    Show {
        #[arg(help = help::memory_id(), value_parser = NonEmptyStringValueParser::new())]
        id: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_edit())]
    Edit {
        #[arg(help = help::memory_id(), value_parser = NonEmptyStringValueParser::new())]
        id: String,
        #[arg(help = help::memory_text())]
        text: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_forget(), alias = "rm")]
    Forget {
        #[arg(help = help::memory_id(), value_parser = NonEmptyStringValueParser::new())]
        id: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_proposals())]
    Proposals {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_accept())]
    Accept {
        #[arg(help = help::memory_proposal(), value_parser = NonEmptyStringValueParser::new())]
        id: String,
        #[arg(long, value_name = "TEXT", help = help::memory_accept_text())]
        text: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_refuse())]
    Refuse {
        #[arg(help = help::memory_proposal(), value_parser = NonEmptyStringValueParser::new())]
        id: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::memory_path())]
    Path {
        #[command(flatten)]
        common: Common,
    },
}
