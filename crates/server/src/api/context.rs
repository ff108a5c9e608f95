//! What a model was told (MD-8).

use samovar_core::{Code, Error};
use samovar_engine::{ToldPart, ToldPrompt};
use samovar_locale as locale;
use samovar_wire::api::{BASE_PATH, ContextInfo, ContextLayer, ContextMessages, ContextParams};

use super::state::{Call, Endpoint};
use crate::tokens::Scope;

/// The layers of the owner's memory, which no other token reads (MD-11).
const OF_MEMORY: [&str; 3] = ["memory", "events", "today"];

pub(super) fn routes() -> Vec<Endpoint> {
    vec![Endpoint::showing(
        format!("{BASE_PATH}/sessions/{{id}}/context"),
        "Returns what the model of a turn was told, by layer.",
        context,
    )]
}

async fn context(call: Call, params: ContextParams) -> Result<ContextInfo, Error> {
    let engine = call.engine().await?;
    let told = engine.told(&params.id, params.turn).await?;
    let nothing = || Error::new(Code::UnknownTurn, locale::context::none());
    let mut told = told.map(info).ok_or_else(nothing)?;
    if !call.by.scope.covers(Scope::Admin) {
        told.layers
            .retain(|layer| !OF_MEMORY.contains(&layer.name.as_str()));
    }
    Ok(told)
}

fn info(told: ToldPrompt) -> ContextInfo {
    let tokens = told.tokens();
    #[expect(clippy::cast_precision_loss, reason = "a share of two digits")]
    let share = |window: u64| (tokens as f64 / window as f64 * 100.0).round() / 100.0;
    ContextInfo {
        tokens,
        window: told.window,
        share: told.window.map(share),
        turn_id: told.turn,
        model: told.model,
        layers: told.layers.into_iter().map(layer).collect(),
        tools: layer(told.tools),
        messages: ContextMessages {
            count: told.messages as u64,
            tokens: told.message_tokens,
        },
    }
}

fn layer(part: ToldPart) -> ContextLayer {
    ContextLayer {
        name: part.name,
        tokens: part.tokens,
        changed: part.changed,
        text: part.text,
    }
}
