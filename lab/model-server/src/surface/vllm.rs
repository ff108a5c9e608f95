//! vLLM's server, as its documentation of the OpenAI-compatible server tells: `owned_by` is
//! `vllm`, and whether tools work is nowhere to be read.

use serde_json::{Value, json};

use super::{Question, text};
use crate::{model::Model, script::Page};

const CREATED: u64 = 1_750_000_000;
const CONTEXT_TOKENS: u64 = 32_768;
const VERSION: &str = "0.11.0";

pub(super) fn answer(question: &Question<'_>, models: &[Model]) -> Page {
    if question.gets("/v1/models") {
        let models: Vec<_> = models.iter().map(card).collect();
        return Page::json(200, &json!({"object": "list", "data": models}));
    }
    if question.gets("/version") {
        return Page::json(200, &json!({"version": VERSION}));
    }
    if question.gets("/health") {
        return text(200, "");
    }
    Page::json(404, &json!({"detail": "Not Found"}))
}

fn card(model: &Model) -> Value {
    json!({
        "id": model.name,
        "object": "model",
        "created": CREATED,
        "owned_by": "vllm",
        "root": model.name,
        "parent": null,
        "max_model_len": CONTEXT_TOKENS,
        "permission": [],
    })
}
