//! The arguments of `samovar sessions search`.

use samovar_locale::help;

use super::Common;
use crate::arguments::whole;

/// `samovar sessions search`.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SearchSessions {
    #[arg(help = help::search_text())]
    pub(crate) text: String,
    #[arg(long, help = help::search_all())]
    pub(crate) all: bool,
    #[arg(long, help = help::limit(), default_value_t = 20, value_parser = |typed: &str| whole(typed, 1_u32, 100))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) common: Common,
}
