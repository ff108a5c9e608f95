//! What a server tells about itself, each local one in its own way.
//!
//! Versions, sizes and dates are made up and always the same; the shapes, the words and the
//! errors are those of the real ones.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    model::{Kind, Model, State},
    script::{Failure, Page},
};

const CREATED: u64 = 1_750_000_000;
const MODIFIED_AT: &str = "2025-06-15T00:00:00Z";
const BYTES: u64 = 5_000_000_000;
const CONTEXT_TOKENS: u64 = 32_768;

/// A chat template that renders the tools, and one that has no place for them.
const WITH_TOOLS: &str = "{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}\
                          {{ message.content }}{{ message.tool_calls }}{% endfor %}";
const WITHOUT_TOOLS: &str = "{% for message in messages %}{{ message.content }}{% endfor %}";

/// The server that the scripted one passes for, to clients that probe it.
///
/// Prompts are answered as the script says, whatever this is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Surface {
    /// A provider on the internet: it lists its models and nothing else.
    #[default]
    Hosted,
    /// Ollama: `/api/version`, `/api/tags` and, with the capabilities of a model, `/api/show`.
    /// It refuses tools for a model that has none.
    Ollama,
    /// LM Studio: `/api/v0/models` and `/api/v1/models` tell kind, state and tools. An unknown
    /// path gets an error with status 200, as from the real one.
    LmStudio,
    /// llama.cpp: `/props` tells what the chat template of its first model can do. Without any
    /// model it says that it is still loading.
    LlamaCpp,
    /// vLLM: its list tells who owns a model, and nothing about tools.
    Vllm,
    /// Jan: as vLLM.
    Jan,
}

/// A request that asks no model.
pub(crate) struct Question<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
}

impl Surface {
    /// The answer to a question; `None` where the dialect has to know.
    pub(crate) fn answer(self, question: &Question<'_>, models: &[Model]) -> Option<Page> {
        // What is known is a GET, but for one path of Ollama.
        let path = Some(question.path).filter(|_| *question.method == Method::GET);
        match self {
            Surface::Hosted => None,
            Surface::Ollama => Some(ollama(question, models)),
            Surface::LmStudio => Some(lm_studio(path, question, models)),
            Surface::LlamaCpp => Some(llama_cpp(path, models)),
            Surface::Vllm => Some(vllm(path, models)),
            Surface::Jan => Some(jan(path, models)),
        }
    }

    /// Refuses a prompt that offers tools to a model that has none.
    pub(crate) fn check_tools(self, model: &Model, tools: &[String]) -> Result<(), Failure> {
        if self != Surface::Ollama || tools.is_empty() || model.has_tools() {
            return Ok(());
        }
        let name = format!("registry.ollama.ai/library/{}", model.name);
        let message = format!("{name} does not support tools");
        Err(Failure::new(400, message).kind("api_error"))
    }

    /// Whether any model name will do when no model is named. A local server has what it has.
    pub(crate) fn takes_any_model(self) -> bool {
        self == Surface::Hosted
    }
}

fn text(status: u16, body: &str) -> Page {
    Page {
        status,
        content_type: "text/plain; charset=utf-8".to_owned(),
        body: body.to_owned(),
    }
}

fn each(models: &[Model], spelled: impl Fn(&Model) -> Value) -> Value {
    models.iter().map(spelled).collect()
}

/// The list of `/v1/models`.
fn list(models: &[Model], spelled: impl Fn(&Model) -> Value) -> Page {
    Page::json(
        200,
        &json!({"object": "list", "data": each(models, spelled)}),
    )
}

/// As its API documentation (0.12) tells: names and digests in `/api/tags`, the capabilities of
/// one model in `/api/show`, plain text for an unknown path.
fn ollama(question: &Question<'_>, models: &[Model]) -> Page {
    let right_method = match question.path {
        "/api/show" => Method::POST,
        "/" | "/api/version" | "/api/tags" | "/v1/models" => Method::GET,
        _ => return text(404, "404 page not found"),
    };
    if right_method != question.method {
        return text(405, "405 method not allowed");
    }
    match question.path {
        "/" => text(200, "Ollama is running"),
        "/api/version" => Page::json(200, &json!({"version": "0.12.6"})),
        "/api/tags" => Page::json(200, &json!({"models": each(models, ollama_tag)})),
        "/api/show" => ollama_show(question.body, models),
        _ => list(
            models,
            |model| json!({"id": model.name, "object": "model", "created": CREATED, "owned_by": "library"}),
        ),
    }
}

fn ollama_tag(model: &Model) -> Value {
    let digest = Bytes::copy_from_slice(&Sha256::digest(&model.name));
    json!({
        "name": model.name,
        "model": model.name,
        "modified_at": MODIFIED_AT,
        "size": BYTES,
        "digest": format!("{digest:x}"),
        "details": ollama_details(),
    })
}

fn ollama_show(body: Option<&Value>, models: &[Model]) -> Page {
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
            "details": ollama_details(),
            "model_info": {
                "general.architecture": "scripted",
                "scripted.context_length": 40_960,
            },
            "capabilities": capabilities,
            "modified_at": MODIFIED_AT,
        }),
    )
}

