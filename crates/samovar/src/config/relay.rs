//! The rooms that the relay has from the start.

use samovar_config::{ConfigError, Relay, Resolved};

use crate::arguments;

/// Puts the names of the rooms as they are joined.
///
/// # Errors
/// [`ConfigError`]: a room has a name that none can have.
pub(super) fn set_up(relay: &mut Relay, resolved: &Resolved) -> Result<(), ConfigError> {
    relay.movie_rooms = rooms(resolved, "relay.movie_rooms", &relay.movie_rooms)?;
    relay.agent_rooms = rooms(resolved, "relay.agent_rooms", &relay.agent_rooms)?;
    relay.tool_rooms = rooms(resolved, "relay.tool_rooms", &relay.tool_rooms)?;
    Ok(())
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
