//! What the relay of external agents is told.

use std::time::Duration;

use samovar_config::Settings;
use samovar_server::{RelayConfig, RelaySettings};

/// Takes over what is set.
pub(super) fn set_up(settings: &Settings) -> RelaySettings {
    let relay = &settings.relay;
    RelaySettings {
        relay: RelayConfig {
            strict: relay.strict,
            reply_timeout: Duration::from_secs(relay.reply_timeout_seconds.into()),
            max_rooms: usize::try_from(relay.max_rooms).unwrap_or(usize::MAX),
            ..RelayConfig::default()
        },
        movie_rooms: relay.movie_rooms.clone(),
        agent_rooms: relay.agent_rooms.clone(),
        tool_rooms: relay.tool_rooms.clone(),
        agent_model: relay.agent_model.clone(),
        ..RelaySettings::default()
    }
}
