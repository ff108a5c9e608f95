//! A history that keeps nothing on a disk, with the answers of the one on `SQLite`: both pass the
//! contract in `crates/stores/tests/it/history`.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::event::Fault;
use samovar_core::history::{
    Change, Hits, LastTurn, MessageQuery, MessageRow, Opened, Projection, SearchQuery,
    SessionQuery, SessionRow, Speakers, Totals, TurnQuery, TurnRow,
};
use samovar_core::{
    AgentPath, Bill, BlobHash, Broken, Budget, CallId, FinishReason, Future, History, Message,
    MessageId, Millis, Role, Seq, SessionId, Title, TurnId, Usage,
};

mod order;
mod search;
mod turns;

/// The history in memory.
#[derive(Default)]
pub struct MemoryHistory {
    sessions: Mutex<Vec<Session>>,
    /// What sessions in memory have used.
    spent: Mutex<Usage>,
}

struct Session {
    row: SessionRow,
    turns: Vec<Turn>,
    messages: Vec<Put>,
}

#[derive(Clone)]
struct Turn {
    id: TurnId,
    /// Where it started, or else ended.
    place: Option<Seq>,
    parent_call: Option<CallId>,
    has_begun: bool,
    is_over: bool,
    started_at: Option<Millis>,
    end: Option<(FinishReason, Millis)>,
    fault: Option<Fault>,
    usage: Usage,
    costs: (u32, Bill, Budget),
}

struct Put {
    message: Arc<Message>,
    turn: Option<TurnId>,
    agent: AgentPath,
    seq: Seq,
}

impl MemoryHistory {
    fn spent(&self) -> MutexGuard<'_, Usage> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<T>(&self, id: &SessionId, read: impl FnOnce(&Session) -> T) -> Option<T> {
        let sessions = self.lock();
        let mut sessions = sessions.iter();
        sessions.find(|session| session.row.id == *id).map(read)
    }
}

/// Brings one projection into all that is kept.
fn take(sessions: &mut Vec<Session>, projection: Projection) {
    let (id, up_to) = (projection.session, projection.up_to);
    let find = |sessions: &[Session]| sessions.iter().position(|session| session.row.id == id);
    let projected = find(sessions).map_or(Seq(0), |at| sessions[at].row.projected);
    for (seq, change) in projection.changes {
        if seq <= projected {
            continue;
        }
        let is_foreign = |message: &Message| {
            let others = sessions.iter().filter(|session| session.row.id != id);
            let mut ids =
                others.flat_map(|session| session.messages.iter().map(|put| &put.message.id));
            ids.any(|other| *other == message.id)
        };
        match (find(sessions), change) {
            (None, change) => sessions.extend(Session::opened(&id, change)),
            (Some(at), Change::Close) => drop(sessions.remove(at)),
            (Some(_), Change::Put { message, .. }) if is_foreign(&message) => {}
            (Some(at), change) => sessions[at].take(seq, change),
        }
    }
    if let Some(at) = find(sessions) {
        sessions[at].row.projected = up_to.max(projected);
    }
}

impl Session {
    /// Only its opening may make a session.
    fn opened(id: &SessionId, change: Change) -> Option<Self> {
        let Change::Open(opened) = change else {
            return None;
        };
        let row = opened.into_row(id.clone(), Seq(0));
        Some(Self {
            row,
            turns: Vec::new(),
            messages: Vec::new(),
        })
    }

