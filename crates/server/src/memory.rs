//! The memory of the folder's store and the person's own: where it is, and which agents have its tools
//! and texts.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use jiff::tz::TimeZone;
use samovar_core::Clock;
use samovar_engine::{Audience, Guidance};
use samovar_locale as locale;
use samovar_memory::{Memories, Settings, Told};

use crate::config::Config;

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
    if audience.is_with_person {
        memories.turn_begins();
    }
    if !audience.has_memory {
        return guidance;
    }
    let Told {
        long_term,
        events,
        today,
        has_any,
        is_tainted,
    } = memories.tell();
    let message = audience.message.as_deref().filter(|_| has_any);
    let hits = message.and_then(|message| memories.hits(message));
    let (hits, has_outside) = hits.unzip();
    let before: String = today.into_iter().chain(hits).collect();
    Guidance {
        memory: long_term,
        events,
        today: (!before.is_empty()).then_some(before),
        has_memories: has_any,
        is_foreign: guidance.is_foreign || is_tainted || has_outside == Some(true),
        ..guidance
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
