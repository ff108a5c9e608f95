//! The messages of the chat, numbered without a hole, as many as there is room for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use samovar_core::{CallId, ChatMessage, ChatMeta, ChatRole, Millis};

/// Bytes that a message costs beside its words, about.
const COST: usize = 160;

/// How much the chat keeps; the oldest messages leave first (CH-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Messages, at most; at least one is kept.
    pub max_messages: usize,
    /// Bytes that they cost, at most; the newest is kept whatever it costs.
    pub max_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_messages: 10_000,
            max_bytes: 32 * 1024 * 1024,
        }
    }
}

/// A piece of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The messages, oldest first, without a hole.
    pub messages: Vec<Arc<ChatMessage>>,
    /// The newest id; 0 if there is none.
    pub head: u64,
    /// The oldest id that is left; after `head` if none is.
    pub first: u64,
    /// Whether some of the requested messages are gone, so that the page begins after a gap.
    pub is_truncated: bool,
}

/// What is said, before it has a number.
pub(crate) struct Draft {
    pub(crate) role: ChatRole,
    pub(crate) author: String,
    pub(crate) text: String,
    pub(crate) meta: ChatMeta,
    /// The call that says it: the same call says it once.
    pub(crate) key: Option<CallId>,
}

/// The log.
pub(crate) struct Log {
    bounds: Bounds,
    entries: VecDeque<Entry>,
    /// The newest id that was given.
    head: u64,
    bytes: usize,
    last: Millis,
    by_key: HashMap<CallId, u64>,
}

struct Entry {
    message: Arc<ChatMessage>,
    key: Option<CallId>,
}

impl Entry {
    fn cost(&self) -> usize {
        let ChatMessage {
            author, text, meta, ..
        } = self.message.as_ref();
        let tags = meta.tags.iter().map(String::len).sum::<usize>();
        author.len() + text.len() + tags + COST
    }
}

impl Log {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            entries: VecDeque::new(),
            head: 0,
            bytes: 0,
            last: Millis::default(),
            by_key: HashMap::new(),
        }
    }

    /// Takes a message in, and lets the oldest go for it. What the same call has said before keeps
    /// its number, as long as it is there.
    pub(crate) fn append(&mut self, said: Draft, now: Millis) -> u64 {
        let known = said.key.as_ref().and_then(|key| self.by_key.get(key));
        if let Some(id) = known {
            return *id;
        }
        self.head += 1;
        // The wall clock may go back; the chat does not.
        self.last = self.last.max(now);
        if let Some(key) = &said.key {
            self.by_key.insert(key.clone(), self.head);
        }
        let entry = Entry {
            message: Arc::new(ChatMessage {
                id: self.head,
                ts: self.last,
                role: said.role,
                author: said.author,
                text: said.text,
                meta: said.meta,
            }),
            key: said.key,
        };
        self.bytes += entry.cost();
        self.entries.push_back(entry);
        while self.is_over_bounds() {
            self.let_go();
        }
        self.head
    }

    fn is_over_bounds(&self) -> bool {
        let Bounds {
            max_messages,
            max_bytes,
        } = self.bounds;
        self.entries.len() > 1 && (self.entries.len() > max_messages || self.bytes > max_bytes)
    }

    fn let_go(&mut self) {
        let Some(gone) = self.entries.pop_front() else {
            return;
        };
        self.bytes -= gone.cost();
        if let Some(key) = &gone.key {
            self.by_key.remove(key);
        }
    }

    /// The newest id; 0 when there is none.
    pub(crate) fn head(&self) -> u64 {
        self.head
    }

    /// What is behind an id, oldest first: at most `limit` messages, and at most `max_bytes` of what
    /// they cost unless the first alone costs more.
    pub(crate) fn read(&self, after: u64, limit: usize, max_bytes: usize) -> Page {
        let gone = self.head - self.entries.len() as u64;
        let skip = usize::try_from(after.saturating_sub(gone)).unwrap_or(usize::MAX);
        let mut room = max_bytes;
        let mut messages = Vec::new();
        for entry in self.entries.iter().skip(skip).take(limit) {
            if entry.cost() > room && !messages.is_empty() {
                break;
            }
            room = room.saturating_sub(entry.cost());
            messages.push(entry.message.clone());
        }
        Page {
            messages,
            head: self.head,
            first: gone + 1,
            is_truncated: after < gone,
        }
    }
}
