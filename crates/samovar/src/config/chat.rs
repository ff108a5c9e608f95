//! What the global chat is told.

use samovar_config::{ConfigError, Resolved};
use samovar_core::command::is_blank;
use samovar_locale as text;
use samovar_server::{ChatAgent, ChatConfig};

/// Takes over what is set.
///
/// # Errors
/// [`ConfigError`]: a greeting says nothing.
pub(super) fn set_up(resolved: &Resolved) -> Result<ChatConfig, ConfigError> {
    let chat = &resolved.settings.chat;
    let name = "chat.greeting";
    let blank = chat.greeting.as_deref().filter(|said| is_blank(said));
    if let (Some(blank), Some(key)) = (blank, resolved.keys().get(name)) {
        let right = text::config::expected_greeting();
        let place = resolved.origin(name);
        return Err(ConfigError::unusable(place, key, blank, right));
    }
    let count = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    Ok(ChatConfig {
        agent: match chat.agent {
            samovar_config::ChatAgent::Adaptive => ChatAgent::Adaptive,
            samovar_config::ChatAgent::Nobody => ChatAgent::Nobody,
        },
        greeting: chat.greeting.clone(),
        max_messages: count(chat.max_messages),
        max_bytes: count(chat.max_bytes),
    })
}
