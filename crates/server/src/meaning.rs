//! What finds memories by their meaning: the model in the binary, a provider's, or nothing (MD-12).

use std::sync::Arc;
use std::time::Duration;

use samovar_embed::{Side, Vector};
use samovar_locale as locale;
use samovar_memory::{Embedded, Embedder, Meaning, Sessions};
use samovar_providers::Embeddings;
use tokio::runtime::Handle;

use crate::config::Config;
use crate::data_dir;
use crate::exchanges::OfSessions;
use crate::router::Shared;

/// The file with what they mean.
const VECTORS: &str = "vectors.db";
/// The setting without which memories are found by their words alone.
const OFF: &str = "off";
/// The setting for the model in the binary.
const EMBEDDED: &str = "embedded";
/// How long a provider may take for a query, and for what is embedded in the background.
const MAX_QUERY: Duration = Duration::from_secs(2);
const MAX_PASSAGE: Duration = Duration::from_mins(1);

impl Shared {
    /// Lets exchanges of earlier sessions be found, and these and memories by their meaning, by the settings. A model that cannot be asked keeps no server
    /// from its work.
    pub(crate) fn know_meaning(self: &Arc<Self>, config: &Config) {
        let Some(guide) = self.api.guide.get() else {
            return;
        };
        let (memories, set) = (&guide.memories, &config.memory);
        memories.know_sessions(Sessions {
            exchanges: Arc::new(OfSessions::new(self)),
            most: set.exchanges,
            quiet: set.quiet,
        });
        let embedder: Arc<dyn Embedder> = match set.embeddings.as_str() {
            OFF => return,
            EMBEDDED => match Embedded::new() {
                Some(embedded) => Arc::new(embedded),
                None => return memories.lack_meaning(locale::memory::no_model().to_owned()),
            },
            name => match self.api.registry.embeddings(name) {
                Ok(model) => Arc::new(Served {
                    model,
                    runtime: Handle::current(),
                }),
                Err(error) => return memories.lack_meaning(error.message.into_owned()),
            },
        };
        let path = set.vectors.clone();
        let store = data_dir::vectors(path.unwrap_or_else(|| config.data_dir.join(VECTORS)));
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
        // The thread is none of the runtime's: a timer has to be made within it.
        let asked = async { tokio::time::timeout(limit, self.model.embed(text)).await };
        let asked = self.runtime.block_on(asked);
        let numbers = asked.map_err(|late| late.to_string())??;
        Vector::of(&numbers).ok_or_else(|| locale::provider::no_embedding("data"))
    }
}
