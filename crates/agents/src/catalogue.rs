//! The definitions in force: those of code before files before rows (SA-2).

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::agent::{AgentEntry, AgentOrigin};
use samovar_core::{Agent, AgentRow, Agents, Clock, Millis};
use samovar_locale::agent as text;

use crate::built_in::{ADAPTIVE, built_in};
use crate::check::{check, tools};
use crate::folder::{FileDefinition, Files};

/// The tools that the server has at the moment of the call.
pub type ToolNames = Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>;

/// All definitions. Cheap to ask: files are looked at once a second at most.
pub struct Catalogue {
    code: BTreeMap<String, Definition>,
    /// Of each folder, the one that counts most first.
    files: Mutex<Vec<Files>>,
    rows: Mutex<BTreeMap<String, Definition>>,
    tools: ToolNames,
    clock: Arc<dyn Clock>,
}

/// A definition with what only people are shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Listed {
    /// The definition.
    pub entry: AgentEntry,
    /// When it was written, if it is a row.
    pub updated_at: Option<Millis>,
}

/// A definition of one origin, checked but for its tools.
#[derive(Clone)]
struct Definition {
    agent: Arc<Agent>,
    origin: AgentOrigin,
    enabled: bool,
    invalid: Option<String>,
    updated_at: Option<Millis>,
    /// The id of its row, if it is one.
    id: Option<String>,
}

impl Catalogue {
    /// The catalogue of these folders, of which an earlier one counts more, without rows.
    pub fn new(folders: Vec<PathBuf>, tools: ToolNames, clock: Arc<dyn Clock>) -> Self {
        let code = built_in().into_iter().map(|agent| {
            let name = agent.name.to_string();
            (name, Definition::of(agent, AgentOrigin::Code))
        });
        Self {
            code: code.collect(),
            files: Mutex::new(folders.into_iter().map(Files::new).collect()),
            rows: Mutex::default(),
            tools,
            clock,
        }
    }

    /// Replaces all rows.
    pub fn set_rows(&self, rows: Vec<AgentRow>) {
        let rows = rows.into_iter().map(|row| {
            let name = row.agent.name.to_string();
            let definition = Definition {
                enabled: row.enabled,
                invalid: check(&row.agent),
                updated_at: Some(row.updated_at),
                id: Some(row.id),
                ..Definition::of(row.agent, AgentOrigin::Row)
            };
            (name, definition)
        });
        *lock(&self.rows) = rows.collect();
    }

    /// Every definition, by name; those that another hides are invalid and follow it.
    pub fn all(&self) -> Vec<Listed> {
        let tools = (self.tools)();
        let mut all: Vec<_> = self.code.values().cloned().collect();
        let files = self.refreshed();
        let files = files.iter().flat_map(Files::definitions);
        all.extend(files.map(Definition::of_file));
        all.extend(lock(&self.rows).values().cloned());
        all.sort_by(|one, other| {
            let key = |of: &Definition| (of.agent.name.clone(), of.origin);
            key(one).cmp(&key(other))
        });
        let mut listed: Vec<Listed> = Vec::with_capacity(all.len());
        for definition in all {
            let before = listed.last();
            let hidden_by = before
                .filter(|before| before.entry.agent.name == definition.agent.name)
                .map(|before| before.entry.origin);
            let updated_at = definition.updated_at;
            let mut entry = definition.entry(&tools);
            match hidden_by {
                None => {}
                Some(AgentOrigin::Code) => entry.invalid = Some(text::hidden_by_code().to_owned()),
                Some(_) => entry.invalid = Some(text::hidden_by_file().to_owned()),
            }
            listed.push(Listed { entry, updated_at });
        }
        listed
    }

    /// The definition that is in force for a name, of any agent.
    pub fn get(&self, name: &str) -> Option<Listed> {
        let definition = self.code.get(name).cloned();
        let definition = definition
            .or_else(|| {
                let files = self.refreshed();
                let found = files.iter().find_map(|files| files.find(name));
                found.map(Definition::of_file)
            })
            .or_else(|| lock(&self.rows).get(name).cloned())?;
        let updated_at = definition.updated_at;
        let entry = definition.entry(&(self.tools)());
        Some(Listed { entry, updated_at })
    }

    /// The id of the row of a name, whether or not it is in force.
    pub fn row_id(&self, name: &str) -> Option<String> {
        lock(&self.rows).get(name)?.id.clone()
    }

    /// Why the tools of a definition make it invalid now; `None` if they do not.
    pub fn unknown_tool(&self, agent: &Agent) -> Option<String> {
        tools(agent, &(self.tools)()).0
    }

    fn refreshed(&self) -> MutexGuard<'_, Vec<Files>> {
        let (mut files, now) = (lock(&self.files), self.clock.now());
        files.iter_mut().for_each(|files| files.refresh(now));
        files
    }
}

/// The agents that can be asked for: all but the chat's own, which no agent calls.
impl Agents for Catalogue {
    fn find(&self, name: &str) -> Option<AgentEntry> {
        let found = self.get(name).filter(|_| name != ADAPTIVE);
        found.map(|listed| listed.entry)
    }

    fn list(&self) -> Vec<AgentEntry> {
        let mut all: Vec<_> = self.all().into_iter().map(|listed| listed.entry).collect();
        all.dedup_by(|after, before| after.agent.name == before.agent.name);
        all.retain(|entry| entry.agent.name.as_str() != ADAPTIVE);
        all
    }
}

impl Definition {
    fn of(agent: Agent, origin: AgentOrigin) -> Self {
        Self {
            agent: Arc::new(agent),
            origin,
            enabled: true,
            invalid: None,
            updated_at: None,
            id: None,
        }
    }

    fn of_file(file: &FileDefinition) -> Self {
        Self {
            enabled: file.enabled,
            invalid: file.invalid.clone(),
            ..Self::of(file.agent.clone(), AgentOrigin::File)
        }
    }

    fn entry(self, available: &BTreeSet<String>) -> AgentEntry {
        let (unknown, missing) = tools(&self.agent, available);
        AgentEntry {
            agent: self.agent,
            origin: self.origin,
            enabled: self.enabled,
            invalid: self.invalid.or(unknown),
            missing,
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
