//! What the memories mean: a vector for each text, made on one thread of low priority, newest first, and
//! kept in the third store. Nothing waits for it: a text without a vector is found by its words.
//!
//! There is no queue that could lose one: what is to be made are the texts that have no vector.

mod exchanges;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use samovar_core::history::ExchangeId;
use samovar_core::{TextHash, TextVector, Vectors};
use samovar_embed::{Side, Vector};
use samovar_locale::memory as locale;
use sha2::{Digest as _, Sha256};
use tokio::runtime::Handle;
use tokio::time::Instant;

use crate::embedder::Embedder;
use crate::exchange::Sessions;
use crate::memory::Memory;

/// After so long without work the embedder rests.
const IDLE: Duration = Duration::from_mins(10);
/// After a failure the next try waits so long at first, doubled each time, at most an hour.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const MAX_PAUSE: Duration = Duration::from_hours(1);
/// How long a query waits for the vectors of what was written just now, or of a server that has just
/// started.
const MAX_SETTLING: Duration = Duration::from_millis(500);
/// How long a turn waits for what its message means.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Turns that do so at once, at most.
const MAX_SOON: usize = 2;
/// Vectors that are kept with one write.
const AT_ONCE: usize = 32;
/// So many exchanges without a vector are told of; fewer just wait for a quiet moment.
const MANY_EXCHANGES: usize = 100;
/// What a vector takes besides its numbers, with the ids of an exchange, in bytes.
const OVERHEAD: usize = 250;
/// How much kinder than other threads the one that embeds is.
const NICE: i32 = 10;

/// What the texts of memories mean.
pub struct Meaning {
    embedder: Arc<dyn Embedder>,
    store: Arc<dyn Vectors>,
    runtime: Handle,
    sessions: OnceLock<Sessions>,
    state: Mutex<State>,
    changed: Condvar,
    /// The threads of turns that wait for their message's vector.
    soon: AtomicUsize,
    /// The thread has done what there was to do, as far as it could.
    settled: Condvar,
    /// Told that more is known; answers whether anything still asks.
    told: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

#[derive(Default)]
struct State {
    /// What the texts mean; `None` before the store was read.
    known: Option<HashMap<TextHash, Vector>>,
    /// The texts that have no vector, the newest last.
    wanted: Vec<(TextHash, String)>,
    /// The text whose vector is being made.
    at_hand: Option<TextHash>,
    /// The texts of which none could be made.
    failed: HashSet<TextHash>,
    /// The texts that are gone and may have one in the store.
    gone: Vec<TextHash>,
    exchanges: exchanges::Known,
    has_thread: bool,
    /// Whether the thread has something to do.
    is_busy: bool,
    is_closed: bool,
    /// Why vectors could not be made or kept last.
    problem: Option<String>,
}

enum Work {
    Load,
    Remove(Vec<TextHash>),
    Embed(TextHash, String),
    LookAtExchanges,
    EmbedExchange(ExchangeId),
    Rest,
    End,
}

impl Meaning {
    /// Made with an embedder, kept in a store; called within a runtime.
    pub fn new(embedder: Arc<dyn Embedder>, store: Arc<dyn Vectors>) -> Arc<Self> {
        Arc::new(Self {
            embedder,
            store,
            runtime: Handle::current(),
            sessions: OnceLock::new(),
            state: Mutex::default(),
            changed: Condvar::new(),
            soon: AtomicUsize::new(0),
            settled: Condvar::new(),
            told: OnceLock::new(),
        })
    }

    /// Calls `told` from now on when more is known; the thread ends when that answers `false`.
    pub(crate) fn tell(&self, told: impl Fn() -> bool + Send + Sync + 'static) {
        self.told.set(Box::new(told)).unwrap_or_default();
    }

