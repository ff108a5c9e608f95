//! The definitions of agents: the catalogue, and the rows that clients change in it (SA-4).

use std::path::PathBuf;
use std::sync::Arc;

use samovar_agents::{Catalogue, Draft, FOLDER, Listed};
use samovar_core::agent::AgentOrigin;
use samovar_core::agent_rows::MAX_AGENT_ROWS;
use samovar_core::{AgentName, AgentRow, AgentRows, Broken, Clock, Code, Error, Ids, RowChange};
use samovar_engine::Toolbox;
use samovar_locale as locale;
use serde_json::json;
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use crate::clock::{SystemClock, UuidV7};

/// The definitions of a server.
pub(crate) struct Definitions {
    catalogue: Arc<Catalogue>,
    rows: Arc<dyn AgentRows>,
    /// Held by a change until the catalogue has it, so that changes take effect in their order.
    changing: Mutex<()>,
    changes: TaskTracker,
}

impl Definitions {
    /// Reads the rows; files are in `agents` of each of these folders. Those that cannot be read are left out: a server without them still serves.
    pub(crate) async fn open(
        folders: Vec<PathBuf>,
        rows: Arc<dyn AgentRows>,
        toolbox: Arc<Toolbox>,
    ) -> Arc<Self> {
        let tools = move || {
            let specs = toolbox.specs();
            specs.iter().map(|spec| spec.name.clone()).collect()
        };
        let folders = folders.into_iter().map(|folder| folder.join(FOLDER));
        let catalogue = Catalogue::new(folders.collect(), Arc::new(tools), Arc::new(SystemClock));
        match rows.list().await {
            Ok(all) => catalogue.set_rows(all),
            Err(broken) => tracing::error!(%broken, "the agents that clients made cannot be read"),
        }
        Arc::new(Self {
            catalogue: Arc::new(catalogue),
            rows,
            changing: Mutex::new(()),
            changes: TaskTracker::new(),
        })
    }

    /// The definitions in force.
    pub(crate) fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The definition in force for a name.
    ///
    /// # Errors
    /// [`Code::UnknownAgent`].
    pub(crate) fn get(&self, name: &str) -> Result<Listed, Error> {
        self.catalogue.get(name).ok_or_else(|| unknown(name))
    }

