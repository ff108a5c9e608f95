//! `--budget-…`: what a turn and those that it waits for may use together.

use samovar_core::{Budget, Usd};
use samovar_locale::help;

use crate::arguments::{dollars, whole};

/// The most steps and seconds that can be typed, as the server takes them.
const MOST_STEPS: u32 = 1_000_000;
const MOST_SECONDS: u64 = 366 * 86_400;

/// The options of a budget.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(crate) struct BudgetArgs {
    #[arg(
        id = "budget_tokens",
        long = "budget-tokens",
        value_name = "N",
        help = help::budget_tokens(),
        value_parser = |typed: &str| whole(typed, 1, u64::MAX),
    )]
    tokens: Option<u64>,
    #[arg(
        id = "budget_steps",
        long = "budget-steps",
        value_name = "N",
        help = help::budget_steps(),
        value_parser = |typed: &str| whole(typed, 1, MOST_STEPS),
    )]
    steps: Option<u32>,
    #[arg(id = "budget_usd", long = "budget-usd", value_name = "USD", help = help::budget_usd(), value_parser = dollars)]
    usd: Option<Usd>,
    #[arg(
        id = "budget_wall",
        long = "budget-wall",
        value_name = "SECONDS",
        help = help::budget_wall(),
        value_parser = |typed: &str| whole(typed, 1, MOST_SECONDS),
    )]
    wall: Option<u64>,
}

impl BudgetArgs {
    /// What was typed.
    pub(crate) fn budget(self) -> Budget {
        Budget {
            steps: self.steps,
            tokens: self.tokens,
            cost: self.usd,
            wall_ms: self.wall.map(|seconds| seconds * 1000),
        }
    }
}
