//! What exchanges mean: the newest get a vector once no turn runs, after all memories. Their vectors are
//! kept under a name of their own, so nothing of them is read before they are looked for.

use std::collections::{HashMap, HashSet};
use tokio::time::Instant;

use samovar_core::history::{ExchangeId, ExchangeQuery};
use samovar_core::{SessionId, TurnId};

use super::{
    Arc, Duration, IDLE, Meaning, OVERHEAD, Side, State, TextHash, TextVector, Vector, Work,
    kept_vectors,
};
use crate::exchange::{Asker, Sessions, key, words};

/// What is known of them.
#[derive(Default)]
pub(super) struct Known {
    /// Those that there are, with their vectors; `None` before they were looked at.
    all: Option<HashMap<TextHash, (ExchangeId, Option<Vector>)>>,
    /// Those without a vector, the newest last.
    lacking: Vec<ExchangeId>,
    /// Those of which none could be made.
    failed: HashSet<TextHash>,
    /// When something is to be done next; `None` if nothing has happened since.
    due: Option<Instant>,
    /// Whether they have to be looked at, whatever runs.
    is_asked: bool,
    /// Whether there may be new ones since they were looked at.
    is_stale: bool,
}

impl Known {
    /// What is to be done next, or how long nothing is.
    pub(super) fn next(&mut self, sessions: &Sessions) -> Result<Work, Duration> {
        if std::mem::take(&mut self.is_asked) {
            return Ok(Work::LookAtExchanges);
        }
        let has_work = self.is_stale || !self.lacking.is_empty();
        let Some(due) = self.due.filter(|_| has_work) else {
            return Err(IDLE);
        };
        let wait = due.saturating_duration_since(Instant::now());
        if !wait.is_zero() {
            return Err(wait);
        }
        if !sessions.exchanges.is_idle() {
            self.due = Some(Instant::now() + sessions.quiet);
            return Err(sessions.quiet);
        }
        let next = if self.is_stale {
            None
        } else {
            self.lacking.pop()
        };
        Ok(next.map_or(Work::LookAtExchanges, Work::EmbedExchange))
    }

    /// How many have no vector.
    pub(super) fn lacking(&self) -> usize {
        self.lacking.len()
    }

    /// Vectors that do not fit any more are made again: whether there were some.
    pub(super) fn drop_unless(&mut self, fits: impl Fn(&Vector) -> bool) -> bool {
        let all = self.all.iter_mut().flat_map(HashMap::values_mut);
        let others = all.filter_map(|(_, vector)| vector.take_if(|vector| !fits(vector)));
        let has_other = others.count() > 0;
        if has_other {
            self.is_stale = true;
            self.due.get_or_insert_with(Instant::now);
        }
        has_other
    }

    /// How much memory they take.
    pub(super) fn bytes(&self) -> usize {
        let all = self.all.iter().flat_map(HashMap::values);
        let dimensions = all.map(|(_, vector)| vector.as_ref().map_or(0, Vector::dimensions));
        dimensions.map(|numbers| numbers + OVERHEAD).sum()
    }

    /// How many have one.
    pub(super) fn count(&self) -> usize {
        let all = self.all.iter().flat_map(HashMap::values);
        all.filter(|(_, vector)| vector.is_some()).count()
    }
}

impl Meaning {
    /// From now on exchanges are found by what they mean, too.
    pub(crate) fn know_exchanges(&self, sessions: Sessions) {
        self.sessions.set(sessions).unwrap_or_default();
    }

    /// A turn begins: what was said before it gets vectors once it is quiet.
    pub(crate) fn turn_begins(self: &Arc<Self>) {
        let Some(sessions) = self.sessions.get() else {
            return;
        };
        let mut state = self.lock();
        state.exchanges.due = Some(Instant::now() + sessions.quiet);
        state.exchanges.is_stale = true;
        self.begin_if(&mut state, true);
    }

    /// Turns were taken back, or a session goes: the vectors of their exchanges go now, and after a quiet
    /// moment those of all that is not there any more.
    pub(crate) fn forget_exchanges(
        self: &Arc<Self>,
        session: &SessionId,
        turns: Option<&[TurnId]>,
    ) {
        let Some(sessions) = self.sessions.get() else {
            return;
        };
        let is_gone = |id: &ExchangeId| {
            id.session == *session && turns.is_none_or(|turns| turns.contains(&id.turn))
        };
        let mut state = self.lock();
        let known = &mut state.exchanges;
        known.is_stale = true;
        known
            .due
            .get_or_insert_with(|| Instant::now() + sessions.quiet);
        known.lacking.retain(|id| !is_gone(id));
        let all = known.all.iter_mut();
        let gone = all.flat_map(|all| all.extract_if(|_, (id, _)| is_gone(id)));
        let gone: Vec<_> = gone.map(|(hash, _)| hash).collect();
        state.gone.extend(gone);
        self.begin_if(&mut state, self.store.is_there());
        self.changed.notify_one();
    }

