//! What can be typed about tools of one's own.

use samovar_locale::help;

use super::{Common, Effect};
use crate::arguments::whole;

/// `samovar tools add`.
#[derive(clap::Args)]
pub(crate) struct AddTool {
    #[arg(help = help::tool_new_name())]
    pub(crate) name: String,
    #[arg(long, value_name = "TEXT", help = help::tool_description())]
    pub(crate) description: String,
    #[arg(long, value_name = "URL", help = help::tool_url(), required_unless_present = "client")]
    pub(crate) url: Option<String>,
    #[arg(long, help = help::tool_client(), conflicts_with_all = ["url", "timeout"])]
    pub(crate) client: bool,
    #[arg(long, value_name = "JSON", help = help::tool_parameters())]
    pub(crate) parameters: Option<String>,
    #[arg(long, value_name = "EFFECT", help = help::tool_effect(), value_enum)]
    pub(crate) effect: Option<Effect>,
    #[arg(
        long,
        value_name = "SECONDS",
        help = help::tool_timeout(),
        value_parser = |typed: &str| whole(typed, 1_u32, 3_600),
    )]
    pub(crate) timeout: Option<u32>,
    #[arg(long, help = help::tool_closed())]
    pub(crate) closed: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}
