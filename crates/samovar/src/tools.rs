//! `samovar tools`: what a model may call, tools of one's own, and a call by hand.

use samovar_core::message::Status;
use samovar_locale as text;
use samovar_wire::api::{RegisterToolParams, ToolInfo, ToolResult};
use serde_json::{Value, json};

use crate::args::{self, AddTool, CallTool, Tools};
use crate::client::{Client, segment};
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure};
use crate::output::{self, table};
use crate::reconnecting::Repeat;
use crate::screen::beginning;
use crate::sessions::{change, look, once};
use crate::style::columns;

/// Characters of a tool's description in the list.
const SHOWN: usize = 72;

/// Columns that are left between the cells of a row, and for the mark of what was cut.
const BETWEEN: usize = 5;

/// `samovar tools`.
pub(crate) async fn tools(command: Tools) -> Result<Exit, Failure> {
    match command {
        Tools::List { common } => {
            let asked = async |client: &Client| client.get::<Vec<ToolInfo>>("/api/tools").await;
            let tools = look(&common, asked).await?;
            output::list(common.machine.format(), "tool", &tools, |tools| {
                let names = tools
                    .iter()
                    .map(|tool| tool.name.len() + word(&tool.effect).len());
                let names = names.max().unwrap_or_default() + BETWEEN;
                let width = columns(&std::io::stdout());
                let width = width.map_or(SHOWN, |all| all.saturating_sub(names).max(SHOWN / 2));
                let rows = tools.iter().map(|tool| {
                    let what = beginning(&tool.description, width);
                    vec![tool.name.clone(), word(&tool.effect), what]
                });
                table(&rows.collect::<Vec<_>>())
            })?;
            Ok(Exit::Ok)
        }
        Tools::Show { name, common } => {
            let path = format!("/api/tools/{}", segment(&name));
            let asked = async |client: &Client| client.get::<ToolInfo>(&path).await;
            let tool = look(&common, asked).await?;
            output::one(common.machine.format(), "tool", &tool, shown)?;
            Ok(Exit::Ok)
        }
        Tools::Call(call) => run(call).await,
        Tools::Add(add) => register(add).await,
        Tools::Remove { name, common } => {
            let path = format!("/api/tools/{}", segment(&name));
            let asked = async |client: &Client| client.delete::<()>(&path).await;
            change(&common, Repeat::Untaken, asked).await?;
            let answer = json!({ "name": name, "removed": true });
            output::one(common.machine.format(), "removed", &answer, |_| {
                text::tools::removed(&name) + "\n"
            })?;
            Ok(Exit::Ok)
        }
    }
}

async fn run(call: CallTool) -> Result<Exit, Failure> {
    let CallTool {
        name,
        args,
        approval,
        common,
    } = call;
    let args: Value = serde_json::from_str(&args)
        .map_err(|error| Failure::usage(text::tools::args_not_json(error)))?;
    if !args.is_object() {
        return Err(Failure::usage(text::tools::args_no_object()));
    }
    let found = config::read(
        &common.places,
        &args::ModelArgs::default(),
        LocalData::UseOnly,
    )?;
    let level = approval.map_or(found.approval, Into::into);
    found.check_workspace()?;
    found.warn();
    let path = format!("/api/tools/{}/call", segment(&name));
    let params = json!({ "args": args, "approval": level });
    // A tool may take as long as its own timeout says.
    let called = async |client: &Client| client.post_patiently(&path, &params).await;
    let result: ToolResult = once(&found, Repeat::Untaken, called).await?;
    output::one(common.machine.format(), "tool_result", &result, |result| {
        result.text.trim_end().to_owned() + "\n"
    })?;
    Ok(match result.status {
        Status::Done => Exit::Ok,
        Status::Denied => Exit::Approval,
        Status::Failed | Status::Cancelled | Status::Unknown => Exit::TurnFailed,
    })
}

async fn register(add: AddTool) -> Result<Exit, Failure> {
    let common = add.common;
    let parameters = add.parameters.as_deref().map(serde_json::from_str::<Value>);
    let parameters = parameters.transpose();
    let parameters =
        parameters.map_err(|error| Failure::usage(text::tools::parameters_not_json(error)))?;
    let params = RegisterToolParams {
        name: add.name,
        description: add.description,
        parameters,
        url: add.url,
        client: add.client,
        effect: add.effect.map(Into::into),
        timeout: add.timeout,
        closed: add.closed,
    };
    // The same name again replaces it by the same.
    let asked = async |client: &Client| client.post("/api/tools", &params).await;
    let made: ToolInfo = change(&common, Repeat::Harmless, asked).await?;
    output::one(common.machine.format(), "tool", &made, |made| {
        text::tools::added(&made.name) + "\n"
    })?;
    Ok(Exit::Ok)
}

/// A tool, with a line for each thing that is known of it.
fn shown(tool: &ToolInfo) -> String {
    let mut rows = vec![
        vec![text::tools::name().to_owned(), tool.name.clone()],
        vec![text::tools::origin().to_owned(), word(&tool.origin)],
        vec![text::tools::effect().to_owned(), word(&tool.effect)],
    ];
    if tool.closed {
        let what = text::tools::closed_means().to_owned();
        rows.push(vec![text::tools::closed().to_owned(), what]);
    }
    let schema = serde_json::to_string_pretty(&tool.parameters).unwrap_or_default();
    format!("{}\n{}\n\n{schema}\n", table(&rows), tool.description)
}

/// The word that stands for a value on the wire.
pub(crate) fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}
