//! Which model answers and why, for whoever explains it (FC-4).

use samovar_core::{Error, LimitSource};
use samovar_providers::registry::{Choice, Reason, Row};
use samovar_providers::{Access, Registry};
use samovar_wire::api::{
    LocalModelInfo, ModelChoice, ModelReason, ModelsAnswer, ProviderAccess, ProviderInfo,
    WindowFrom, WindowInfo,
};

/// The default model, and why it was chosen.
///
/// # Errors
/// [`Code::UnusableModel`](samovar_core::Code::UnusableModel) when there is none.
pub async fn choice(registry: &Registry) -> Result<ModelChoice, Error> {
    registry.choice().await.map(spelled)
}

/// Every provider, and the choice.
pub async fn overview(registry: &Registry) -> ModelsAnswer {
    let (chosen, refusal) = match choice(registry).await {
        Ok(chosen) => (Some(chosen), None),
        Err(error) => (None, Some(error.message.into_owned())),
    };
    let rows = registry.overview().await;
    ModelsAnswer {
        chosen,
        refusal,
        providers: rows.into_iter().map(provider).collect(),
        idle_keys: sentences(&registry.idle_keys()),
    }
}

fn sentences(facts: &[impl ToString]) -> Vec<String> {
    facts.iter().map(ToString::to_string).collect()
}

fn spelled(choice: Choice) -> ModelChoice {
    let reason = match choice.reason {
        Reason::Asked => ModelReason::Asked,
        Reason::Key {
            display_name,
            origin,
            ..
        } => ModelReason::Key {
            provider: display_name.to_owned(),
            origin,
        },
        Reason::Local { probed } => ModelReason::Local {
            why: probed.why().unwrap_or_default(),
            found: probed.models.len() as u64,
        },
        Reason::Nothing { probed, .. } => ModelReason::Nothing {
            looked_at: sentences(&probed.looked_at),
        },
    };
    ModelChoice {
        name: choice.name,
        kind: choice.kind,
        reason,
    }
}

fn provider(row: Row) -> ProviderInfo {
    let models = row.models.into_iter().map(|model| LocalModelInfo {
        name: model.name,
        tools: model.tools,
    });
    ProviderInfo {
        name: row.name.to_owned(),
        display_name: row.display_name.to_owned(),
        dialect: row.dialect.to_owned(),
        access: match row.access {
            Access::Key => ProviderAccess::Key,
            Access::Open => ProviderAccess::Open,
            Access::Missing => ProviderAccess::Missing,
        },
        set: row.set,
        default_model: row.default_model,
        base_url: row.base_url,
        seen: row.look.map(|look| look.to_string()),
        models: models.collect(),
        window: row.window.map(|window| WindowInfo {
            tokens: window.tokens,
            from: match window.source {
                LimitSource::Setting => WindowFrom::Setting,
                _ => WindowFrom::List,
            },
        }),
        is_chosen: row.is_chosen,
    }
}
