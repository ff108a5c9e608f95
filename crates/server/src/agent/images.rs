//! A message with its images.

use samovar_core::{Action, Code, Error, SessionId};
use samovar_locale as locale;
use samovar_wire::agent::SendMessageParams;

/// The action of a message. Images are read on a thread of their own: they take tens of milliseconds.
pub(super) async fn into_action(params: SendMessageParams) -> Result<(SessionId, Action), Error> {
    if params.attachments.is_empty() {
        return params.into_action();
    }
    let read = tokio::task::spawn_blocking(|| params.into_action()).await;
    read.unwrap_or_else(|error| {
        tracing::error!(%error, "the images of a message were not read");
        Err(Error::new(Code::Internal, locale::message::not_taken()))
    })
}
