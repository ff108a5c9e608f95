//! What the chat's own agent is put together from (CH-9).

use std::sync::Arc;

use samovar_chat::{AdaptiveAgent, AgentParts, Chat};
use samovar_core::Models;
use samovar_engine::{Settings, Toolbox};
use samovar_stores::memory::MemoryJournal;

use crate::clock::{SystemClock, UuidV7};

/// Lets it listen, on a journal that is memory alone.
pub(crate) fn begin(
    chat: &Chat,
    settings: &Settings,
    models: Arc<dyn Models>,
    toolbox: Arc<Toolbox>,
) -> Option<AdaptiveAgent> {
    let begun = AdaptiveAgent::begin(AgentParts {
        chat: chat.clone(),
        journal: Arc::new(MemoryJournal::new()),
        models,
        toolbox,
        clock: Arc::new(SystemClock),
        ids: Arc::new(UuidV7),
        settings: settings.clone(),
    });
    begun
        .inspect_err(|error| tracing::error!(%error, "the chat has no agent"))
        .ok()
}
