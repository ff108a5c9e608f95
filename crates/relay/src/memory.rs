//! The history of one session, in memory and with a bound: what its next turn begins with.

use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::history::{
    Change, LastTurn, MessageQuery, MessageRow, Projection, SessionQuery, SessionRow, Totals,
};
use samovar_core::{
    Broken, Future, History, MessageId, Millis, Role, Seq, SessionId, TurnId, Usage,
};
use serde_json::Map;

/// Messages that are remembered, at most.
const MAX_MESSAGES: usize = 200;

/// The one session that there is at a time; what another one leaves is forgotten.
#[derive(Default)]
pub(crate) struct Memory {
    held: Mutex<Option<StoredSession>>,
}

struct StoredSession {
    row: SessionRow,
    messages: Vec<MessageRow>,
}

impl Memory {
    fn with<T>(&self, id: &SessionId, what: impl FnOnce(&mut StoredSession) -> T) -> Option<T> {
        let mut held = self.lock();
        held.as_mut().filter(|held| held.row.id == *id).map(what)
    }

    fn lock(&self) -> MutexGuard<'_, Option<StoredSession>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, projection: Projection) {
        let Projection {
            session,
            up_to,
            changes,
        } = projection;
        for (seq, change) in changes {
            if let Change::Open {
                model,
                route,
                agent,
                at,
                ..
            } = &change
            {
                let route = route.clone();
                let row = SessionRow {
                    route,
                    ..row(&session, model, agent, *at)
                };
                let mut held = self.lock();
                let is_there = held.as_ref().is_some_and(|held| held.row.id == session);
                if !is_there {
                    let messages = Vec::new();
                    *held = Some(StoredSession { row, messages });
                }
            }
            let is_over = matches!(change, Change::Close);
            self.with(&session, |held| {
                if seq > held.row.projected {
                    held.take(&session, change);
                }
            });
            if is_over {
                self.lock().take_if(|held| held.row.id == session);
            }
        }
        self.with(&session, |held| {
            held.row.projected = held.row.projected.max(up_to);
        });
    }
}

fn row(id: &SessionId, model: &str, agent: &str, at: Millis) -> SessionRow {
    SessionRow {
        id: id.clone(),
        model: model.to_owned(),
        route: None,
        title: None,
        agent: agent.to_owned(),
        metadata: Map::new(),
        created_at: at,
        updated_at: at,
        message_count: 0,
        preview: None,
        usage: Usage::default(),
        context: None,
        projected: Seq::default(),
    }
}

impl StoredSession {
    fn take(&mut self, session: &SessionId, change: Change) {
        match change {
            Change::Put {
                message,
                turn,
                agent,
            } => {
                self.messages.retain(|row| row.message.id != message.id);
                self.messages.push(MessageRow {
                    session: session.clone(),
                    // What a person says waits for its turn, what others say belongs to one that runs.
                    has_begun: message.role != Role::User || turn.is_none(),
                    turn,
                    agent,
                    message,
                });
                self.forget_the_oldest();
            }
            Change::Move { message, turn, .. } => {
                let is_it = |row: &MessageRow| row.message.id == message;
                if let Some(at) = self.messages.iter().position(is_it) {
                    let mut row = self.messages.remove(at);
                    (row.turn, row.has_begun) = (turn, true);
                    self.messages.push(row);
                }
            }
            Change::TurnStarted { turn, .. } => {
                let is_of = |row: &mut MessageRow| row.turn.as_ref() == Some(&turn);
                let of_turn: Vec<_> = self.messages.extract_if(.., is_of).collect();
                let begun = of_turn.into_iter().map(|row| MessageRow {
                    has_begun: true,
                    ..row
                });
                self.messages.extend(begun);
            }
            Change::Set { model, route, .. } => {
                if let Some(model) = model {
                    (self.row.model, self.row.route) = (model, route);
                    self.row.context = None;
                }
            }
            Change::Forget { turns, .. } => {
                let stays = |row: &MessageRow| {
                    let turn = row.turn.as_ref();
                    turn.is_none_or(|turn| !turns.contains(turn))
                };
                self.messages.retain(stays);
            }
            Change::Spent { context, .. } => {
                self.row.context = context.or(self.row.context.take());
            }
            Change::Open { .. } | Change::TurnFinished { .. } | Change::Close => {}
        }
    }

    fn forget_the_oldest(&mut self) {
        let too_many = self.messages.len().saturating_sub(MAX_MESSAGES);
        self.messages.drain(..too_many);
    }

    fn rows(&self, query: &MessageQuery) -> Vec<MessageRow> {
        let is_wanted = |before: &MessageId| {
            self.messages
                .iter()
                .position(|row| row.message.id == *before)
        };
        let end = match &query.before {
            Some(before) => is_wanted(before).unwrap_or(0),
            None => self.messages.len(),
        };
        let start = end.saturating_sub(query.limit as usize);
        self.messages[start..end].to_vec()
    }
}

fn answer<'a, T: Send + 'a>(what: T) -> Future<'a, Result<T, Broken>> {
    Box::pin(std::future::ready(Ok(what)))
}

impl History for Memory {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        for projection in projections {
            self.take(projection);
        }
        answer(())
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        answer(())
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        answer(self.with(id, |held| held.row.clone()))
    }

    fn sessions(&self, _query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        answer((Vec::new(), 0))
    }

    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        let rows = self.with(&query.session, |held| held.rows(&query));
        answer(rows.unwrap_or_default())
    }

    fn place<'a>(
        &'a self,
        session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>> {
        let place = self.with(session, |held| {
            let mut rows = held.messages.iter();
            rows.position(|row| row.message.id == *message)
        });
        answer(place.flatten().unwrap_or_default() as u64)
    }

    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        let held = self.lock();
        let rows = held.iter().flat_map(|held| &held.messages);
        let mut rows = rows.filter(|row| row.message.id == *id);
        answer(rows.next().cloned())
    }

    fn turn_from<'a>(
        &'a self,
        _session: &'a SessionId,
        _turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        answer(None)
    }

    fn last_turn<'a>(
        &'a self,
        _session: &'a SessionId,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        answer(None)
    }

    fn is_over<'a>(
        &'a self,
        _session: &'a SessionId,
        _turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>> {
        answer(false)
    }

    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        self.lock().take_if(|held| held.row.id == *session);
        answer(())
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        answer(Totals::default())
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        answer(())
    }
}