    /// What a query means; `None` if that cannot be known now, or nothing is known to compare it with.
    /// Waits a moment for vectors that are being made. May block for a second.
    pub(crate) fn of_query(&self, query: &str) -> Option<Vector> {
        let state = self.settle();
        let is_empty = state.known.as_ref().is_none_or(HashMap::is_empty);
        let is_empty = is_empty && state.exchanges.count() == 0;
        drop(state);
        if is_empty || query.trim().is_empty() {
            return None;
        }
        let embedded = self.embedder.embed(Side::Query, query);
        let embedded = embedded
            .inspect_err(|why| tracing::debug!(%why, "a query is searched by its words alone"));
        let vector = embedded.ok()?;
        if self.drop_other_dimensions(&vector)
            && let Some(told) = self.told.get()
        {
            told();
        }
        Some(vector)
    }

    /// Vectors of another dimension than the model's present one are made again: whether there were some.
    fn drop_other_dimensions(&self, vector: &Vector) -> bool {
        let fits = |other: &Vector| other.dimensions() == vector.dimensions();
        let mut state = self.lock();
        let is_other = |known: &HashMap<_, Vector>| !known.values().all(fits);
        let has_other = state.known.as_ref().is_some_and(is_other);
        if let Some(known) = state.known.as_mut().filter(|_| has_other) {
            known.retain(|_, other| fits(other));
        }
        state.exchanges.drop_unless(fits) | has_other
    }

    /// Tells how much memory they take.
    fn weigh(&self) {
        let Some(sessions) = self.sessions.get() else {
            return;
        };
        let state = self.lock();
        let known = state.known.iter().flat_map(HashMap::values);
        // The list of memories has each once more, as it is compared.
        let all = known
            .map(|vector| 2 * (vector.dimensions() + OVERHEAD))
            .sum::<usize>();
        let of_exchanges = state.exchanges.bytes();
        drop(state);
        sessions
            .exchanges
            .weigh(all + of_exchanges + self.embedder.bytes());
    }

