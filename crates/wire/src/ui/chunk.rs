//! The chunks of a stream: only types and keys that every released version takes (UI-4).

use std::borrow::Cow;

use samovar_core::FinishReason;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// One chunk. What is of Samovar alone is metadata or a data part.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub enum UiChunk<'a> {
    /// The message begins, or continues after an answer of the client.
    Start {
        /// The turn.
        message_id: Cow<'a, str>,
        /// The agent, the model, the turn and its time.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
    /// The model is called.
    StartStep,
    /// All that one call of the model led to is there, or waits.
    FinishStep,
    /// What the current step has is void (v7).
    ResetStep,
    /// A text begins.
    TextStart {
        /// The part, unique in the stream.
        id: String,
    },
    /// More of a text.
    TextDelta {
        /// The part.
        id: String,
        /// The added text.
        delta: Cow<'a, str>,
    },
    /// A text is complete.
    TextEnd {
        /// The part.
        id: String,
    },
    /// Thoughts begin.
    ReasoningStart {
        /// The part, unique in the stream.
        id: String,
    },
    /// More thoughts.
    ReasoningDelta {
        /// The part.
        id: String,
        /// The added text.
        delta: Cow<'a, str>,
    },
    /// Thoughts are complete.
    ReasoningEnd {
        /// The part.
        id: String,
    },
    /// A call begins.
    ToolInputStart {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// The tool.
        tool_name: Cow<'a, str>,
    },
    /// More of a call's arguments, as JSON text.
    ToolInputDelta {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// The added text.
        input_text_delta: Cow<'a, str>,
    },
    /// The arguments are complete.
    ToolInputAvailable {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// The tool.
        tool_name: Cow<'a, str>,
        /// An object; or a string with the model's text, if that was not a JSON object.
        input: Cow<'a, Value>,
    },
    /// A call waits for the person's decision.
    ToolApprovalRequest {
        /// The question, good for one answer.
        approval_id: Cow<'a, str>,
        /// The call.
        tool_call_id: Cow<'a, str>,
    },
    /// The result of a call.
    ToolOutputAvailable {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// The text that the model sees; `{text, data}` if the tool gave data for clients.
        output: Value,
    },
    /// A call failed.
    ToolOutputError {
        /// The call.
        tool_call_id: Cow<'a, str>,
        /// The text that the model sees.
        error_text: Cow<'a, str>,
    },
    /// The person denied a call.
    ToolOutputDenied {
        /// The call.
        tool_call_id: Cow<'a, str>,
    },
    /// A called agent's own chunk (UI-5).
    #[serde(rename = "data-subagent-chunk")]
    SubagentChunk {
        /// Whose chunk it is, and the chunk.
        data: AgentChunk<'a>,
        /// Always true.
        transient: bool,
    },
    /// What became of a called agent, replaced in place (UI-5).
    #[serde(rename = "data-subagent")]
    Subagent {
        /// The agent's message.
        id: String,
        /// `{messageId, agent, status, summary, usage, message?}`.
        data: Value,
    },
    /// A called agent asks for a decision, to be made at `/api/approvals/{id}` (UI-9).
    #[serde(rename = "data-approval")]
    Approval {
        /// The question.
        id: String,
        /// `{approvalId, agent, toolCallId, toolName, input, reason, decision?}`.
        data: Value,
    },
    /// A called agent asks the person, to be answered at `/api/calls/{id}` (UI-9).
    #[serde(rename = "data-question")]
    Question {
        /// The call.
        id: String,
        /// `{callId, agent, toolName, question?, options?, input, answer?}`.
        data: Value,
    },
    /// The model is asked again (UI-10).
    #[serde(rename = "data-retry")]
    Retry {
        /// `{iteration, reason}`.
        data: Value,
    },
    /// A tool tells the page something (SA-15).
    #[serde(rename = "data-ui-event")]
    UiEvent {
        /// `{toolCallId, kind, payload}`.
        data: Value,
        /// Always true.
        transient: bool,
    },
    /// How far a call is.
    #[serde(rename = "data-call-progress")]
    CallProgress {
        /// `{toolCallId, elapsedMs, outputBytes, last, note?}`.
        data: Value,
        /// Always true.
        transient: bool,
    },
    /// How far the model is with reading the prompt.
    #[serde(rename = "data-prompt-progress")]
    PromptProgress {
        /// `{read, total}`.
        data: Value,
        /// Always true.
        transient: bool,
    },
    /// More is known of the message.
    MessageMetadata {
        /// What is added.
        message_metadata: Value,
    },
    /// The turn failed, or the stream is cut.
    Error {
        /// What happened, and what to do.
        error_text: Cow<'a, str>,
    },
    /// The message is complete, or waits for the client.
    Finish {
        /// Why.
        finish_reason: UiFinishReason,
        /// Usage, cost and the true reason.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_metadata: Option<Value>,
    },
}

/// A chunk of a called agent's message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentChunk<'a> {
    /// The agent's message.
    pub message_id: &'a str,
    /// The agent, as its messages say.
    pub agent: &'a Map<String, Value>,
    /// The number of the chunk in that message, from 1.
    pub seq: u64,
    /// The chunk.
    pub chunk: &'a UiChunk<'a>,
}

/// Why a message ended, in words that every version takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UiFinishReason {
    /// The model was done.
    Stop,
    /// The answer was cut at the token limit.
    Length,
    /// The provider held something back.
    ContentFilter,
    /// It waits for the client.
    ToolCalls,
    /// It failed.
    Error,
    /// Anything else; the metadata has the word.
    Other,
}

impl From<&FinishReason> for UiFinishReason {
    fn from(reason: &FinishReason) -> Self {
        match reason {
            FinishReason::Model(word) => match word.as_str() {
                "stop" | "end_turn" | "stop_sequence" | "completed" => Self::Stop,
                "length" | "max_tokens" => Self::Length,
                "content_filter" | "content-filter" | "refusal" => Self::ContentFilter,
                "tool_calls" | "tool-calls" | "tool_use" => Self::ToolCalls,
                _ => Self::Other,
            },
            FinishReason::Error => Self::Error,
            FinishReason::MaxIterations
            | FinishReason::Budget
            | FinishReason::FailedCall
            | FinishReason::RepeatedCall
            | FinishReason::Cancelled
            | FinishReason::Steered => Self::Other,
        }
    }
}
