//! The arguments of `samovar turns`.

use clap::Subcommand;
use samovar_locale::help;

use super::Common;

/// `samovar turns`.
#[derive(Subcommand)]
pub(crate) enum Turns {
    #[command(about = help::turns_list(), alias = "ls")]
    List {
        #[arg(long, value_name = "ID", help = help::turns_session())]
        session: Option<String>,
        #[arg(long, value_name = "COUNT", default_value_t = 50,
            value_parser = clap::value_parser!(u32).range(1..=200), help = help::turns_limit())]
        limit: u32,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::turns_stop())]
    Stop {
        #[arg(value_name = "TURN", help = help::turn_id())]
        turn: String,
        #[command(flatten)]
        common: Common,
    },
}
