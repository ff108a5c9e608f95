//! A conversation as providers get it: messages that share one id and one time, and their prompt.

use std::sync::Arc;

use samovar_core::{
    CallId, Message, MessageId, Millis, Outcome, Part, Prompt, Role, ToolCall, ToolSpec,
};
use serde_json::{Value, json};

/// A message of this role.
///
/// # Panics
///
/// Never: its id is valid.
pub fn message(role: Role, parts: Vec<Part>) -> Message {
    let id = MessageId::new("m").expect("a valid id");
    Message::new(id, role, parts, Millis(0))
}

/// A person's message.
pub fn user(text: &str) -> Message {
    message(Role::User, vec![Part::text(text)])
}

/// A model's message.
pub fn assistant(parts: Vec<Part>) -> Message {
    message(Role::Assistant, parts)
}

/// A call of the tool `name`.
///
/// # Panics
///
/// When `id` is not valid.
pub fn call(id: &str, name: &str, args: Value) -> Part {
    let id = CallId::new(id).expect("a valid id");
    Part::Call(ToolCall::new(id, name, args))
}

/// The outcome of that call.
///
/// # Panics
///
/// When `id` is not valid.
pub fn result(id: &str, name: &str, outcome: &Outcome) -> Message {
    let id = CallId::new(id).expect("a valid id");
    Message::of_outcome(&id, name, outcome, Millis(0))
}

/// A tool that takes a path.
pub fn tool(name: &str) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        description: "Looks.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        ..crate::tool_spec(name)
    })
}

/// A prompt without layers and tools.
pub fn prompt(model: &str, messages: impl IntoIterator<Item = Message>) -> Prompt {
    Prompt {
        model: model.to_owned(),
        layers: Vec::new(),
        tools: Vec::new().into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        max_tokens: 4096,
        temperature: 0.7,
        images: std::collections::BTreeMap::new(),
    }
}
