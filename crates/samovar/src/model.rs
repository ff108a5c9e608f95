//! Which model answers, and why, as a person reads it (FC-4).

use samovar_core::provider::ModelKind;
use samovar_locale as text;
use samovar_wire::api::{ModelChoice, ModelReason};

use crate::config::{ModelFrom, Setup};

/// What to type where no provider is set up.
pub(crate) const CONNECT: &str = "export OPENAI_API_KEY=YOUR_KEY";

/// What answers, in a few words.
pub(crate) fn what(choice: &ModelChoice) -> String {
    let name = &choice.name;
    match choice.kind {
        ModelKind::Demo => text::model::demo(name),
        ModelKind::Local => text::model::local(name),
        ModelKind::Remote => name.clone(),
    }
}

/// Why it answers.
pub(crate) fn reason(choice: &ModelChoice, found: &Setup) -> String {
    match &choice.reason {
        ModelReason::Asked => asked(&found.model_from),
        ModelReason::Key {
            provider,
            origin: None,
        } => text::model::key_set(provider),
        ModelReason::Key {
            provider,
            origin: Some(origin),
        } => text::model::key_set_in(provider, origin),
        ModelReason::Local { why, .. } => why.clone(),
        ModelReason::Nothing { looked_at } if looked_at.is_empty() => {
            text::model::nothing_else().to_owned()
        }
        ModelReason::Nothing { .. } => text::model::nothing_else_near().to_owned(),
    }
}

/// Who named the model.
pub(crate) fn asked(from: &ModelFrom) -> String {
    match from {
        ModelFrom::Flag => text::config::named_by("--model"),
        ModelFrom::Elsewhere(place) => text::config::named_by(place),
        ModelFrom::Nobody => text::model::configured().to_owned(),
    }
}

/// One line for a person.
pub(crate) fn line(choice: &ModelChoice, found: &Setup) -> String {
    let (what, reason) = (what(choice), reason(choice, found));
    match choice.reason {
        ModelReason::Nothing { .. } => text::model::line_connect(what, reason, CONNECT),
        ModelReason::Asked | ModelReason::Key { .. } | ModelReason::Local { .. } => {
            text::model::line(what, reason)
        }
    }
}

/// The line for a session that is there, whose model nothing but the session decides.
pub(crate) fn line_of_session(name: &str) -> String {
    text::model::line(name, text::model::of_session())
}
