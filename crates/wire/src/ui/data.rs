//! The types of what is Samovar's own in a message: its metadata and its data parts. A client in
//! TypeScript names its messages `UIMessage<UiMetadata, UiDataTypes>`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What a message says of itself (UI-11), live and stored.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UiMetadata {
    /// Whose message it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<UiAgent>,
    /// The model that answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// Milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    /// The tokens of the turn so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UiUsage>,
    /// What the turn cost, in US dollars, if the price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Why the turn ended, in Samovar's own word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Live, where text from outside comes into the session: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tainted: Option<bool>,
    /// Of a called agent's message inside a part: how many of its parts are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<u64>,
}

/// An agent in the tree of a session.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UiAgent {
    /// `master` for the session's own agent, else `sub`.
    pub kind: String,
    /// The name of its definition.
    pub name: String,
    /// Its name for people.
    pub display_name: String,
    /// How many agents are above it.
    pub depth: u32,
    /// The names from the session's own agent down to it.
    pub path: Vec<String>,
    /// The call that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The message with that call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<String>,
}

/// Tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UiUsage {
    /// Of the prompts.
    pub input: u64,
    /// Of the answers.
    pub output: u64,
    /// Of the prompts, those that the provider had kept.
    pub cache_read: u64,
    /// Of the prompts, those that the provider keeps from now on.
    pub cache_write: u64,
}

/// The data of `data-*` parts, by the words after `data-`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct UiDataTypes {
    /// What became of a called agent, replaced in place.
    pub subagent: SubagentData,
    /// A chunk of a called agent's own message; transient.
    pub subagent_chunk: SubagentChunkData,
    /// A decision that is asked for outside the client's own calls.
    pub approval: ApprovalData,
    /// A question to the person outside the client's own calls.
    pub question: QuestionData,
    /// The model is asked again, and what it said in this step is void.
    pub retry: RetryData,
    /// What a tool tells the page; transient.
    pub ui_event: UiEventData,
    /// How far a call is; transient.
    pub call_progress: CallProgressData,
    /// How far the model is with reading the prompt; transient.
    pub prompt_progress: PromptProgressData,
}

/// What became of a called agent.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentData {
    /// Its message.
    pub message_id: String,
    /// The agent.
    pub agent: UiAgent,
    /// `queued`, `running`, `waiting`, `done`, `failed` or `cancelled`.
    pub status: String,
    /// The beginning of what it said last.
    pub summary: String,
    /// Its tokens.
    pub usage: UiUsage,
    /// Its message so far, with `subagents=messages`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Map<String, Value>>,
}

/// A chunk of a called agent's own message.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubagentChunkData {
    /// Its message.
    pub message_id: String,
    /// The agent.
    pub agent: UiAgent,
    /// The number of the chunk in that message, from 1.
    pub seq: u64,
    /// The chunk, as the agent's stream alone would have it.
    pub chunk: Map<String, Value>,
}

/// A decision that is asked for, made at `/api/approvals/{approvalId}`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApprovalData {
    /// The question, good for one answer.
    pub approval_id: String,
    /// Who asks.
    pub agent: UiAgent,
    /// The call.
    pub tool_call_id: String,
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub input: Value,
    /// Why a person is asked.
    pub reason: String,
    /// What was decided: `once`, `turn`, `always` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
}

/// A question to the person, answered at `/api/calls/{callId}`.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QuestionData {
    /// The call.
    pub call_id: String,
    /// Who asks.
    pub agent: UiAgent,
    /// The tool.
    pub tool_name: String,
    /// The question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<Value>,
    /// What can be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    /// All arguments.
    pub input: Value,
    /// The answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// An attempt that is void.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryData {
    /// The number of the step in its turn, from 1.
    pub iteration: u32,
    /// What happened.
    pub reason: String,
}

/// What a tool tells the page.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UiEventData {
    /// The call.
    pub tool_call_id: String,
    /// What it is about, in the tool's own word.
    pub kind: String,
    /// Whatever the tool gave.
    pub payload: Value,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallProgressData {
    /// The call.
    pub tool_call_id: String,
    /// Since it began.
    pub elapsed_ms: u64,
    /// What it has written.
    pub output_bytes: u64,
    /// The end of that.
    pub last: String,
    /// What a person is to know before it continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// How far the model is with reading the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PromptProgressData {
    /// Tokens that were read.
    pub read: u64,
    /// Tokens in all.
    pub total: u64,
}
