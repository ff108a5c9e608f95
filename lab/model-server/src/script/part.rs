//! The pieces of what the model says.

use serde_json::Value;

use super::Failure;

/// One piece of what the model says.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Reasoning, shown by the providers that show it; the script decides, not the prompt.
    Reasoning(String),
    /// Reasoning that the provider shows only to itself, sent as opaque data that is made from
    /// this text; dialects without such a thing send nothing.
    RedactedReasoning(String),
    /// Text.
    Text(String),
    /// A tool call whose fragments come one after another.
    Call(ToolCall),
    /// Tool calls whose fragments come in turns: first every call's opening, then a fragment of
    /// each until all are out.
    Interleaved(Vec<ToolCall>),
    /// An error object inside the stream; nothing of the reply comes after it, but `[DONE]` in
    /// the dialect that has it. In a body that is not a stream it is the whole body, with
    /// status 200.
    Failure(Failure),
    /// A comment line of the event stream; left out of other bodies.
    Comment(String),
    /// An event with exactly this data, valid or not; left out of other bodies. Where events
    /// have names, it has that of its data's `type`, if there is one.
    Raw(String),
}

impl From<ToolCall> for Part {
    fn from(call: ToolCall) -> Part {
        Part::Call(call)
    }
}

/// A request of the model to run a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The id.
    pub id: CallIdRule,
    /// The call's place among the calls of the reply.
    pub index: Index,
}

impl ToolCall {
    /// A call with these arguments, an id that the server makes, and the right index.
    pub fn new(name: impl Into<String>, arguments: Value) -> ToolCall {
        ToolCall {
            name: name.into(),
            arguments: Arguments::Json(arguments),
            id: CallIdRule::Made,
            index: Index::Counted,
        }
    }

    /// Sends this text as arguments, valid or not.
    #[must_use]
    pub fn raw_arguments(mut self, text: impl Into<String>) -> ToolCall {
        self.arguments = Arguments::Raw(text.into());
        self
    }

    /// Gives the call this id, which two calls may share.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> ToolCall {
        self.id = CallIdRule::Given(id.into());
        self
    }

    /// Sends no id at all.
    #[must_use]
    pub fn without_id(mut self) -> ToolCall {
        self.id = CallIdRule::Missing;
        self
    }

    /// Sets how the call's index is sent.
    #[must_use]
    pub fn index(mut self, index: Index) -> ToolCall {
        self.index = index;
        self
    }
}

/// Arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// This text, valid JSON or not.
    Raw(String),
    /// This value as compact JSON.
    Json(Value),
}

impl Arguments {
    pub(crate) fn text(&self) -> String {
        match self {
            Arguments::Raw(text) => text.clone(),
            Arguments::Json(value) => value.to_string(),
        }
    }
}

/// The id of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CallIdRule {
    /// Made by the server, unique among its replies.
    #[default]
    Made,
    /// This one.
    Given(String),
    /// None is sent, as some servers do.
    Missing,
}

/// The index of a tool call among the calls, or among the blocks, of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Index {
    /// 0, 1, 2, as it should be.
    #[default]
    Counted,
    /// This one, so that several calls share it, as some servers do.
    Fixed(usize),
    /// None is sent.
    Missing,
}

impl Index {
    /// What is sent for a call that is rightly at `counted`.
    pub(crate) fn sent(self, counted: usize) -> Option<usize> {
        match self {
            Index::Counted => Some(counted),
            Index::Fixed(index) => Some(index),
            Index::Missing => None,
        }
    }
}
