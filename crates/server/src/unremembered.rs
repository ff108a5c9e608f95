//! A turn that its owner takes back takes its memories with it.

use std::sync::{Arc, Weak};

use samovar_core::audit::{Decision, What};
use samovar_core::file_changes::{ClosedCall, TakenBack};
use samovar_core::{Clock, Code, Error, FileChanges, Future, Sender, SessionId, TurnId};
use samovar_memory::{Memories, MemoryId};

use crate::api::State;
use crate::clock::SystemClock;
use crate::engine_cell::starting;

/// What tools changed in files, and what was remembered in the same turns: a turn that its owner takes
/// back takes its memories with it.
pub(crate) struct WithMemories {
    changes: Arc<dyn FileChanges>,
    memories: Arc<Memories>,
    /// It has the tools, which have this.
    state: Weak<State>,
}

impl WithMemories {
    pub(crate) fn new(
        changes: Arc<dyn FileChanges>,
        memories: Arc<Memories>,
        state: &Arc<State>,
    ) -> Arc<Self> {
        Arc::new(Self {
            changes,
            memories,
            state: Arc::downgrade(state),
        })
    }

    /// Does something with the memories, on a thread that may block.
    async fn with_memories<A: Send + 'static>(
        &self,
        run: impl FnOnce(&Memories) -> Result<A, String> + Send + 'static,
    ) -> Result<A, String> {
        let memories = self.memories.clone();
        let done = tokio::task::spawn_blocking(move || run(&memories)).await;
        done.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn record(&self, what: What, by: &Sender, id: &MemoryId) -> Result<(), Error> {
        let decision = Decision::new(what, by.name(), SystemClock.now());
        let decision = decision.about(format!("memory {id}")).by_rule("undo");
        let state = self.state.upgrade().ok_or_else(starting)?;
        state.record(decision).await
    }
}

impl FileChanges for WithMemories {
    fn take_back<'a>(
        &'a self,
        by: &'a Sender,
        session: &'a SessionId,
        turns: &'a [TurnId],
        calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>> {
        self.changes.take_back(by, session, turns, calls)
    }

    fn unremember<'a>(
        &'a self,
        by: &'a Sender,
        turns: &'a [TurnId],
    ) -> Future<'a, Result<Vec<String>, Error>> {
        Box::pin(async move {
            // Another token than the owner's takes back what it proposed, and no memory.
            let token = by.is_guest().then(|| by.name().to_owned());
            let turns = turns.to_vec();
            let forget = move |memories: &Memories| memories.forget_turns(&turns, token.as_deref());
            let gone = self.with_memories(forget).await;
            let gone = gone.map_err(|why| Error::new(Code::StoreFailed, why))?;
            let ids: Vec<_> = gone.iter().map(ToString::to_string).collect();
            for id in &gone {
                if let Err(error) = self.record(What::MemoryRemoved, by, id).await {
                    self.put_back(by, &ids).await;
                    return Err(error);
                }
            }
            Ok(ids)
        })
    }

    fn put_back<'a>(&'a self, by: &'a Sender, ids: &'a [String]) -> Future<'a, ()> {
        Box::pin(async move {
            let ids: Vec<_> = ids.iter().filter_map(|id| MemoryId::read(id)).collect();
            if ids.is_empty() {
                return;
            }
            let again = ids.clone();
            if let Err(why) = self.with_memories(move |it| it.put_back(&again)).await {
                tracing::error!(%why, "a turn stays, but what it remembered could not be put back");
                return;
            }
            for id in &ids {
                if let Err(error) = self.record(What::MemoryChanged, by, id).await {
                    tracing::error!(%error, "a memory was put back without a record");
                }
            }
        })
    }

    fn forget<'a>(&'a self, session: &'a SessionId, turns: &'a [TurnId]) -> Future<'a, ()> {
        Box::pin(async move {
            self.memories.forget_exchanges(session, Some(turns));
            let finished = self.with_memories(|memories| {
                memories.finish();
                Ok(())
            });
            if let Err(why) = finished.await {
                tracing::error!(%why, "lines of deleted memories are still in their files");
            }
            self.changes.forget(session, turns).await;
        })
    }

    fn forget_session<'a>(&'a self, session: &'a SessionId) -> Future<'a, ()> {
        self.memories.forget_exchanges(session, None);
        self.changes.forget_session(session)
    }
}
