//! What a person's own files tell agents, and how a prompt is put together.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The files that say who agents are: `SOUL.md`, `USER.md` and `AGENTS.md`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Bootstrap {
    /// A folder with such files, each of which is used before that of the user's configuration folder.
    // It opens something: a program that writes there speaks to each agent as the person; so with the next.
    #[schemars(with = "PathBuf", example = &"~/agents", length(min = 1, max = 4_096), extend("format" = "path", "x-widens" = true))]
    pub dir: Option<PathBuf>,
}

/// The skills: texts that agents read when they need them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Skills {
    /// The folder with the workspace's skills; by default `skills` in the workspace.
    #[schemars(with = "PathBuf", example = &"~/work/skills", length(min = 1, max = 4_096), extend("format" = "path", "x-widens" = true))]
    pub dir: Option<PathBuf>,
    /// The names of the skills that are in every prompt in full.
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    #[schemars(extend("x-widens" = true, "examples" = [["deploy"]]))]
    pub always_load: Vec<String>,
}

/// How a prompt is put together.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptSettings {
    /// Where a prompt has what changes from turn to turn: before the new message (`cached`), or in
    /// the system prompt (`seed`), for models without a cache.
    #[schemars(extend("x-widens" = false))]
    pub layout: PromptLayout,
}

/// Where a prompt has what changes from turn to turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PromptLayout {
    /// Before the new message, so that a provider's cache keeps what is before it.
    #[default]
    Cached,
    /// In the system prompt.
    Seed,
}
