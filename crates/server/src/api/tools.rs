//! The tools, those that clients register, and the calls that clients settle.

use samovar_core::{Code, Error, Outcome};
use samovar_locale as locale;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    BASE_PATH, CallToolParams, OpenCallInfo, OpenCalls, RegisterToolParams, SettleParams, ToolInfo,
    ToolParams, ToolResult,
};
use serde_json::Value;

use super::{Call, Endpoint};
use crate::endpoint::Verb;
use crate::reply::fitting;
use crate::tokens::Scope;

/// Bytes of what a client says came of a call, at most: a model reads all of it.
const MAX_RESULT_BYTES: usize = 64 * 1024;

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
    let specs = call.engine().await?.toolbox().specs();
    Ok(specs.iter().map(|spec| ToolInfo::from(&**spec)).collect())
}

async fn tool(call: Call, params: ToolParams) -> Result<ToolInfo, Error> {
    let specs = call.engine().await?.toolbox().specs();
    let found = specs.iter().find(|spec| spec.name == params.name);
    found.map(|spec| ToolInfo::from(&**spec)).ok_or_else(|| {
        let why = locale::tool::unknown(locale::quoted(&params.name));
        Error::new(Code::UnknownTool, why)
    })
}

async fn register(call: Call, params: RegisterToolParams) -> Result<ToolInfo, Error> {
    let engine = call.engine().await?;
    call.state.tools.register(engine, params).await
}

async fn remove(call: Call, params: ToolParams) -> Result<(), Error> {
    let engine = call.engine().await?;
    call.state.tools.remove(engine, params.name).await
}

/// A call of a person, which no log knows of; so it is for the owner alone.
async fn call_tool(call: Call, params: CallToolParams) -> Result<ToolResult, Error> {
    let name = call.segment("name").to_owned();
    let CallToolParams { args, approval } = params;
    let engine = call.engine().await?;
    engine
        .call_tool(&name, args, approval)
        .await
        .map(Into::into)
}

async fn open_calls(call: Call, _params: NoParams) -> Result<OpenCalls, Error> {
    let open = call.engine().await?.open_calls().await?;
    let total_count = open.len() as u64;
    let infos = open
        .into_iter()
        .take(MAX_SHOWN_CALLS)
        .map(|open| OpenCallInfo {
            id: open.call.id,
            session_id: open.session,
            turn_id: open.turn,
            path: open.agent.names().map(str::to_owned).collect(),
            tool: open.call.name,
            args: open.call.args,
        });
    Ok(OpenCalls {
        items: fitting(infos),
        total_count,
    })
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
    let bytes = outcome.text.len();
    if bytes > MAX_RESULT_BYTES {
        let why = locale::call::result_too_large(bytes, MAX_RESULT_BYTES);
        return Err(Error::new(Code::InvalidParams, why));
    }
    let id = serde_json::from_value(call.segment("id").into());
    let id = id.map_err(|_| {
        let why = locale::call::not_open(locale::quoted(call.segment("id")));
        Error::new(Code::UnknownCall, why)
    })?;
    let engine = call.engine().await?;
    engine.settle(call.by.sender.clone(), id, outcome).await
}
