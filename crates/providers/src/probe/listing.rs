//! Reads the lists of models that servers send.

use std::ops::RangeInclusive;

use serde_json::Value;

use super::ProbeOutcome;
use crate::words::has_word;

/// A model as a server lists it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListedModel {
    /// The name that the server uses.
    pub(super) name: String,
    pub(super) abilities: Abilities,
    pub(super) is_loaded: bool,
    pub(super) window: Option<u64>,
    pub(super) is_llama_cpp: bool,
}

/// What a model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Abilities {
    /// Whether it can hold a conversation; what does not say that it cannot can.
    pub(super) talks: bool,
    /// Whether it can call tools, if that was said.
    pub(super) tools: Option<bool>,
    /// Whether it takes images, if that was said.
    pub(super) images: Option<bool>,
}

/// `{"data": [{"id": ..}, ..]}`, as every endpoint of the dialect lists its models.
pub(super) fn names(body: &Value) -> Result<Vec<ListedModel>, ProbeOutcome> {
    rows(body, "data")?
        .iter()
        .map(|row| named(row, "id"))
        .collect()
}

/// `{"models": [{"name": ..}, ..]}`. A model that Ollama only passes on to a service is left out: it
/// does not run here, so nobody is to be sent there unasked.
pub(super) fn ollama(body: &Value) -> Result<Vec<ListedModel>, ProbeOutcome> {
    let rows = rows(body, "models")?.iter();
    let here = rows.filter(|row| text(&row["remote_host"]).is_empty());
    here.map(|row| named(row, "name")).collect()
}

/// `{"capabilities": ["completion", "tools", ..]}`; before there were any, the template told.
pub(super) fn ollama_abilities(listed: Abilities, shown: &Value) -> Abilities {
    let capabilities = &shown["capabilities"];
    if !capabilities.is_array() {
        let template = shown["template"].as_str().filter(|text| !text.is_empty());
        return Abilities {
            tools: template.map(|template| template.contains(".Tools")),
            ..listed
        };
    }
    Abilities {
        talks: holds(capabilities, "completion"),
        tools: Some(holds(capabilities, "tools")),
        images: Some(holds(capabilities, "vision")),
    }
}

/// `{"data": [{"id": .., "type": "llm", "state": "loaded", "capabilities": ["tool_use"]}, ..]}`.
/// Once one model's capabilities are listed, a model without any has none.
pub(super) fn lm_studio(body: &Value) -> Result<Vec<ListedModel>, ProbeOutcome> {
    let rows = rows(body, "data")?;
    let tells = rows.iter().any(|row| row["capabilities"].is_array());
    let listed = rows.iter().map(|row| {
        let mut model = named(row, "id")?;
        model.abilities.talks &= matches!(text(&row["type"]), "" | "llm" | "vlm");
        model.is_loaded = row["state"] == "loaded";
        model.abilities.images = match text(&row["type"]) {
            "vlm" => Some(true),
            "llm" => Some(false),
            _ => None,
        };
        model.abilities.tools = tells.then(|| holds(&row["capabilities"], "tool_use"));
        Ok(model)
    });
    listed.collect()
}

/// The common list, beside which `{"models": [{"capabilities": ["completion"]}, ..]}` may tell, in
/// the same order, what each one does.
pub(super) fn llama_cpp(body: &Value) -> Result<Vec<ListedModel>, ProbeOutcome> {
    let mut listed = names(body)?;
    let told = body["models"].as_array().into_iter().flatten();
    for (model, told) in listed.iter_mut().zip(told) {
        let capabilities = &told["capabilities"];
        model.abilities.talks &= !capabilities.is_array() || holds(capabilities, "completion");
    }
    Ok(listed)
}

/// What the template of the model's conversation takes; it is empty where the server has none.
pub(super) fn llama_cpp_tools(props: &Value) -> Option<bool> {
    let caps = &props["chat_template_caps"];
    let told = ["supports_tool_calls", "supports_tools"].map(|name| caps[name].as_bool());
    if let Some(told) = told.into_iter().flatten().reduce(|one, other| one && other) {
        return Some(told);
    }
    let template = props["chat_template"].as_str();
    template
        .filter(|template| !template.is_empty())
        .map(|template| has_word(template, "tools"))
}

fn rows<'a>(body: &'a Value, list: &str) -> Result<&'a [Value], ProbeOutcome> {
    match body.get(list) {
        // How a server without a model writes an empty list.
        Some(Value::Null) => Ok(&[]),
        Some(Value::Array(rows)) => Ok(rows),
        Some(_) | None => Err(ProbeOutcome::NoList),
    }
}

fn named(row: &Value, name: &str) -> Result<ListedModel, ProbeOutcome> {
    let name = row[name].as_str().ok_or(ProbeOutcome::NoList)?;
    let modalities = &row["architecture"]["input_modalities"];
    Ok(ListedModel {
        name: name.to_owned(),
        abilities: Abilities {
            talks: !is_no_talker(name),
            tools: None,
            images: modalities.is_array().then(|| holds(modalities, "image")),
        },
        is_loaded: false,
        window: window(row),
        is_llama_cpp: text(&row["owned_by"]) == "llamacpp",
    })
}

/// Where lists name the window that a server gives a model, the most exact first. What a model was
/// made for stands elsewhere, and may be much more.
const WINDOWS: [&str; 7] = [
    "/meta/n_ctx",
    "/loaded_context_length",
    "/max_model_len",
    "/context_window",
    "/context_length",
    "/top_provider/context_length",
    "/max_input_tokens",
];

/// Windows that a model can have, in tokens.
const POSSIBLE: RangeInclusive<u64> = 256..=100_000_000;

fn window(row: &Value) -> Option<u64> {
    let named = WINDOWS.iter().filter_map(|place| row.pointer(place));
    let mut windows = named.filter_map(|window| match window {
        Value::String(text) => text.parse().ok(),
        window => window.as_u64(),
    });
    windows.find(|window| POSSIBLE.contains(window))
}

/// Whether a model's name says that it makes vectors or ranks texts, and does not talk.
fn is_no_talker(name: &str) -> bool {
    let name = name.to_lowercase();
    ["embed", "rerank", "minilm"]
        .iter()
        .any(|part| name.contains(part))
        || has_word(&name, "bge")
}

fn holds(list: &Value, wanted: &str) -> bool {
    let mut words = list.as_array().into_iter().flatten();
    words.any(|word| word == wanted)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests;
