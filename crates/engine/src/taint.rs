//! What a session has read from outside, and the addresses that may be fetched unasked all the same:
//! those that a person gave, a search found, or a page that was read links to (TL-10).

mod addresses;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::{Outcome, OutsideText, Part, Role, Status};
use serde_json::Value;

use self::addresses::{Key, key, written_out};
use crate::context::Transcript;
use crate::toolbox::CurrentTools;

/// The most addresses of a person and of searches that a session remembers, the newest.
const MAX_GIVEN: usize = 1024;
/// The most links of pages that it remembers, the newest.
const MAX_LINKS: usize = 4096;
/// How many links of pages may be followed unasked in a turn and those below it: which of them a
/// model chooses can tell something.
const MAX_FOLLOWED: usize = 10;
/// How much of a message is searched for addresses, in bytes.
const MAX_SEARCHED: usize = 64 * 1024;
/// What a search that ran after text from outside says in its data, and when a person allowed it.
const AFTER_OUTSIDE: &str = "afterOutsideText";
const ALLOWED: &str = "allowed";
const UNASKED: &str = "unasked";

/// What a session has read from outside. Its turns and those of its sub-agents share it.
#[derive(Debug, Default)]
pub(crate) struct Taint {
    is_tainted: AtomicBool,
    /// Whether a person allowed a search after that.
    may_search: AtomicBool,
    followed: AtomicUsize,
    known: Mutex<Known>,
}

/// Addresses, the oldest first.
#[derive(Debug, Default)]
struct Known {
    given: VecDeque<Key>,
    links: VecDeque<Key>,
}

/// Whether a fetch of an address may run unasked in a tainted session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A person gave it, or a search found it.
    Given,
    /// A page that was read links to it.
    Linked,
    /// The same, and the turn has followed as many links as it may.
    LinkedTooMany,
    /// The model may have made it up.
    Unknown,
}

impl Taint {
    /// Whether text from outside may be in the session.
    pub(crate) fn is_tainted(&self) -> bool {
        self.is_tainted.load(Ordering::Relaxed)
    }

    /// Notes that text from outside may be in the session.
    pub(crate) fn taint(&self) {
        self.is_tainted.store(true, Ordering::Relaxed);
    }

    /// Notes what the log says.
    pub(crate) fn keep(&self, is_tainted: bool) {
        self.is_tainted.fetch_or(is_tainted, Ordering::Relaxed);
    }

    /// A turn of the session itself begins.
    pub(crate) fn begin_turn(&self) {
        self.followed.store(0, Ordering::Relaxed);
    }

    /// Notes the address that a person allows.
    pub(crate) fn give(&self, address: &str) {
        self.known().give(key(address));
    }

    /// Notes the addresses in what a person says.
    pub(crate) fn hear(&self, text: &str) {
        let end = text.floor_char_boundary(MAX_SEARCHED);
        let text = &text[..end];
        let found = written_out(text).chain(addresses::hosts_in(text));
        self.known().give(found);
    }

    /// Notes that a call which fetches this address runs.
    pub(crate) fn follow(&self, address: &str) {
        if self.is_tainted() && self.standing(address) == Standing::Linked {
            self.followed.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether a search may run without a question.
    pub(crate) fn may_search(&self) -> bool {
        !self.is_tainted() || self.may_search.load(Ordering::Relaxed)
    }

    /// Notes the addresses in a result from outside: what a search found that ran before any such text
    /// or was allowed by a person, and the links of a page.
    pub(crate) fn read(&self, text: OutsideText, outcome: &Outcome) {
        if outcome.status != Status::Done {
            return;
        }
        match text {
            OutsideText::Plain | OutsideText::Marked => {}
            OutsideText::Page => self.known().link(written_out(&outcome.text)),
            OutsideText::Search => {
                let data = outcome.data.as_ref();
                let after = data.and_then(|data| data.get(AFTER_OUTSIDE)?.as_str());
                match after {
                    Some(ALLOWED) => self.may_search.store(true, Ordering::Relaxed),
                    Some(_) => return,
                    None => {}
                }
                let results = data.and_then(|data| data.get("results"));
                let results = results.and_then(Value::as_array).into_iter().flatten();
                let found = results.filter_map(|result| key(result.get("url")?.as_str()?));
                self.known().give(found);
            }
        }
    }

    /// Notes what a conversation names: the person in what they said to the session's own agent, and
    /// the searches and pages of any agent.
    pub(crate) fn recall(&self, conversation: &Transcript, is_own: bool, tools: &CurrentTools) {
        for message in conversation.messages() {
            if message.role == Role::User && is_own && !message.is_imported() {
                self.hear(&message.text());
            }
            for part in &message.parts {
                if let Part::Outcome { name, outcome, .. } = part
                    && !message.is_appended()
                    && let Some(text) = tools.outside(name)
                {
                    self.read(text, outcome);
                }
            }
        }
    }

    /// How well an address is known.
    pub(crate) fn standing(&self, address: &str) -> Standing {
        let Some(key) = key(address) else {
            return Standing::Unknown;
        };
        let known = self.known();
        if known.given.contains(&key) {
            Standing::Given
        } else if !known.links.contains(&key) {
            Standing::Unknown
        } else if self.followed.load(Ordering::Relaxed) < MAX_FOLLOWED {
            Standing::Linked
        } else {
            Standing::LinkedTooMany
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn give(&mut self, found: impl IntoIterator<Item = Key>) {
        add(&mut self.given, MAX_GIVEN, found);
    }

    fn link(&mut self, found: impl IntoIterator<Item = Key>) {
        add(&mut self.links, MAX_LINKS, found);
    }
}

fn add(known: &mut VecDeque<Key>, most: usize, found: impl IntoIterator<Item = Key>) {
    for key in found {
        if known.contains(&key) {
            continue;
        }
        if known.len() >= most {
            known.pop_front();
        }
        known.push_back(key);
    }
}

/// Says in the result of a search that text from outside was there before it, and whether a person
/// allowed it all the same: the log is all that a later start knows.
pub(crate) fn mark_search(outcome: &mut Outcome, text: OutsideText, is_allowed: Option<bool>) {
    if let (OutsideText::Search, Some(is_allowed)) = (text, is_allowed)
        && let Some(Value::Object(data)) = &mut outcome.data
    {
        let how = if is_allowed { ALLOWED } else { UNASKED };
        data.insert(AFTER_OUTSIDE.to_owned(), Value::from(how));
    }
}
