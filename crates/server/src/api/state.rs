//! What the handlers of `/api` share.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use samovar_core::{Approval, Code, Error};
use samovar_engine::Engine;
use samovar_locale as locale;
use samovar_providers::Registry;
use samovar_stores::Stores;
use samovar_stores::damage::Reports;
use samovar_wire::api::{MemoryInfo, StoreInfo};
use tokio_util::sync::CancellationToken;

use crate::definitions::Definitions;
use crate::endpoint;
use crate::engine_cell::starting;
use crate::examiner::Examination;
use crate::failures::Failures;
use crate::guide::Guide;
use crate::logins::Logins;
use crate::registered::RegisteredTools;
use crate::tokens::{self, Tokens};

/// What the handlers of `/api` work with.
pub(crate) struct State {
    /// Empty until they are open.
    pub(crate) stores: OnceLock<Arc<Stores>>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) tools: Arc<RegisteredTools>,
    /// Empty until the stores are open.
    pub(crate) definitions: OnceLock<Arc<Definitions>>,
    /// Empty until the stores are open.
    pub(crate) guide: OnceLock<Arc<Guide>>,
    pub(crate) reports: Arc<Reports>,
    /// Cancelled when the server is to end and start again; `None` where no program would start it.
    pub(crate) restart: Option<CancellationToken>,
    pub(crate) workspace: PathBuf,
    pub(crate) approval: Approval,
    /// What the owner can have looked at.
    pub(crate) examination: Examination,
    /// Requests without a valid token.
    pub(crate) failures: Failures,
    /// How browsers get in.
    pub(crate) logins: Logins,
    /// Whether the audit has the end of this run.
    pub(crate) is_stop_noted: AtomicBool,
}

pub(super) type Call = endpoint::Call<Arc<State>>;
pub(super) type Endpoint = endpoint::Endpoint<Arc<State>>;

impl State {
    /// Changes the tokens. A change waits for the disk, and no other request should wait with it.
    pub(super) async fn change_tokens<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Tokens) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let tokens = self.tokens.clone();
        let changed = tokio::task::spawn_blocking(move || change(&tokens)).await;
        changed.unwrap_or_else(|error| Err(tokens::not_kept(&error.into())))
    }

    pub(super) fn stores(&self) -> Result<&Arc<Stores>, Error> {
        self.stores.get().ok_or_else(starting)
    }
}

/// The memory of an engine.
pub(super) fn memory_info(engine: &Engine) -> MemoryInfo {
    MemoryInfo {
        used_bytes: engine.memory() as u64,
        budget_bytes: engine.settings().memory as u64,
    }
}

/// The stores of the server, and how far the history is.
///
/// # Errors
/// They are not open, or the journal cannot be read.
pub(super) fn store_info(state: &State, engine: &Engine) -> Result<StoreInfo, Error> {
    let (stores, lag) = (state.stores()?, engine.lag());
    let fill = stores.fill().map_err(|broken| {
        tracing::error!(%broken, "the journal cannot be read");
        Error::new(Code::StoreFailed, locale::store::unreadable(broken))
    })?;
    Ok(StoreInfo {
        is_full: stores.disk.is_full(),
        free_bytes: stores.disk.free_bytes(),
        journal_used_bytes: fill.used_bytes as u64,
        journal_map_bytes: fill.map_bytes as u64,
        journal_commits: stores.commits(),
        history_lag_sessions: lag.logs as u64,
        history_failed_since: lag.failed_since,
    })
}
