//! llama.cpp's `llama-server`, as its README and the answers of recent builds tell: one model,
//! what its chat template can do in `/props`, `unavailable_error` while it loads. Several models
//! are listed as its router lists them; `/props` is about the first.

use serde_json::{Value, json};

use super::Question;
use crate::{
    model::{Kind, Model},
    script::Page,
};

const CONTEXT_TOKENS: u64 = 32_768;

/// A template that renders the tools, and one that has no place for them.
const WITH_TOOLS: &str = "{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}\
                          {{ message.content }}{{ message.tool_calls }}{% endfor %}";
const WITHOUT_TOOLS: &str = "{% for message in messages %}{{ message.content }}{% endfor %}";

pub(super) fn answer(question: &Question<'_>, models: &[Model]) -> Page {
    let known = ["/health", "/v1/health", "/props", "/models", "/v1/models"];
    if !known.iter().any(|path| question.gets(path)) {
        return error(404, "File Not Found", "not_found_error");
    }
    let Some(first) = models.first() else {
        return error(503, "Loading model", "unavailable_error");
    };
    match question.path {
        "/props" => Page::json(200, &props(first)),
        "/models" | "/v1/models" => Page::json(200, &list(models)),
        _ => Page::json(200, &json!({"status": "ok"})),
    }
}

fn error(code: u16, message: &str, kind: &str) -> Page {
    let error = json!({"code": code, "message": message, "type": kind});
    Page::json(code, &json!({"error": error}))
}

fn props(model: &Model) -> Value {
    let has_tools = model.has_tools();
    json!({
        "default_generation_settings": {"n_ctx": CONTEXT_TOKENS},
        "total_slots": 1,
        "model_alias": model.name,
        "model_path": format!("models/{}.gguf", model.name),
        "modalities": {"vision": false, "audio": false},
        "chat_template": if has_tools { WITH_TOOLS } else { WITHOUT_TOOLS },
        "chat_template_caps": {
            "supports_system_role": true,
            "supports_string_content": true,
            "supports_typed_content": false,
            "supports_tools": has_tools,
            "supports_tool_calls": has_tools,
            "supports_parallel_tool_calls": has_tools,
        },
        "build_info": "b8681-scripted",
    })
}

fn list(models: &[Model]) -> Value {
    let names = models.iter().map(|model| {
        let capability = match model.kind {
            Kind::Chat | Kind::Tools => "completion",
            Kind::Embeddings => "embedding",
        };
        json!({"name": model.name, "model": model.name, "capabilities": [capability]})
    });
    let data = models.iter().map(|model| {
        json!({
            "id": model.name,
            "object": "model",
            "created": 1_750_000_000,
            "owned_by": "llamacpp",
            "meta": {"n_ctx_train": CONTEXT_TOKENS, "n_params": 8_190_735_360_u64},
        })
    });
    json!({
        "models": names.collect::<Vec<_>>(),
        "object": "list",
        "data": data.collect::<Vec<_>>(),
    })
}