    /// The same on a thread for itself, within 50 ms.
    pub(crate) fn of_query_soon(self: &Arc<Self>, query: &str) -> Option<Vector> {
        // With more turns than that at once, and when it is late, words find what they can.
        if self.soon.fetch_add(1, Ordering::AcqRel) >= MAX_SOON {
            self.soon.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        let (sender, vector) = mpsc::sync_channel(1);
        let (meaning, query) = (self.clone(), query.to_owned());
        let ask = move || {
            let asked = sender.send(meaning.of_query(&query));
            meaning.soon.fetch_sub(1, Ordering::AcqRel);
            asked
        };
        let begun = thread::Builder::new().name("query".to_owned()).spawn(ask);
        if begun.is_err() {
            self.soon.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        vector.recv_timeout(MAX_WAIT).ok().flatten()
    }

    /// Waits a moment until the thread has done what there is to do.
    fn settle(&self) -> MutexGuard<'_, State> {
        let is_busy = |state: &mut State| state.is_busy;
        let settled = self
            .settled
            .wait_timeout_while(self.lock(), MAX_SETTLING, is_busy);
        let (state, _) = settled.unwrap_or_else(PoisonError::into_inner);
        state
    }

    /// Why memories are found by their words alone, in one sentence, and that exchanges are because they
    /// come faster than their vectors.
    pub(crate) fn problem(&self) -> Option<String> {
        let state = self.lock();
        let lacking = state.exchanges.lacking();
        let Some(why) = &state.problem else {
            return (lacking >= MANY_EXCHANGES).then(|| locale::exchanges_unmeant(lacking));
        };
        Some(locale::without_meaning(
            (state.wanted.len() + lacking).max(1),
            why,
        ))
    }

    /// What these memories mean, as far as that is known, in the form that queries are compared with. What is not known
    /// will be made, and what is no memory any more is removed.
    pub(crate) fn of(self: &Arc<Self>, all: &[Memory]) -> Vec<Option<Vector>> {
        let hashes: Vec<_> = all.iter().map(|memory| hash(&memory.entry.text)).collect();
        let mut state = self.lock();
        if self.begin_if(&mut state, !all.is_empty() || self.store.is_there()) {
            state.is_busy = true;
        }
        let Some(known) = &mut state.known else {
            return vec![None; all.len()];
        };
        let there: HashSet<_> = hashes.iter().copied().collect();
        let gone: Vec<_> = known
            .keys()
            .copied()
            .filter(|text| !there.contains(text))
            .collect();
        known.retain(|text, _| there.contains(text));
        let found: Vec<_> = hashes.iter().map(|hash| known.get(hash).cloned()).collect();
        let mut seen = HashSet::new();
        let wanted = all
            .iter()
            .zip(&hashes)
            .zip(&found)
            .filter_map(|((memory, hash), found)| {
                let is_wanted =
                    found.is_none() && state.at_hand != Some(*hash) && seen.insert(*hash);
                is_wanted.then(|| (*hash, memory.entry.text.clone()))
            });
        // What failed last comes after all others.
        let wanted = wanted.partition::<Vec<_>, _>(|(text, _)| state.failed.contains(text));
        state.wanted = [wanted.0, wanted.1].concat();
        state.failed.retain(|text| there.contains(text));
        state.gone.extend(gone);
        state.is_busy |= !(state.wanted.is_empty() && state.gone.is_empty());
        drop(state);
        self.changed.notify_one();
        self.centred(all, &found)
    }

    fn centred(&self, all: &[Memory], found: &[Option<Vector>]) -> Vec<Option<Vector>> {
        let texts = all.iter().zip(found);
        let texts =
            texts.filter_map(|(memory, found)| Some((memory.entry.text.as_str(), found.as_ref()?)));
        let texts: Vec<_> = texts.collect();
        let mut centred = self.embedder.centred(&texts).into_iter();
        found
            .iter()
            .map(|found| found.as_ref().and_then(|_| centred.next()))
            .collect()
    }

    /// Ends the thread.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the thread if there is something to do for it; whether it has begun now.
    fn begin_if(self: &Arc<Self>, state: &mut State, has_work: bool) -> bool {
        if state.has_thread || state.is_closed || !has_work {
            return false;
        }
        state.has_thread = self.begin();
        state.has_thread
    }

    fn begin(self: &Arc<Self>) -> bool {
        let meaning = self.clone();
        let thread = thread::Builder::new().name("meaning".to_owned());
        let begun = thread.spawn(move || {
            let id = Some(rustix::thread::gettid());
            if let Err(error) = rustix::process::setpriority_process(id, NICE) {
                tracing::debug!(%error, "memories are embedded at the usual priority");
            }
            meaning.work();
        });
        begun
            .inspect_err(|error| tracing::warn!(%error, "memories are found by their words alone"))
            .is_ok()
    }

    fn work(&self) {
        let (mut fresh, mut exchanges) = (Vec::new(), Vec::new());
        let mut pause = FIRST_PAUSE;
        loop {
            let sessions = self.sessions.get();
            let work = self.next();
            let is_of_exchanges = matches!(work, Work::LookAtExchanges | Work::EmbedExchange(_));
            let done = match work {
                Work::End => return,
                Work::Rest => {
                    self.embedder.rest();
                    self.weigh();
                    continue;
                }
                Work::Load => self.load(),
                Work::Remove(gone) => {
                    let stays = |(text, _): &TextVector| !gone.contains(text);
                    fresh.retain(stays);
                    exchanges.retain(stays);
                    self.remove(gone)
                }
                Work::Embed(text, words) => self.embed(text, &words, &mut fresh),
                Work::LookAtExchanges => sessions.map_or(Ok(()), |it| self.look(it)),
                Work::EmbedExchange(id) => {
                    sessions.map_or(Ok(()), |it| self.embed_exchange(it, id, &mut exchanges))
                }
            };
            let is_due =
                fresh.len() >= AT_ONCE || (!fresh.is_empty() && self.lock().wanted.is_empty());
            let kept = if is_due || done.is_err() {
                self.keep(&mut fresh)
            } else {
                Ok(())
            };
            let is_last = exchanges.len() >= AT_ONCE || !self.has_more_exchanges(&self.lock());
            let kept = if is_last || done.is_err() {
                kept.and(self.keep_exchanges(&mut exchanges))
            } else {
                kept
            };
            self.weigh();
            let is_asked = || self.told.get().is_some_and(|told| told());
            if !is_of_exchanges && (is_due || fresh.is_empty()) && !is_asked() {
                return;
            }
            match done.and(kept) {
                Ok(()) => {
                    pause = FIRST_PAUSE;
                    self.lock().problem = None;
                }
                Err(why) => {
                    tracing::warn!(%why, "memories without a vector are found by their words alone");
                    self.lock().problem = Some(why);
                    self.pause(pause);
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }

    /// What is to be done next, once there is something.
    fn next(&self) -> Work {
        let mut state = self.lock();
        state.at_hand = None;
        let begun = Instant::now();
        loop {
            if state.is_closed {
                return Work::End;
            }
            if state.known.is_none() {
                return Work::Load;
            }
            if !state.gone.is_empty() {
                return Work::Remove(std::mem::take(&mut state.gone));
            }
            if let Some((text, words)) = state.wanted.pop() {
                state.at_hand = Some(text);
                return Work::Embed(text, words);
            }
            let sessions = self.sessions.get();
            let exchanges = sessions.map(|sessions| state.exchanges.next(sessions));
            if matches!(exchanges, Some(Ok(Work::LookAtExchanges))) {
                return Work::LookAtExchanges;
            }
            // Nothing waits for the vectors of exchanges.
            state.is_busy = false;
            self.settled.notify_all();
            let wait = match exchanges {
                Some(Ok(work)) => return work,
                Some(Err(wait)) => wait.min(IDLE),
                None => IDLE,
            };
            let waited = self.changed.wait_timeout(state, wait);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
            let is_idle = state.wanted.is_empty() && state.gone.is_empty() && !state.is_closed;
            if begun.elapsed() >= IDLE && is_idle {
                return Work::Rest;
            }
        }
    }

    /// Waits, at most until the thread has to end.
    fn pause(&self, pause: Duration) {
        let mut state = self.lock();
        state.is_busy = false;
        self.settled.notify_all();
        let open = |state: &mut State| !state.is_closed;
        drop(self.changed.wait_timeout_while(state, pause, open));
    }

    fn load(&self) -> Result<(), String> {
        if !self.store.is_there() {
            self.lock().known = Some(HashMap::new());
            return Ok(());
        }
        let loaded = self
            .runtime
            .block_on(self.store.load(self.embedder.model()));
        // Without what was kept, all of it is made again.
        let (loaded, done) = match loaded {
            Ok(loaded) => (loaded, Ok(())),
            Err(why) => (Vec::new(), Err(why)),
        };
        self.lock().known = Some(kept_vectors(loaded).collect());
        done
    }

    fn embed(
        &self,
        text: TextHash,
        words: &str,
        fresh: &mut Vec<TextVector>,
    ) -> Result<(), String> {
        let embedded = self.embedder.embed(Side::Passage, words);
        if let Ok(vector) = &embedded {
            self.drop_other_dimensions(vector);
        }
        let mut state = self.lock();
        let Ok(vector) = embedded else {
            state.failed.insert(text);
            return embedded.map(drop);
        };
        state.failed.remove(&text);
        fresh.push((text, vector.bytes()));
        if let Some(known) = &mut state.known {
            known.insert(text, vector);
        }
        Ok(())
    }

    fn keep(&self, fresh: &mut Vec<TextVector>) -> Result<(), String> {
        let fresh = std::mem::take(fresh);
        if fresh.is_empty() {
            return Ok(());
        }
        let kept = self.store.keep(self.embedder.model(), fresh);
        self.runtime.block_on(kept)
    }

    fn remove(&self, gone: Vec<TextHash>) -> Result<(), String> {
        let removed = self.runtime.block_on(self.store.remove(gone.clone()));
        removed.inspect_err(|_| self.lock().gone.extend(gone))
    }
}

fn kept_vectors(rows: Vec<TextVector>) -> impl Iterator<Item = (TextHash, Vector)> {
    let rows = rows.into_iter();
    rows.filter_map(|(text, bytes)| Some((text, Vector::read(&bytes)?)))
}

fn hash(text: &str) -> TextHash {
    Sha256::digest(text).into()
}
