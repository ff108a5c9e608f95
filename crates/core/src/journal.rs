//! The hot store's port: the truth about every turn until the history has it (DU-1, DU-3).

use std::sync::Arc;

use samovar_locale as locale;

use crate::Future;
use crate::event::Event;
use crate::id::{Epoch, Seq, SessionId};
use crate::ports::Millis;

/// Number of a log in the journal. A session that is deleted and made anew gets another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogNo(pub u64);

/// What one commit keeps of one log.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The log.
    pub log: LogNo,
    /// Its session.
    pub session: SessionId,
    /// Durable events, in order.
    pub events: Vec<Arc<Event>>,
    /// Live events that leave the spool for the journal with this commit, in order.
    pub folded: Vec<Arc<Event>>,
    /// From where the log must be read to continue its unfinished turns, once this is kept; none
    /// when nothing is unfinished.
    pub open_from: Option<Seq>,
}

/// What the journal knows of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its number.
    pub log: LogNo,
    /// The last event it holds, or has held.
    pub head: Seq,
    /// From where it must be read to continue its unfinished turns.
    pub open_from: Option<Seq>,
    /// Whether the history may lack some of it.
    pub unprojected: bool,
    /// Whether the session was deleted.
    pub deleted: bool,
}

/// The store failed, not the caller. It ends what needed it and is logged once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// No room: nothing was kept, later it may work again.
    #[error("{}", locale::store::full(.0))]
    Full(String),
    /// It may not be written: nothing was kept, later it may work again.
    #[error("{}", locale::store::read_only(.0))]
    ReadOnly(String),
    /// Reading or writing failed.
    #[error("{}", locale::store::failed(.0))]
    Io(String),
    /// What was read is not what was written.
    #[error("{}", locale::store::damaged(.0))]
    Damaged(String),
}

impl Broken {
    /// Whether it may pass by itself, so that who has something to keep can wait and try again: then
    /// nothing of it was kept, and nothing that was kept is in doubt.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Full(_) | Self::ReadOnly(_) => true,
            Self::Io(_) | Self::Damaged(_) => false,
        }
    }
}

/// The hot store. All calls but [`Journal::commit`] work on the caller's thread: `spool` is one
/// `write(2)`, the others are short reads of mapped memory, for threads that may block.
pub trait Journal: Send + Sync {
    /// The epoch of this run of the server, kept before anything else.
    fn epoch(&self) -> Epoch;

    /// Whether the run before this one closed the journal well, so that what it left was not cut by
    /// a crash. True for a journal that is new.
    fn was_closed(&self) -> bool;

    /// A number for a log that is about to begin.
    fn new_log(&self) -> LogNo;

    /// Keeps a batch; answers after its fsync, which it shares with whoever commits meanwhile.
    ///
    /// # Errors
    /// [`Broken`]; nothing of the batch is kept then.
    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>>;

    /// Keeps live events of one log at once, on this thread, without fsync (DU-3).
    ///
    /// # Errors
    /// [`Broken`]; nothing of them may be shown then.
    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken>;

    /// Looks a session's log up.
    ///
    /// # Errors
    /// [`Broken`].
    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken>;

    /// Reads the events behind a position, oldest first, until about `max_bytes` are gathered;
    /// empty when there are none.
    ///
    /// # Errors
    /// [`Broken`].
    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken>;

    /// The same without the live events, which are not even unpacked where that can be avoided; it
    /// may answer with none although durable ones follow, and then says up to where it has looked.
    /// The second value is that position; it does not move when nothing is kept behind `after`.
    ///
    /// # Errors
    /// [`Broken`].
    fn read_durable(
        &self,
        log: LogNo,
        after: Seq,
        max_bytes: usize,
    ) -> Result<(Vec<Event>, Seq), Broken> {
        let mut events = self.read(log, after, max_bytes)?;
        let seen = events.last().map_or(after, |event| event.seq);
        events.retain(|event| event.kind.is_durable());
        Ok((events, seen))
    }

    /// The sessions that need work at start: unfinished turns, or events that the history may
    /// lack. Never reads a finished turn (DU-18).
    ///
    /// # Errors
    /// [`Broken`].
    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken>;

    /// Notes what the history has kept with a durable commit of its own, made by this process.
    /// Rides on the next commit.
    fn projected(&self, marks: Vec<(LogNo, Seq)>);

    /// Notes that a log lacks what lies between its head and a position, which the history of a
    /// restored data directory has: readers step over it, and nobody gives those positions out again.
    ///
    /// # Errors
    /// [`Broken`].
    fn give_up(&self, log: LogNo, up_to: Seq, at: Millis) -> Future<'static, Result<(), Broken>>;

    /// Removes a session of which something is damaged, whatever of it can still be read, so that it
    /// can be made anew.
    ///
    /// # Errors
    /// [`Broken`].
    fn discard(&self, session: &SessionId) -> Future<'static, Result<(), Broken>>;

    /// Removes what is projected, not needed by an unfinished turn, and older than `before`.
    ///
    /// # Errors
    /// [`Broken`].
    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>>;

    /// Writes everything out and closes; a later call fails.
    fn close(&self) -> Future<'static, Result<(), Broken>>;
}
