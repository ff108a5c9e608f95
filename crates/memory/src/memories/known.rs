//! The memories as they are known: the list, the index of their words, what they mean, and what a query
//! finds of them.

use std::collections::HashSet;
use std::sync::Arc;

use samovar_core::history::Exchange;
use samovar_core::{Beginner, SessionId, TurnId};
use samovar_embed::Vector;
use tokio::runtime::Handle;

use super::{Memories, State, forgotten};
use crate::document;
use crate::entry::MemoryId;
use crate::exchange::{Asker, Sessions, shared};
use crate::index::Index;
use crate::meaning::Meaning;
use crate::memory::{Memory, Source};
use crate::rank::{Ranked, ranked};

/// The memories that there are, with the index over them.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) all: Vec<Memory>,
    index: Index,
    /// What each means; empty where that is known of none.
    vectors: Vec<Option<Vector>>,
}

impl Known {
    fn find(&self, query: &str, meaning: Option<&Vector>, limit: usize) -> Vec<(Memory, Ranked)> {
        let cosines = meaning.map(|query| {
            let vectors = self.vectors.iter().map(Option::as_ref);
            vectors
                .map(|vector| vector.map(|vector| vector.cosine(query)))
                .collect::<Vec<_>>()
        });
        let found = ranked(&self.index.find(query), &cosines.unwrap_or_default());
        let found = found.into_iter().take(limit);
        found
            .filter_map(|found| Some((self.all.get(found.place)?.clone(), found)))
            .collect()
    }
}

/// What a query finds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Why earlier exchanges could not be looked at, in one sentence.
    pub problem: Option<String>,
}

/// A hit.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// What was found.
    pub what: Remembered,
    /// What it is worth.
    pub ranked: Ranked,
}

/// What can be recalled.
#[derive(Clone, Debug, PartialEq)]
pub enum Remembered {
    /// A memory.
    Memory(Memory),
    /// An exchange of an earlier session.
    Exchange(Exchange),
}

impl Remembered {
    /// Whether text from outside was in its session (TL-10).
    pub fn is_tainted(&self) -> bool {
        match self {
            Self::Memory(memory) => memory.entry.is_tainted,
            Self::Exchange(exchange) => exchange.tainted,
        }
    }
}

impl Memories {
    /// From now on exchanges of earlier sessions are recalled, too; called within a runtime, and before
    /// [`know_meaning`](Self::know_meaning).
    pub fn know_sessions(&self, sessions: Sessions) {
        let with = (sessions, Handle::current());
        self.sessions.set(with).unwrap_or_default();
    }

    /// From now on they are found by what they mean, too.
    pub fn know_meaning(self: &Arc<Self>, meaning: Arc<Meaning>) {
        if let Some((sessions, _)) = self.sessions.get() {
            meaning.know_exchanges(sessions.clone());
        }
        let this = Arc::downgrade(self);
        meaning.tell(move || this.upgrade().inspect(|this| this.again()).is_some());
        if self.meaning.set(meaning).is_ok() {
            self.again();
        }
    }

    /// They are found by their words alone, and a person is told why.
    pub fn lack_meaning(&self, why: String) {
        tracing::warn!(%why, "memories are found by their words alone");
        // It is told once, as the first time.
        self.no_meaning.set(why).unwrap_or_default();
    }

    /// Makes the list and the index again, because it is known of more what they mean.
    pub(crate) fn again(&self) {
        let mut state = self.look();
        self.index(&mut state);
    }

    /// How many are found by their meaning, too.
    pub fn meant(&self) -> usize {
        let known = self.look().known.clone();
        known.vectors.iter().flatten().count()
    }

    /// All of them: the long-term ones in the order of their file, then the notes by their days.
    pub fn all(&self) -> Vec<Memory> {
        self.look().known.all.clone()
    }

    /// The one of an id.
    pub fn get(&self, id: &MemoryId) -> Option<Memory> {
        let state = self.look();
        let mut all = state.known.all.iter();
        all.find(|memory| memory.entry.id == *id).cloned()
    }