fn ollama_details() -> Value {
    json!({
        "parent_model": "",
        "format": "gguf",
        "family": "scripted",
        "families": ["scripted"],
        "parameter_size": "8.2B",
        "quantization_level": "Q4_K_M",
    })
}

/// As its documentation of the REST API tells (v0 of 0.3.6 and later, v1 of 0.4.0): kind, state
/// and capabilities of each model. A model without capabilities has no such field.
fn lm_studio(path: Option<&str>, question: &Question<'_>, models: &[Model]) -> Page {
    match path {
        Some("/api/v0/models") => list(models, lm_studio_v0),
        Some("/api/v1/models") => Page::json(200, &json!({"models": each(models, lm_studio_v1)})),
        Some("/v1/models") => list(
            models,
            |model| json!({"id": model.name, "object": "model", "owned_by": "organization_owner"}),
        ),
        _ => {
            let Question { method, path, .. } = question;
            let error = format!("Unexpected endpoint or method. ({method} {path})");
            Page::json(200, &json!({"error": error}))
        }
    }
}

fn lm_studio_v0(model: &Model) -> Value {
    let is_chat = model.kind != Kind::Embeddings;
    let is_loaded = model.state == State::Loaded;
    let mut spelled = json!({
        "id": model.name,
        "object": "model",
        "type": if is_chat { "llm" } else { "embeddings" },
        "publisher": "scripted",
        "arch": "scripted",
        "compatibility_type": "gguf",
        "quantization": "Q4_K_M",
        "state": if is_loaded { "loaded" } else { "not-loaded" },
        "max_context_length": CONTEXT_TOKENS,
    });
    if is_loaded {
        spelled["loaded_context_length"] = CONTEXT_TOKENS.into();
    }
    if model.has_tools() {
        spelled["capabilities"] = json!(["tool_use"]);
    }
    spelled
}

fn lm_studio_v1(model: &Model) -> Value {
    let is_chat = model.kind != Kind::Embeddings;
    let instances = match model.state {
        State::Loaded => {
            json!([{"id": model.name, "config": {"context_length": CONTEXT_TOKENS}}])
        }
        State::NotLoaded => json!([]),
    };
    let mut spelled = json!({
        "type": if is_chat { "llm" } else { "embedding" },
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
    if is_chat {
        let has_tools = model.has_tools();
        spelled["capabilities"] = json!({"vision": false, "trained_for_tool_use": has_tools});
    }
    spelled
}

/// As the README of `llama-server` and the answers of recent builds tell: one model, what its
/// chat template can do in `/props`, `unavailable_error` while it loads. Several models are
/// listed as its router lists them; `/props` is about the first.
fn llama_cpp(path: Option<&str>, models: &[Model]) -> Page {
    let error = |code: u16, message: &str, kind: &str| {
        let error = json!({"code": code, "message": message, "type": kind});
        Page::json(code, &json!({"error": error}))
    };
    match (path, models.first()) {
        (Some("/health" | "/v1/health" | "/props" | "/models" | "/v1/models"), None) => {
            error(503, "Loading model", "unavailable_error")
        }
        (Some("/health" | "/v1/health"), _) => Page::json(200, &json!({"status": "ok"})),
        (Some("/props"), Some(first)) => Page::json(200, &llama_cpp_props(first)),
        (Some("/models" | "/v1/models"), _) => Page::json(200, &llama_cpp_list(models)),
        _ => error(404, "File Not Found", "not_found_error"),
    }
}

fn llama_cpp_props(model: &Model) -> Value {
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

fn llama_cpp_list(models: &[Model]) -> Value {
    let names = each(models, |model| {
        let is_chat = model.kind != Kind::Embeddings;
        let capability = if is_chat { "completion" } else { "embedding" };
        json!({"name": model.name, "model": model.name, "capabilities": [capability]})
    });
    let data = each(models, |model| {
        json!({
            "id": model.name,
            "object": "model",
            "created": CREATED,
            "owned_by": "llamacpp",
            "meta": {"n_ctx_train": CONTEXT_TOKENS, "n_params": 8_190_735_360_u64},
        })
    });
    json!({"models": names, "object": "list", "data": data})
}

/// As its documentation of the OpenAI-compatible server tells: `owned_by` is `vllm`, and whether
/// tools work is nowhere to be read.
fn vllm(path: Option<&str>, models: &[Model]) -> Page {
    match path {
        Some("/v1/models") => list(models, |model| {
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
        }),
        Some("/version") => Page::json(200, &json!({"version": "0.11.0"})),
        Some("/health") => text(200, ""),
        _ => Page::json(404, &json!({"detail": "Not Found"})),
    }
}

/// As its source tells: the models that run, owned by `llama.cpp`, each made in second 1.
fn jan(path: Option<&str>, models: &[Model]) -> Page {
    if path != Some("/v1/models") {
        return text(404, "Not Found");
    }
    let running = models.iter().filter(|model| model.state == State::Loaded);
    let running: Vec<_> = running.cloned().collect();
    list(
        &running,
        |model| json!({"id": model.name, "object": "model", "created": 1, "owned_by": "llama.cpp"}),
    )
}