    fn take(&mut self, seq: Seq, change: Change) {
        let now = match &change {
            Change::Open(Opened { at, .. })
            | Change::Set { at, .. }
            | Change::Move { at, .. }
            | Change::TurnStarted { at, .. }
            | Change::TurnFinished { at, .. }
            | Change::Forget { at, .. } => *at,
            Change::Put { message, .. } => message.created_at,
            Change::Spent { .. } | Change::Close => Millis(i64::MIN),
        };
        self.row.updated_at = self.row.updated_at.max(now);
        match change {
            Change::Open(Opened { model, route, .. }) => {
                (self.row.model, self.row.route) = (model, route);
            }
            Change::Set {
                model,
                route,
                title,
                approval,
                tainted,
                ..
            } => {
                self.row.tainted |= tainted;
                self.row.approval = approval.or(self.row.approval);
                if let Some(model) = model {
                    (self.row.model, self.row.route) = (model, route);
                    self.row.context = None;
                }
                if let Some(title) = title {
                    self.row.title = Some(title).filter(|title| !title.is_empty());
                }
            }
            Change::Put {
                message,
                turn,
                agent,
            } => self.put(seq, message, turn, agent),
            Change::Move { message, turn, .. } => {
                let is_it = |put: &&mut Put| put.message.id == message;
                if let Some(put) = self.messages.iter_mut().find(is_it) {
                    (put.turn, put.seq) = (turn, seq);
                }
            }
            Change::TurnStarted { .. } | Change::TurnFinished { .. } => self.take_turn(seq, change),
            Change::Spent { usage, context } => {
                self.row.usage = self.row.usage.plus(usage);
                self.row.context = context.or(self.row.context.take());
            }
            Change::Forget { turns, .. } => {
                let is_gone = |turn: &TurnId| turns.contains(turn);
                self.turns.retain(|turn| !is_gone(&turn.id));
                let before = self.messages.len();
                self.messages
                    .retain(|put| !put.turn.as_ref().is_some_and(is_gone));
                self.row.message_count -= (before - self.messages.len()) as u64;
            }
            Change::Close => {}
        }
    }

    fn take_turn(&mut self, seq: Seq, change: Change) {
        match change {
            Change::TurnStarted {
                turn,
                parent_call,
                background,
                budget,
                at,
                ..
            } => {
                let caller = self.place_of_caller(&turn);
                let caller = caller.filter(|_| parent_call.is_some() && !background);
                let turn = self.turn(&turn);
                turn.started_at.get_or_insert(at);
                turn.place = turn.place.or(caller).or(Some(seq));
                (turn.parent_call, turn.has_begun) = (parent_call, true);
                turn.costs.2 = budget;
            }
            Change::TurnFinished {
                turn,
                reason,
                fault,
                usage,
                iterations,
                bill,
                at,
            } if self.turns.iter().any(|known| known.id == turn) => {
                let turn = self.turn(&turn);
                turn.place = turn.place.or(Some(seq));
                (turn.is_over, turn.usage) = (true, usage);
                (turn.costs.0, turn.costs.1) = (iterations, bill);
                (turn.end, turn.fault) = (Some((reason, at)), fault);
            }
            _ => {}
        }
    }

    fn put(&mut self, seq: Seq, message: Arc<Message>, turn: Option<TurnId>, agent: AgentPath) {
        self.row.usage = self.row.usage.plus(message.usage.unwrap_or_default());
        if let Some(turn) = &turn {
            self.turn(turn);
        }
        let known = self.messages.iter_mut();
        let mut known = known.filter(|put| put.message.id == message.id);
        if let Some(put) = known.next() {
            (put.message, put.turn, put.agent) = (message, turn, agent);
            return;
        }
        self.row.message_count += 1;
        self.messages.push(Put {
            message,
            turn,
            agent,
            seq,
        });
    }

    fn turn(&mut self, id: &TurnId) -> &mut Turn {
        let known = self.turns.iter().position(|turn| turn.id == *id);
        let at = known.unwrap_or_else(|| {
            self.turns.push(Turn {
                id: id.clone(),
                place: None,
                parent_call: None,
                has_begun: false,
                is_over: false,
                started_at: None,
                end: None,
                fault: None,
                usage: Usage::default(),
                costs: Default::default(),
            });
            self.turns.len() - 1
        });
        &mut self.turns[at]
    }

    fn turn_of(&self, put: &Put) -> Option<&Turn> {
        let id = put.turn.as_ref()?;
        self.turns.iter().find(|turn| turn.id == *id)
    }
}

fn done<'a, T: Send + 'a>(answer: T) -> Future<'a, Result<T, Broken>> {
    Box::pin(std::future::ready(Ok(answer)))
}

