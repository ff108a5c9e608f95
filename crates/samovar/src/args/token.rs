//! What can be typed after `samovar token`.

use clap::Subcommand;
use samovar_locale::help;
use samovar_wire::api::TokenScope;

use super::Common;
use crate::arguments;

/// `samovar token`.
#[derive(Subcommand)]
pub(crate) enum Token {
    #[command(about = help::token_show())]
    Show {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::token_list(), alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::token_create())]
    Create {
        #[arg(help = help::token_name(), value_parser = arguments::token)]
        name: String,
        #[arg(long, value_name = "SCOPE", help = help::token_scope(), value_parser = arguments::scope, default_value = "use")]
        scope: TokenScope,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::token_revoke())]
    Revoke {
        #[arg(help = help::token_name(), value_parser = arguments::token)]
        name: String,
        #[command(flatten)]
        common: Common,
    },
}
