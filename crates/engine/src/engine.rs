//! The engine's face: commands in, by the bus to whichever session they are for, and events out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::TryFutureExt;
use samovar_core::command::{Post, Text};
use samovar_core::journal::LogEntry;
use samovar_core::redact;
use samovar_core::{
    Accepted, Action, Broken, Code, Command, Delivery, Error, Models, Sender, Seq, SessionId,
    TurnId, failpoint,
};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blobs::{self, BlobKeeper};
use crate::indexing;
use crate::log::{Follower, Log};
use crate::parts::{Parts, RunningTurn, refusal, unknown};
use crate::ports::Ports;
use crate::recovered::{self, OpenDecision, Recovered};
use crate::runner::answer;
use crate::session::{Letter, Mailbox};
use crate::settings::{Recovery, Settings};
use crate::toolbox::Toolbox;

mod approvals;
mod call;
mod compared;
mod copies;
mod exchanges;
pub(crate) mod fork;
pub(crate) mod in_memory;
mod reads;
pub(crate) mod resume;
mod told;

use self::copies::Copies;

/// How long an engine without turns waits at start for what a former run left. When the history
/// cannot take it by then, reads show what it has.
const PATIENCE: Duration = Duration::from_secs(30);

/// Letters that wait in a session's mailbox, at most. More commands are refused with 429; more readers
/// wait, because a page's `EventSource` never comes back after a refusal.
const MAX_LETTERS: usize = 64;

/// How long all sessions are left alone after they were asked to leave memory.
const RELIEF_PAUSE: Duration = Duration::from_millis(250);

/// How long a session that was not let into memory at start waits until it tries again.
const AGAIN: Duration = Duration::from_secs(1);

/// A caller that is about to submit work; see [`Engine::attend`].
pub struct Attendance(#[expect(dead_code, reason = "it counts while it lives")] RunningTurn);

/// A running engine. Share it in an [`Arc`]; end it with [`Engine::shutdown`].
pub struct Engine {
    parts: Arc<Parts>,
    bus: Arc<Bus>,
    stop_projector: CancellationToken,
    tasks: TaskTracker,
    decided: approvals::Decided,
    /// Whether all is written out, so that a stop in a hurry and the one it overtakes do it once.
    is_closed: tokio::sync::Mutex<bool>,
    /// Held while a session is imported.
    importing: tokio::sync::Mutex<()>,
}

impl Engine {
    /// Starts: the projector runs, and the sessions that a former run left unfinished are brought
    /// into memory, as [`Recovery`] says, where their turns are looked after. Answers before that is
    /// done, and reads wait for the history meanwhile.
    ///
    /// # Errors
    /// [`Broken`] when the journal cannot be read.
    pub async fn start(ports: Ports, settings: Settings) -> Result<Arc<Self>, Broken> {
        let shared = Arc::new(Parts::new(ports, settings));
        let projector = shared.projector.clone();
        let bus = Bus::new(shared.clone());
        let unsettled = unsettled(&shared).await?;
        let alive = alive(&unsettled);
        *shared.open_calls.unread.lock().await = alive.clone();
        projector.take_over(unsettled.iter().cloned());
        let (tasks, stop_projector) = (TaskTracker::new(), CancellationToken::new());
        tasks.spawn(projector.clone().run(stop_projector.clone()));
        let indexing = indexing::run(shared.history.clone(), stop_projector.clone());
        tasks.spawn(indexing);
        tasks.spawn(bus.clone().relieve());
        tasks.spawn(blobs::run(shared.clone()));
        if shared.settings.recovery.runs_turns() {
            tasks.spawn(approvals::Expiry::of_bus(&shared, &bus).run());
        }
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
            decided: approvals::Decided::default(),
            is_closed: tokio::sync::Mutex::new(false),
            importing: tokio::sync::Mutex::default(),
        }))
    }

    /// Sends a command. What is accepted is kept already.
    ///
    /// # Errors
    /// The refusal, with its code.
    pub async fn submit(&self, command: Command) -> Result<Accepted, Error> {
        submit(&self.parts, &self.bus, command).await
    }

    /// Submits an action for the program that has the engine inside.
    ///
    /// # Errors
    /// The refusal, with its code.
    pub async fn act(&self, session: &SessionId, action: Action) -> Result<Accepted, Error> {
        self.submit(by_embedder(session, action)).await
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
        let post = Post::new(Text::new(text)?, delivery);
        begun(self.act(session, Action::Post(post)).await?)
    }

    /// Counts as work until it is dropped: [`Engine::shutdown`] waits for it as for a turn. For a
    /// caller that does more with what it submits, such as following it.
    pub fn attend(&self) -> Attendance {
        Attendance(self.parts.running.enter())
    }

    /// Reads a session's events after a position, as they come.
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
    pub fn toolbox(&self) -> &Arc<Toolbox> {
        &self.parts.toolbox
    }

    /// The models.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.parts.models
    }

    /// The blobs.
    pub fn blobs(&self) -> &BlobKeeper {
        &self.parts.blobs
    }

    /// What is set.
    pub fn settings(&self) -> &Settings {
        &self.parts.settings
    }

    /// Refuses new work from here on; [`Engine::shutdown`] does so first.
    pub fn accept_no_more(&self) {
        self.parts.stopping.cancel();
    }

    /// Whether it takes no new work.
    pub fn is_stopping(&self) -> bool {
        self.parts.stopping.is_cancelled()
    }

    /// Takes no new turns, gives those that run `drain` to end, then writes everything out. Turns
    /// that are not over by then are found by the next start.
    pub async fn shutdown(&self, drain: Duration) {
        self.accept_no_more();
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
        blobs::sweep(&self.parts).await;
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
}

