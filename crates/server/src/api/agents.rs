//! The definitions of agents: read, added, changed, removed (SA-4).

use std::sync::Arc;

use samovar_agents::{Draft, Listed, ModelDraft};
use samovar_core::audit::What;
use samovar_core::{AgentName, Code, Error};
use samovar_locale as locale;
use samovar_providers::SPECS;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    AgentInfo, AgentNameParams, AgentParams, AgentVersions, AgentVersionsParams, BASE_PATH,
    RemoveAgentParams,
};

use super::audit::decided;
use super::state::{Call, Endpoint, State};
use crate::definitions::Definitions;
use crate::endpoint::Verb;
use crate::engine_cell::starting;
use crate::reply::fitting;
use crate::tokens::Scope;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::showing(
            at("agents"),
            "Returns the definitions of agents, without their prompts.",
            list,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("agents"),
            "Adds an agent and returns its definition.",
            add,
        ),
        Endpoint::showing(
            at("agents/{name}"),
            "Returns the definition of an agent.",
            show,
        ),
        Endpoint::answering(
            &[Verb::Put],
            Scope::Admin,
            at("agents/{name}"),
            "Replaces a version of an added agent and returns the new one.",
            replace,
        ),
        Endpoint::answering(
            &[Verb::Delete],
            Scope::Admin,
            at("agents/{name}"),
            "Removes a version of an added agent.",
            remove,
        ),
        Endpoint::showing(
            at("agents/{name}/versions"),
            "Returns the kept versions of an added agent, newest first.",
            versions,
        ),
    ]
}

impl State {
    fn definitions(&self) -> Result<&Arc<Definitions>, Error> {
        self.definitions.get().ok_or_else(starting)
    }
}

async fn list(call: Call, _params: NoParams) -> Result<Vec<AgentInfo>, Error> {
    call.engine().await?;
    let all = call.state.definitions()?.catalogue().all();
    let infos = all.iter().map(|listed| AgentInfo {
        system_prompt: None,
        ..info(listed)
    });
    Ok(infos.collect())
}

async fn show(call: Call, params: AgentNameParams) -> Result<AgentInfo, Error> {
    call.engine().await?;
    let found = call.state.definitions()?.get(&params.name)?;
    Ok(info(&found))
}

async fn add(call: Call, params: AgentParams) -> Result<AgentInfo, Error> {
    call.engine().await?;
    let name = params.name.as_deref().ok_or_else(|| missing("name"))?;
    let name = AgentName::new(name)?;
    let enabled = params.enabled.unwrap_or(true);
    let definitions = call.state.definitions()?;
    let own = definitions.clone();
    let state = call.state.clone();
    let made = decided(What::AgentChanged, &call.by.sender).about(&name);
    let added = async move {
        let added = own.add(name, draft(params), enabled).await?;
        state.record(made).await.map(|()| added)
    };
    Ok(info(&definitions.finish(added).await?))
}

async fn replace(call: Call, params: AgentParams) -> Result<AgentInfo, Error> {
    call.engine().await?;
    let version = params.version.ok_or_else(|| missing("version"))?;
    let path = call.segment("name");
    if let Some(other) = params.name.as_deref().filter(|name| *name != path) {
        let why = locale::agent::other_name(locale::quoted(other), locale::quoted(path));
        return Err(Error::new(Code::InvalidParams, why));
    }
    let name = named(path)?;
    let enabled = params.enabled.unwrap_or(true);
    let definitions = call.state.definitions()?;
    let own = definitions.clone();
    let state = call.state.clone();
    let changed = decided(What::AgentChanged, &call.by.sender).about(&name);
    let made = async move {
        let made = own.replace(name, version, draft(params), enabled).await?;
        state.record(changed).await.map(|()| made)
    };
    Ok(info(&definitions.finish(made).await?))
}

async fn remove(call: Call, params: RemoveAgentParams) -> Result<(), Error> {
    call.engine().await?;
    let name = named(&params.name)?;
    let definitions = call.state.definitions()?;
    let own = definitions.clone();
    let state = call.state.clone();
    let gone = decided(What::AgentRemoved, &call.by.sender).about(&name);
    let removed = async move {
        own.remove(&name, params.version).await?;
        state.record(gone).await
    };
    definitions.finish(removed).await
}

async fn versions(call: Call, params: AgentVersionsParams) -> Result<AgentVersions, Error> {
    call.engine().await?;
    let name = named(&params.name)?;
    let definitions = call.state.definitions()?;
    let rows = definitions.versions(&name, params.before).await?;
    Ok(AgentVersions {
        total_count: rows.len() as u64,
        items: fitting(rows.iter().map(|row| AgentInfo::of_row(row, is_provider))),
    })
}

fn info(listed: &Listed) -> AgentInfo {
    AgentInfo {
        updated_at: listed.updated_at,
        ..AgentInfo::of(&listed.entry, is_provider)
    }
}

/// The name of an agent that should exist: one that no agent can have is unknown.
fn named(name: &str) -> Result<AgentName, Error> {
    AgentName::new(name).map_err(|_| {
        let why = locale::agent::unknown(locale::quoted(name));
        Error::new(Code::UnknownAgent, why)
    })
}

fn is_provider(name: &str) -> bool {
    SPECS.iter().any(|spec| spec.name == name)
}

fn missing(parameter: &'static str) -> Error {
    let why = locale::params::missing(parameter);
    let details = serde_json::json!({ "parameter": parameter });
    Error::new(Code::InvalidParams, why).with_details(details)
}

fn draft(params: AgentParams) -> Draft {
    Draft {
        display_name: params.display_name,
        system_prompt: params.system_prompt,
        model: params.model.map(|model| ModelDraft {
            provider: model.provider,
            model_id: model.model_id,
            temperature: model.params.temperature,
            max_tokens: model.params.max_tokens,
        }),
        tool_keys: params.tool_keys,
        allowed_sub_agents: params.allowed_sub_agents,
        max_depth: params.max_depth,
        max_steps: params.max_steps,
        approval: params.approval,
        workspace_id: params.workspace_id,
        page_ids: params.page_ids,
        skills: None,
        memory: false,
    }
}
