//! A store over another one: a test overrides single methods, the rest pass through.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use samovar_core::history::{
    Exchange, ExchangeId, ExchangeQuery, Hits, LastTurn, MessageQuery, MessageRow, Projection,
    SearchQuery, SessionQuery, SessionRow, Totals, TurnQuery, TurnRow,
};
use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{
    BlobHash, Broken, Epoch, Event, Future, History, Journal, MessageId, Millis, Seq, SessionId,
    TurnId, Usage,
};

/// The store that a test laid over another one.
pub struct Over<T>(pub T);

impl<T> Deref for Over<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// What a test may override of a journal.
pub trait OverJournal: Send + Sync {
    /// The journal below.
    fn journal(&self) -> &dyn Journal;

    /// As [`Journal::commit`].
    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        self.journal().commit(batch)
    }

    /// As [`Journal::is_behind`].
    fn is_behind(&self) -> bool {
        self.journal().is_behind()
    }

    /// As [`Journal::spool`].
    ///
    /// # Errors
    /// [`Broken`].
    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        self.journal().spool(log, events)
    }

    /// As [`Journal::entry`].
    ///
    /// # Errors
    /// [`Broken`].
    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        self.journal().entry(session)
    }

    /// As [`Journal::read`].
    ///
    /// # Errors
    /// [`Broken`].
    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken> {
        self.journal().read(log, after, max_bytes)
    }

    /// As [`Journal::was_closed`].
    fn was_closed(&self) -> bool {
        self.journal().was_closed()
    }

    /// As [`Journal::projected`].
    fn projected(&self, marks: Vec<(LogNo, Seq)>) {
        self.journal().projected(marks);
    }

    /// As [`Journal::sweep`].
    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        self.journal().sweep(before)
    }

    /// As [`Journal::close`].
    fn close(&self) -> Future<'static, Result<(), Broken>> {
        self.journal().close()
    }
}

impl<T: OverJournal> Journal for Over<T> {
    fn epoch(&self) -> Epoch {
        self.0.journal().epoch()
    }

    fn was_closed(&self) -> bool {
        self.0.was_closed()
    }

    fn new_log(&self) -> LogNo {
        self.0.journal().new_log()
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        self.0.commit(batch)
    }

    fn is_behind(&self) -> bool {
        self.0.is_behind()
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        self.0.spool(log, events)
    }

    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        self.0.entry(session)
    }

    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken> {
        self.0.read(log, after, max_bytes)
    }

    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
        self.0.journal().unsettled()
    }

    fn projected(&self, marks: Vec<(LogNo, Seq)>) {
        self.0.projected(marks);
    }

    fn give_up(&self, log: LogNo, up_to: Seq, at: Millis) -> Future<'static, Result<(), Broken>> {
        self.0.journal().give_up(log, up_to, at)
    }

    fn discard(&self, session: &SessionId) -> Future<'static, Result<(), Broken>> {
        self.0.journal().discard(session)
    }

    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        self.0.sweep(before)
    }

    fn close(&self) -> Future<'static, Result<(), Broken>> {
        self.0.close()
    }
}

/// What a test may override of a history.
pub trait OverHistory: Send + Sync {
    /// The history below.
    fn history(&self) -> &dyn History;

    /// As [`History::project`].
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        self.history().project(projections)
    }

    /// As [`History::spend`].
    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>> {
        self.history().spend(usage)
    }
}

impl<T: OverHistory> History for Over<T> {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        self.0.project(projections)
    }

    fn blobs(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        self.0.history().blobs()
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        self.0.history().sync()
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        self.0.history().session(id)
    }

    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        self.0.history().sessions(query)
    }

    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        self.0.history().messages(query)
    }

    fn place<'a>(
        &'a self,
        session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>> {
        self.0.history().place(session, message)
    }

    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        self.0.history().message(id)
    }

    fn answer_of<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        self.0.history().answer_of(session, turn)
    }

    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        self.0.history().turn_from(session, turn)
    }

    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
        before: Option<&'a TurnId>,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        self.0.history().last_turn(session, before)
    }

    fn turns(&self, query: TurnQuery) -> Future<'_, Result<Vec<TurnRow>, Broken>> {
        self.0.history().turns(query)
    }

    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>> {
        self.0.history().is_over(session, turn)
    }

    fn search(&self, query: SearchQuery) -> Future<'_, Result<Hits, Broken>> {
        self.0.history().search(query)
    }

    fn exchange_ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, Broken>> {
        self.0.history().exchange_ids(most)
    }

    fn exchanges(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, Broken>> {
        self.0.history().exchanges(query)
    }

    fn index(&self) -> Future<'_, Result<bool, Broken>> {
        self.0.history().index()
    }

    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        self.0.history().discard(session)
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        self.0.history().totals()
    }

    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>> {
        self.0.spend(usage)
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        self.0.history().close()
    }
}
