//! `samovar agents`: the definitions of agents, those of one's own, and who may call which.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::string::FromUtf8Error;

use samovar_agents::{ADAPTIVE, ALL, Branch, Node};
use samovar_core::agent::MASTER;
use samovar_core::instructions::MAX_PROMPT_BYTES;
use samovar_locale as locale;
use samovar_locale::agents as text;
use samovar_wire::api::{AgentInfo, AgentModelInfo, AgentParams};
use serde_json::json;

use crate::args::{AgentFields, Agents, ChangeAgent, Common};
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::output::{self, table};
use crate::reconnecting::Repeat;
use crate::sessions::{change, look};
use crate::tools::word;

/// The agents that begin a tree: no other agent calls them.
const ROOTS: [&str; 2] = [MASTER, ADAPTIVE];

/// `samovar agents`.
pub(crate) async fn agents(command: Agents) -> Result<Exit, Failure> {
    match command {
        Agents::List { common } => {
            let agents = all(&common).await?;
            output::list(common.machine.format(), "agent", &agents, agents_table)?;
        }
        Agents::Show { name, common } => {
            let asked = async |client: &Client| one(client, &name).await;
            let agent = look(&common, asked).await?;
            output::one(common.machine.format(), "agent", &agent, shown)?;
        }
        Agents::Add(ChangeAgent {
            name,
            fields,
            common,
        }) => {
            let mut params = AgentParams {
                name: Some(name),
                ..AgentParams::default()
            };
            fields.apply(&mut params)?;
            let asked = async |client: &Client| client.post("/api/agents", &params).await;
            let made: AgentInfo = change(&common, Repeat::Untaken, asked).await?;
            output::one(common.machine.format(), "agent", &made, |made| {
                text::added(&made.name) + "\n"
            })?;
        }
        Agents::Edit(edited) => edit(edited).await?,
        Agents::Remove { name, common } => {
            let asked = async |client: &Client| {
                let version = one(client, &name).await?.version;
                let path = format!("{}?version={version}", path(&name));
                client.delete::<()>(&path).await
            };
            change(&common, Repeat::Untaken, asked).await?;
            let answer = json!({ "name": name, "removed": true });
            output::one(common.machine.format(), "removed", &answer, |_| {
                text::removed(&name) + "\n"
            })?;
        }
        Agents::Graph { common } => graph(&common).await?,
    }
    Ok(Exit::Ok)
}

/// Changes what is given, and nothing that was changed meanwhile.
async fn edit(edited: ChangeAgent) -> Result<(), Failure> {
    let ChangeAgent {
        name,
        fields,
        common,
    } = edited;
    if fields == AgentFields::default() {
        return Err(Failure::usage(text::nothing_to_change()));
    }
    let asked = async |client: &Client| {
        let mut params = AgentParams::from(one(client, &name).await?);
        fields.apply(&mut params)?;
        client.put::<AgentInfo>(&path(&name), &params).await
    };
    let made = change(&common, Repeat::Untaken, asked).await?;
    output::one(common.machine.format(), "agent", &made, |made| {
        text::changed(&made.name, made.version) + "\n"
    })
}

async fn graph(common: &Common) -> Result<(), Failure> {
    let mut agents = all(common).await?;
    agents.dedup_by(|after, before| after.name == before.name);
    let nodes: Vec<_> = agents.iter().map(node).collect();
    let (branches, is_cut) = samovar_agents::graph(&nodes, &ROOTS);
    let items = branches.iter().map(
        |branch| json!({ "name": branch.name, "depth": branch.depth, "cycle": branch.is_cycle }),
    );
    let answer = json!({ "items": items.collect::<Vec<_>>(), "cut": is_cut });
    output::one(common.machine.format(), "agent_graph", &answer, |_| {
        let mut lines: String = branches
            .iter()
            .map(|branch| leaf(branch, &agents))
            .collect();
        if is_cut {
            lines.push_str(text::graph_cut());
            lines.push('\n');
        }
        lines
    })
}

fn node(agent: &AgentInfo) -> Node {
    let is_root = ROOTS.contains(&agent.name.as_str());
    let calls = match agent.allowed_sub_agents.as_slice() {
        [all] if all == ALL => None,
        names => Some(names.to_vec()),
    };
    Node {
        name: agent.name.clone(),
        can_be_called: agent.enabled && agent.invalid.is_none() && !is_root,
        calls,
        max_depth: agent.max_depth,
    }
}

/// A line of the tree.
fn leaf(branch: &Branch, agents: &[AgentInfo]) -> String {
    let agent = agents.iter().find(|agent| agent.name == branch.name);
    let mark = match agent {
        _ if branch.is_cycle => Some(text::cycle()),
        Some(agent) => stopped(agent),
        None => None,
    };
    let mark = mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
    let indent = "  ".repeat(branch.depth);
    format!("{indent}{}{mark}\n", branch.name)
}

async fn all(common: &Common) -> Result<Vec<AgentInfo>, Failure> {
    let asked = async |client: &Client| client.get("/api/agents").await;
    look(common, asked).await
}

async fn one(client: &Client, name: &str) -> Result<AgentInfo, Failure> {
    client.get(&path(name)).await
}

