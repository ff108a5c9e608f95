//! The tools, those that clients register, and the calls that clients settle.

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::audit::What;
use samovar_core::{Code, Error, Outcome};
use samovar_engine::{Engine, OpenCall};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    BASE_PATH, CallToolParams, OpenCallInfo, OpenCalls, RegisterToolParams, SettleParams, ToolInfo,
    ToolParams, ToolResult,
};
use serde_json::Value;

use super::audit::{OwnCall, decided};
use super::state::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::reply::fitting;
use crate::tokens::Scope;

/// Bytes of what a client says came of a call, at most: a model reads all of it.
const MAX_RESULT_BYTES: usize = 64 * 1024;

/// What the audit says of a tool that was declared closed (AS-26).
const CLOSED: &str = "closed";

/// Open calls that are shown at once, at most.
const MAX_SHOWN_CALLS: usize = 200;

pub(super) fn routes() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/{path}");
    vec![
        Endpoint::showing(
            at("tools"),
            "Returns the tools, with their effects and origins.",
            tools,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("tools"),
            "Registers a webhook tool, or one whose calls a client settles.",
            register,
        ),
        Endpoint::showing(at("tools/{name}"), "Returns one tool.", tool),
        Endpoint::answering(
            &[Verb::Delete],
            Scope::Admin,
            at("tools/{name}"),
            "Removes a registered tool.",
            remove,
        ),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("tools/{name}/call"),
            "Calls a tool outside any session and returns its outcome.",
            call_tool,
        ),
        Endpoint::answering(
            &[Verb::Get],
            Scope::Use,
            at("calls"),
            "Returns the calls that wait for an outside answer, oldest first.",
            open_calls,
        ),
        Endpoint::changing(
            at("calls/{id}"),
            "Settles a call that waits for an outside answer.",
            settle,
        ),
    ]
}

async fn tools(call: Call, _params: NoParams) -> Result<Vec<ToolInfo>, Error> {
    let engine = call.engine().await?;
    let mut lacking = unavailable(&engine).await;
    let specs = engine.toolbox().specs();
    let infos = specs.iter().map(|spec| ToolInfo {
        unavailable: lacking.remove(&spec.name),
        ..ToolInfo::from(&**spec)
    });
    Ok(infos.collect())
}

/// The tools of which no call can run here, with the reason.
pub(crate) async fn unavailable(engine: &Arc<Engine>) -> BTreeMap<String, String> {
    let engine = engine.clone();
    let look = move || engine.toolbox().unavailable();
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

async fn tool(call: Call, params: ToolParams) -> Result<ToolInfo, Error> {
    let mut tools = tools(call, NoParams {}).await?.into_iter();
    tools.find(|tool| tool.name == params.name).ok_or_else(|| {
        let why = locale::tool::unknown(locale::quoted(&params.name));
        Error::new(Code::UnknownTool, why)
    })
}

async fn register(call: Call, params: RegisterToolParams) -> Result<ToolInfo, Error> {
    let engine = call.engine().await?;
    let info = call.state.tools.register(engine, params).await?;
    let mut registered = decided(What::ToolRegistered, &call.by.sender).of_tool(&*info.name);
    if info.closed {
        registered = registered.about(CLOSED);
    }
    call.state.record(registered).await?;
    Ok(info)
}

async fn remove(call: Call, params: ToolParams) -> Result<(), Error> {
    let engine = call.engine().await?;
    let name = params.name.clone();
    call.state.tools.remove(engine, params.name).await?;
    let removed = decided(What::ToolRemoved, &call.by.sender);
    call.state.record(removed.of_tool(name)).await
}

/// A call of a person, which no log knows of; so it is for the owner alone.
async fn call_tool(call: Call, params: CallToolParams) -> Result<ToolResult, Error> {
    let name = call.segment("name").to_owned();
    let CallToolParams { args, approval } = params;
    let engine = call.engine().await?;
    let specs = engine.toolbox().specs();
    let spec = specs.iter().find(|spec| spec.name == name);
    let level = approval.unwrap_or(call.state.approval);
    let by = &call.by.sender;
    let audited = spec.and_then(|spec| OwnCall::new(by, (&name, spec.effect), &args, level));
    if let Some(audited) = &audited {
        call.state.record(audited.begun()).await?;
    }
    let outcome = engine.call_tool(&name, args, approval).await?;
    if let Some(audited) = audited {
        call.state.record(audited.closed(&outcome)).await?;
    }
    Ok(outcome.into())
}

async fn open_calls(call: Call, _params: NoParams) -> Result<OpenCalls, Error> {
    Ok(list(call.engine().await?.open_calls().await?))
}

/// Those of the open calls that can be settled.
pub(super) fn list(mut open: Vec<OpenCall>) -> OpenCalls {
    // What a person decides about is in `/api/approvals`, and cannot be settled.
    open.retain(|open| open.asked.is_none());
    let total_count = open.len() as u64;
    let infos = open
        .into_iter()
        .take(MAX_SHOWN_CALLS)
        .map(|open| OpenCallInfo::new(open.session, open.turn, &open.agent, open.call));
    OpenCalls {
        items: fitting(infos),
        total_count,
    }
}

async fn settle(call: Call, params: SettleParams) -> Result<(), Error> {
    let outcome = match (params.result, params.error) {
        (Some(Value::String(text)), None) => Outcome::done(text),
        (Some(value), None) => Outcome::done(value.to_string()).with_data(value),
        (None, Some(why)) => Outcome::failed(why),
        (Some(_), Some(_)) | (None, None) => {
            let why = locale::call::result_or_error();
            return Err(Error::new(Code::InvalidParams, why));
        }
    };
    check_result(&outcome)?;
    let id = serde_json::from_value(call.segment("id").into());
    let id = id.map_err(|_| {
        let why = locale::call::not_open(locale::quoted(call.segment("id")));
        Error::new(Code::UnknownCall, why)
    })?;
    let engine = call.engine().await?;
    engine.settle(call.by.sender.clone(), id, outcome).await
}

/// Refuses a result that is longer than a client's may be.
pub(crate) fn check_result(outcome: &Outcome) -> Result<(), Error> {
    let bytes = outcome.text.len();
    if bytes > MAX_RESULT_BYTES {
        let why = locale::call::result_too_large(bytes, MAX_RESULT_BYTES);
        return Err(Error::new(Code::InvalidParams, why));
    }
    Ok(())
}
