//! What a test asks with.

use std::sync::Arc;

use samovar_core::provider::Layer;
use samovar_core::{Message, MessageId, Millis, Part, Prompt, Role};
use samovar_providers::{ProviderConfig, Secret};
use serde_json::Map;

pub(crate) const KEY: &str = "sk-secret-123";

/// The row `openai`, with [`KEY`], at this address.
pub(crate) fn config(base: &str) -> ProviderConfig {
    // The first test of the process installs it.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    ProviderConfig {
        keys: [("openai".to_owned(), Secret::new(KEY).unwrap())].into(),
        base_urls: [("openai".to_owned(), base.to_owned())].into(),
        ..ProviderConfig::default()
    }
}

pub(crate) fn message(role: Role, parts: Vec<Part>) -> Message {
    Message {
        id: MessageId::new("m1").unwrap(),
        role,
        parts,
        parent: None,
        usage: None,
        model: None,
        finish_reason: None,
        metadata: Map::new(),
        created_at: Millis(0),
    }
}

pub(crate) fn said(role: Role, text: &str) -> Message {
    let text = text.to_owned();
    message(role, vec![Part::Text { text }])
}

pub(crate) fn prompt(model: &str, messages: Vec<Message>) -> Prompt {
    Prompt {
        model: model.to_owned(),
        layers: vec![Layer {
            name: "soul",
            text: "Be kind.".into(),
        }],
        tools: Vec::new().into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        max_tokens: 100,
        temperature: 0.5,
    }
}
