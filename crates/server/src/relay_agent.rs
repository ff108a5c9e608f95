//! What an agent of ours in a room of a relay is put together from (RL-23).

use std::sync::Arc;

use samovar_core::Models;
use samovar_engine::Settings;
use samovar_relay::Connector;
use samovar_relay::agent::{AgentParts, RelayAgent, Study};
use samovar_stores::memory::MemoryJournal;

use crate::clock::{SystemClock, UuidV7};

/// Lets it join a room, on a journal that is memory alone. It has no tools but those of the room's
/// host; `model` is the one that answers, none for the default one of the moment.
pub fn relay_agent(
    room: String,
    way: Box<dyn Connector>,
    model: Option<String>,
    models: Arc<dyn Models>,
    settings: &Settings,
) -> RelayAgent {
    RelayAgent::begin(AgentParts {
        room,
        way,
        study: Study::default(),
        model,
        journal: Arc::new(MemoryJournal::new()),
        models,
        clock: Arc::new(SystemClock),
        ids: Arc::new(UuidV7),
        settings: settings.clone(),
    })
}