    /// Finishes a change whether or not its client waits: a definition that is stored must be in force.
    ///
    /// # Errors
    /// Those of the change.
    pub(crate) async fn finish<T: Send + 'static>(
        &self,
        change: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.changes.spawn(change).await;
        done.unwrap_or_else(|error| Err(refusal(&Broken::Io(error.to_string()))))
    }

    /// Adds a definition.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] if it is invalid or there are too many; [`Code::AgentConflict`] if its
    /// name is taken; [`Code::StoreFull`] or [`Code::StoreFailed`].
    pub(crate) async fn add(
        &self,
        name: AgentName,
        draft: Draft,
        enabled: bool,
    ) -> Result<Listed, Error> {
        let _in_order = self.changing.lock().await;
        if self.catalogue.get(name.as_str()).is_some() {
            return Err(taken(&name));
        }
        let id = UuidV7.uuid();
        let row = self.row(id, name.clone(), draft, enabled)?;
        match self
            .rows
            .put(row, 0)
            .await
            .map_err(|broken| refusal(&broken))?
        {
            RowChange::Kept(_) => self.changed(&name).await,
            RowChange::Stale(_) => Err(taken(&name)),
            RowChange::TooMany => {
                let why = locale::agent::too_many(MAX_AGENT_ROWS as u64);
                Err(Error::new(Code::InvalidParams, why))
            }
        }
    }

    /// Replaces a version of a definition that a client made. Turns that run keep the old one.
    ///
    /// # Errors
    /// As [`Definitions::add`]; [`Code::UnknownAgent`]; [`Code::AgentConflict`] if the version is not
    /// the current one, or no client made the definition.
    pub(crate) async fn replace(
        &self,
        name: AgentName,
        version: u64,
        draft: Draft,
        enabled: bool,
    ) -> Result<Listed, Error> {
        let _in_order = self.changing.lock().await;
        let there = self.made(&name)?;
        let row = self.row(there, name.clone(), draft, enabled)?;
        let changed = self
            .rows
            .put(row, version)
            .await
            .map_err(|broken| refusal(&broken))?;
        settled(&name, changed)?;
        self.changed(&name).await
    }

    /// Removes a version of a definition that a client made.
    ///
    /// # Errors
    /// As [`Definitions::replace`].
    pub(crate) async fn remove(&self, name: &AgentName, version: u64) -> Result<(), Error> {
        let _in_order = self.changing.lock().await;
        self.made(name)?;
        let changed = self
            .rows
            .remove(name, version)
            .await
            .map_err(|broken| refusal(&broken))?;
        settled(name, changed)?;
        self.reload().await
    }

    /// The kept versions of a definition, newest first; empty for one that no client made.
    ///
    /// # Errors
    /// [`Code::UnknownAgent`] if it never existed; [`Code::StoreFailed`].
    pub(crate) async fn versions(
        &self,
        name: &AgentName,
        before: Option<u64>,
    ) -> Result<Vec<AgentRow>, Error> {
        let versions = self
            .rows
            .versions(name, before)
            .await
            .map_err(|broken| refusal(&broken))?;
        if versions.is_empty() && before.is_none() {
            self.get(name.as_str())?;
        }
        Ok(versions)
    }

    /// The id of the row of a name, which a definition of another origin may hide.
    fn made(&self, name: &AgentName) -> Result<String, Error> {
        if let Some(id) = self.catalogue.row_id(name.as_str()) {
            return Ok(id);
        }
        self.get(name.as_str())?;
        let why = locale::agent::not_a_row(name);
        Err(Error::new(Code::AgentConflict, why))
    }

    fn row(
        &self,
        id: String,
        name: AgentName,
        draft: Draft,
        enabled: bool,
    ) -> Result<AgentRow, Error> {
        let invalid = |why: String| Error::new(Code::InvalidParams, why);
        let agent = draft.define(name).map_err(invalid)?;
        if let Some(why) = self.catalogue.unknown_tool(&agent) {
            return Err(invalid(why));
        }
        Ok(AgentRow {
            id,
            agent,
            enabled,
            updated_at: SystemClock.now(),
        })
    }

    async fn changed(&self, name: &AgentName) -> Result<Listed, Error> {
        self.reload().await?;
        let all = self.catalogue.all().into_iter();
        let mut rows = all.filter(|one| one.entry.origin == AgentOrigin::Row);
        let row = rows.find(|one| one.entry.agent.name == *name);
        row.ok_or_else(|| unknown(name.as_str()))
    }

    async fn reload(&self) -> Result<(), Error> {
        let rows = self.rows.list().await.map_err(|broken| refusal(&broken))?;
        self.catalogue.set_rows(rows);
        Ok(())
    }
}

fn settled(name: &AgentName, change: RowChange) -> Result<(), Error> {
    match change {
        RowChange::Kept(_) => Ok(()),
        RowChange::Stale(Some(version)) => {
            let why = locale::agent::conflict(name, version);
            let details = json!({ "version": version });
            Err(Error::new(Code::AgentConflict, why).with_details(details))
        }
        RowChange::Stale(None) | RowChange::TooMany => Err(unknown(name.as_str())),
    }
}

fn unknown(name: &str) -> Error {
    let why = locale::agent::unknown(locale::quoted(name));
    Error::new(Code::UnknownAgent, why)
}

fn taken(name: &AgentName) -> Error {
    Error::new(Code::AgentConflict, locale::agent::taken(name))
}

fn refusal(broken: &Broken) -> Error {
    let code = match broken {
        Broken::Full(_) => Code::StoreFull,
        Broken::Starved(_) => Code::Unavailable,
        Broken::ReadOnly(_) | Broken::Io(_) | Broken::Damaged(_) => Code::StoreFailed,
    };
    Error::new(code, broken.to_string())
}