type Mail = mpsc::Sender<Letter>;
type Sessions = HashMap<SessionId, Mail>;

/// The sessions in memory, and the way to them. A session comes into memory when something is sent
/// to it, and leaves when nothing needs it there.
struct Bus {
    parts: Arc<Parts>,
    sessions: Mutex<Sessions>,
    copies: Copies,
    tasks: TaskTracker,
}

/// A command of the program that has the engine inside.
fn by_embedder(session: &SessionId, action: Action) -> Command {
    Command {
        by: Sender::Embedder,
        session: session.clone(),
        action,
    }
}

/// Puts a letter into a session's mailbox.
fn deliver(mail: &Mail, session: &SessionId, letter: Letter) -> Result<(), Error> {
    mail.try_send(letter).map_err(|error| match error {
        TrySendError::Full(_) => {
            let why = locale::session::requests_wait(session, MAX_LETTERS as u64);
            Error::new(Code::Busy, why)
        }
        TrySendError::Closed(_) => stopping(),
    })
}

/// The turn that answers a message, and the position after which it can be followed.
fn begun(accepted: Accepted) -> Result<(TurnId, Seq), Error> {
    match accepted {
        Accepted::Posted { turn, after, .. } => Ok((turn, after)),
        _ => Err(Error::new(Code::Internal, locale::turn::broken())),
    }
}

/// Sends a command. What is accepted is kept already.
async fn submit(parts: &Parts, bus: &Arc<Bus>, mut command: Command) -> Result<Accepted, Error> {
    redact::own().redact_action(&mut command.action);
    // Before the look whether it stops: a stop that comes later waits for what this begins.
    let _here = Attendance(parts.running.enter());
    parts.check(&command)?;
    bus.submit(command).await
}

impl Bus {
    fn new(parts: Arc<Parts>) -> Arc<Self> {
        let (sessions, tasks) = (Mutex::default(), TaskTracker::new());
        Arc::new(Self {
            parts,
            sessions,
            copies: Copies::default(),
            tasks,
        })
    }

    /// Sends a command; answers when it is accepted, and so kept, or refused.
    async fn submit(self: &Arc<Self>, command: Command) -> Result<Accepted, Error> {
        let send = |command: Command| {
            let (reply, accepted) = oneshot::channel();
            let session = command.session.clone();
            self.send(&session, Letter::Command(Box::new(command), reply))?;
            Ok(accepted)
        };
        self.copies.submit(command, send).await
    }

    /// The log of a session, if there is such a session.
    async fn log(self: &Arc<Self>, session: &SessionId) -> Result<Option<Log>, Error> {
        let (reply, log) = oneshot::channel();
        let letter = Letter::Follow(reply);
        loop {
            if self.parts.stop.is_cancelled() {
                return Err(stopping());
            }
            let mail = self.mailbox(&mut self.lock(), session);
            let Ok(place) = mail.reserve().await else {
                continue;
            };
            let _sessions = self.lock();
            // A session that left memory meanwhile takes nothing any more.
            if !mail.is_closed() {
                place.send(letter);
                break;
            }
        }
        log.await.map_err(|_| stopping())?
    }

    /// Brings a session into memory, so that it looks after its unfinished turns; again, when a store
    /// does not let it.
    fn wake(self: &Arc<Self>, session: &SessionId) {
        drop(self.mailbox(&mut self.lock(), session));
        self.tasks.spawn(self.clone().awaken(session.clone()));
    }

