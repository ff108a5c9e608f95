//! What the engine is put together from.

use std::sync::Arc;

use samovar_core::audit::Audit;
use samovar_core::{
    Action, Agent, Agents, Bounds, Broken, Clock, Code, Command, Damages, Error, History, Ids,
    Journal, MessageId, Model, Models, SessionId,
};
use samovar_locale as locale;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::blobs::BlobKeeper;
use crate::counts::Counts;
use crate::disk_space::SpaceWatch;
use crate::folder::Folder;
use crate::log::Keeping;
use crate::log::feed::Feed;
use crate::memory::Memory;
use crate::open_calls::OpenCalls;
use crate::ports::Ports;
use crate::projector::Projector;
use crate::recovered::Ledger;
use crate::settings::{Recovery, Settings};
use crate::toolbox::Toolbox;

/// What every session shares.
pub(crate) struct Parts {
    /// How long the sessions that share it are kept.
    pub(crate) keeping: Keeping,
    pub(crate) settings: Settings,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) history: Arc<dyn History>,
    pub(crate) blobs: Arc<BlobKeeper>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) agents: Arc<dyn Agents>,
    /// The agent of a session that names none.
    pub(crate) master: Arc<Agent>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) damages: Arc<dyn Damages>,
    /// Receives the rules that people make; the calls' decisions reach it through the projector.
    pub(crate) audit: Arc<dyn Audit>,
    pub(crate) projector: Arc<Projector>,
    pub(crate) open_calls: Arc<OpenCalls>,
    /// What happens in all sessions of the stores.
    pub(crate) feed: Arc<Feed>,
    pub(crate) running: RunningTurns,
    pub(crate) memory: Arc<Memory>,
    pub(crate) counts: Arc<Counts>,
    /// Where turns wait that cannot keep what they have.
    pub(crate) disk_space: SpaceWatch,
    /// Held by a turn that continues after a stop, until the world has answered it.
    pub(crate) continuing: Arc<Semaphore>,
    /// Held by a turn while it asks a model.
    pub(crate) asking: Arc<Semaphore>,
    /// What became of the turns that a former run left.
    pub(crate) ledger: Ledger,
    /// Cancelled when no turn may begin any more.
    pub(crate) stopping: CancellationToken,
    /// Cancelled when everything ends.
    pub(crate) stop: CancellationToken,
}

impl Parts {
    /// What every session in the stores works with.
    pub(crate) fn new(ports: Ports, settings: Settings) -> Self {
        let Ports {
            journal,
            history,
            blobs,
            models,
            toolbox,
            agents,
            clock,
            ids,
            damages,
            audit,
        } = ports;
        let projector = Projector::new(
            (journal.clone(), history.clone(), audit.clone()),
            clock.clone(),
            damages.clone(),
            &settings,
        );
        let places = |count: usize| Arc::new(Semaphore::new(count.max(1)));
        Self {
            keeping: Keeping::Durable,
            journal,
            history,
            blobs: Arc::new(BlobKeeper::new(blobs)),
            models,
            toolbox,
            agents,
            master: Arc::new(Agent::master()),
            clock,
            ids,
            damages,
            audit,
            projector: Arc::new(projector),
            open_calls: Arc::default(),
            feed: Arc::default(),
            running: RunningTurns::new(),
            memory: Memory::new(settings.memory),
            counts: Arc::default(),
            disk_space: SpaceWatch::default(),
            continuing: places(settings.continuing_at_once),
            asking: places(settings.asking_at_once),
            ledger: Ledger::new(),
            stopping: CancellationToken::new(),
            stop: CancellationToken::new(),
            settings,
        }
    }

    /// What a session in memory works with: the models, limits and counts that all share, but its own
    /// tools, settings and open calls, and no store.
    pub(crate) fn in_memory(&self, toolbox: Arc<Toolbox>, settings: Settings) -> Self {
        Self {
            keeping: Keeping::Memory,
            settings: Settings {
                recovery: Recovery::EverySession,
                // What it is told is its owner's business.
                system_prompt: None,
                folder: Folder::default(),
                ..settings
            },
            journal: Arc::new(()),
            history: Arc::new(()),
            blobs: self.blobs.clone(),
            models: self.models.clone(),
            toolbox,
            agents: Arc::new(()),
            feed: self.feed.clone(),
            master: self.master.clone(),
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            damages: Arc::new(()),
            audit: self.audit.clone(),
            projector: self.projector.clone(),
            open_calls: Arc::default(),
            running: self.running.clone(),
            memory: self.memory.clone(),
            counts: self.counts.clone(),
            disk_space: SpaceWatch::default(),
            continuing: self.continuing.clone(),
            asking: self.asking.clone(),
            ledger: Ledger::new(),
            stopping: self.stopping.clone(),
            stop: self.stop.child_token(),
        }
    }

