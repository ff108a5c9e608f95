//! The greeting of the global chat.

use samovar_config::{ConfigError, Resolved};
use samovar_core::command::is_blank;
use samovar_locale as text;

/// Refuses a blank greeting.
///
/// # Errors
/// [`ConfigError`]: a greeting says nothing.
pub(super) fn check(resolved: &Resolved) -> Result<(), ConfigError> {
    let chat = &resolved.settings.chat;
    let name = "chat.greeting";
    let blank = chat.greeting.as_deref().filter(|said| is_blank(said));
    if let (Some(blank), Some(key)) = (blank, resolved.keys().get(name)) {
        let right = text::config::expected_greeting();
        let place = resolved.origin(name);
        return Err(ConfigError::unusable(place, key, blank, right));
    }
    Ok(())
}
