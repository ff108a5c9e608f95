//! The definitions of agents that clients make, and their versions (SA-2, SA-4).

use std::collections::BTreeSet;

use rusqlite::{Connection, Row, params};
use samovar_core::agent::{AgentModel, SubAgents, ToolKeys};
use samovar_core::agent_rows::{MAX_AGENT_ROWS, MAX_AGENT_VERSIONS};
use samovar_core::{
    Agent, AgentName, AgentRow, AgentRows, Approval, Broken, Damages, Future, Millis, RowChange,
};
use serde_json::{Map, Value, json};

use super::checksum::{self, Columns};
use super::failure::Failure;
use super::row::{integer, json as json_text};
use super::writer::Writer;
use super::{SqliteHistory, file, row, sql};

/// Removed definitions whose versions stay, at most; those that were removed first go first.
const MAX_REMOVED: i64 = 50;

/// What stands for all tools, and for all agents.
const ALL: &str = "*";

macro_rules! columns {
    () => {
        "id, workspace_id, name, enabled, system_prompt, display_name, model, tool_keys, \
         allowed_sub_agents, max_depth, max_steps, approval, version, page_ids, updated_at, checksum"
    };
}

macro_rules! select {
    ($from:literal) => {
        concat!("SELECT ", columns!(), " FROM ", $from)
    };
}

const LIST: &str = select!("sub_agent_definitions ORDER BY name");
const VERSIONS: &str =
    select!("sub_agent_versions WHERE name = ?1 AND version < ?2 ORDER BY version DESC");
const CURRENT: &str = "SELECT version FROM sub_agent_definitions WHERE name = ?1";
const COUNT: &str = "SELECT count(*) FROM sub_agent_definitions";
const LAST: &str = "SELECT coalesce(max(version), 0) FROM sub_agent_versions WHERE name = ?1";
const REMOVE: &str = "DELETE FROM sub_agent_definitions WHERE name = ?1";
const WRITE: &str = concat!(
    "INSERT INTO sub_agent_definitions (",
    columns!(),
    ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)"
);
const KEEP: &str = "INSERT INTO sub_agent_versions \
                    SELECT * FROM sub_agent_definitions WHERE name = ?1";
const DROP_OLD: &str = "DELETE FROM sub_agent_versions WHERE name = ?1 AND version <= ?2";
const DROP_REMOVED: &str = "DELETE FROM sub_agent_versions WHERE name IN ( \
     SELECT name FROM sub_agent_versions \
     WHERE name NOT IN (SELECT name FROM sub_agent_definitions) \
     GROUP BY name ORDER BY max(updated_at) DESC, name LIMIT -1 OFFSET ?1)";

/// A change of one definition.
pub(super) enum Change<'a> {
    /// It is written in place of a version, 0 for none.
    Put(&'a AgentRow, u64),
    /// This version of it is removed.
    Remove(&'a AgentName, u64),
}

impl AgentRows for SqliteHistory {
    fn list(&self) -> Future<'_, Result<Vec<AgentRow>, Broken>> {
        let damages = self.damages.clone();
        self.read(move |moment| list(moment, &*damages))
    }

    fn put(&self, row: AgentRow, expected: u64) -> Future<'_, Result<RowChange, Broken>> {
        let put = move |writer: &mut Writer| writer.change_agent(&Change::Put(&row, expected));
        Box::pin(self.write(put))
    }

    fn remove<'a>(
        &'a self,
        name: &'a AgentName,
        expected: u64,
    ) -> Future<'a, Result<RowChange, Broken>> {
        let name = name.clone();
        let remove =
            move |writer: &mut Writer| writer.change_agent(&Change::Remove(&name, expected));
        Box::pin(self.write(remove))
    }

    fn versions<'a>(
        &'a self,
        name: &'a AgentName,
        before: Option<u64>,
    ) -> Future<'a, Result<Vec<AgentRow>, Broken>> {
        let name = name.clone();
        self.read(move |moment| versions(moment, &name, before))
    }
}

