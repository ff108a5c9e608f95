//! The arguments of `samovar approvals`.

use clap::{Subcommand, ValueEnum};
use samovar_locale::help;

use super::Common;

/// `samovar approvals`.
#[derive(Subcommand)]
pub(crate) enum Approvals {
    #[command(about = help::approvals_list(), alias = "ls")]
    List {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::approvals_show())]
    Show {
        #[arg(value_name = "APPROVAL", help = help::approval_id())]
        approval: String,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::approvals_allow())]
    Allow {
        #[arg(value_name = "APPROVAL", help = help::approval_id())]
        approval: String,
        #[arg(long = "for", value_name = "WHAT", value_enum, default_value_t = AllowFor::Once,
            help = help::approvals_for())]
        allow_for: AllowFor,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::approvals_deny())]
    Deny {
        #[arg(value_name = "APPROVAL", help = help::approval_id())]
        approval: String,
        #[arg(short, long, value_name = "TEXT", help = help::approvals_message())]
        message: Option<String>,
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::approvals_rules())]
    Rules {
        #[command(flatten)]
        common: Common,
    },
    #[command(about = help::approvals_revoke())]
    Revoke {
        #[arg(value_name = "RULE", help = help::rule_id())]
        rule: String,
        #[command(flatten)]
        common: Common,
    },
}

/// How much is allowed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AllowFor {
    /// This call.
    Once,
    /// Such calls of this turn.
    Turn,
    /// Such calls, until the rule is revoked.
    Always,
}
