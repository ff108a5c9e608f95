//! The bus: the one bounded way in for commands, to whichever session they are for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::{Accepted, Action, Broken, Code, Command, Error, SessionId};
use samovar_locale as locale;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::log::Log;
use crate::parts::{Parts, refusal};
use crate::recovered::Undecided;
use crate::runner::answer;
use crate::session::{Letter, Mailbox};

/// Letters that wait in a session's mailbox, at most; more are refused with 429.
const MAX_LETTERS: usize = 64;

/// How long a session that was not let into memory at start waits until it tries again.
const AGAIN: Duration = Duration::from_secs(1);

type Mail = mpsc::Sender<Letter>;
type Sessions = HashMap<SessionId, Mail>;

/// The sessions in memory, and the way to them. A session comes into memory when something is sent
/// to it, and leaves when nothing needs it there.
pub(crate) struct Bus {
    parts: Arc<Parts>,
    sessions: Mutex<Sessions>,
    tasks: TaskTracker,
}

impl Bus {
    pub(crate) fn new(parts: Arc<Parts>) -> Arc<Self> {
        let (sessions, tasks) = (Mutex::default(), TaskTracker::new());
        Arc::new(Self {
            parts,
            sessions,
            tasks,
        })
    }

    /// Sends a command; answers when it is accepted, and so kept, or refused.
    pub(crate) async fn submit(self: &Arc<Self>, command: Command) -> Result<Accepted, Error> {
        let (reply, accepted) = oneshot::channel();
        let session = command.session.clone();
        self.send(&session, Letter::Command(command, reply))?;
        accepted.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// The log of a session, if there is such a session.
    pub(crate) async fn log(self: &Arc<Self>, session: &SessionId) -> Result<Option<Log>, Error> {
        let (reply, log) = oneshot::channel();
        self.send(session, Letter::Follow(reply))?;
        log.await.map_err(|_| stopping())?
    }

    /// Brings a session into memory, so that it looks after its unfinished turns; again, when a store
    /// does not let it.
    pub(crate) fn wake(self: &Arc<Self>, session: &SessionId) {
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
        let sent = self.mailbox(&mut self.lock(), session).try_send(letter);
        sent.map_err(|error| match error {
            TrySendError::Full(_) => {
                let why = locale::session::requests_wait(session, MAX_LETTERS as u64);
                Error::new(Code::Busy, why)
            }
            TrySendError::Closed(_) => stopping(),
        })
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
        undecided: Undecided,
    ) {
        let loaded = Mailbox::load(self.parts.clone(), id.clone(), self.parts.stop.clone()).await;
        drop(undecided);
        let mut mailbox = match loaded {
            Ok(mailbox) => mailbox,
            Err(broken) => return self.turn_away(&id, letters, broken).await,
        };
        loop {
            mailbox.run(&mut letters).await;
            let mut sessions = self.lock();
            let is_free = letters.is_empty() && !mailbox.is_followed() && mailbox.forget();
            if is_free || self.parts.stop.is_cancelled() {
                sessions.remove(&id);
                letters.close();
                return;
            }
        }
    }

    /// Refuses what is asked of a session that cannot be read. One that is damaged can be deleted.
    async fn turn_away(&self, id: &SessionId, mut letters: mpsc::Receiver<Letter>, broken: Broken) {
        let is_damaged = matches!(broken, Broken::Damaged(_));
        let refused = match &broken {
            Broken::Damaged(_) => self.parts.unreadable(id, &broken),
            Broken::Full(_) | Broken::ReadOnly(_) | Broken::Io(_) => refusal(broken),
        };
        loop {
            while let Ok(letter) = letters.try_recv() {
                match letter {
                    Letter::Command(command, reply)
                        if is_damaged && matches!(command.action, Action::Close) =>
                    {
                        answer(reply, self.discard(id).await);
                    }
                    other @ (Letter::Command(..) | Letter::Follow(_)) => other.refuse(&refused),
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
        Ok(Accepted::Closed)
    }

    /// Stops every session; turns that run are left as they are, for the next start.
    pub(crate) async fn close(&self) {
        self.parts.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    fn lock(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stopping() -> Error {
    Error::new(Code::Unavailable, locale::server::stopping())
}