    fn look_at_exchanges(self: &Arc<Self>) {
        let mut state = self.lock();
        if self.sessions.get().is_some() && !state.is_closed {
            self.begin_if(&mut state, true);
            state.exchanges.is_asked = true;
            state.is_busy = state.has_thread;
            self.changed.notify_one();
        }
    }

    /// Sees to it that what exchanges mean is read before something is recalled.
    pub(crate) fn read_exchanges(self: &Arc<Self>) {
        if self.lock().exchanges.all.is_none() && self.store.is_there() {
            self.look_at_exchanges();
        }
    }

    /// How near the exchanges are to a query that one may find.
    pub(crate) fn cosines(
        &self,
        query: &Vector,
        asker: &Asker,
    ) -> HashMap<TextHash, (ExchangeId, f32)> {
        let state = self.lock();
        let all = state.exchanges.all.iter().flatten();
        let theirs = all.filter(|(_, (id, _))| id.begun_by == asker.begun_by);
        let near = theirs.filter_map(|(hash, (id, vector))| {
            Some((*hash, (id.clone(), vector.as_ref()?.cosine(query))))
        });
        near.collect()
    }

    /// Under what name their vectors are kept.
    fn name(&self) -> String {
        format!("{} of exchanges", self.embedder.model())
    }

    /// Reads which there are; the vectors of others are removed.
    pub(super) fn look(&self, sessions: &Sessions) -> Result<(), String> {
        let name = self.name();
        let mut state = self.lock();
        state.exchanges.is_stale = false;
        let known = state.exchanges.all.take();
        drop(state);
        let looked: Result<_, String> = self.runtime.block_on(async {
            let ids = sessions.exchanges.ids(sessions.most).await?;
            let vectors = match known {
                Some(known) => {
                    let known = known.into_iter();
                    known
                        .filter_map(|(hash, (_, vector))| Some((hash, vector?)))
                        .collect()
                }
                None if self.store.is_there() => {
                    kept_vectors(self.store.load(&name).await?).collect()
                }
                None => HashMap::new(),
            };
            Ok((ids, vectors))
        });
        let (ids, mut vectors) = looked.inspect_err(|_| {
            let known = &mut self.lock().exchanges;
            known.is_stale = true;
            known.due.get_or_insert_with(Instant::now);
        })?;
        let all = ids.into_iter().map(|id| {
            let hash = key(&id);
            (hash, (id, vectors.remove(&hash)))
        });
        let all: Vec<_> = all.collect();
        let mut state = self.lock();
        let known = &mut state.exchanges;
        known
            .failed
            .retain(|hash| all.iter().any(|(it, _)| it == hash));
        let lacking = all.iter().rev().filter(|(_, (_, vector))| vector.is_none());
        let lacking = lacking.filter(|(hash, _)| !known.failed.contains(hash));
        known.lacking = lacking.map(|(_, (id, _))| id.clone()).collect();
        known.all = Some(all.into_iter().collect());
        state.gone.extend(vectors.into_keys());
        Ok(())
    }

    /// Embeds one. What had no answer is not asked for again.
    pub(super) fn embed_exchange(
        &self,
        sessions: &Sessions,
        id: ExchangeId,
        fresh: &mut Vec<TextVector>,
    ) -> Result<(), String> {
        let hash = key(&id);
        let these = ExchangeQuery::These(vec![id]);
        let read = self.runtime.block_on(sessions.exchanges.read(these))?;
        let vector = match read.first() {
            Some(exchange) => {
                let words = words(exchange);
                let vector = self.embedder.embed(Side::Passage, &words)?;
                self.drop_other_dimensions(&vector);
                // Alone: their texts are not kept, so their languages have no means of their own.
                self.embedder.centred(&[(&words, &vector)]).pop()
            }
            None => None,
        };
        let mut state = self.lock();
        let known = &mut state.exchanges;
        let Some(vector) = vector else {
            known.failed.insert(hash);
            return Ok(());
        };
        // One that was deleted meanwhile stays away.
        if let Some((_, kept)) = known.all.as_mut().and_then(|all| all.get_mut(&hash)) {
            fresh.push((hash, vector.bytes()));
            *kept = Some(vector);
        }
        Ok(())
    }

    pub(super) fn keep_exchanges(&self, fresh: &mut Vec<TextVector>) -> Result<(), String> {
        let fresh = std::mem::take(fresh);
        if fresh.is_empty() {
            return Ok(());
        }
        self.runtime.block_on(self.store.keep(&self.name(), fresh))
    }

    /// Whether exchanges wait for a vector that can be made now.
    pub(super) fn has_more_exchanges(&self, state: &State) -> bool {
        let is_idle = |sessions: &Sessions| sessions.exchanges.is_idle();
        !state.exchanges.lacking.is_empty() && self.sessions.get().is_some_and(is_idle)
    }
}
