//! The chat as the history of the agent's sessions: what was said there before is the conversation
//! that each of them begins with, and nothing of theirs is kept here.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::history::{
    LastTurn, MessageQuery, MessageRow, Projection, SessionQuery, SessionRow, Totals,
};
use samovar_core::{
    AgentPath, Broken, ChatMessage, ContextLimit, Future, History, Message, MessageId, Millis,
    Part, Seq, SessionId, TurnId, Usage,
};
use serde_json::Map;

use super::words;
use crate::chat::Chat;

/// The name of a session's own agent.
const AGENT: &str = "master";

/// The history of the one session that there is at a time.
pub(super) struct ChatHistory {
    chat: Chat,
    now: Mutex<Option<ChatSession>>,
    /// What the last refused prompt revealed, in whatever session.
    limit: Mutex<Option<ContextLimit>>,
}

/// What a session begins with.
pub(super) struct Conversation {
    pub(super) session: SessionId,
    /// The model that answers in it.
    pub(super) model: String,
    /// It is what stands in the chat before this message.
    pub(super) before: u64,
}

struct ChatSession {
    conversation: Conversation,
    projected: Seq,
}

impl ChatHistory {
    pub(super) fn new(chat: Chat) -> Self {
        Self {
            chat,
            now: Mutex::default(),
            limit: Mutex::default(),
        }
    }

    /// From here on there is this session, and no other.
    pub(super) fn begin(&self, conversation: Conversation) {
        let projected = Seq::default();
        *self.lock() = Some(ChatSession {
            conversation,
            projected,
        });
    }

    /// From here on there is none.
    pub(super) fn end(&self) {
        *self.lock() = None;
    }

    /// Takes what a refused prompt revealed, for the sessions to come.
    pub(super) fn learn(&self, limit: ContextLimit) {
        *self.limit() = Some(limit);
    }

    fn row(&self, id: &SessionId) -> Option<SessionRow> {
        let now = self.lock();
        let held = now.as_ref();
        let ChatSession {
            conversation,
            projected,
        } = held.filter(|held| held.conversation.session == *id)?;
        Some(SessionRow {
            id: id.clone(),
            model: conversation.model.clone(),
            route: None,
            title: None,
            agent: AGENT.to_owned(),
            metadata: Map::new(),
            created_at: Millis::default(),
            updated_at: Millis::default(),
            message_count: 0,
            preview: None,
            usage: Usage::default(),
            context: self.limit().clone(),
            projected: *projected,
        })
    }

    fn rows(&self, query: &MessageQuery) -> Vec<MessageRow> {
        let end = {
            let now = self.lock();
            let held = now.as_ref();
            held.filter(|held| held.conversation.session == query.session)
                .map_or(1, |held| held.conversation.before)
        };
        let end = query.before.as_ref().map_or(end, |id| number(id).min(end));
        let after = (end - 1).saturating_sub(query.limit.into());
        let page = self.chat.read(after, query.limit as usize);
        let earlier = page.messages.iter().filter(|said| said.id < end);
        earlier
            .filter_map(|said| {
                Some(MessageRow {
                    session: query.session.clone(),
                    turn: None,
                    agent: AgentPath::root(AGENT),
                    has_begun: true,
                    message: Arc::new(message(said)?),
                })
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Option<ChatSession>> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn limit(&self) -> MutexGuard<'_, Option<ContextLimit>> {
        self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What comes before a message's number in the ids of the model's conversation.
const ID: &str = "chat-";

/// The number in the chat of a message that the model was shown; at least 1.
fn number(id: &MessageId) -> u64 {
    let number: Option<u64> = id.as_str().strip_prefix(ID).and_then(|id| id.parse().ok());
    number.unwrap_or_default().max(1)
}

fn message(said: &ChatMessage) -> Option<Message> {
    let (role, text) = words::spoken(said);
    Some(Message::new(
        MessageId::new(&format!("{ID}{}", said.id)).ok()?,
        role,
        vec![Part::text(text)],
        said.ts,
    ))
}

fn answer<'a, T: Send + 'a>(what: T) -> Future<'a, Result<T, Broken>> {
    Box::pin(std::future::ready(Ok(what)))
}

impl History for ChatHistory {
    /// What the turns say is in the chat already.
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        for projection in projections {
            let mut now = self.lock();
            let held = now.as_mut();
            if let Some(held) = held.filter(|held| held.conversation.session == projection.session)
            {
                held.projected = held.projected.max(projection.up_to);
            }
        }
        answer(())
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        answer(())
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        answer(self.row(id))
    }

    fn sessions(&self, _query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        answer((Vec::new(), 0))
    }

    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        answer(self.rows(&query))
    }

    /// The chat counts by one, so a message's place is the same in every session.
    fn place<'a>(
        &'a self,
        _session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>> {
        answer(number(message) - 1)
    }

    fn message<'a>(&'a self, _id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        answer(None)
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

    fn discard<'a>(&'a self, _session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        answer(())
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        answer(Totals::default())
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        answer(())
    }
}
