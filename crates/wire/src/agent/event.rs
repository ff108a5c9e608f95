//! What a stream of the default profile says (AS-5).

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One event of a stream. Borrows what it tells from the log's event wherever it can.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(description = "One event of a stream.")]
pub struct AgentStreamEvent<'a> {
    /// What happened.
    #[serde(flatten)]
    pub event: AgentStreamEventType<'a>,
    /// Tokens that the turn has cost so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

/// What happened, told apart by `type`. A client that knows these six knows them all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum AgentStreamEventType<'a> {
    /// A pass of the loop begins. The same number again: the pass was restarted, and the text since
    /// it first began is void (AS-7).
    Iteration {
        /// Which pass: 1 for the first.
        iteration: u32,
        /// How many there may be.
        max_iterations: u32,
    },
    /// The model says more.
    TextDelta {
        /// What it adds.
        content: Cow<'a, str>,
    },
    /// The model asks for a tool, and its arguments are complete.
    ToolCallStart {
        /// The call.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// An object; or a string with what the model wrote, when that was not a JSON object.
        args: Cow<'a, Value>,
    },
    /// A call has its answer. Answers come in the order of the calls.
    ToolCallResult {
        /// The call.
        id: Cow<'a, str>,
        /// The tool.
        name: Cow<'a, str>,
        /// What the model reads.
        result: Cow<'a, str>,
    },
    /// The turn is over.
    Completed {
        /// The provider's own word, or `max_iterations`, `budget`, `cancelled` (AS-6).
        finish_reason: Cow<'a, str>,
        /// How many passes it took.
        total_iterations: u32,
    },
    /// The turn ended in an error.
    Error {
        /// What happened, what was kept, one thing to do.
        message: Cow<'a, str>,
        /// The stable code.
        code: Cow<'a, str>,
    },
}

impl AgentStreamEvent<'_> {
    /// The same, without the log's event.
    pub fn into_owned(self) -> AgentStreamEvent<'static> {
        AgentStreamEvent {
            event: self.event.into_owned(),
            tokens: self.tokens,
        }
    }
}

impl<'a> AgentStreamEventType<'a> {
    /// This, without a word about tokens.
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
            Type::ToolCallResult { id, name, result } => Type::ToolCallResult {
                id: owned(id),
                name: owned(name),
                result: owned(result),
            },
            Type::Completed {
                finish_reason,
                total_iterations,
            } => Type::Completed {
                finish_reason: owned(finish_reason),
                total_iterations,
            },
            Type::Error { message, code } => Type::Error {
                message: owned(message),
                code: owned(code),
            },
        }
    }
}
