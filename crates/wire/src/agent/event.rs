//! The events of a stream in the default profile (AS-5).

use std::borrow::Cow;

use samovar_core::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a stream. Borrows from the log's event wherever it can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "One event of a stream.")]
pub struct AgentStreamEvent<'a> {
    /// The event itself.
    #[serde(flatten)]
    pub event: AgentStreamEventType<'a>,
    /// The token usage of the turn so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// An event, distinguished by `type`. There are only these six types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum AgentStreamEventType<'a> {
    /// An iteration begins: the model is called. The same number as before means a restart, and the
    /// text since it first began is void (AS-7).
    Iteration {
        /// The number of the iteration; the first is 1.
        iteration: u32,
        /// The most iterations of the turn.
        max_iterations: u32,
    },
    /// More text of the model.
    TextDelta {
        /// The added text.
        content: Cow<'a, str>,
    },
    /// The model calls a tool; the arguments are complete.
    ToolCallStart {
        /// The call.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// An object; or a string with the model's text, if that was not a JSON object.
        args: Cow<'a, Value>,
    },
    /// The result of a call. Results come in the order of the calls.
    ToolCallResult {
        /// The call.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// The text that the model sees.
        result: Cow<'a, str>,
        /// How the call ended.
        #[schemars(
            with = "String",
            extend("enum" = ["done", "failed", "denied", "cancelled", "unknown"])
        )]
        status: Status,
    },
    /// The turn is over.
    Completed {
        /// The provider's own word, or `max_iterations`, `budget`, `failed_call`, `repeated_call`,
        /// `cancelled` or `steered` (AS-6).
        finish_reason: Cow<'a, str>,
        /// The number of iterations.
        total_iterations: u32,
        /// The limit that ended the turn, if `finishReason` is `budget`: `steps`, `tokens`, `cost` or
        /// `wall`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<Cow<'a, str>>,
    },
    /// The turn failed, or the stream ends before its turn.
    Error {
        /// What happened, what was kept, and what to do.
        message: Cow<'a, str>,
        /// The stable code.
        code: Cow<'a, str>,
    },
}

impl AgentStreamEvent<'_> {
    /// The same event, without borrowing.
    pub fn into_owned(self) -> AgentStreamEvent<'static> {
        AgentStreamEvent {
            event: self.event.into_owned(),
            tokens: self.tokens,
        }
    }
}

impl<'a> AgentStreamEventType<'a> {
    /// The same event, without token usage.
    pub(super) fn uncounted(self) -> AgentStreamEvent<'a> {
        AgentStreamEvent {
            event: self,
            tokens: None,
        }
    }

    fn into_owned(self) -> AgentStreamEventType<'static> {
        type Type<'a> = AgentStreamEventType<'a>;
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Type::Iteration {
                iteration,
                max_iterations,
            } => Type::Iteration {
                iteration,
                max_iterations,
            },
            Type::TextDelta { content } => Type::TextDelta {
                content: owned(content),
            },
            Type::ToolCallStart { id, name, args } => Type::ToolCallStart {
                id: owned(id),
                name: owned(name),
                args: Cow::Owned(args.into_owned()),
            },
            Type::ToolCallResult {
                id,
                name,
                result,
                status,
            } => Type::ToolCallResult {
                id: owned(id),
                name: owned(name),
                result: owned(result),
                status,
            },
            Type::Completed {
                finish_reason,
                total_iterations,
                limit,
            } => Type::Completed {
                finish_reason: owned(finish_reason),
                total_iterations,
                limit: limit.map(owned),
            },
            Type::Error { message, code } => Type::Error {
                message: owned(message),
                code: owned(code),
            },
        }
    }
}
