//! A definition as people and programs write it: words that were not checked yet.

use std::collections::BTreeSet;

use samovar_core::agent::{AgentModel, SubAgents, ToolKeys};
use samovar_core::{Agent, AgentName, Approval};
use samovar_locale::agent as text;

use crate::check::check;

/// The word that stands for all tools or all agents, alone in its list.
pub const ALL: &str = "*";

/// Other spellings of tools that existing definitions use (SA-20).
const ALIASES: [(&str, &str); 3] = [
    ("open-url", "open_url"),
    ("getCurrentTab", "get_current_tab"),
    ("getTabs", "get_tabs"),
];

/// The tool that an agent has exactly when it may call others, whatever its keys say (SA-19).
const DELEGATE: &str = "subAgent";

/// A definition that was not checked yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// Its name for people; `None` for its name.
    pub display_name: Option<String>,
    /// What its model is told about itself.
    pub system_prompt: String,
    /// Its model; `None` for the session's.
    pub model: Option<ModelDraft>,
    /// The tools that it may have, or [`ALL`].
    pub tool_keys: Vec<String>,
    /// The agents that it may call, or [`ALL`].
    pub allowed_sub_agents: Vec<String>,
    /// The deepest level at which an agent may run below it.
    pub max_depth: Option<u32>,
    /// The most iterations of one turn.
    pub max_steps: Option<u32>,
    /// The most permissive approval level of its turns.
    pub approval: Option<Approval>,
    /// The workspace in which it may be called; `None` for every one.
    pub workspace_id: Option<String>,
    /// The pages where it may be called; empty for every one.
    pub page_ids: Vec<String>,
    /// The skills that it has; `None` for the usual ones.
    pub skills: Option<Vec<String>>,
    /// Whether it has the owner's memory where another agent calls it.
    pub memory: bool,
}

/// A model that was not checked yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelDraft {
    /// The provider; `None` if the model's name is enough.
    pub provider: Option<String>,
    /// The model's name.
    pub model_id: String,
    /// The sampling temperature; `None` for the server's setting.
    pub temperature: Option<f32>,
    /// The most tokens in one answer; `None` for the server's setting.
    pub max_tokens: Option<u32>,
}

impl Draft {
    /// Makes the definition of an agent. Which tools there are is not asked here, since they come
    /// and go.
    ///
    /// # Errors
    /// Why it is invalid, in one sentence.
    pub fn define(self, name: AgentName) -> Result<Agent, String> {
        let agent = Agent {
            display_name: self.display_name.unwrap_or_else(|| name.to_string()),
            system_prompt: self.system_prompt,
            model: self.model.map(ModelDraft::named),
            tools: tool_keys(self.tool_keys)?,
            sub_agents: sub_agents(&self.allowed_sub_agents)?,
            max_depth: self.max_depth,
            max_steps: self.max_steps,
            approval: self.approval,
            workspace_id: self.workspace_id,
            page_ids: self.page_ids,
            skills: self.skills.map(|names| names.into_iter().collect()),
            memory: self.memory,
            name,
            ..Agent::master()
        };
        match check(&agent) {
            None => Ok(agent),
            Some(why) => Err(why),
        }
    }
}

impl ModelDraft {
    fn named(self) -> AgentModel {
        let name = match self.provider {
            Some(provider) => format!("{provider}/{}", self.model_id),
            None => self.model_id,
        };
        AgentModel {
            name,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
        }
    }
}

fn tool_keys(keys: Vec<String>) -> Result<ToolKeys, String> {
    if is_all("toolKeys", &keys)? {
        return Ok(ToolKeys::All);
    }
    let keys = keys.into_iter().filter(|key| key != DELEGATE);
    let keys = keys.map(|key| {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
        alias.map_or(key, |(_, name)| (*name).to_owned())
    });
    Ok(ToolKeys::Only(keys.collect()))
}

fn sub_agents(names: &[String]) -> Result<SubAgents, String> {
    if is_all("allowedSubAgents", names)? {
        return Ok(SubAgents::All);
    }
    let names: Result<BTreeSet<_>, _> = names.iter().map(|name| AgentName::new(name)).collect();
    names
        .map(SubAgents::Only)
        .map_err(|error| error.message.into_owned())
}

fn is_all(field: &str, words: &[String]) -> Result<bool, String> {
    match words {
        [all] if all == ALL => Ok(true),
        words if words.iter().any(|word| word == ALL) => Err(text::star_alone(field)),
        _ => Ok(false),
    }
}
