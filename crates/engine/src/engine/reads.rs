//! What readers see of sessions and messages: rows of the history, and what it lacks still.

use std::sync::Arc;

use samovar_core::history::{
    Hits, MessageQuery, MessageRow, SearchQuery, SessionQuery, SessionRow, Totals, TurnQuery,
    TurnRow,
};
use samovar_core::{
    Broken, Budget, CallId, Code, Error, Event, Message, MessageId, Outcome, Part, Role, SessionId,
    TurnId,
};
use samovar_locale as locale;

use super::{Engine, stopping};
use crate::budget;
use crate::counts::Numbers;
use crate::memory::Admission;
use crate::parts::{damaged, no_such_message, refusal, unknown};
use crate::projection;
use crate::projector::{Lag, read_all, read_open};
use crate::relations;
use crate::state::State;

impl Engine {
    /// One session.
    ///
    /// # Errors
    /// [`Code::UnknownSession`] when there is no such session, [`Code::SessionDamaged`] when some of it
    /// is lost: what is left would look like all of it.
    pub async fn session(&self, id: &SessionId) -> Result<SessionRow, Error> {
        let lag = self.lacks(id).await?;
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
        let (limit, before) = (query.limit as usize, query.before.clone());
        // Before the rows are read: what is projected in between is in both, and not in neither.
        let lag = self.lacks(&id).await?;
        // What the history lacks is newer than all it has, or has nothing to do with that.
        let lag = lag.filter(|events| before.is_none() || projection::is_opened(events));
        let rows = self
            .parts
            .history
            .messages(query)
            .await
            .map_err(|broken| self.broke_in(&id, &broken))?;
        let Some(events) = lag else {
            return self.filled(&id, rows).await;
        };
        let mut rows = projection::overlay_messages(rows, &id, &events);
        if let Some(before) = before {
            let place = rows.iter().position(|row| row.message.id == before);
            rows.truncate(place.unwrap_or_default());
        }
        let rows = rows.split_off(rows.len().saturating_sub(limit));
        self.filled(&id, rows).await
    }

    /// Rows of which each says whose it is, if need be from messages that are on no page (SA-8).
    async fn filled(
        &self,
        session: &SessionId,
        mut rows: Vec<MessageRow>,
    ) -> Result<Vec<MessageRow>, Error> {
        let mut others = Vec::new();
        for turn in relations::fill(&mut rows, &[]) {
            let found = self.parts.history.answer_of(session, &turn).await;
            others.extend(found.map_err(|broken| self.broke_in(session, &broken))?);
        }
        relations::fill(&mut rows, &others);
        Ok(rows)
    }

    /// What a person said to a session's own agent, by the message's id.
    ///
    /// # Errors
    /// [`Code::UnknownSession`]; [`Code::InvalidParams`] when the session has no such message.
    pub async fn said(
        &self,
        session: &SessionId,
        id: Option<&MessageId>,
    ) -> Result<Arc<Message>, Error> {
        self.has_read(session).await?;
        let found = match id {
            Some(id) => self.parts.history.message(id).await,
            None => Ok(None),
        };
        let found = found.map_err(|broken| self.broke_in(session, &broken))?;
        let found = found.filter(|row| {
            let is_here = row.session == *session && row.agent.depth() == 0;
            is_here && row.message.role == Role::User
        });
        found
            .map(|row| row.message)
            .ok_or_else(|| no_such_message(id))
    }

    /// Where the answer of a turn begins among a session's messages; for a called agent's turn, that of
    /// the turn that it works for. `None` if the session has no such turn, or it has said nothing.
    ///
    /// # Errors
    /// [`Code::UnknownSession`], or that the history cannot be read.
    pub async fn answer_begins(
        &self,
        session: &SessionId,
        turn: TurnId,
    ) -> Result<Option<MessageId>, Error> {
        self.has_read(session).await?;
        let broke = |broken: Broken| self.broke_in(session, &broken);
        let history = &self.parts.history;
        let mut found = history.answer_of(session, &turn).await.map_err(broke)?;
        while let Some(row) = &found {
            let Some(caller) = &row.message.parent else {
                return Ok(Some(row.message.id.clone()));
            };
            let caller = history.message(caller).await.map_err(broke)?;
            let Some(turn) = caller.and_then(|row| row.turn) else {
                return Ok(None);
            };
            found = history.answer_of(session, &turn).await.map_err(broke)?;
        }
        Ok(None)
    }

    /// How a call of a session ended; `None` if it did not, or the session made no such call.
    ///
    /// # Errors
    /// [`Code::UnknownSession`], or that the history cannot be read.
    pub async fn outcome(
        &self,
        session: &SessionId,
        call: &CallId,
    ) -> Result<Option<Outcome>, Error> {
        self.has_read(session).await?;
        let found = self.parts.history.message(&call.as_message()).await;
        let found = found.map_err(|broken| self.broke_in(session, &broken))?;
        let found = found.filter(|row| row.session == *session);
        Ok(found.and_then(|row| {
            row.message.parts.iter().find_map(|part| match part {
                Part::Outcome { outcome, .. } => Some(outcome.clone()),
                _ => None,
            })
        }))
    }

