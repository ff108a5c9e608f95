//! The engine's face: commands in, events and rows out.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::command::Text;
use samovar_core::history::{MessageQuery, MessageRow, SessionQuery, SessionRow, Totals};
use samovar_core::journal::LogEntry;
use samovar_core::{
    Accepted, Action, Bounds, Broken, Clock, Code, Command, Damages, Delivery, Error, Event,
    History, Ids, Journal, Models, Sender, Seq, SessionId, TurnId, failpoint,
};
use samovar_locale as locale;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bus::Bus;
use crate::disk_space::DiskSpace;
use crate::log::{Follower, Log};
use crate::parts::{Parts, RunningTurn, RunningTurns, damaged, unknown};
use crate::projection;
use crate::projector::{Projector, read_all};
use crate::recovered::{self, Ledger, Recovered};
use crate::settings::{Recovery, Settings};
use crate::toolbox::Toolbox;

mod call;
mod resume;

pub use self::resume::{Cut, Resumption, Since, Wanted};

/// How long an engine without turns waits at start for what a former run left. When the history
/// cannot take it by then, reads show what it has.
const PATIENCE: Duration = Duration::from_secs(30);

/// What the engine works with: the leaves behind their ports.
pub struct Ports {
    /// The hot store.
    pub journal: Arc<dyn Journal>,
    /// The cold store.
    pub history: Arc<dyn History>,
    /// The models.
    pub models: Arc<dyn Models>,
    /// The tools.
    pub toolbox: Arc<Toolbox>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where ids come from.
    pub ids: Arc<dyn Ids>,
    /// Who is told what is damaged.
    pub damages: Arc<dyn Damages>,
}

