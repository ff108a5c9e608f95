//! The memory of the folder's store: where it is, which agents have its tools and texts, and that it goes
//! with what is taken back.

use std::sync::Arc;

use samovar_core::file_changes::{ClosedCall, TakenBack};
use samovar_core::{Clock, Error, FileChanges, Future, SessionId, TurnId};
use samovar_engine::{Audience, Guidance};
use samovar_memory::{Memories, Settings, Told};

use crate::config::Config;

/// The file with the long-term memory, and the folder with the daily notes, in a data directory.
const LONG_TERM: &str = "MEMORY.md";
const DAILY: &str = "memory";

/// Opens the memories of a configuration. May block for a moment.
pub(crate) fn open(config: &Config, clock: Arc<dyn Clock>) -> Arc<Memories> {
    let (set, dir) = (&config.memory, &config.data_dir);
    let long_term = match &set.long_term {
        Some(file) if !file.is_dir() => file.clone(),
        folder => folder.as_ref().unwrap_or(dir).join(LONG_TERM),
    };
    let daily = set.daily.clone();
    let settings = Settings {
        long_term,
        daily: daily.unwrap_or_else(|| dir.join(DAILY)),
        window_days: set.window_days,
        zone: set.zone.clone(),
    };
    Arc::new(Memories::open(settings, clock))
}

/// What an agent is told, with the memories if it has them.
pub(crate) fn tell(memories: &Memories, audience: &Audience, guidance: Guidance) -> Guidance {
    if !audience.has_memory {
        return guidance;
    }
    let Told {
        long_term,
        events,
        today,
        is_tainted,
    } = memories.tell();
    Guidance {
        memory: long_term,
        events,
        today,
        is_foreign: guidance.is_foreign || is_tainted,
        ..guidance
    }
}

/// What tools changed in files, and what was remembered in the same turns: a turn that is taken back
/// takes its memories with it.
pub(crate) struct WithMemories {
    changes: Arc<dyn FileChanges>,
    memories: Arc<Memories>,
}

impl WithMemories {
    pub(crate) fn new(changes: Arc<dyn FileChanges>, memories: Arc<Memories>) -> Arc<Self> {
        Arc::new(Self { changes, memories })
    }
}

impl FileChanges for WithMemories {
    fn take_back<'a>(
        &'a self,
        session: &'a SessionId,
        turns: &'a [TurnId],
        calls: Vec<ClosedCall>,
    ) -> Future<'a, Result<TakenBack, Error>> {
        self.changes.take_back(session, turns, calls)
    }

    fn forget<'a>(&'a self, session: &'a SessionId, turns: &'a [TurnId]) -> Future<'a, ()> {
        Box::pin(async move {
            self.changes.forget(session, turns).await;
            let (memories, turns) = (self.memories.clone(), turns.to_vec());
            let forget = move || {
                let mut turns = turns.iter();
                turns.try_for_each(|turn| memories.forget_turn(turn).map(drop))
            };
            let forgotten = tokio::task::spawn_blocking(forget).await;
            let forgotten = forgotten.unwrap_or_else(|error| Err(error.to_string()));
            if let Err(why) = forgotten {
                tracing::warn!(%session, %why, "memories of a turn that was taken back stay");
            }
        })
    }

    fn forget_session<'a>(&'a self, session: &'a SessionId) -> Future<'a, ()> {
        self.changes.forget_session(session)
    }
}
