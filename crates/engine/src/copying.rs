//! How a session becomes another one: a fork of it, or what a file brings in (AS-28, AS-29). Pure.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::history::MessageRow;
use samovar_core::message::FORKED_FROM;
use samovar_core::{
    AgentPath, CallId, Ids, Message, MessageId, Millis, Outcome, Role, Seq, SessionCopy, SessionId,
    ToolCall, TurnId, Usage,
};
use samovar_locale as locale;
use serde_json::{Map, Value, json};

/// Whether a session was forked whole, in the mark of a fork.
pub(crate) const WHOLE: &str = "whole";

/// The fork of a session: its messages under ids of their own.
pub(crate) fn forked(of: SessionCopy, is_whole: bool, ids: &dyn Ids, now: Millis) -> SessionCopy {
    let SessionCopy {
        mut session,
        messages,
    } = of;
    let from = session.id.clone();
    let last = messages.last().map(|row| &row.message.id);
    let mut mark = json!({"sessionId": from, "messageId": last});
    if is_whole {
        mark[WHOLE] = true.into();
    }
    session.metadata.insert(FORKED_FROM.to_owned(), mark);
    // What was spent is counted where it was spent.
    session.usage = Usage::default();
    let copying = Copying::new(now, &messages, |message, old| {
        let mut mark = Map::with_capacity(2);
        mark.insert("sessionId".to_owned(), from.as_str().into());
        mark.insert("messageId".to_owned(), json!(old));
        let mark = Value::Object(mark);
        message.metadata.insert(FORKED_FROM.to_owned(), mark);
        message.usage = None;
        message.id = MessageId::fresh(ids);
    });
    let messages = copying.all(messages);
    SessionCopy { session, messages }
}

/// What a file has of a session, as text from outside; messages whose ids are taken get others.
pub(crate) fn imported(
    file: SessionCopy,
    taken: &HashSet<MessageId>,
    ids: &dyn Ids,
    now: Millis,
) -> SessionCopy {
    let SessionCopy {
        mut session,
        messages,
    } = file;
    let named = messages.iter().filter_map(|row| row.message.usage);
    session.usage = session
        .usage
        .minus(named.fold(Usage::default(), Usage::plus));
    session.tainted = true;
    let mut seen = HashSet::new();
    let copying = Copying::new(now, &messages, |message, old| {
        message.import();
        if old.is_none_or(|old| taken.contains(old)) || !seen.insert(message.id.clone()) {
            message.id = MessageId::fresh(ids);
        }
    });
    let messages = copying.all(messages);
    SessionCopy { session, messages }
}

/// How messages become those of a copy.
struct Copying<F> {
    now: Millis,
    /// Marks a copy and gives it its id; the old one is known of all but results that are made here.
    mark: F,
    /// The calls that have a result before the next one with their id, by the number of their row.
    closed: HashSet<(usize, CallId)>,
    /// The number of the next row.
    next: usize,
    /// The new id of each message.
    new: HashMap<MessageId, MessageId>,
    /// The calls without one so far.
    open: Vec<Unanswered>,
    copies: Vec<MessageRow>,
}

/// A call without a result.
struct Unanswered {
    call: ToolCall,
    agent: AgentPath,
    turn: Option<TurnId>,
    parent: Option<MessageId>,
}

impl<F: FnMut(&mut Message, Option<&MessageId>)> Copying<F> {
    fn new(now: Millis, rows: &[MessageRow], mark: F) -> Self {
        let (mut has_result, mut closed) = (HashSet::new(), HashSet::new());
        for (number, row) in rows.iter().enumerate().rev() {
            has_result.extend(row.message.closed_calls());
            let calls = row.message.calls().map(|call| &call.id);
            let of_row = calls.filter(|call| has_result.remove(*call));
            closed.extend(of_row.map(|call| (number, call.clone())));
        }
        Self {
            now,
            mark,
            closed,
            next: 0,
            new: HashMap::new(),
            open: Vec::new(),
            copies: Vec::with_capacity(rows.len()),
        }
    }

    fn all(mut self, rows: Vec<MessageRow>) -> Vec<MessageRow> {
        for row in rows {
            if row.message.role != Role::Tool {
                // A result never follows the agent's next message.
                self.close(|open| open.agent == row.agent && open.turn == row.turn);
            }
            self.take(row);
        }
        self.close(|_| true);
        self.copies
    }

    fn take(&mut self, row: MessageRow) {
        let mut message = Arc::unwrap_or_clone(row.message);
        let old = message.id.clone();
        (self.mark)(&mut message, Some(&old));
        message.parent = message.parent.and_then(|old| self.new.get(&old).cloned());
        let calls = message.calls();
        let number = self.next;
        self.next += 1;
        let open = calls.filter(|call| !self.closed.contains(&(number, call.id.clone())));
        let open = open.map(|call| Unanswered {
            call: call.clone(),
            agent: row.agent.clone(),
            turn: row.turn.clone(),
            parent: message.parent.clone(),
        });
        self.open.extend(open);
        self.new.insert(old, message.id.clone());
        self.put(row.session, row.agent, message);
    }

    /// Gives calls the outcome that is known of them: none. Those of called agents come first.
    fn close(&mut self, is_lost: impl Fn(&Unanswered) -> bool) {
        let mut lost: Vec<_> = self.open.extract_if(.., |open| is_lost(open)).collect();
        lost.sort_by_key(|open| Reverse(open.agent.depth()));
        for Unanswered {
            call,
            agent,
            parent,
            ..
        } in lost
        {
            let outcome = Outcome::unknown(locale::turn::result_not_copied());
            let mut message = Message::of_outcome(&call.id, &call.name, &outcome, self.now);
            message.parent = parent;
            (self.mark)(&mut message, None);
            let session = self.copies.last().map(|row| row.session.clone());
            if let Some(session) = session {
                self.put(session, agent, message);
            }
        }
    }

    fn put(&mut self, session: SessionId, agent: AgentPath, message: Message) {
        self.copies.push(MessageRow {
            session,
            turn: None,
            agent,
            has_begun: true,
            place: Seq::default(),
            message: Arc::new(message.compact()),
        });
    }
}
