//! Definitions of agents as people see them (SA-2, SA-4, SA-20).

use samovar_core::agent::{AgentEntry, AgentModel, AgentOrigin, SubAgents, ToolKeys};
use samovar_core::{Agent, AgentName, AgentRow, Approval, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands for all tools, and for all agents.
const ALL: &str = "*";

/// A definition of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// The name by which other agents call it.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// What its model is told about itself; left out in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Its model; by default the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<AgentModelInfo>,
    /// The tools that it may have; `["*"]` for all.
    pub tool_keys: Vec<String>,
    /// The agents that it may call; `["*"]` for all.
    pub allowed_sub_agents: Vec<String>,
    /// The deepest level below it at which an agent may run; by default 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// The most iterations of one turn; by default the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u32>,
    /// The most permissive approval level of its turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// The pages of a client where it may be called; empty for every one.
    pub page_ids: Vec<String>,
    /// The workspace in which it may be called; by default every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    /// Grows with each change; 0 if it is part of the program or a file.
    pub version: u64,
    /// Where it comes from.
    pub origin: AgentOrigin,
    /// When this version was written, if a client did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Millis>,
    /// Why it never runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid: Option<String>,
    /// Its tools that this server does not have; it runs without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// The model of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentModelInfo {
    /// The provider, if it is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model's name.
    pub model_id: String,
    /// How it is asked.
    #[serde(default)]
    pub params: AgentModelParams,
}

/// How the model of an agent is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentModelParams {
    /// The sampling temperature; by default the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f32>,
    /// The most tokens in one answer; by default the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
}

impl AgentInfo {
    /// A definition, with its prompt; `is_provider` recognises the names of providers.
    pub fn of(entry: &AgentEntry, is_provider: impl Fn(&str) -> bool) -> Self {
        let AgentEntry {
            agent,
            origin,
            enabled,
            invalid,
            missing,
        } = entry;
        Self {
            origin: *origin,
            invalid: invalid.clone(),
            missing: missing.clone(),
            ..Self::of_agent(agent, *enabled, is_provider)
        }
    }

    /// A version of a definition that a client made; whether it would be valid now is not said.
    pub fn of_row(row: &AgentRow, is_provider: impl Fn(&str) -> bool) -> Self {
        Self {
            updated_at: Some(row.updated_at),
            ..Self::of_agent(&row.agent, row.enabled, is_provider)
        }
    }

    fn of_agent(agent: &Agent, enabled: bool, is_provider: impl Fn(&str) -> bool) -> Self {
        let tool_keys = match &agent.tools {
            ToolKeys::All => vec![ALL.to_owned()],
            ToolKeys::Only(keys) => keys.iter().cloned().collect(),
        };
        let allowed_sub_agents = match &agent.sub_agents {
            SubAgents::All => vec![ALL.to_owned()],
            SubAgents::Only(names) => names.iter().map(AgentName::to_string).collect(),
        };
        Self {
            name: agent.name.to_string(),
            display_name: agent.display_name.clone(),
            system_prompt: Some(agent.system_prompt.clone()),
            model: agent
                .model
                .as_ref()
                .map(|model| AgentModelInfo::of(model, is_provider)),
            tool_keys,
            allowed_sub_agents,
            max_depth: agent.max_depth,
            max_steps: agent.max_steps,
            approval: agent.approval,
            enabled,
            page_ids: agent.page_ids.clone(),
            workspace_id: agent.workspace_id.clone(),
            version: agent.version,
            origin: AgentOrigin::Row,
            updated_at: None,
            invalid: None,
            missing: Vec::new(),
        }
    }
}

impl AgentModelInfo {
    fn of(model: &AgentModel, is_provider: impl Fn(&str) -> bool) -> Self {
        let named = model.name.split_once('/');
        let (provider, name) = match named.filter(|(provider, _)| is_provider(provider)) {
            Some((provider, name)) => (Some(provider.to_owned()), name),
            None => (None, model.name.as_str()),
        };
        Self {
            provider,
            model_id: name.to_owned(),
            params: AgentModelParams {
                temperature: model.temperature,
                max_tokens: model.max_tokens,
            },
        }
    }
}

/// A definition to add, or the whole definition that replaces one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentParams {
    /// The name, 1 to 64 letters, digits, `_` and `-`; a change may leave it out.
    pub name: Option<String>,
    /// The version that a change replaces; without meaning for a new definition.
    pub version: Option<u64>,
    /// Its name for people; by default its name.
    pub display_name: Option<String>,
    /// What its model is told about itself.
    #[serde(default)]
    pub system_prompt: String,
    /// Its model; by default the session's.
    pub model: Option<AgentModelInfo>,
    /// The tools that it may have, or `["*"]`; by default none.
    #[serde(default)]
    pub tool_keys: Vec<String>,
    /// The agents that it may call, or `["*"]`; by default none.
    #[serde(default)]
    pub allowed_sub_agents: Vec<String>,
    /// The deepest level below it at which an agent may run, 0 to 8; by default 3.
    pub max_depth: Option<u32>,
    /// The most iterations of one turn, 1 to 1000; by default the server's.
    pub max_steps: Option<u32>,
    /// The most permissive approval level of its turns; by default no ceiling.
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
    /// Whether it is switched on; by default it is.
    pub enabled: Option<bool>,
    /// The pages of a client where it may be called; by default every one.
    #[serde(default)]
    pub page_ids: Vec<String>,
    /// The workspace in which it may be called; by default every one.
    pub workspace_id: Option<String>,
}

impl From<AgentInfo> for AgentParams {
    /// The definition as it is, in place of its own version.
    fn from(info: AgentInfo) -> Self {
        Self {
            name: Some(info.name),
            version: Some(info.version),
            display_name: Some(info.display_name),
            system_prompt: info.system_prompt.unwrap_or_default(),
            model: info.model,
            tool_keys: info.tool_keys,
            allowed_sub_agents: info.allowed_sub_agents,
            max_depth: info.max_depth,
            max_steps: info.max_steps,
            approval: info.approval,
            enabled: Some(info.enabled),
            page_ids: info.page_ids,
            workspace_id: info.workspace_id,
        }
    }
}

/// The name of a definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentNameParams {
    /// Its name.
    pub name: String,
}

/// A definition to remove.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoveAgentParams {
    /// Its name.
    pub name: String,
    /// The version that is removed.
    pub version: u64,
}

/// Which versions of a definition are returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentVersionsParams {
    /// Its name.
    pub name: String,
    /// Only versions before this one.
    pub before: Option<u64>,
}

/// The kept versions of a definition that a client made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentVersions {
    /// The newest of them, newest first, as many as fit into an answer.
    pub items: Vec<AgentInfo>,
    /// The number of all of them.
    pub total_count: u64,
}
