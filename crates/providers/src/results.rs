//! What came of the calls of a conversation.

use std::collections::HashMap;
use std::sync::Arc;

use samovar_core::{CallId, Message, Outcome, Part};

/// What stands for a result that is not there: its turn was stopped, or its server.
pub(crate) const NO_RESULT: &str =
    "there is no result: the call was stopped, or what came of it was lost";

/// What came of each call, wherever in the conversation it stands.
pub(crate) fn outcomes(messages: &[Arc<Message>]) -> HashMap<&CallId, &Outcome> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    let outcomes = parts.filter_map(|part| match part {
        Part::Outcome { call, outcome, .. } => Some((call, outcome)),
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Call(_)
        | Part::Data { .. }
        | Part::Image { .. } => None,
    });
    outcomes.collect()
}
