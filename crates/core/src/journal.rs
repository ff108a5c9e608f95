//! The hot store's port: the truth about every turn until the history has it (DU-1, DU-3).

use std::sync::Arc;

use samovar_locale as locale;

use crate::Future;
use crate::event::Event;
use crate::id::{Epoch, Seq, SessionId};
use crate::ports::Millis;

/// The number of a log in the journal. A session that is deleted and created again gets a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogNo(pub u64);

impl LogNo {
    /// That of the first session of a store.
    pub const FIRST: Self = Self(1);
}

/// The events of one log in one commit.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The log.
    pub log: LogNo,
    /// The session.
    pub session: SessionId,
    /// Durable events, in order.
    pub events: Vec<Arc<Event>>,
    /// Live events that move from the spool to the journal with this commit, in order.
    pub folded: Vec<Arc<Event>>,
    /// After this commit: the position from which the log must be read to continue its unfinished
    /// turns; `None` if there are none.
    pub open_from: Option<Seq>,
}

/// The journal's entry for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Its number.
    pub log: LogNo,
    /// The last event that it holds, or has held.
    pub head: Seq,
    /// The position from which it must be read to continue its unfinished turns.
    pub open_from: Option<Seq>,
    /// Whether the history may lack some of its events.
    pub unprojected: bool,
    /// Whether the session was deleted.
    pub deleted: bool,
}

/// The store failed, not the caller. It ends the operation that needed the store and is logged
/// once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The disk is full. Nothing was written; a retry may succeed later.
    #[error("{}", locale::store::full(.0))]
    Full(String),
    /// The store is read-only. Nothing was written; a retry may succeed later.
    #[error("{}", locale::store::read_only(.0))]
    ReadOnly(String),
    /// No file descriptor was free. Nothing was written; a retry may succeed soon.
    #[error("{}", locale::store::starved(.0))]
    Starved(String),
    /// Reading or writing failed.
    #[error("{}", locale::store::failed(.0))]
    Io(String),
    /// The data read differs from the data written.
    #[error("{}", locale::store::damaged(.0))]
    Damaged(String),
}

impl Broken {
    /// Whether the failure is temporary. Nothing was written; the caller may retry.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Full(_) | Self::ReadOnly(_) | Self::Starved(_) => true,
            Self::Io(_) | Self::Damaged(_) => false,
        }
    }
}

/// The hot store. Calls that return a future wait for the store's own thread; the others are short,
/// but may block the caller's.
pub trait Journal: Send + Sync {
    /// The epoch of this run of the server, saved before anything else.
    fn epoch(&self) -> Epoch;

    /// Whether the previous run closed the journal cleanly, so that no crash truncated its data.
    /// True for a new journal.
    fn was_closed(&self) -> bool;

    /// Returns a number for a new log.
    fn new_log(&self) -> LogNo;

    /// Commits a batch; returns after its fsync, which concurrent commits share.
    ///
    /// # Errors
    /// [`Broken`]; nothing of the batch was written.
    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>>;

    /// Whether so much waits to be written that nothing long should be accepted now.
    fn is_behind(&self) -> bool {
        false
    }

    /// Writes live events of one log at once, on this thread, without fsync (DU-3).
    ///
    /// # Errors
    /// [`Broken`]; none of the events may be shown.
    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken>;

    /// Looks up a session's log.
    ///
    /// # Errors
    /// [`Broken`].
    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken>;

    /// Reads the events after a position, oldest first, up to about `max_bytes`; empty at the end
    /// of the log.
    ///
    /// # Errors
    /// [`Broken`].
    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken>;

    /// Like [`Journal::read`], without live events, which are skipped unread where possible. The
    /// second value is the position up to which it has looked: the result may be empty although
    /// durable events follow. The position is unchanged when nothing is stored after `after`.
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

    /// The sessions that need work at start: unfinished turns, or events that the history may lack.
    /// Never reads a finished turn (DU-18).
    ///
    /// # Errors
    /// [`Broken`].
    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken>;

    /// Records what the history has committed durably, in this process. It is written with the next
    /// commit.
    fn projected(&self, marks: Vec<(LogNo, Seq)>);

    /// Records that a log lacks the events between its head and a position that the history of a
    /// restored data directory has: readers skip them, and these positions are never reused.
    ///
    /// # Errors
    /// [`Broken`].
    fn give_up(&self, log: LogNo, up_to: Seq, at: Millis) -> Future<'static, Result<(), Broken>>;

    /// Removes a damaged session, whatever of it is still readable, so that it can be created
    /// again.
    ///
    /// # Errors
    /// [`Broken`].
    fn discard(&self, session: &SessionId) -> Future<'static, Result<(), Broken>>;

    /// Removes events that are projected, not needed by an unfinished turn, and older than
    /// `before`.
    ///
    /// # Errors
    /// [`Broken`].
    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>>;

    /// Writes everything out and closes; later calls fail.
    fn close(&self) -> Future<'static, Result<(), Broken>>;
}

/// Keeps nothing: the store of sessions that only memory has.
impl Journal for () {
    fn epoch(&self) -> Epoch {
        Epoch(1)
    }

    fn was_closed(&self) -> bool {
        true
    }

    fn new_log(&self) -> LogNo {
        LogNo(0)
    }

    fn commit(&self, _batch: Batch) -> Future<'static, Result<(), Broken>> {
        done(())
    }

    fn spool(&self, _log: LogNo, _events: &[Arc<Event>]) -> Result<(), Broken> {
        Ok(())
    }

    fn entry(&self, _session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        Ok(None)
    }

    fn read(&self, _log: LogNo, _after: Seq, _max_bytes: usize) -> Result<Vec<Event>, Broken> {
        Ok(Vec::new())
    }

    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
        Ok(Vec::new())
    }

    fn projected(&self, _marks: Vec<(LogNo, Seq)>) {}

    fn give_up(&self, _: LogNo, _: Seq, _: Millis) -> Future<'static, Result<(), Broken>> {
        done(())
    }

    fn discard(&self, _session: &SessionId) -> Future<'static, Result<(), Broken>> {
        done(())
    }

    fn sweep(&self, _before: Millis) -> Future<'static, Result<(), Broken>> {
        done(())
    }

    fn close(&self) -> Future<'static, Result<(), Broken>> {
        done(())
    }
}

/// The answer of a store that keeps nothing.
pub(crate) fn done<T: Send + 'static>(what: T) -> Future<'static, Result<T, Broken>> {
    Box::pin(std::future::ready(Ok(what)))
}
