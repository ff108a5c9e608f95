//! LM Studio, as its documentation of the REST API tells (v0 of 0.3.6 and later, v1 of 0.4.0):
//! kind, state and capabilities of each model. A model without capabilities has no such field.
//! An unknown path gets status 200 with an error in it, which deceives who looks at the status.

use serde_json::{Value, json};

use super::Question;
use crate::{
    model::{Kind, Model, State},
    script::Page,
};

const CONTEXT_TOKENS: u64 = 32_768;
const BYTES: u64 = 5_000_000_000;

pub(super) fn answer(question: &Question<'_>, models: &[Model]) -> Page {
    if question.gets("/api/v0/models") {
        return Page::json(200, &list(models, v0));
    }
    if question.gets("/v1/models") {
        return Page::json(200, &list(models, short));
    }
    if question.gets("/api/v1/models") {
        let models: Vec<_> = models.iter().map(v1).collect();
        return Page::json(200, &json!({"models": models}));
    }
    let Question { method, path, .. } = question;
    let error = format!("Unexpected endpoint or method. ({method} {path})");
    Page::json(200, &json!({"error": error}))
}

fn list(models: &[Model], spelled: fn(&Model) -> Value) -> Value {
    json!({"object": "list", "data": models.iter().map(spelled).collect::<Vec<_>>()})
}

fn short(model: &Model) -> Value {
    json!({"id": model.name, "object": "model", "owned_by": "organization_owner"})
}

fn v0(model: &Model) -> Value {
    let kind = match model.kind {
        Kind::Chat | Kind::Tools => "llm",
        Kind::Embeddings => "embeddings",
    };
    let state = match model.state {
        State::Loaded => "loaded",
        State::NotLoaded => "not-loaded",
    };
    let mut spelled = json!({
        "id": model.name,
        "object": "model",
        "type": kind,
        "publisher": "scripted",
        "arch": "scripted",
        "compatibility_type": "gguf",
        "quantization": "Q4_K_M",
        "state": state,
        "max_context_length": CONTEXT_TOKENS,
    });
    if model.state == State::Loaded {
        spelled["loaded_context_length"] = CONTEXT_TOKENS.into();
    }
    if model.has_tools() {
        spelled["capabilities"] = json!(["tool_use"]);
    }
    spelled
}

fn v1(model: &Model) -> Value {
    let instances = match model.state {
        State::Loaded => {
            json!([{"id": model.name, "config": {"context_length": CONTEXT_TOKENS}}])
        }
        State::NotLoaded => json!([]),
    };
    let mut spelled = json!({
        "type": if model.kind == Kind::Embeddings { "embedding" } else { "llm" },
        "publisher": "scripted",
        "key": model.name,
        "display_name": model.name,
        "quantization": {"name": "Q4_K_M", "bits_per_weight": 4},
        "size_bytes": BYTES,
        "params_string": "8B",
        "loaded_instances": instances,
        "max_context_length": CONTEXT_TOKENS,
        "format": "gguf",
    });
    if model.kind != Kind::Embeddings {
        let has_tools = model.has_tools();
        spelled["capabilities"] = json!({"vision": false, "trained_for_tool_use": has_tools});
    }
    spelled
}
