//! Whether this machine can hold commands, and an undo can take back what they change.

use samovar_locale::doctor as text;
use samovar_server::{Level, not_undone, try_sandbox};

use super::Finding;
use crate::config::Setup;

/// Tries the sandbox out. Without it the rest of the server works.
pub(super) async fn examine(found: &Setup) -> Option<Finding> {
    let config = found.config.clone();
    let tried = tokio::task::spawn_blocking(move || try_sandbox(&config));
    let (level, tried) = tried.await.ok().flatten()?;
    let reason = text::sandbox_why();
    Some(match (tried, level) {
        (Err(why), _) => Finding::absent("sandbox", text::sandbox_lacks(why), reason)
            .with_command("samovar config explain tools.exec.sandbox"),
        (Ok(()), Level::Namespaces) => {
            Finding::good("sandbox", text::sandbox_whole().to_owned(), reason)
        }
        (Ok(()), Level::Landlock) => {
            Finding::absent("sandbox", text::sandbox_weaker().to_owned(), reason)
        }
        (Ok(()), Level::Off) => Finding::absent("sandbox", text::sandbox_off().to_owned(), reason),
    })
}

/// Looks for what an undo would not take back.
pub(super) async fn undo(found: &Setup) -> Option<Finding> {
    let config = found.config.clone();
    let looked = tokio::task::spawn_blocking(move || not_undone(&config));
    let fact = looked.await.ok().flatten()?;
    Some(Finding::absent("undo", fact, text::undo_why()))
}
