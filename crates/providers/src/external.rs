//! `external`: not a model, but an external agent that drives a session as a model would (RL-24,
//! ADR 17).
//!
//! The agent's owner posts each call to the session as `{"toolName", "params"}`. This provider
//! turns the message into that call and ends the turn when its result is there. It reads only the
//! prompt. No list shows it, because there is nothing to set up and only external agents use it.

use futures_util::stream;
use samovar_core::provider::Answer;
use samovar_core::{Message, Part, Prompt, Provider, ProviderEvent, Role, Status, Usage, json};
use samovar_locale as locale;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The name under which it is resolved.
pub const EXTERNAL: &str = "external";

/// An external agent in the place of a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct External;

/// A call as the agent posts it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PostedCall {
    tool_name: String,
    params: Map<String, Value>,
}

impl Provider for External {
    fn stream(&self, prompt: Prompt) -> Answer {
        Box::pin(stream::iter([answer(&prompt)]))
    }
}

fn answer(prompt: &Prompt) -> Vec<ProviderEvent> {
    let said = prompt
        .messages
        .iter()
        .rposition(|message| message.role == Role::User);
    let Some(said) = said else {
        return says(locale::models::external_is_none());
    };
    let since = &prompt.messages[said + 1..];
    let result = since.iter().find_map(|message| status(message));
    let wanted = json::read(prompt.messages[said].text().as_bytes());
    match (result, wanted.and_then(serde_json::from_value)) {
        (Some(status), _) => says(status),
        (None, Ok(wanted)) => calls(wanted),
        (None, Err(_)) => says(locale::models::external_is_none()),
    }
}

/// How the call ended, when this is its result.
fn status(message: &Message) -> Option<&'static str> {
    message.parts.iter().find_map(|part| match part {
        Part::Outcome { outcome, .. } => Some(match outcome.status {
            Status::Done => "done",
            Status::Failed => "failed",
            Status::Denied => "denied",
            Status::Cancelled => "cancelled",
            Status::Unknown => "unknown",
        }),
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Call(_)
        | Part::Data { .. }
        | Part::Image { .. } => None,
    })
}

fn calls(wanted: PostedCall) -> Vec<ProviderEvent> {
    let (id, name) = ("external-1".to_owned(), wanted.tool_name);
    let start = ProviderEvent::ToolCallStart {
        id: id.clone(),
        name: name.clone(),
    };
    let end = ProviderEvent::ToolCallEnd {
        id,
        name,
        args: Value::Object(wanted.params),
        provider_state: None,
    };
    vec![start, end, complete("tool_calls")]
}

fn says(text: &str) -> Vec<ProviderEvent> {
    vec![ProviderEvent::TextDelta(text.to_owned()), complete("stop")]
}

fn complete(finish_reason: &str) -> ProviderEvent {
    ProviderEvent::MessageComplete {
        finish_reason: finish_reason.to_owned(),
        usage: Usage::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use samovar_core::{CallId, MessageId, Millis, Outcome};

    use super::*;

    fn message(role: Role, part: Part) -> Arc<Message> {
        Arc::new(Message::new(
            MessageId::new("m").unwrap(),
            role,
            vec![part],
            Millis(0),
        ))
    }

    fn user(text: &str) -> Arc<Message> {
        let text = text.to_owned();
        message(Role::User, Part::text(text))
    }

    fn result(status: Status) -> Arc<Message> {
        let part = Part::Outcome {
            call: CallId::new("c").unwrap(),
            name: "t".to_owned(),
            outcome: Outcome::new(status, "text"),
        };
        message(Role::Tool, part)
    }

    fn asked(messages: Vec<Arc<Message>>) -> String {
        let prompt = Prompt {
            model: EXTERNAL.to_owned(),
            layers: Vec::new(),
            tools: Arc::default(),
            messages,
            max_tokens: 1,
            temperature: 0.0,
            images: std::collections::BTreeMap::new(),
        };
        match answer(&prompt).into_iter().nth_back(1) {
            Some(ProviderEvent::TextDelta(text)) => text,
            Some(ProviderEvent::ToolCallEnd { name, args, .. }) => format!("{name} {args}"),
            other => panic!("{other:?}"),
        }
    }

    // proves RL-24
    #[test]
    fn the_last_call_that_was_posted_is_made_once_and_anything_else_is_refused() {
        let call = r#"{"toolName":"read_file","params":{"path":"a"}}"#;
        let made = r#"read_file {"path":"a"}"#;
        let refused = locale::models::external_is_none();
        assert_eq!(asked(vec![user(call)]), made);
        assert_eq!(asked(vec![user(call), result(Status::Unknown)]), "unknown");
        let again = vec![user(call), result(Status::Done), user(call)];
        assert_eq!(asked(again), made);
        for odd in [
            "hello",
            r#"{"toolName":"x"}"#,
            r#"{"toolName":"x","params":[]}"#,
            r#"{"toolName":"x","params":{},"then":1}"#,
        ] {
            assert_eq!(asked(vec![user(odd)]), refused, "{odd}");
        }
        assert_eq!(asked(Vec::new()), refused);
    }
}