/// Makes a change in one transaction, not synced.
pub(super) fn write(
    connection: &mut Connection,
    change: &Change<'_>,
) -> Result<RowChange, Failure> {
    let (name, expected) = match change {
        Change::Put(row, expected) => (&row.agent.name, *expected),
        Change::Remove(name, expected) => (*name, *expected),
    };
    let transaction = file::begin(connection)?;
    let current = sql::first(&transaction, CURRENT, [name.as_str()], |row| {
        Ok(row.get::<_, i64>(0)?.unsigned_abs())
    })?;
    if current.unwrap_or_default() != expected || matches!(change, Change::Remove(_, 0)) {
        return Ok(RowChange::Stale(current));
    }
    let count: i64 = sql::value(&transaction, COUNT, [])?;
    if count >= integer(MAX_AGENT_ROWS as u64) && current.is_none() {
        return Ok(RowChange::TooMany);
    }
    sql::execute(&transaction, REMOVE, [name.as_str()])?;
    let mut version = expected;
    if let Change::Put(row, _) = change {
        let last: i64 = sql::value(&transaction, LAST, [name.as_str()])?;
        version = last.unsigned_abs().max(expected) + 1;
        Written::of(row, version)?.insert(&transaction)?;
        sql::execute(&transaction, KEEP, [name.as_str()])?;
        let oldest = integer(version.saturating_sub(MAX_AGENT_VERSIONS as u64));
        sql::execute(&transaction, DROP_OLD, (name.as_str(), oldest))?;
    }
    sql::execute(&transaction, DROP_REMOVED, [MAX_REMOVED])?;
    transaction.commit()?;
    Ok(RowChange::Kept(version))
}

fn list(moment: &Connection, damages: &dyn Damages) -> Result<Vec<AgentRow>, Failure> {
    let rows = sql::all(moment, LIST, [], |row| {
        let read = read(row).map_err(|failure| within(row, failure));
        Ok(read
            .map_err(|failure| damages.history(&failure.to_string()))
            .ok())
    })?;
    Ok(rows.into_iter().flatten().collect())
}

fn versions(
    moment: &Connection,
    name: &AgentName,
    before: Option<u64>,
) -> Result<Vec<AgentRow>, Failure> {
    let values = (name.as_str(), before.map_or(i64::MAX, integer));
    sql::all(moment, VERSIONS, values, |row| {
        read(row).map_err(|failure| within(row, failure))
    })
}

/// Verifies every definition and every version; says what is wrong.
pub(super) fn verify(connection: &Connection) -> Result<Vec<String>, Failure> {
    let mut wrong = Vec::new();
    for all in [LIST, select!("sub_agent_versions")] {
        let odd = sql::all(connection, all, [], |row| {
            Ok(read(row).err().map(|failure| within(row, failure)))
        })?;
        wrong.extend(odd.into_iter().flatten().map(|odd| odd.to_string()));
    }
    Ok(wrong)
}

fn within(row: &Row<'_>, failure: Failure) -> Failure {
    let name = row::text(row, "name").unwrap_or("?");
    failure.within(&format!("agent {name}"))
}

/// The columns of a definition, as they are bound and as they are read.
struct Written {
    id: String,
    workspace_id: Option<String>,
    name: String,
    enabled: bool,
    system_prompt: String,
    display_name: String,
    model: Option<String>,
    tool_keys: String,
    sub_agents: String,
    max_depth: Option<i64>,
    max_steps: Option<i64>,
    approval: Option<String>,
    version: i64,
    page_ids: String,
    updated_at: i64,
}

impl Written {
    fn of(row: &AgentRow, version: u64) -> Result<Self, Failure> {
        let agent = &row.agent;
        let tool_keys: Vec<&str> = match &agent.tools {
            ToolKeys::All => vec![ALL],
            ToolKeys::Only(keys) => keys.iter().map(String::as_str).collect(),
        };
        let sub_agents: Vec<&str> = match &agent.sub_agents {
            SubAgents::All => vec![ALL],
            SubAgents::Only(names) => names.iter().map(AgentName::as_str).collect(),
        };
        let model = agent.model.as_ref().map(|model| {
            let mut params = Map::new();
            let temperature = model.temperature.map(|one| json!(one));
            params.extend(temperature.map(|one| ("temperature".to_owned(), one)));
            let max_tokens = model.max_tokens.map(|one| json!(one));
            params.extend(max_tokens.map(|one| ("maxTokens".to_owned(), one)));
            json!({ "modelId": model.name, "params": params })
        });
        Ok(Self {
            id: row.id.clone(),
            workspace_id: agent.workspace_id.clone(),
            name: agent.name.to_string(),
            enabled: row.enabled,
            system_prompt: agent.system_prompt.clone(),
            display_name: agent.display_name.clone(),
            model: model.as_ref().map(json_text).transpose()?,
            tool_keys: json_text(&tool_keys)?,
            sub_agents: json_text(&sub_agents)?,
            max_depth: agent.max_depth.map(i64::from),
            max_steps: agent.max_steps.map(i64::from),
            approval: agent.approval.map(|level| level.as_str().to_owned()),
            version: integer(version),
            page_ids: json_text(&agent.page_ids)?,
            updated_at: row.updated_at.0,
        })
    }

