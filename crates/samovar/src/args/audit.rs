//! The arguments of `samovar audit`.

use clap::Subcommand;
use samovar_core::Millis;
use samovar_locale::help;

use super::Common;
use crate::arguments::moment;

/// `samovar audit`.
#[derive(Subcommand)]
pub(crate) enum Audit {
    #[command(about = help::audit_show())]
    Show {
        #[arg(long, value_name = "ID", help = help::audit_session())]
        session: Option<String>,
        #[arg(long, value_name = "NAME", help = help::audit_tool())]
        tool: Option<String>,
        #[arg(long, value_name = "WHEN", value_parser = moment, help = help::audit_since())]
        since: Option<Millis>,
        #[arg(long, value_name = "COUNT", default_value_t = 50,
            value_parser = clap::value_parser!(u32).range(1..=500), help = help::audit_limit())]
        limit: u32,
        #[arg(long, conflicts_with_all = ["session", "tool", "since", "limit"],
            help = help::audit_head())]
        head: bool,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::audit_verify())]
    Verify {
        #[arg(long, value_name = "HASH", help = help::audit_anchor())]
        head: Option<String>,
        #[command(flatten)]
        common: Common,
    },
}