fn path(name: &str) -> String {
    format!("/api/agents/{}", segment(name))
}

/// Why it cannot be called, in a word; `None` if it can.
fn stopped(agent: &AgentInfo) -> Option<&'static str> {
    if agent.invalid.is_some() {
        Some(text::invalid())
    } else if agent.enabled {
        None
    } else {
        Some(text::off())
    }
}

/// The list of agents, for a person.
pub(crate) fn agents_table(agents: &[AgentInfo]) -> String {
    table(&agents.iter().map(line).collect::<Vec<_>>())
}

/// A line of the list.
fn line(agent: &AgentInfo) -> Vec<String> {
    let what = agent.invalid.as_ref().unwrap_or(&agent.display_name);
    vec![
        agent.name.clone(),
        word(&agent.origin),
        stopped(agent).unwrap_or_else(|| text::on()).to_owned(),
        what.clone(),
    ]
}

/// An agent, with a line for each thing that is known of it.
fn shown(agent: &AgentInfo) -> String {
    let mut rows = vec![
        vec![text::name().to_owned(), agent.name.clone()],
        vec![text::display_name().to_owned(), agent.display_name.clone()],
        vec![text::origin().to_owned(), word(&agent.origin)],
    ];
    let mut row = |name: &str, value: Option<String>| {
        rows.extend(value.map(|value| vec![name.to_owned(), value]));
    };
    let limit = |limit: Option<u32>| limit.map(|limit| limit.to_string());
    let some = |words: &[String]| (!words.is_empty()).then(|| words.join(", "));
    let version = Some(agent.version).filter(|version| *version > 0);
    row(text::version(), version.map(|version| version.to_string()));
    row(text::state(), stopped(agent).map(str::to_owned));
    row(text::reason(), agent.invalid.clone());
    row(text::model(), agent.model.as_ref().map(model));
    row(text::tools(), some(&agent.tool_keys));
    row(text::missing(), some(&agent.missing));
    row(text::agents(), some(&agent.allowed_sub_agents));
    row(text::max_steps(), limit(agent.max_steps));
    row(text::max_depth(), limit(agent.max_depth));
    row(
        text::approval(),
        agent.approval.map(|level| level.as_str().to_owned()),
    );
    row(text::workspace(), agent.workspace_id.clone());
    row(text::pages(), some(&agent.page_ids));
    let prompt = agent.system_prompt.as_deref().unwrap_or_default().trim();
    if prompt.is_empty() {
        table(&rows)
    } else {
        format!("{}\n{prompt}\n", table(&rows))
    }
}

fn model(model: &AgentModelInfo) -> String {
    match &model.provider {
        Some(provider) => format!("{provider}/{}", model.model_id),
        None => model.model_id.clone(),
    }
}

impl AgentFields {
    /// Puts what is given into a definition; an empty text takes a thing away.
    fn apply(&self, params: &mut AgentParams) -> Result<(), Failure> {
        if let Some(typed) = &self.prompt {
            params.system_prompt = prompt(typed)?;
        }
        let lists = [
            (&self.tools, &mut params.tool_keys),
            (&self.agents, &mut params.allowed_sub_agents),
            (&self.pages, &mut params.page_ids),
        ];
        for (typed, list) in lists {
            if let Some(typed) = typed {
                let words = typed.iter().map(|word| word.trim());
                let words = words.filter(|word| !word.is_empty());
                *list = words.map(str::to_owned).collect();
            }
        }
        if let Some(name) = &self.model {
            let params_before = params.model.take().map(|model| model.params);
            params.model = (!name.is_empty()).then(|| AgentModelInfo {
                provider: None,
                model_id: name.clone(),
                params: params_before.unwrap_or_default(),
            });
        }
        params.max_steps = self.max_steps.or(params.max_steps);
        params.max_depth = self.max_depth.or(params.max_depth);
        params.approval = self.approval.map(Into::into).or(params.approval);
        params.enabled = self.enabled.or(params.enabled);
        if let Some(name) = &self.display_name {
            params.display_name = Some(name.clone()).filter(|name| !name.is_empty());
        }
        Ok(())
    }
}

/// What is typed, or the text of the file after an `@`.
pub(crate) fn prompt(typed: &str) -> Result<String, Failure> {
    let Some(path) = typed.strip_prefix('@') else {
        return Ok(typed.to_owned());
    };
    let path_for_people = || locale::quoted(path);
    let unreadable = |error| Failure::usage(text::no_prompt_file(path_for_people(), error));
    let file = File::open(path).map_err(unreadable)?;
    // One byte more than is allowed tells a longer file, even one without an end.
    let mut content = Vec::new();
    let mut limited = file.take(MAX_PROMPT_BYTES as u64 + 1);
    limited.read_to_end(&mut content).map_err(unreadable)?;
    if content.len() > MAX_PROMPT_BYTES {
        let why = text::prompt_file_too_long(path_for_people(), MAX_PROMPT_BYTES);
        return Err(Failure::usage(why));
    }
    let invalid = |error: FromUtf8Error| io::Error::new(ErrorKind::InvalidData, error.utf8_error());
    String::from_utf8(content).map_err(|error| unreadable(invalid(error)))
}