/// Somebody who is about to have work done; see [`Engine::attend`].
pub struct Attendance(#[expect(dead_code, reason = "it counts while it lives")] RunningTurn);

/// A running engine. Cheap to share behind an [`Arc`]; end it with [`Engine::shutdown`].
pub struct Engine {
    parts: Arc<Parts>,
    bus: Arc<Bus>,
    stop_projector: CancellationToken,
    tasks: TaskTracker,
    /// Whether all is written out, so that a stop in a hurry and the one it overtakes do it once.
    is_closed: Mutex<bool>,
}

impl Engine {
    /// Starts: the projector runs, and the sessions that a former run left unfinished are brought
    /// into memory, as [`Recovery`] says, where their turns are looked after. Answers before that is
    /// done, and reads wait for the history meanwhile.
    ///
    /// # Errors
    /// [`Broken`] when the journal cannot be read.
    pub async fn start(ports: Ports, settings: Settings) -> Result<Arc<Self>, Broken> {
        let Ports {
            journal,
            history,
            models,
            toolbox,
            clock,
            ids,
            damages,
        } = ports;
        let projector = Arc::new(Projector::new(
            history.clone(),
            journal.clone(),
            clock.clone(),
            damages.clone(),
            &settings,
        ));
        let continuing = Arc::new(Semaphore::new(settings.continuing_at_once.max(1)));
        let shared = Arc::new(Parts {
            settings,
            journal,
            history,
            models,
            toolbox,
            clock,
            ids,
            damages: damages.clone(),
            projector: projector.clone(),
            open_calls: Arc::default(),
            running: RunningTurns::new(),
            disk_space: DiskSpace::default(),
            continuing,
            ledger: Ledger::new(),
            stopping: CancellationToken::new(),
            stop: CancellationToken::new(),
        });
        let bus = Bus::new(shared.clone());
        let unsettled = unsettled(&shared).await?;
        let alive = unsettled.iter().filter(|(_, entry)| !entry.deleted);
        let alive: Vec<_> = alive.map(|(session, _)| session.clone()).collect();
        *shared.open_calls.unread.lock().await = alive.clone();
        projector.take_over(unsettled.iter().cloned());
        let (tasks, stop_projector) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(projector.clone().run(stop_projector.clone()));
        match shared.settings.recovery {
            Recovery::EverySession => {
                for session in &alive {
                    bus.wake(session);
                }
            }
            Recovery::UsedSessions => {}
            Recovery::NoTurns => {
                if !projector.caught_up(PATIENCE).await {
                    tracing::warn!("the history lacks some of what was accepted");
                }
            }
        }
        Ok(Arc::new(Self {
            parts: shared,
            bus,
            stop_projector,
            tasks,
            is_closed: Mutex::new(false),
        }))
    }

    /// Sends a command. What is accepted is kept already.
    ///
    /// # Errors
    /// The refusal, with its code.
    pub async fn submit(&self, command: Command) -> Result<Accepted, Error> {
        // Before the look whether it stops: a stop that comes later waits for what this begins.
        let _here = self.attend();
        self.check(&command)?;
        self.bus.submit(command).await
    }

    /// Submits an action for the program that has the engine inside.
    ///
    /// # Errors
    /// The refusal, with its code.
    pub async fn act(&self, session: &SessionId, action: Action) -> Result<Accepted, Error> {
        let (by, session) = (Sender::Embedder, session.clone());
        let command = Command {
            by,
            session,
            action,
        };
        self.submit(command).await
    }

    /// Posts text for the program that has the engine inside. Returns the turn that answers it, and
    /// the position after which that turn can be followed.
    ///
    /// # Errors
    /// The refusal, with its code; the text may be blank or too long.
    pub async fn post(
        &self,
        session: &SessionId,
        text: String,
        delivery: Delivery,
    ) -> Result<(TurnId, Seq), Error> {
        let post = Action::Post {
            message: None,
            text: Text::new(text)?,
            bounds: Bounds::default(),
            delivery,
        };
        let Accepted::Posted { turn, after, .. } = self.act(session, post).await? else {
            return Err(Error::new(Code::Internal, locale::turn::broken()));
        };
        Ok((turn, after))
    }

    /// Counts as work until it is dropped: [`Engine::shutdown`] waits for it as for a turn. For who
    /// has more to do with what it submits, such as to follow it.
    pub fn attend(&self) -> Attendance {
        Attendance(self.parts.running.enter())
    }

    /// Refuses what cannot be done now, or not here.
    fn check(&self, command: &Command) -> Result<(), Error> {
        let (starts_work, concerns_turns, adds) = match command.action {
            Action::Post { .. } | Action::Continue => (true, true, true),
            Action::Open { .. } => (true, false, true),
            Action::Settle { .. } | Action::Cancel { .. } => (false, true, false),
            Action::Change { .. } | Action::Undo => (false, false, true),
            Action::Close => (false, false, false),
        };
        if adds && self.parts.damages.is_damaged(&command.session) {
            return Err(damaged());
        }
        if starts_work && self.is_stopping() {
            return Err(Error::new(Code::Unavailable, locale::server::stopping()));
        }
        if concerns_turns && !self.parts.settings.recovery.runs_turns() {
            return Err(Error::new(Code::Unavailable, locale::server::no_turns()));
        }
        Ok(())
    }

    /// Reads a session's events from behind a position, as they come.
    ///
    /// # Errors
    /// [`Code::UnknownSession`] when there is no such session.
    pub async fn follow(&self, session: &SessionId, after: Seq) -> Result<Follower, Error> {
        let log = self.log(session).await?;
        let log = log.ok_or_else(|| unknown(session))?;
        Ok(self.reader(&log, after))
    }

    /// The log of a session, if there is such a session.
    pub(crate) async fn log(&self, session: &SessionId) -> Result<Option<Log>, Error> {
        self.bus.log(session).await
    }

    /// A reader that ends when the engine does.
    pub(crate) fn reader(&self, log: &Log, after: Seq) -> Follower {
        let reader = log.follow(after).until(self.parts.stop.clone());
        reader.telling(self.parts.damages.clone())
    }

    /// One session.
    ///
    /// # Errors
    /// [`Code::UnknownSession`] when there is no such session, [`Code::SessionDamaged`] when some of it
    /// is lost: what is left would look like all of it.
    pub async fn session(&self, id: &SessionId) -> Result<SessionRow, Error> {
        let lag = self.lag(id).await?;
        let row = self
            .parts
            .history
            .session(id)
            .await
            .map_err(|broken| self.broke_in(id, &broken))?;
        let row = match lag {
            None => row,
            Some(events) => projection::overlay_session(row, id, &events),
        };
        // Who waited for the history may have waited for just that.
        if self.parts.damages.is_damaged(id) {
            return Err(damaged());
        }
        row.ok_or_else(|| unknown(id))
    }

    /// Messages of a session.
    ///
    /// # Errors
    /// [`Code::UnknownSession`] when there is no such session, [`Code::SessionDamaged`] when some of it
    /// is lost.
    pub async fn messages(&self, query: MessageQuery) -> Result<Vec<MessageRow>, Error> {
        let id = query.session.clone();
        self.session(&id).await?;
        let (limit, is_newest) = (query.limit as usize, query.before.is_none());
        // Before the rows are read: what is projected in between is in both, and not in neither.
        // What the history lacks is newer than all it has.
        let lag = if is_newest {
            self.lag(&id).await?
        } else {
            None
        };
        let rows = self
            .parts
            .history
            .messages(query)
            .await
            .map_err(|broken| self.broke_in(&id, &broken))?;
        let Some(events) = lag else { return Ok(rows) };
        let mut rows = projection::overlay_messages(rows, &id, &events);
        rows.drain(..rows.len().saturating_sub(limit));
        Ok(rows)
    }

    /// A page of sessions, and how many there are on all pages.
    ///
    /// # Errors
    /// [`Code::Internal`] when the history cannot be read.
    pub async fn sessions(&self, query: SessionQuery) -> Result<(Vec<SessionRow>, u64), Error> {
        self.caught_up().await;
        self.parts
            .history
            .sessions(query)
            .await
            .map_err(|broken| self.broke(&broken))
    }

    /// Totals over all sessions.
    ///
    /// # Errors
    /// [`Code::Internal`] when the history cannot be read.
    pub async fn totals(&self) -> Result<Totals, Error> {
        self.caught_up().await;
        self.parts
            .history
            .totals()
            .await
            .map_err(|broken| self.broke(&broken))
    }

    /// What became of the turns that a former run left, so far. Where no turns run, all that are
    /// not over wait.
    pub fn recovered(&self) -> Recovered {
        self.parts.ledger.read()
    }

    /// The same, once nothing that is to be decided now is left. A turn that the others leave no
    /// room for takes as long as they do.
    pub async fn settled(&self) -> Recovered {
        self.parts.ledger.settled().await
    }

    /// The tools, which can be added to and removed from while the engine runs.
    pub fn toolbox(&self) -> &Toolbox {
        &self.parts.toolbox
    }

    /// The models.
    pub fn models(&self) -> &dyn Models {
        self.parts.models.as_ref()
    }

    /// What is set.
    pub fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    /// Whether it takes no new work.
    pub fn is_stopping(&self) -> bool {
        self.parts.stopping.is_cancelled()
    }

    /// Takes no new turns, gives those that run `drain` to end, then writes everything out. Turns
    /// that are not over by then are found by the next start.
    pub async fn shutdown(&self, drain: Duration) {
        self.parts.stopping.cancel();
        failpoint!("drain.before");
        if tokio::time::timeout(drain, self.parts.running.none())
            .await
            .is_err()
        {
            // Who gives them no time knows that they run.
            if !drain.is_zero() {
                tracing::warn!("turns are still running; the next start finds them");
            }
        }
        failpoint!("drain.after");
        let mut is_closed = self.is_closed.lock().await;
        if *is_closed {
            return;
        }
        self.bus.close().await;
        self.stop_projector.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        failpoint!("close.before");
        if let Err(broken) = self.parts.history.close().await {
            tracing::error!(%broken, "the history did not close cleanly");
        }
        failpoint!("close.between");
        if let Err(broken) = self.parts.journal.close().await {
            tracing::error!(%broken, "the journal did not close cleanly");
        }
        failpoint!("close.after");
        *is_closed = true;
    }

    async fn caught_up(&self) -> bool {
        self.parts
            .projector
            .caught_up(self.parts.settings.read_wait)
            .await
    }

    /// Waits until the history has what was accepted; when it does not come that far in time, the
    /// session's own kept events that it lacks (DU-2).
    async fn lag(&self, id: &SessionId) -> Result<Option<Vec<Arc<Event>>>, Error> {
        if self.caught_up().await {
            return Ok(None);
        }
        let log = self.bus.log(id).await?.ok_or_else(|| unknown(id))?;
        let Some(position) = self.parts.projector.position(log.number()) else {
            return Ok(None);
        };
        read_all(&log, position, log.published())
            .await
            .map(Some)
            .map_err(|broken| self.broke_in(id, &broken))
    }

    /// Why a session was not read: its store is closed already, or broken, or this of it is damaged.
    pub(crate) fn broke_in(&self, id: &SessionId, broken: &Broken) -> Error {
        if self.parts.stop.is_cancelled() {
            return Error::new(Code::Unavailable, locale::server::stopping());
        }
        self.parts.unreadable(id, broken)
    }

    /// Why a store was not read: it is closed already, or it is broken.
    pub(crate) fn broke(&self, broken: &Broken) -> Error {
        if self.parts.stop.is_cancelled() {
            return Error::new(Code::Unavailable, locale::server::stopping());
        }
        tracing::error!(%broken, "a store cannot be read");
        if let Broken::Damaged(why) = broken {
            self.parts.damages.history(why);
        }
        Error::new(Code::Internal, locale::store::unreadable())
    }
}

/// The sessions that need work; where no turns run, those that are not over are noted as waiting.
async fn unsettled(parts: &Parts) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
    let journal = parts.journal.clone();
    let runs_turns = parts.settings.recovery.runs_turns();
    let read = tokio::task::spawn_blocking(move || {
        let unsettled = journal.unsettled()?;
        let left = if runs_turns {
            Vec::new()
        } else {
            recovered::left(journal.as_ref(), &unsettled)?
        };
        Ok::<_, Broken>((unsettled, left))
    });
    let read = read.await.map_err(|error| Broken::Io(error.to_string()))?;
    let (unsettled, left) = read?;
    for (session, turn) in &left {
        parts.ledger.waits(session, turn);
    }
    Ok(unsettled)
}
