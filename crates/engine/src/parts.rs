//! What the engine is put together from.

use std::sync::Arc;

use samovar_core::{Broken, Clock, Code, Damages, Error, History, Ids, Journal, Models, SessionId};
use samovar_locale as locale;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::disk_space::SpaceWatch;
use crate::memory::Memory;
use crate::open_calls::OpenCalls;
use crate::projector::Projector;
use crate::recovered::Ledger;
use crate::settings::Settings;
use crate::toolbox::Toolbox;

/// What every session shares.
pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) history: Arc<dyn History>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
    pub(crate) damages: Arc<dyn Damages>,
    pub(crate) projector: Arc<Projector>,
    pub(crate) open_calls: Arc<OpenCalls>,
    pub(crate) running: RunningTurns,
    pub(crate) memory: Arc<Memory>,
    /// Where turns wait that cannot keep what they have.
    pub(crate) disk_space: SpaceWatch,
    /// Held by a turn that goes on after a stop, until the world has answered it.
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
    /// The refusal of what is asked of a session that a store could not read; damage is reported.
    pub(crate) fn unreadable(&self, id: &SessionId, broken: &Broken) -> Error {
        tracing::error!(session = %id, %broken, "a session cannot be read");
        match broken {
            Broken::Damaged(why) => {
                self.damages.session(id, why);
                damaged()
            }
            Broken::Full(_) | Broken::ReadOnly(_) | Broken::Starved(_) | Broken::Io(_) => {
                Error::new(Code::StoreFailed, locale::store::unreadable(broken))
            }
        }
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

/// The refusal of what is asked of a session that is not there.
pub(crate) fn unknown(id: &SessionId) -> Error {
    let why = locale::session::unknown(locale::quoted(id.as_str()));
    Error::new(Code::UnknownSession, why)
}

/// How many turns run.
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