    /// What answers a query by its words or its meaning, best first: all memories for the owner, and for
    /// each who asks the exchanges of sessions that they began.
    pub fn recall(&self, query: &str, asker: &Asker, limit: usize) -> Recalled {
        // What has changed is embedded meanwhile.
        drop(self.look());
        let meaning = self.meaning.get();
        let vector = meaning.and_then(|meaning| {
            meaning.read_exchanges();
            meaning.of_query(query)
        });
        let known = self.look().known.clone();
        let mut memories = Vec::new();
        if asker.begun_by == Beginner::Owner {
            memories = known.find(query, vector.as_ref(), limit);
        }
        let (mut exchanges, mut problem) = (Vec::new(), None);
        if let Some((sessions, runtime)) = self.sessions.get() {
            let cosines = vector.zip(meaning);
            let cosines = cosines.map(|(vector, meaning)| meaning.cosines(&vector, asker));
            let cosines = cosines.unwrap_or_default();
            match sessions.find(runtime, query, asker, &cosines, limit) {
                Ok(found) => exchanges = found,
                Err(why) => problem = Some(why),
            }
        }
        let (remembered, said) = shared(limit, memories.len(), exchanges.len());
        memories.truncate(remembered);
        exchanges.truncate(said);
        let memories = memories.into_iter().map(|(memory, ranked)| Hit {
            what: Remembered::Memory(memory),
            ranked,
        });
        let exchanges = exchanges.into_iter().map(|(exchange, ranked)| Hit {
            what: Remembered::Exchange(exchange),
            ranked,
        });
        let mut hits: Vec<_> = memories.chain(exchanges).collect();
        // Stable: of equal ones a memory is before an exchange.
        hits.sort_by(|one, other| other.ranked.score.total_cmp(&one.ranked.score));
        Recalled { hits, problem }
    }

    /// A turn begins: what was said before is to be found by its meaning, once it is quiet.
    pub fn turn_begins(&self) {
        if let Some(meaning) = self.meaning.get() {
            meaning.turn_begins();
        }
    }

    /// Turns of a session were taken back, or all of it goes: what their exchanges mean goes soon. Waits for nothing.
    pub fn forget_exchanges(&self, session: &SessionId, turns: Option<&[TurnId]>) {
        if let Some(meaning) = self.meaning.get() {
            meaning.forget_exchanges(session, turns);
        }
    }

    /// Those among some that answer a message, best first. Waits for no vector longer than 50 ms, and for
    /// none if there are no such memories.
    pub(crate) fn recall_soon(
        &self,
        message: &str,
        is_among: impl Fn(&Memory) -> bool,
    ) -> Vec<(Memory, Ranked)> {
        let known = self.look().known.clone();
        if !known.all.iter().any(&is_among) {
            return Vec::new();
        }
        let meaning = self.meaning.get();
        let meaning = meaning.and_then(|meaning| meaning.of_query_soon(message));
        let known = self.look().known.clone();
        let found = known
            .find(message, meaning.as_ref(), usize::MAX)
            .into_iter();
        found.filter(|(memory, _)| is_among(memory)).collect()
    }

    /// Why files cannot be read or changed, and what else a person has to know, a sentence each.
    pub fn problems(&self) -> Vec<String> {
        let state = self.look();
        let problems = state.files().filter_map(|seen| seen.problem.as_ref());
        let proposed = state.proposals.problem.iter();
        let problems = problems.chain(proposed.filter(|_| state.folder.is_none()));
        let remarks = self.settings.remarks.iter();
        let meaning = self.meaning.get();
        let meaning = meaning.and_then(|meaning| meaning.problem());
        remarks
            .chain(&state.folder)
            .chain(problems)
            .cloned()
            .chain(meaning)
            .chain(self.no_meaning.get().cloned())
            .collect()
    }

    /// Why there may be memories that are not found, a sentence for each file.
    pub fn unread(&self) -> Vec<String> {
        let state = self.look();
        let files = state.days.values().chain([&state.person, &state.long_term]);
        let cut = files.filter(|seen| seen.is_cut);
        let problems = cut.filter_map(|seen| seen.problem.as_ref());
        state.folder.iter().chain(problems).cloned().collect()
    }

    /// Makes the list and the index again.
    pub(super) fn index(&self, state: &mut State) {
        let gone = forgotten(state);
        let mut all = Vec::new();
        for (section, entry) in document::entries(&state.person.text) {
            all.push(Memory {
                entry,
                source: Source::Person(section),
            });
        }
        for (section, entry) in document::entries(&state.long_term.text) {
            all.push(Memory {
                entry,
                source: Source::LongTerm(section),
            });
        }
        for (day, seen) in &state.days {
            for (_, entry) in document::entries(&seen.text) {
                all.push(Memory {
                    entry,
                    source: Source::Day(day.to_string()),
                });
            }
        }
        let mut ids = HashSet::new();
        all.retain(|memory| {
            let id = &memory.entry.id;
            !gone.contains(id) && ids.insert(id.clone())
        });
        let index = Index::new(all.iter().map(|memory| memory.entry.text.as_str()));
        let meaning = self.meaning.get();
        let vectors = meaning.map(|meaning| meaning.of(&all));
        state.known = Arc::new(Known {
            all,
            index,
            vectors: vectors.unwrap_or_default(),
        });
    }
}

impl Drop for Memories {
    fn drop(&mut self) {
        if let Some(meaning) = self.meaning.get() {
            meaning.close();
        }
    }
}
