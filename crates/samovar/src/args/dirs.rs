//! The arguments that say where things are.

use std::path::PathBuf;

use samovar_locale::help;

/// Where things are.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct DirArgs {
    #[arg(long, value_name = "DIR", help = help::data_dir())]
    pub(crate) data_dir: Option<PathBuf>,
    #[arg(long, value_name = "DIR", help = help::workspace())]
    pub(crate) workspace: Option<PathBuf>,
}

/// The name of the command that reads a journal.
pub(crate) const WALK: &str = "walk-journal";
