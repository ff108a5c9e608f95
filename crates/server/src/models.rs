//! Which model answers and why, for whoever explains it (FC-4).

use samovar_core::{Error, Models};
use samovar_providers::{Access, Dialect, Registry};
use samovar_wire::api::{ModelChoice, ModelReason, ModelsAnswer, ProviderInfo};

/// The model for who asks for none, and why it is that one.
///
/// # Errors
/// [`Code::UnusableModel`](samovar_core::Code::UnusableModel) when there is none.
pub async fn choice(registry: &Registry) -> Result<ModelChoice, Error> {
    let name = registry.default_name().await?;
    let kind = registry.resolve(&name)?.kind;
    let mut keyed = registry
        .providers()
        .filter(|(spec, access)| *access == Access::Key && spec.default_model.is_some());
    let reason = match (registry.asked().is_some(), keyed.next()) {
        (true, _) => ModelReason::Asked,
        (false, Some((spec, _))) => ModelReason::Key {
            provider: spec.display_name.to_owned(),
            variable: spec
                .env_vars
                .first()
                .copied()
                .unwrap_or_default()
                .to_owned(),
        },
        (false, None) => ModelReason::Nothing,
    };
    Ok(ModelChoice { name, kind, reason })
}

/// Every provider, and the choice.
pub async fn overview(registry: &Registry) -> ModelsAnswer {
    let (chosen, refusal) = match choice(registry).await {
        Ok(chosen) => (Some(chosen), None),
        Err(error) => (None, Some(error.message.into_owned())),
    };
    let providers = registry.providers().map(|(spec, access)| ProviderInfo {
        name: spec.name.to_owned(),
        display_name: spec.display_name.to_owned(),
        dialect: dialect(spec.dialect).to_owned(),
        access: word(access).to_owned(),
        variables: spec.env_vars.iter().map(|&name| name.to_owned()).collect(),
        default_model: spec.default_model.map(|model| spec.canonical(model)),
        models: Vec::new(),
    });
    ModelsAnswer {
        chosen,
        refusal,
        providers: providers.collect(),
    }
}

fn dialect(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Anthropic => "anthropic",
        Dialect::ChatCompletions => "chat-completions",
        Dialect::Demo => "demo",
    }
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Key => "key",
        Access::Open => "open",
        Access::Missing => "missing",
    }
}
