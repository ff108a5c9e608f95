//! What can be set about calls of tools.

use samovar_core::Approval;
use samovar_core::approval::PolicyVerdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One rule about calls. It fits a call when all that it names does.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyRule {
    /// The name of the tool, with `*` for any part of it.
    #[schemars(with = "String", example = &"write_file", length(min = 1, max = 128), extend("x-widens" = true))]
    pub tool: Option<String>,
    /// What happens to matching calls: `deny` refuses them, `ask` asks a person at every level,
    /// `allow` runs them without asking.
    #[schemars(with = "PolicyVerdict", example = &"deny", extend("x-widens" = true))]
    pub verdict: Option<PolicyVerdict>,
    /// The file or folder that a call names, relative to the workspace: `docs/**` for all below
    /// `docs`. By default a call need not name one.
    #[schemars(with = "String", example = &"docs/**", length(min = 1, max = 1_024), extend("x-widens" = true))]
    pub path: Option<String>,
    /// A program that a command runs, with its first argument: `git push*`. A rule that denies or asks
    /// fits it wherever the program is, and a command whose programs cannot be known; one that allows
    /// has to fit every program of the command, as it is written.
    #[schemars(with = "String", example = &"git push*", length(min = 1, max = 256), extend("x-widens" = true))]
    pub program: Option<String>,
    /// The approval level of the turn; by default any.
    #[schemars(with = "Approval", example = &"auto", extend("x-widens" = true))]
    pub level: Option<Approval>,
    /// What the person is doing, as in `agent_modes`; by default anything.
    #[schemars(with = "String", example = &"settings", length(min = 1, max = 64), extend("x-widens" = true))]
    pub mode: Option<String>,
    /// Whether a rule that allows also allows what is asked about at every level: a command with the
    /// network or without a sandbox, and what can send data out of a session that has read text from
    /// outside.
    #[schemars(with = "bool", example = true, extend("x-widens" = true))]
    pub sends: Option<bool>,
}
