//! What a test asks with, and what it makes of the answer.

use std::sync::Arc;

use futures_util::StreamExt as _;
use samovar_core::error::FaultCode;
use samovar_core::provider::Layer;
use samovar_core::{CallId, Message, Models as _, Outcome, Part, Prompt, ProviderEvent, ToolCall};
use samovar_doubles::talk;
use samovar_providers::{External, ProviderConfig, Registry, Secret};
use serde_json::Value;

pub(crate) const KEY: &str = "sk-secret-123";

/// The row `openai`, with [`KEY`], at this address.
pub(crate) fn config(base: &str) -> ProviderConfig {
    config_of("openai", base)
}

/// This row, with [`KEY`], at this address.
pub(crate) fn config_of(row: &str, base: &str) -> ProviderConfig {
    install_tls();
    ProviderConfig {
        keys: [(row.to_owned(), Secret::new(KEY).unwrap())].into(),
        base_urls: [(row.to_owned(), base.to_owned())].into(),
        ..ProviderConfig::default()
    }
}

/// A registry in which a provider of this crate plays `demo`.
pub(crate) fn registry_of(config: ProviderConfig) -> Registry {
    Registry::new(config, Arc::new(External))
}

/// The first test of the process installs it.
pub(crate) fn install_tls() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
}

pub(crate) fn prompt(model: &str, messages: Vec<Message>) -> Prompt {
    Prompt {
        layers: vec![Layer {
            name: "soul",
            text: "Be kind.".into(),
        }],
        max_tokens: 100,
        temperature: 0.5,
        images: std::collections::BTreeMap::new(),
        ..talk::prompt(model, messages)
    }
}

/// A prompt that offers a tool.
pub(crate) fn asking(model: &str, messages: Vec<Message>) -> Prompt {
    Prompt {
        tools: vec![talk::tool("look")].into(),
        ..prompt(model, messages)
    }
}

/// Asks the provider of the prompt's model.
pub(crate) async fn ask(registry: &Registry, prompt: Prompt) -> Vec<ProviderEvent> {
    let model = registry.resolve(&prompt.model).unwrap();
    let items: Vec<_> = model.provider.stream(prompt).collect().await;
    assert!(items.iter().all(|item| !item.is_empty()), "{items:?}");
    items.concat()
}

/// The message that an answer makes; its calls get ids of ours.
pub(crate) fn heard(events: &[ProviderEvent], turn: usize) -> Message {
    let mut parts = Vec::new();
    for event in events {
        match (event, parts.last_mut()) {
            (ProviderEvent::TextDelta(more), Some(Part::Text { text }))
            | (
                ProviderEvent::ReasoningDelta(more),
                Some(Part::Reasoning {
                    text,
                    provider_state: None,
                }),
            ) => text.push_str(more),
            (ProviderEvent::TextDelta(text), _) => parts.push(Part::text(text.clone())),
            (ProviderEvent::ReasoningDelta(text), _) => parts.push(thought(text, None)),
            (
                ProviderEvent::ReasoningEnd { provider_state },
                Some(Part::Reasoning {
                    provider_state: open @ None,
                    ..
                }),
            ) => open.clone_from(provider_state),
            (ProviderEvent::ReasoningEnd { provider_state }, _) => {
                parts.push(thought("", provider_state.clone()));
            }
            (
                ProviderEvent::ToolCallEnd {
                    name,
                    args,
                    provider_state,
                    ..
                },
                _,
            ) => {
                let id = CallId::new(&format!("call_{turn}_{}", parts.len())).unwrap();
                let mut call = ToolCall::new(id, name, args.clone());
                call.provider_state.clone_from(provider_state);
                parts.push(Part::Call(call));
            }
            (
                ProviderEvent::PromptProgress { .. }
                | ProviderEvent::ToolCallStart { .. }
                | ProviderEvent::ToolCallDelta { .. }
                | ProviderEvent::MessageComplete { .. },
                _,
            ) => {}
            (ProviderEvent::Failed { .. }, _) => panic!("{event:?}"),
        }
    }
    talk::assistant(parts)
}

fn thought(text: &str, provider_state: Option<Value>) -> Part {
    let text = text.to_owned();
    Part::Reasoning {
        text,
        provider_state,
    }
}

/// The result of a call to `look`.
pub(crate) fn result(call: &ToolCall) -> Message {
    let outcome = Outcome::done(format!("seen at {}", call.args["at"]));
    talk::result(call.id.as_str(), &call.name, &outcome)
}

/// Reasoning, text, each call, and how it ended.
pub(crate) fn summary(events: &[ProviderEvent]) -> String {
    let (mut reasoning, mut text, mut rest) = (String::new(), String::new(), Vec::new());
    for event in events {
        match event {
            ProviderEvent::ReasoningDelta(more) => reasoning.push_str(more),
            ProviderEvent::TextDelta(more) => text.push_str(more),
            ProviderEvent::ToolCallEnd { name, args, .. } => rest.push(format!("{name} {args}")),
            ProviderEvent::MessageComplete { finish_reason, .. } => {
                rest.push(finish_reason.clone());
            }
            ProviderEvent::Failed { message, .. } => rest.push(message.clone()),
            ProviderEvent::PromptProgress { .. }
            | ProviderEvent::ReasoningEnd { .. }
            | ProviderEvent::ToolCallStart { .. }
            | ProviderEvent::ToolCallDelta { .. } => {}
        }
    }
    format!("{reasoning}|{text}|{}", rest.join("|"))
}

/// The code and the words of an answer's last event.
#[track_caller]
pub(crate) fn failure(events: &[ProviderEvent]) -> (FaultCode, &str) {
    match events.last() {
        Some(ProviderEvent::Failed { code, message, .. }) => (*code, message),
        other => panic!("{other:?} is no failure"),
    }
}
