//! What can be typed after `samovar models`.

use clap::Subcommand;
use samovar_locale::help;

use super::{Common, ModelArgs};

/// `samovar models`.
#[derive(Subcommand)]
pub(crate) enum Models {
    #[command(about = help::models_list(), alias = "ls")]
    List {
        #[arg(long, help = help::models_all())]
        all: bool,
        #[command(flatten)]
        who: ModelArgs,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::models_test())]
    Test(TestModel),
}

/// `samovar models test`.
#[derive(clap::Args)]
pub(crate) struct TestModel {
    #[arg(help = help::models_test_name())]
    pub(crate) name: Option<String>,
    #[arg(long, help = help::yes())]
    pub(crate) yes: bool,
    #[arg(long, help = help::no_probe())]
    pub(crate) no_probe: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}