    fn insert(self, connection: &Connection) -> Result<(), Failure> {
        let values = params![
            self.id,
            self.workspace_id,
            self.name,
            self.enabled,
            self.system_prompt,
            self.display_name,
            self.model,
            self.tool_keys,
            self.sub_agents,
            self.max_depth,
            self.max_steps,
            self.approval,
            self.version,
            self.page_ids,
            self.updated_at,
            self.checksum(),
        ];
        sql::execute(connection, WRITE, values)?;
        Ok(())
    }

    fn read(row: &Row<'_>) -> Result<Self, Failure> {
        Ok(Self {
            id: row.get("id")?,
            workspace_id: row.get("workspace_id")?,
            name: row.get("name")?,
            enabled: row.get("enabled")?,
            system_prompt: row.get("system_prompt")?,
            display_name: row.get("display_name")?,
            model: row.get("model")?,
            tool_keys: row.get("tool_keys")?,
            sub_agents: row.get("allowed_sub_agents")?,
            max_depth: row.get("max_depth")?,
            max_steps: row.get("max_steps")?,
            approval: row.get("approval")?,
            version: row.get("version")?,
            page_ids: row.get("page_ids")?,
            updated_at: row.get("updated_at")?,
        })
    }

    fn checksum(&self) -> u32 {
        Columns::of(b'd')
            .text(&self.id)
            .maybe_text(self.workspace_id.as_deref())
            .text(&self.name)
            .number(self.enabled.into())
            .text(&self.system_prompt)
            .text(&self.display_name)
            .maybe_text(self.model.as_deref())
            .text(&self.tool_keys)
            .text(&self.sub_agents)
            .maybe_number(self.max_depth)
            .maybe_number(self.max_steps)
            .maybe_text(self.approval.as_deref())
            .number(self.version)
            .text(&self.page_ids)
            .number(self.updated_at)
            .sum()
    }
}

/// A definition of its row, verified.
fn read(row: &Row<'_>) -> Result<AgentRow, Failure> {
    let written = Written::read(row)?;
    checksum::verify(row, || Ok(written.checksum()))?;
    let tools: Vec<String> = parsed(&written.tool_keys)?;
    let tools = match tools.as_slice() {
        [all] if all == ALL => ToolKeys::All,
        _ => ToolKeys::Only(tools.into_iter().collect()),
    };
    let sub_agents: Vec<String> = parsed(&written.sub_agents)?;
    let sub_agents = match sub_agents.as_slice() {
        [all] if all == ALL => SubAgents::All,
        names => {
            let names: Result<BTreeSet<_>, _> =
                names.iter().map(|one| AgentName::new(one)).collect();
            SubAgents::Only(names.map_err(odd)?)
        }
    };
    let approval = written.approval.as_deref();
    let approval = approval.map(|word| Approval::from_word(word).ok_or_else(|| odd(word)));
    let limit = |number: Option<i64>| number.map(u32::try_from).transpose().map_err(odd);
    let mut agent = Agent {
        name: AgentName::new(&written.name).map_err(odd)?,
        model: written.model.as_deref().map(model).transpose()?,
        tools,
        sub_agents,
        max_depth: limit(written.max_depth)?,
        max_steps: limit(written.max_steps)?,
        approval: approval.transpose()?,
        page_ids: parsed(&written.page_ids)?,
        display_name: written.display_name,
        system_prompt: written.system_prompt,
        workspace_id: written.workspace_id,
        ..Agent::master()
    };
    agent.version = row::count(row, "version")?;
    Ok(AgentRow {
        id: written.id,
        agent,
        enabled: written.enabled,
        updated_at: Millis(written.updated_at),
    })
}

fn model(text: &str) -> Result<AgentModel, Failure> {
    let model: Value = parsed(text)?;
    let params = &model["params"];
    let name = model["modelId"].as_str().ok_or_else(|| odd("model"))?;
    Ok(AgentModel {
        name: name.to_owned(),
        temperature: serde_json::from_value(params["temperature"].clone()).map_err(odd)?,
        max_tokens: serde_json::from_value(params["maxTokens"].clone()).map_err(odd)?,
    })
}

fn parsed<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(odd)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to `map_err`")]
fn odd(why: impl ToString) -> Failure {
    Failure::Odd(why.to_string())
}
