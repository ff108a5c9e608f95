//! Agents: who works in a session, with which words, tools and limits (SA-1).

use std::collections::BTreeSet;
use std::sync::Arc;

use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checked::checked_text;
use crate::error::{Code, Error};
use crate::tool::Approval;

/// Maximum length of an agent's name, in bytes.
pub const MAX_AGENT_NAME_BYTES: usize = 64;

/// The name of the agent that a session runs unless it names another.
pub const MASTER: &str = "master";

/// Its name for people.
pub const MASTER_NAME: &str = "Master";

/// An agent's name: an ASCII letter or digit, then at most 63 of those, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(Arc<str>);

impl AgentName {
    /// Takes a name.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] for any other text.
    pub fn new(raw: &str) -> Result<Self, Error> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        let is_name = (1..=MAX_AGENT_NAME_BYTES).contains(&raw.len())
            && raw.bytes().all(fits)
            && raw.as_bytes()[0].is_ascii_alphanumeric();
        if is_name {
            return Ok(Self(raw.into()));
        }
        let why = locale::agent::bad_name(MAX_AGENT_NAME_BYTES, locale::quoted(raw));
        Err(Error::new(Code::InvalidParams, why))
    }
}

checked_text!(AgentName);

/// A definition of an agent: data, never behaviour (SA-1, SA-3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    /// What it is called by.
    pub name: AgentName,
    /// Its name for people.
    pub display_name: String,
    /// What its model is told about itself; may use the names of [`TEMPLATE_NAMES`]. Empty for
    /// nothing of its own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system_prompt: String,
    /// Its model; `None` for the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AgentModel>,
    /// The tools that it may have.
    pub tools: ToolKeys,
    /// The tools that it never has: what its mode and its callers take away.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub denied: BTreeSet<String>,
    /// The agents that it may call.
    pub sub_agents: SubAgents,
    /// The deepest level below it at which an agent may run, counted from the session's own agent,
    /// which is 0; `None` for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// The most iterations of one turn, at least 1; `None` for the server's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The most permissive approval level that its turns may have; `None` for no ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The workspace in which it may be called; `None` for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// The pages of a client's UI where it may be called; empty for every one (SA-20).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub page_ids: Vec<String>,
    /// The skills that it has, by name; `None` for the usual ones: all if it talks to the person,
    /// else those that are always loaded (MD-16).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<BTreeSet<String>>,
    /// Whether it has the owner's memory where another agent calls it (MD-11).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub memory: bool,
    /// Grows with each change; 0 for one that is part of the program or a file.
    #[serde(default)]
    pub version: u64,
}

/// The model of an agent (SA-20).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentModel {
    /// The model, by a name that the server resolves, as a session's.
    pub name: String,
    /// The sampling temperature; `None` for the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// The most tokens in one answer; `None` for the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

/// The tools that an agent may have, by their keys in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKeys {
    /// Every tool of the server, as they come and go.
    All,
    /// These.
    Only(BTreeSet<String>),
}

impl ToolKeys {
    /// No tool.
    pub fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Whether the tool is among them.
    pub fn has(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(keys) => keys.contains(tool),
        }
    }

    /// Those that are in both.
    #[must_use]
    pub fn within(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::All, keys) | (keys, Self::All) => keys.clone(),
            (Self::Only(one), Self::Only(other)) => Self::Only(one & other),
        }
    }
}

/// The agents that an agent may call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SubAgents {
    /// Every enabled one.
    All,
    /// These.
    Only(BTreeSet<AgentName>),
}

impl SubAgents {
    /// No agent.
    pub fn none() -> Self {
        Self::Only(BTreeSet::new())
    }

    /// Whether the agent is among them.
    pub fn has(&self, agent: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| name.as_str() == agent),
        }
    }

    /// Whether it can call no agent, so that it does not have the tool for it.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::All => false,
            Self::Only(names) => names.is_empty(),
        }
    }
}

/// The names that a system prompt may use between `{{` and `}}` (SA-17).
pub const TEMPLATE_NAMES: [&str; 6] = [
    "workspace",
    "tab.url",
    "tab.title",
    "mode",
    "date",
    "agent.name",
];

impl Agent {
    /// The agent of a session that names none: every tool, every agent, and the server's own words.
    pub fn master() -> Self {
        Self {
            name: AgentName(MASTER.into()),
            display_name: MASTER_NAME.to_owned(),
            system_prompt: String::new(),
            model: None,
            tools: ToolKeys::All,
            denied: BTreeSet::new(),
            sub_agents: SubAgents::All,
            max_depth: None,
            max_steps: None,
            approval: None,
            workspace_id: None,
            page_ids: Vec::new(),
            skills: None,
            memory: false,
            version: 0,
        }
    }

    /// An approval level of one of its turns, within its ceiling.
    #[must_use]
    pub fn within_ceiling(&self, level: Approval) -> Approval {
        self.approval.map_or(level, |ceiling| level.max(ceiling))
    }
}

/// Where a definition comes from.
// Of several with one name the first of this order counts (SA-2).
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "AgentOriginInfo")]
pub enum AgentOrigin {
    /// It is a part of the program.
    Code,
    /// A Markdown file.
    File,
    /// A client made it.
    Row,
}

/// A definition, and whether it can be used.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEntry {
    /// The definition.
    pub agent: Arc<Agent>,
    /// Where it comes from.
    pub origin: AgentOrigin,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Why it is invalid and never runs; `None` if it is valid.
    pub invalid: Option<String>,
    /// Tools that the catalogue knows and this server does not have: it runs without them.
    pub missing: Vec<String>,
}

impl AgentEntry {
    /// Whether it can be called.
    pub fn is_usable(&self) -> bool {
        self.enabled && self.invalid.is_none()
    }
}

/// The definitions that are in force. Short and without I/O: an engine asks at each delegation.
pub trait Agents: Send + Sync {
    /// The definition of a name.
    fn find(&self, name: &str) -> Option<AgentEntry>;

    /// All of them, by name.
    fn list(&self) -> Vec<AgentEntry>;
}

/// Only the master.
impl Agents for () {
    fn find(&self, name: &str) -> Option<AgentEntry> {
        self.list().into_iter().find(|_| name == MASTER)
    }

    fn list(&self) -> Vec<AgentEntry> {
        vec![AgentEntry {
            agent: Arc::new(Agent::master()),
            origin: AgentOrigin::Code,
            enabled: true,
            invalid: None,
            missing: Vec::new(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves SA-1
    #[test]
    fn a_name_of_an_agent_fits_a_path_and_a_tool_call() {
        for good in ["a", "browser", "B-2_x", &"x".repeat(64)] {
            assert!(AgentName::new(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a/b", "a b", "é", &"x".repeat(65)] {
            assert_eq!(AgentName::new(bad).unwrap_err().code, Code::InvalidParams);
        }
    }

    // proves SA-3
    #[test]
    fn tools_that_are_in_both_sets_are_never_more_than_in_one() {
        let only = |keys: &[&str]| ToolKeys::Only(keys.iter().map(ToString::to_string).collect());
        let rows = [
            (ToolKeys::All, ToolKeys::All, ToolKeys::All),
            (ToolKeys::All, only(&["a"]), only(&["a"])),
            (only(&["a"]), ToolKeys::All, only(&["a"])),
            (only(&["a", "b"]), only(&["b", "c"]), only(&["b"])),
            (ToolKeys::none(), ToolKeys::All, ToolKeys::none()),
        ];
        for (one, other, both) in rows {
            assert_eq!(one.within(&other), both, "{one:?} {other:?}");
        }
    }
}
