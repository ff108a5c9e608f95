//! The memory of the folder's store and the person's own: where it is, and which agents have its tools
//! and texts.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use samovar_core::Clock;
use samovar_embed::{Side, Vector};
use samovar_engine::{Audience, Guidance};
use samovar_locale as locale;
use samovar_memory::{Embedded, Embedder, Meaning, Memories, Settings, Told};
use samovar_providers::Embeddings;
use samovar_stores::SqliteVectors;
use tokio::runtime::Handle;

use crate::api::State;
use crate::config::Config;

/// The file with the long-term memory, and the folder with the daily notes, in a data directory.
const LONG_TERM: &str = "MEMORY.md";
const DAILY: &str = "memory";
/// The file with what they mean.
const VECTORS: &str = "vectors.db";
/// The setting without which memories are found by their words alone.
const OFF: &str = "off";
/// The setting for the model in the binary.
const EMBEDDED: &str = "embedded";
/// How long a provider may take for a query, and for what is embedded in the background.
const MAX_QUERY: Duration = Duration::from_secs(2);
const MAX_PASSAGE: Duration = Duration::from_mins(1);

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

impl State {
    /// Lets memories be found by their meaning, by the settings. A model that cannot be asked keeps no server
    /// from its work.
    pub(crate) fn know_meaning(&self, config: &Config) {
        let Some(guide) = self.guide.get() else {
            return;
        };
        let (memories, set) = (&guide.memories, &config.memory);
        let embedder: Arc<dyn Embedder> = match set.embeddings.as_str() {
            OFF => return,
            EMBEDDED => match Embedded::new() {
                Some(embedded) => Arc::new(embedded),
                None => return memories.lack_meaning(locale::memory::no_model().to_owned()),
            },
            name => match self.registry.embeddings(name) {
                Ok(model) => Arc::new(Served {
                    model,
                    runtime: Handle::current(),
                }),
                Err(error) => return memories.lack_meaning(error.message.into_owned()),
            },
        };
        let path = set.vectors.clone();
        let store = SqliteVectors::new(path.unwrap_or_else(|| config.data_dir.join(VECTORS)));
        memories.know_meaning(Meaning::new(embedder, Arc::new(store)));
    }
}

/// The model of a provider.
struct Served {
    model: Arc<Embeddings>,
    runtime: Handle,
}

impl Embedder for Served {
    fn model(&self) -> &str {
        self.model.name()
    }

    fn embed(&self, side: Side, text: &str) -> Result<Vector, String> {
        let limit = match side {
            Side::Query => MAX_QUERY,
            Side::Passage => MAX_PASSAGE,
        };
        let asked = tokio::time::timeout(limit, self.model.embed(text));
        let numbers = self
            .runtime
            .block_on(asked)
            .map_err(|late| late.to_string())??;
        Vector::of(&numbers).ok_or_else(|| locale::provider::no_embedding("data"))
    }
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
