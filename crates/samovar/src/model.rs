//! Which model answers, and why, as a person reads it (FC-4).

use samovar_core::Models;
use samovar_core::provider::ModelKind;
use samovar_server::providers::{Access, ProviderConfig, Registry};

/// A model and why it was chosen.
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) kind: ModelKind,
    pub(crate) reason: String,
}

/// Chooses a model for who asked for none, or for who asked for `asked`.
///
/// # Errors
/// The refusal, which says what to do.
pub(crate) fn choose(config: &ProviderConfig, asked: bool) -> Result<Choice, samovar_core::Error> {
    let registry = Registry::new(config.clone());
    let name = registry.default_name()?;
    let model = registry.resolve(&name)?;
    let usable = registry
        .providers()
        .filter(|(_, access)| *access != Access::Missing);
    let reason = match model.kind {
        _ if asked => "asked for".to_owned(),
        ModelKind::Demo => "no provider key and no model server's address is set".to_owned(),
        ModelKind::Remote | ModelKind::Local => {
            let names: Vec<_> = usable
                .filter(|(spec, _)| {
                    config.keys.contains_key(spec.name) || config.base_urls.contains_key(spec.name)
                })
                .map(|(spec, _)| spec.display_name)
                .collect();
            format!("found in the environment: {}", names.join(", "))
        }
    };
    Ok(Choice {
        name: model.name,
        kind: model.kind,
        reason,
    })
}

impl Choice {
    /// One line for a person.
    pub(crate) fn line(&self) -> String {
        let what = match self.kind {
            ModelKind::Demo => {
                " (rules, not a language model; set OPENAI_API_KEY or OPENAI_BASE_URL for one)"
            }
            ModelKind::Local => " (on this machine)",
            ModelKind::Remote => "",
        };
        format!("model: {}{what}: {}", self.name, self.reason)
    }
}
