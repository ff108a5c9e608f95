//! One call of the model that is tested.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use samovar_core::error::FaultCode;
use samovar_core::tool::{Closer, DEFAULT_TIMEOUT, Origin, Sharing};
use samovar_core::{
    CallId, Effect, Message, MessageId, Millis, Model, Outcome, Part, Prompt, ProviderEvent, Role,
    ToolCall, ToolSpec, Usage,
};
use serde_json::Value;
use tokio::time::Instant;

/// What came of a call.
pub(super) struct Heard {
    pub(super) message: Message,
    pub(super) usage: Usage,
    pub(super) took: Duration,
    /// Why the model stopped, in its server's word; or what failed.
    pub(super) end: Result<String, (FaultCode, String)>,
}

/// Asks, and waits for the whole answer.
pub(super) async fn ask(model: &Model, prompt: Prompt) -> Heard {
    let began = Instant::now();
    let mut heard = Heard {
        message: message(Role::Assistant, Vec::new()),
        usage: Usage::default(),
        took: Duration::ZERO,
        // An answer always has an end.
        end: Ok(String::new()),
    };
    let mut answer = model.provider.stream(prompt);
    while let Some(events) = answer.next().await {
        for event in events {
            heard.take(event);
        }
    }
    heard.took = began.elapsed();
    heard
}

impl Heard {
    fn take(&mut self, event: ProviderEvent) {
        let parts = &mut self.message.parts;
        match (event, parts.last_mut()) {
            (ProviderEvent::TextDelta(more), Some(Part::Text { text }))
            | (
                ProviderEvent::ReasoningDelta(more),
                Some(Part::Reasoning {
                    text,
                    provider_state: None,
                }),
            ) => text.push_str(&more),
            (ProviderEvent::TextDelta(text), _) => parts.push(Part::text(text)),
            (ProviderEvent::ReasoningDelta(text), _) => parts.push(Part::Reasoning {
                text,
                provider_state: None,
            }),
            (
                ProviderEvent::ReasoningEnd { provider_state },
                Some(Part::Reasoning {
                    provider_state: open @ None,
                    ..
                }),
            ) => *open = provider_state,
            (ProviderEvent::ReasoningEnd { provider_state }, _) => parts.push(Part::Reasoning {
                text: String::new(),
                provider_state,
            }),
            (
                ProviderEvent::ToolCallEnd {
                    name,
                    args,
                    provider_state,
                    ..
                },
                _,
            ) => {
                if let Ok(id) = CallId::new(&format!("call_{}", parts.len())) {
                    let mut call = ToolCall::new(id, name, args);
                    call.provider_state = provider_state;
                    parts.push(Part::Call(call));
                }
            }
            (
                ProviderEvent::MessageComplete {
                    finish_reason,
                    usage,
                },
                _,
            ) => {
                self.usage = usage;
                self.end = Ok(finish_reason);
            }
            (ProviderEvent::Failed { code, message, .. }, _) => self.end = Err((code, message)),
            (
                ProviderEvent::PromptProgress { .. }
                | ProviderEvent::ToolCallStart { .. }
                | ProviderEvent::ToolCallDelta { .. },
                _,
            ) => {}
        }
    }
}

/// A message; no store ever has it.
pub(super) fn message(role: Role, parts: Vec<Part>) -> Message {
    let id = MessageId::new("test").expect("letters are an id");
    Message::new(id, role, parts, Millis(0))
}

/// The result of a call.
pub(super) fn result(call: &ToolCall, outcome: &Outcome) -> Message {
    Message::of_outcome(&call.id, &call.name, outcome, Millis(0))
}

/// A tool that only the model hears of.
pub(super) fn tool(name: &str, description: &str, parameters: Value) -> Arc<ToolSpec> {
    Arc::new(ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        effect: Effect::Read,
        asks: None,
        origin: Origin::BuiltIn,
        closed: false,
        timeout: DEFAULT_TIMEOUT,
        sharing: Sharing::Parallel,
        closer: Closer::Tool,
    })
}
