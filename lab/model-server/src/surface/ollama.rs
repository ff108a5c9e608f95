//! Ollama, as its API documentation (0.12) tells: names and digests in `/api/tags`, the
//! capabilities of one model in `/api/show`, plain text for an unknown path.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Question, text};
use crate::{
    model::{Kind, Model},
    script::{Failure, Page},
};

const VERSION: &str = "0.12.6";
const MODIFIED_AT: &str = "2025-06-15T00:00:00Z";
const BYTES: u64 = 5_000_000_000;
const CONTEXT_TOKENS: u64 = 40_960;

pub(super) fn answer(question: &Question<'_>, models: &[Model]) -> Page {
    let known: &[(&str, Method)] = &[
        ("/", Method::GET),
        ("/api/version", Method::GET),
        ("/api/tags", Method::GET),
        ("/api/show", Method::POST),
        ("/v1/models", Method::GET),
    ];
    let Some((path, method)) = known.iter().find(|(path, _)| *path == question.path) else {
        return text(404, "404 page not found");
    };
    if method != question.method {
        return text(405, "405 method not allowed");
    }
    match *path {
        "/" => text(200, "Ollama is running"),
        "/api/version" => Page::json(200, &json!({"version": VERSION})),
        "/api/tags" => Page::json(
            200,
            &json!({"models": models.iter().map(tag).collect::<Vec<_>>()}),
        ),
        "/api/show" => show(question.body, models),
        _ => Page::json(200, &list(models)),
    }
}

pub(super) fn toolless(model: &Model) -> Failure {
    let message = format!(
        "registry.ollama.ai/library/{} does not support tools",
        model.name
    );
    Failure::new(400, message).kind("api_error")
}

fn tag(model: &Model) -> Value {
    json!({
        "name": model.name,
        "model": model.name,
        "modified_at": MODIFIED_AT,
        "size": BYTES,
        "digest": digest(&model.name),
        "details": details(),
    })
}

fn show(body: Option<&Value>, models: &[Model]) -> Page {
    let name = body.and_then(|body| body.get("model").or(body.get("name")));
    let name = name.and_then(Value::as_str).unwrap_or_default();
    if name.is_empty() {
        return Page::json(400, &json!({"error": "model is required"}));
    }
    let Some(model) = models.iter().find(|model| model.name == name) else {
        return Page::json(404, &json!({"error": format!("model '{name}' not found")}));
    };
    let capabilities = match model.kind {
        Kind::Chat => json!(["completion"]),
        Kind::Tools => json!(["completion", "tools"]),
        Kind::Embeddings => json!(["embedding"]),
    };
    Page::json(
        200,
        &json!({
            "modelfile": format!("FROM {name}"),
            "template": "{{ .Prompt }}",
            "details": details(),
            "model_info": {
                "general.architecture": "scripted",
                "scripted.context_length": CONTEXT_TOKENS,
            },
            "capabilities": capabilities,
            "modified_at": MODIFIED_AT,
        }),
    )
}

fn list(models: &[Model]) -> Value {
    let models = models.iter().map(|model| {
        json!({"id": model.name, "object": "model", "created": 1_750_000_000, "owned_by": "library"})
    });
    json!({"object": "list", "data": models.collect::<Vec<_>>()})
}

fn details() -> Value {
    json!({
        "parent_model": "",
        "format": "gguf",
        "family": "scripted",
        "families": ["scripted"],
        "parameter_size": "8.2B",
        "quantization_level": "Q4_K_M",
    })
}

fn digest(name: &str) -> String {
    format!("{:x}", Bytes::copy_from_slice(&Sha256::digest(name)))
}
