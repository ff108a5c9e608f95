//! The memory of the folder's store and the person's own: where it is, which agents have its tools and texts, and that it goes
//! with what is taken back.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::{Arc, Weak};

use jiff::tz::TimeZone;
use samovar_core::audit::{Decision, What};
use samovar_core::file_changes::{ClosedCall, TakenBack};
use samovar_core::{Clock, Code, Error, FileChanges, Future, Sender, SessionId, TurnId};
use samovar_engine::{Audience, Guidance};
use samovar_locale as locale;
use samovar_memory::{Memories, Settings, Told};

use crate::api::State;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::engine_cell::starting;

/// The file with the long-term memory, and the folder with the daily notes, in a data directory.
const LONG_TERM: &str = "MEMORY.md";
const DAILY: &str = "memory";

/// Opens the memories of a configuration. May block for a moment.
pub(crate) fn open(config: &Config, clock: Arc<dyn Clock>) -> Arc<Memories> {
    let (set, dir) = (&config.memory, &config.data_dir);
    let long_term = match &set.long_term {
        Some(path) if is_file(path) => path.clone(),
        folder => folder.as_ref().unwrap_or(dir).join(LONG_TERM),
    };
    let daily = set.daily.clone();
    let (zone, remark) = match &set.zone {
        Some(zone) => (zone.clone(), None),
        None => zone(env::var_os("TZ").as_deref()),
    };
    if let Some(why) = &remark {
        tracing::warn!(%why, "notes may stand in the file of another day");
    }
    let settings = Settings {
        long_term,
        person: config.guide.own.as_ref().map(|own| own.join(LONG_TERM)),
        daily: daily.unwrap_or_else(|| dir.join(DAILY)),
        window_days: set.window_days,
        zone,
        remarks: remark.into_iter().collect(),
    };
    Arc::new(Memories::open(settings, clock))
}

/// Whether a path is that of the file itself. One that ends with a slash is a folder's, which need not
/// be there yet.
fn is_file(path: &Path) -> bool {
    let written = path.as_os_str().as_encoded_bytes();
    !written.ends_with(b"/") && path.file_name().is_some() && !path.is_dir()
}

/// The system's time zone, and why it is not the one that its variable names.
fn zone(named: Option<&OsStr>) -> (TimeZone, Option<String>) {
    let named = named.filter(|name| !name.is_empty());
    match TimeZone::try_system() {
        Ok(zone) => (zone, None),
        // Without any, a system has UTC.
        Err(_) => (
            TimeZone::UTC,
            named.map(|name| locale::memory::unknown_zone(name.display())),
        ),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    // proves AS-21
    #[test]
    fn a_path_may_name_the_file_or_its_folder() {
        let dir = tempfile::TempDir::new().unwrap();
        let there = dir.path().to_owned();
        assert!(is_file(&there.join("notes.md")));
        for folder in [
            there.clone(),
            there.join("new/"),
            "/".into(),
            there.join(".."),
        ] {
            assert!(!is_file(&folder), "{}", folder.display());
        }
    }
}
