//! Exchanges of earlier sessions: where they come from, and what a query finds of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery};
use samovar_core::{Beginner, Future, SessionId, TextHash};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;

use crate::index::Index;
use crate::rank::{LEAST_WORDS, Ranked, WORDS, ranked};

/// Exchanges whose words are compared with a query's, the newest that have some.
const MAX_WITH_WORDS: u32 = 50;
/// One whose vector is further away is found by its words alone. Of those that have nothing to do with a
/// question twice as many pass the gate of memories (`cargo run -p samovar-recall -- gate`).
pub const LEAST_COSINE: f32 = 0.3;
/// Characters of a message that count.
const MAX_CHARS: usize = 2_000;

/// Finished exchanges, as the sessions have them. An error is one sentence.
pub trait Exchanges: Send + Sync {
    /// The newest, the newest first; without those that were taken back or deleted.
    fn ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, String>>;

    /// What was said in some.
    fn read(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, String>>;

    /// Whether no turn runs now.
    fn is_idle(&self) -> bool;

    /// Counts so many bytes of vectors as in use, in place of those before.
    fn weigh(&self, bytes: usize);
}

/// Where exchanges come from, and which of them are found by their meaning.
#[derive(Clone)]
pub struct Sessions {
    /// All that were said.
    pub exchanges: Arc<dyn Exchanges>,
    /// How many have vectors, at most: the newest.
    pub most: u32,
    /// How long after a turn has begun they may get some, once none runs.
    pub quiet: Duration,
}

/// Who recalls: they find the exchanges of sessions that they began, and the owner all memories.
#[derive(Clone, Debug)]
pub struct Asker {
    /// Who began the session in which it is asked.
    pub begun_by: Beginner,
    /// That session, which is no earlier one.
    pub session: Option<SessionId>,
}

impl Asker {
    /// The owner, outside of any session.
    pub fn owner() -> Self {
        Self {
            begun_by: Beginner::Owner,
            session: None,
        }
    }
}

/// How many of the memories and of the exchanges that were found are told: what was only said takes three
/// places of eight at most from what is remembered.
pub(crate) fn shared(limit: usize, memories: usize, exchanges: usize) -> (usize, usize) {
    let beside = exchanges.min(limit * 3 / 8);
    let memories = memories.min(limit - beside);
    (memories, exchanges.min(limit - memories))
}

/// Under what the vector of an exchange is kept.
pub(crate) fn key(id: &ExchangeId) -> TextHash {
    Sha256::digest(format!("{}\n{}", id.session, id.turn)).into()
}

/// What counts of an exchange when it is compared with a query.
pub(crate) fn words(exchange: &Exchange) -> String {
    let Exchange { said, answer, .. } = shortened(exchange.clone());
    format!("{said}\n{answer}")
}

fn shortened(exchange: Exchange) -> Exchange {
    let beginning = |text: &str| text.chars().take(MAX_CHARS).collect();
    Exchange {
        said: beginning(&exchange.said),
        answer: beginning(&exchange.answer),
        ..exchange
    }
}

impl Sessions {
    /// The beginnings of the exchanges that answer a query, the best first. `cosines` says how near those are that have
    /// a vector; it is empty if the query has none.
    pub(crate) fn find(
        &self,
        runtime: &Handle,
        query: &str,
        asker: &Asker,
        cosines: &HashMap<TextHash, (ExchangeId, f32)>,
        limit: usize,
    ) -> Result<Vec<(Exchange, Ranked)>, String> {
        let with_words = ExchangeQuery::Words {
            begun_by: asker.begun_by.clone(),
            text: query.to_owned(),
            limit: MAX_WITH_WORDS,
        };
        let mut all = runtime.block_on(self.exchanges.read(with_words))?;
        let mut near: Vec<_> = cosines.values().collect();
        near.retain(|(id, cosine)| *cosine >= LEAST_COSINE && all.iter().all(|it| it.id != *id));
        near.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let near = near.into_iter().take(limit).map(|(id, _)| id.clone());
        let near: Vec<_> = near.collect();
        if !near.is_empty() {
            all.extend(runtime.block_on(self.exchanges.read(ExchangeQuery::These(near)))?);
        }
        all.retain(|it| asker.session.as_ref() != Some(&it.id.session));
        all.sort_by_key(|it| it.at);
        // A fork says what its session said.
        let mut texts: Vec<String> = Vec::new();
        all.retain(|it| {
            let text = words(it);
            let is_new = !texts.contains(&text);
            texts.extend(is_new.then_some(text));
            is_new
        });
        let of = |it: &Exchange| cosines.get(&key(&it.id)).map(|(_, cosine)| *cosine);
        let near: Vec<_> = all.iter().map(of).collect();
        let index = Index::new(texts.iter().map(String::as_str));
        let found = ranked(&index.find(query), &near).into_iter();
        let is_near = |it: &Ranked| it.meaning.is_some_and(|near| near >= LEAST_COSINE);
        let found = found.filter(|it| is_near(it) || it.words >= LEAST_WORDS);
        let found = found.map(|it| Ranked {
            // Beside what has a vector, one without is as if it were near enough.
            score: match it.meaning {
                None if !cosines.is_empty() => WORDS.mul_add(it.words, LEAST_COSINE),
                _ => it.score,
            },
            ..it
        });
        let found = found.filter_map(|it| Some((shortened(all.get(it.place)?.clone()), it)));
        let mut found: Vec<_> = found.collect();
        found.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
        found.truncate(limit);
        Ok(found)
    }
}