impl History for MemoryHistory {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        let mut sessions = self.lock();
        for projection in projections {
            take(&mut sessions, projection);
        }
        done(())
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        done(())
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        done(self.of(id, |session| session.row.clone()))
    }

    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        let wanted = query.matching.unwrap_or_default().to_lowercase();
        let is_wanted = |row: &SessionRow| {
            let title = row.title.as_ref().map_or("", Title::as_str);
            let found_by = format!("{}\u{1f}{title}", row.id);
            let is_fork = search::is_edit(row);
            found_by.to_lowercase().contains(&wanted) && (query.edit_forks || !is_fork)
        };
        let sessions = self.lock();
        let rows = sessions.iter().rev().map(|session| session.row.clone());
        let mut rows: Vec<_> = rows.filter(is_wanted).collect();
        let count = rows.len() as u64;
        rows.sort_by_key(|row| Reverse(row.updated_at));
        let skipped = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let page = rows.into_iter().skip(skipped);
        done((page.take(query.limit as usize).collect(), count))
    }

    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        let rows = self.of(&query.session, |session| session.rows(&query));
        done(rows.unwrap_or_default())
    }

    fn place<'a>(
        &'a self,
        session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>> {
        let count = self.of(session, |session| {
            let query = MessageQuery {
                session: session.row.id.clone(),
                limit: u32::MAX,
                before: Some(message.clone()),
                of: Speakers::Master,
            };
            let rows = session.rows(&query).into_iter();
            rows.filter(|row| row.has_begun).count() as u64
        });
        done(count.unwrap_or_default())
    }

    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        let found = |session: &Session| {
            let mut messages = session.messages.iter();
            let put = messages.find(|put| put.message.id == *id)?;
            Some(session.row_of(put))
        };
        done(self.lock().iter().find_map(found))
    }

    fn answer_of<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        let first = self.of(session, |session| {
            let messages = session.messages.iter();
            let is_said = |put: &&Put| put.message.role == Role::Assistant;
            let of_turn = messages.filter(|put| put.turn.as_ref() == Some(turn));
            let first = of_turn.filter(is_said).min_by_key(|put| put.seq);
            first.map(|put| session.row_of(put))
        });
        done(first.flatten())
    }

    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        let first = self.of(session, |session| {
            let messages = session.messages.iter();
            let of_turn = messages.filter(|put| put.turn.as_ref() == Some(turn));
            of_turn.map(|put| put.seq).min()
        });
        done(first.flatten())
    }

    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
        before: Option<&'a TurnId>,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        let last = self.of(session, |session| session.last_turn(before));
        done(last.flatten())
    }

    fn turns(&self, query: TurnQuery) -> Future<'_, Result<Vec<TurnRow>, Broken>> {
        let sessions = self.lock();
        let wanted = |session: &&Session| {
            query
                .session
                .as_ref()
                .is_none_or(|id| session.row.id == *id)
        };
        let turns = sessions
            .iter()
            .filter(wanted)
            .flat_map(|session| session.turns(&query));
        done(turns.collect())
    }

    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>> {
        let over = self.of(session, |session| {
            let mut turns = session.turns.iter();
            turns.any(|known| known.id == *turn && known.is_over)
        });
        done(over.unwrap_or_default())
    }

    fn search(&self, query: SearchQuery) -> Future<'_, Result<Hits, Broken>> {
        done(search::search(&self.lock(), &query))
    }

    fn index(&self) -> Future<'_, Result<bool, Broken>> {
        done(false)
    }

    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        self.lock().retain(|known| known.row.id != *session);
        done(())
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        let sessions = self.lock();
        let sum = |totals: Totals, session: &Session| Totals {
            sessions: totals.sessions + 1,
            messages: totals.messages + session.row.message_count,
            usage: totals.usage.plus(session.row.usage),
        };
        let in_memory = Totals {
            usage: *self.spent(),
            ..Totals::default()
        };
        done(sessions.iter().fold(in_memory, sum))
    }

    fn blobs(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        let sessions = self.lock();
        let put = sessions.iter().flat_map(|session| &session.messages);
        let blobs = put.flat_map(|put| put.message.blobs()).cloned();
        done(blobs.collect())
    }

    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>> {
        let mut spent = self.spent();
        *spent = spent.plus(usage);
        done(())
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        done(())
    }
}