    /// Refuses what cannot be done now, or not here.
    pub(crate) fn check(&self, command: &Command) -> Result<(), Error> {
        let (starts_work, concerns_turns, adds) = match command.action {
            Action::Post { .. } | Action::Rewrite { .. } | Action::Continue => (true, true, true),
            Action::Open { .. } | Action::Append { .. } | Action::Copy { .. } => {
                (true, false, true)
            }
            Action::Settle { .. } | Action::Decide { .. } | Action::Cancel { .. } => {
                (false, true, false)
            }
            Action::Change { .. } | Action::Undo { .. } | Action::UndoWithFiles { .. } => {
                (false, false, true)
            }
            Action::Close | Action::CloseEmpty => (false, false, false),
        };
        if adds && self.damages.is_damaged(&command.session) {
            return Err(damaged());
        }
        if starts_work && self.stopping.is_cancelled() {
            return Err(Error::new(Code::Unavailable, locale::server::stopping()));
        }
        let is_new = matches!(
            command.action,
            Action::Post { .. } | Action::Open { .. } | Action::Append { .. } | Action::Copy { .. }
        );
        if is_new && self.memory.is_full() {
            return Err(Error::new(Code::Busy, locale::server::memory_full()));
        }
        if is_new && self.journal.is_behind() {
            return Err(Error::new(Code::Busy, locale::store::behind()));
        }
        if concerns_turns && !self.settings.recovery.runs_turns() {
            return Err(Error::new(Code::Unavailable, locale::server::no_turns()));
        }
        Ok(())
    }

    /// Refuses a budget in money with a model whose price is unknown (SA-12).
    pub(crate) fn check_price(&self, model: &Model, bounds: Bounds) -> Result<(), Error> {
        let budget = bounds.limit(self.settings.limits).budget;
        if budget.cost.is_none() || self.models.price(&model.route).is_some() {
            return Ok(());
        }
        let why = locale::models::unpriced(locale::quoted(&model.name));
        Err(Error::new(Code::UnpricedModel, why))
    }

    /// The refusal of what is asked of a session that a store could not read; damage is reported.
    pub(crate) fn unreadable(&self, id: &SessionId, broken: &Broken) -> Error {
        tracing::error!(session = %id, %broken, "a session cannot be read");
        if let Broken::Damaged(why) = broken {
            self.damages.session(id, why);
            return damaged();
        }
        Error::new(Code::StoreFailed, locale::store::unreadable(broken))
    }
}

/// The refusal of what is asked of a damaged session.
pub(crate) fn damaged() -> Error {
    Error::new(Code::SessionDamaged, locale::session::damaged())
}

/// A store's failure, as a client sees it: nothing was accepted.
pub(crate) fn refusal(broken: Broken) -> Error {
    tracing::error!(%broken, "a command could not be kept");
    match broken {
        Broken::Full(_) => Error::new(Code::StoreFull, locale::store::nothing_accepted(broken)),
        Broken::Starved(_) => Error::new(
            Code::Unavailable,
            locale::store::nothing_accepted_starved(broken),
        ),
        Broken::Damaged(_) => damaged(),
        Broken::ReadOnly(_) | Broken::Io(_) => {
            let why = locale::store::nothing_accepted_broken(broken);
            Error::new(Code::StoreFailed, why)
        }
    }
}

/// The failure of the audit: what it was to record is in force.
pub fn not_recorded(broken: &Broken) -> Error {
    tracing::error!(%broken, "the audit");
    let code = match broken {
        Broken::Full(_) => Code::StoreFull,
        Broken::Starved(_) => Code::Unavailable,
        Broken::ReadOnly(_) | Broken::Io(_) | Broken::Damaged(_) => Code::StoreFailed,
    };
    Error::new(code, locale::store::not_recorded(broken))
}

/// The refusal of what is asked of a session that is not there.
pub(crate) fn unknown(id: &SessionId) -> Error {
    if let Err(blank) = id.check_new("sessionId") {
        return blank;
    }
    let why = locale::session::unknown(locale::quoted(id.as_str()));
    Error::new(Code::UnknownSession, why)
}

/// How many turns run.
#[derive(Clone)]
pub(crate) struct RunningTurns(watch::Sender<usize>);

impl RunningTurns {
    pub(crate) fn new() -> Self {
        Self(watch::channel(0).0)
    }

    /// Counts a turn until the guard is dropped.
    pub(crate) fn enter(&self) -> RunningTurn {
        self.0.send_modify(|count| *count += 1);
        RunningTurn(self.0.clone())
    }

    /// How many run now.
    pub(crate) fn count(&self) -> usize {
        *self.0.borrow()
    }

    /// Waits until none runs.
    pub(crate) async fn none(&self) {
        // The sender lives as long as `self`.
        let _closed = self
            .0
            .subscribe()
            .wait_for(|count| *count == 0)
            .await
            .is_err();
    }
}

/// A turn that runs.
pub(crate) struct RunningTurn(watch::Sender<usize>);

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The refusal of a message that the session's own agent was not told.
pub(crate) fn no_such_message(id: Option<&MessageId>) -> Error {
    let id = id.map_or("", MessageId::as_str);
    let why = locale::message::not_to_rewrite(locale::quoted(id));
    let details = json!({"parameter": "messageId"});
    Error::new(Code::InvalidParams, why).with_details(details)
}
