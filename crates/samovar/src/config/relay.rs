//! The relay's settings.

use std::time::Duration;

use samovar_config::{ConfigError, Resolved};
use samovar_relay::RelayConfig;
use samovar_server::RelaySettings;

use crate::arguments;

/// Takes over what is set.
///
/// # Errors
/// [`ConfigError`]: a room has a name that none can have.
pub(super) fn set_up(resolved: &Resolved) -> Result<RelaySettings, ConfigError> {
    let relay = &resolved.settings.relay;
    Ok(RelaySettings {
        relay: RelayConfig {
            strict: relay.strict,
            reply_timeout: Duration::from_secs(relay.reply_timeout_seconds.into()),
            max_rooms: usize::try_from(relay.max_rooms).unwrap_or(usize::MAX),
            ..RelayConfig::default()
        },
        movie_rooms: rooms(resolved, "relay.movie_rooms", &relay.movie_rooms)?,
        agent_rooms: rooms(resolved, "relay.agent_rooms", &relay.agent_rooms)?,
        tool_rooms: rooms(resolved, "relay.tool_rooms", &relay.tool_rooms)?,
        agent_model: relay.agent_model.clone(),
        ..RelaySettings::default()
    })
}

/// The names of rooms, as they are joined.
fn rooms(resolved: &Resolved, name: &str, written: &[String]) -> Result<Vec<String>, ConfigError> {
    let read = |written: &String| {
        arguments::room(written).map_err(|right| match resolved.keys().get(name) {
            Some(key) => ConfigError::unusable(resolved.origin(name), key, written, &right),
            None => ConfigError::from(samovar_config::Problem::UnknownKey {
                name: name.to_owned(),
                nearest: None,
            }),
        })
    };
    written.iter().map(read).collect()
}