    /// Waits a while until the history has all of a session.
    async fn has_read(&self, session: &SessionId) -> Result<(), Error> {
        self.session(session).await?;
        let wait = self.parts.settings.read_wait;
        self.parts.projector.has_all_of(session, wait).await;
        Ok(())
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

    /// Searches the messages of all sessions in the stores, best hit first (AS-27).
    ///
    /// # Errors
    /// [`Code::StoreFailed`] when the history cannot be read.
    pub async fn search(&self, query: SearchQuery) -> Result<Hits, Error> {
        let has_all = self.caught_up().await;
        let hits = self.parts.history.search(query).await;
        let mut hits = hits.map_err(|broken| self.broke(&broken))?;
        hits.is_indexed &= has_all;
        Ok(hits)
    }

    /// The last turns, oldest first.
    ///
    /// # Errors
    /// [`Code::StoreFailed`] when the history cannot be read.
    pub async fn turns(&self, query: TurnQuery) -> Result<Vec<TurnRow>, Error> {
        self.caught_up().await;
        let is_tree = query.among.is_empty();
        let turns = self.parts.history.turns(query).await;
        let mut turns = turns.map_err(|broken| self.broke(&broken))?;
        if is_tree {
            self.count_left(&mut turns).await;
            self.parts.projector.note_last(&mut turns).await;
        }
        Ok(turns)
    }

    /// Notes what is left of each budget.
    async fn count_left(&self, turns: &mut [TurnRow]) {
        let has_budget = |turn: &TurnRow| !turn.budget.is_empty() && turn.started_at.is_some();
        for at in (0..turns.len())
            .filter(|at| has_budget(&turns[*at]))
            .collect::<Vec<_>>()
        {
            let turn = &turns[at];
            let left = if turn.end.is_some() {
                budget::left_at_end(turn, turns)
            } else {
                self.left_of(turn).await
            };
            turns[at].left = left;
        }
    }

    /// What is left for a turn that is not over. A session that has left memory does not come back for
    /// that: its turns might continue (DU-11).
    async fn left_of(&self, turn: &TurnRow) -> Option<Budget> {
        let now = self.parts.clock.now();
        let (journal, session, id) = (
            self.parts.journal.clone(),
            turn.session.clone(),
            turn.turn.clone(),
        );
        let read = move || {
            let state = State::of(&read_open(journal.as_ref(), &session)?);
            Ok(state.account(&id).map(|account| account.left(now)))
        };
        let left = tokio::task::spawn_blocking(read).await;
        let left = left.unwrap_or_else(|panic| Err(Broken::Io(panic.to_string())));
        left.unwrap_or_else(|broken| {
            tracing::warn!(session = %turn.session, %broken, "what is left of a budget cannot be read");
            None
        })
    }

    /// The session of a turn.
    ///
    /// # Errors
    /// [`Code::UnknownTurn`] when no session has it, or no more.
    pub async fn find_turn(&self, turn: &str) -> Result<(SessionId, TurnId), Error> {
        let gone = || {
            Error::new(
                Code::UnknownTurn,
                locale::turn::unknown(locale::quoted(turn)),
            )
        };
        let turn = TurnId::new(turn).map_err(|_| gone())?;
        let query = TurnQuery {
            session: None,
            among: vec![turn.clone()],
            unfinished: false,
            limit: 1,
        };
        let is_known = self.caught_up().await;
        let found = self.parts.history.turns(query).await;
        match found.map_err(|broken| self.broke(&broken))?.pop() {
            Some(found) => Ok((found.session, turn)),
            None if is_known => Err(gone()),
            None => Err(Error::new(
                Code::Unavailable,
                locale::turn::not_caught_up(locale::quoted(turn.as_str())),
            )),
        }
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

    /// How far the history is from what was accepted.
    pub fn lag(&self) -> Lag {
        self.parts.projector.lag()
    }

    /// Waits until the audit has, durably, the decisions of everything that was accepted; for a
    /// while only.
    pub async fn recorded(&self) {
        let wait = self.parts.settings.read_wait;
        if !self.parts.projector.recorded(wait).await {
            tracing::warn!("the audit is behind");
        }
    }

    /// How much memory all sessions take, in bytes, about: live events, conversations, and messages
    /// that wait.
    pub fn memory(&self) -> usize {
        self.parts.memory.held()
    }

    /// What happened since the start, and what waits now.
    pub fn numbers(&self) -> Numbers {
        Numbers {
            turns_running: self.parts.running.count(),
            is_behind: self.parts.journal.is_behind(),
            ..self.parts.counts.numbers()
        }
    }

    /// A share of that memory for a request that is about to be read.
    pub fn admission(&self) -> Admission {
        self.parts.memory.admission()
    }

    pub(super) async fn caught_up(&self) -> bool {
        self.parts
            .projector
            .caught_up(self.parts.settings.read_wait)
            .await
    }

    /// Waits until the history has what was accepted of a session; when it does not come that far in
    /// time, the kept events that it lacks (DU-2).
    pub(super) async fn lacks(&self, id: &SessionId) -> Result<Option<Vec<Arc<Event>>>, Error> {
        let wait = self.parts.settings.read_wait;
        if self.parts.projector.has_all_of(id, wait).await {
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

    /// The error of a call that finds the stores closed.
    fn closed(&self) -> Option<Error> {
        self.parts.stop.is_cancelled().then(stopping)
    }

    /// Why a session was not read: its store is closed already, or broken, or this of it is damaged.
    pub(crate) fn broke_in(&self, id: &SessionId, broken: &Broken) -> Error {
        let closed = self.closed();
        closed.unwrap_or_else(|| self.parts.unreadable(id, broken))
    }

    /// Why something is not accepted: the stores are closed already, or one of them is broken.
    pub(crate) fn refused(&self, broken: Broken) -> Error {
        self.closed().unwrap_or_else(|| refusal(broken))
    }

    /// Why a store was not read: it is closed already, or it is broken.
    pub(crate) fn broke(&self, broken: &Broken) -> Error {
        if let Some(closed) = self.closed() {
            return closed;
        }
        tracing::error!(%broken, "a store cannot be read");
        if let Broken::Damaged(why) = broken {
            self.parts.damages.history(why);
        }
        Error::new(Code::StoreFailed, locale::store::unreadable(broken))
    }
}