    async fn awaken(self: Arc<Self>, session: SessionId) {
        loop {
            match self.log(&session).await.map(drop) {
                Err(error) if matches!(error.code, Code::StoreFull | Code::StoreFailed) => {}
                Ok(()) | Err(_) => return,
            }
            tokio::select! {
                () = self.parts.stop.cancelled() => return,
                () = tokio::time::sleep(AGAIN) => {}
            }
        }
    }

    fn send(self: &Arc<Self>, session: &SessionId, letter: Letter) -> Result<(), Error> {
        if self.parts.stop.is_cancelled() {
            return Err(stopping());
        }
        // Sent under the lock: a session that leaves memory looks under it whether anything came.
        deliver(&self.mailbox(&mut self.lock(), session), session, letter)
    }

    fn mailbox(self: &Arc<Self>, sessions: &mut Sessions, session: &SessionId) -> Mail {
        if let Some(mail) = sessions.get(session).filter(|mail| !mail.is_closed()) {
            return mail.clone();
        }
        let (mail, letters) = mpsc::channel(MAX_LETTERS);
        sessions.insert(session.clone(), mail.clone());
        let undecided = self.parts.ledger.undecided();
        self.tasks
            .spawn(self.clone().look_after(session.clone(), letters, undecided));
        mail
    }

    async fn look_after(
        self: Arc<Self>,
        id: SessionId,
        mut letters: mpsc::Receiver<Letter>,
        undecided: OpenDecision,
    ) {
        let load = Mailbox::load(self.parts.clone(), id.clone(), self.parts.stop.clone());
        // In a box, because the task of every idle session has places for it.
        let loaded = Box::pin(load.map_ok(Box::new)).await;
        drop(undecided);
        let mut mailbox = match loaded {
            Ok(mailbox) => mailbox,
            Err(broken) => return Box::pin(self.turn_away(&id, letters, broken)).await,
        };
        loop {
            mailbox.run(&mut letters).await;
            let mut sessions = self.lock();
            let is_free = letters.is_empty() && !mailbox.is_followed();
            if is_free || self.parts.stop.is_cancelled() {
                mailbox.forget();
                sessions.remove(&id);
                letters.close();
                return;
            }
        }
    }

    /// Asks every session to leave memory if it is idle, whenever memory is nearly used up.
    async fn relieve(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.parts.stop.cancelled() => return,
                () = self.parts.memory.comes_near() => {}
            }
            let all: Vec<_> = self.lock().values().cloned().collect();
            // One that has letters looks at the memory after them.
            for mail in all.iter().filter(|mail| mail.capacity() == MAX_LETTERS) {
                drop(mail.try_send(Letter::Leave));
            }
            tokio::time::sleep(RELIEF_PAUSE).await;
        }
    }

    /// Refuses what is asked of a session that cannot be read. One that is damaged can be deleted.
    async fn turn_away(&self, id: &SessionId, mut letters: mpsc::Receiver<Letter>, broken: Broken) {
        let is_damaged = matches!(broken, Broken::Damaged(_));
        let refused = if is_damaged {
            self.parts.unreadable(id, &broken)
        } else {
            refusal(broken)
        };
        loop {
            while let Ok(letter) = letters.try_recv() {
                match letter {
                    Letter::Command(command, reply)
                        if is_damaged && matches!(command.action, Action::Close) =>
                    {
                        answer(reply, self.discard(id).await);
                    }
                    other => other.refuse(&refused),
                }
            }
            let mut sessions = self.lock();
            if letters.is_empty() {
                sessions.remove(id);
                letters.close();
                return;
            }
        }
    }

    /// Removes a damaged session from both stores. From the history first: what is left of it when
    /// that is cut off is still damaged, and can be deleted again.
    async fn discard(&self, id: &SessionId) -> Result<Accepted, Error> {
        self.parts.history.discard(id).await.map_err(refusal)?;
        self.parts.journal.discard(id).await.map_err(refusal)?;
        self.parts.damages.removed(id);
        self.parts.blobs.is_due();
        Ok(Accepted::Closed)
    }

    /// Stops every session; turns that run are left as they are, for the next start.
    async fn close(&self) {
        self.parts.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
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

fn stopping() -> Error {
    Error::new(Code::Unavailable, locale::server::stopping())
}

/// The sessions that were not deleted.
fn alive(unsettled: &[(SessionId, LogEntry)]) -> Vec<SessionId> {
    let alive = unsettled.iter().filter(|(_, entry)| !entry.deleted);
    alive.map(|(session, _)| session.clone()).collect()
}
