//! A turn that its owner takes back takes its memories with it.

use std::sync::{Arc, Weak};

use samovar_core::audit::{Decision, What};
use samovar_core::file_changes::{ClosedCall, TakenBack};
use samovar_core::{Clock, Code, Error, FileChanges, Future, Sender, SessionId, TurnId};
use samovar_memory::Memories;

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
    ) -> Future<'a, Result<(), Error>> {
        Box::pin(async move {
            // No other token than the owner's changes the owner's memory.
            if by.is_guest() {
                return Ok(());
            }
            let (memories, turns) = (self.memories.clone(), turns.to_vec());
            let forgotten = tokio::task::spawn_blocking(move || memories.forget_turns(&turns));
            let forgotten = forgotten.await.map_err(|error| error.to_string());
            let forgotten = forgotten.and_then(|forgotten| forgotten);
            let forgotten = forgotten.map_err(|why| Error::new(Code::StoreFailed, why))?;
            for id in forgotten {
                let gone = Decision::new(What::MemoryRemoved, by.name(), SystemClock.now());
                let gone = gone.about(format!("memory {id}")).by_rule("undo");
                let state = self.state.upgrade().ok_or_else(starting)?;
                state.record(gone).await?;
            }
            Ok(())
        })
    }

    fn forget<'a>(&'a self, session: &'a SessionId, turns: &'a [TurnId]) -> Future<'a, ()> {
        self.changes.forget(session, turns)
    }

    fn forget_session<'a>(&'a self, session: &'a SessionId) -> Future<'a, ()> {
        self.changes.forget_session(session)
    }
}
