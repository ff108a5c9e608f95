//! A stored message, as `getMessages` returns it (AS-17).

use samovar_core::agent::{MASTER, MASTER_NAME};
use samovar_core::history::MessageRow;
use samovar_core::image::ImageType;
use samovar_core::{
    AgentPath, BlobHash, CallId, Message, MessageId, Millis, Part, Role, SessionId, Status,
    ToolCall, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A message of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMessage {
    /// The id.
    pub id: MessageId,
    /// The session.
    pub session_id: SessionId,
    /// The role of the author.
    #[schemars(with = "String", extend("enum" = ["system", "user", "assistant", "tool"]))]
    pub role: Role,
    /// The whole text, without reasoning.
    pub content: String,
    /// The tool calls, in order; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallRequest>,
    /// The call that it answers, if its role is `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<CallId>,
    /// The tool that was called, if its role is `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether the call failed, if its role is `tool`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The token usage of its model call; 0 if no model wrote it.
    pub token_usage: u64,
    /// When it was finished, in milliseconds since 1970.
    pub created_at: Millis,
    /// The pieces, in order.
    pub parts: Vec<MessagePart>,
    /// Metadata for clients: `agent`, whose it is, and `turnId`, its turn, if it has one.
    pub metadata: Map<String, Value>,
}

/// A model's tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolCallRequest {
    /// The call.
    pub id: CallId,
    /// The tool.
    pub name: String,
    /// An object; or a string with the model's text, if that was not a JSON object.
    pub args: Value,
}

/// A piece of a message, distinguished by `type`. Data that a provider stores for itself stays in
/// the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum MessagePart {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning.
    Reasoning {
        /// The readable part, often a summary, possibly empty.
        text: String,
    },
    /// A call.
    Call(ToolCallRequest),
    /// The result of a call.
    Outcome {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// How it ended.
        #[schemars(
            with = "String",
            extend("enum" = ["done", "failed", "denied", "cancelled", "unknown"])
        )]
        status: Status,
        /// The text that the model sees.
        text: String,
        /// A structured value that a client may show instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    /// Structured data that only clients read.
    Data {
        /// Its name.
        name: String,
        /// The value.
        data: Value,
    },
    /// An image.
    Image {
        /// Its bytes, which `GET /api/blobs/{hash}` returns, by their SHA-256.
        blob: BlobHash,
        /// Its format.
        #[serde(rename = "mediaType")]
        #[schemars(with = "String", extend("enum" = ["image/png", "image/jpeg", "image/webp"]))]
        media_type: ImageType,
        /// Its width, in pixels.
        width: u32,
        /// Its height, in pixels.
        height: u32,
        /// Its size, in bytes.
        bytes: u64,
    },
}

impl From<&MessageRow> for AgentMessage {
    fn from(row: &MessageRow) -> Self {
        Self::of(&row.session, &row.message, &row.agent, row.turn.as_ref())
    }
}

impl AgentMessage {
    /// A message of a session, whose it is, and its turn.
    pub fn of(
        session: &SessionId,
        message: &Message,
        agent: &AgentPath,
        turn: Option<&TurnId>,
    ) -> Self {
        let (tool_call_id, name, is_error) = match answer_of(message) {
            Some((call, name, is_error)) => (Some(call), Some(name), Some(is_error)),
            None => (None, None, None),
        };
        Self {
            id: message.id.clone(),
            session_id: session.clone(),
            role: message.role,
            content: message.text(),
            tool_calls: message.calls().map(ToolCallRequest::from).collect(),
            tool_call_id,
            name,
            is_error,
            token_usage: message.usage.map_or(0, |usage| usage.total()),
            created_at: message.created_at,
            parts: message.parts.iter().map(MessagePart::from).collect(),
            metadata: metadata(message, agent, turn),
        }
    }
}

/// The name for people of an agent whose definition is not at hand.
pub(crate) fn display_name(agent: &AgentPath) -> &str {
    match agent.name() {
        MASTER => MASTER_NAME,
        name => name,
    }
}

/// The metadata of a message, with the agent that it belongs to (SA-8), and its turn.
pub(super) fn metadata(
    message: &Message,
    agent: &AgentPath,
    turn: Option<&TurnId>,
) -> Map<String, Value> {
    let depth = agent.depth();
    let mut about = Map::new();
    let mut put = |key: &str, value: Value| about.insert(key.to_owned(), value);
    put("kind", if depth == 0 { "master" } else { "sub" }.into());
    put("name", agent.name().into());
    put("displayName", display_name(agent).into());
    put("depth", depth.into());
    put("path", agent.names().collect());
    if let Some(parent) = &message.parent {
        put("parentMessageId", parent.as_str().into());
    }
    let mut metadata = message.metadata.clone();
    // What the engine knows besides: the name for people, and the call that it answers.
    if let Some(Value::Object(known)) = metadata.remove("agent") {
        about.extend(known);
    }
    metadata.insert("agent".to_owned(), about.into());
    if let Some(turn) = turn {
        metadata.insert("turnId".to_owned(), turn.as_str().into());
    }
    metadata
}

/// The call that a message of role `tool` answers, its tool, and whether it failed.
fn answer_of(message: &Message) -> Option<(CallId, String, bool)> {
    message.parts.iter().find_map(|part| match part {
        Part::Outcome {
            call,
            name,
            outcome,
        } => Some((call.clone(), name.clone(), outcome.is_error())),
        Part::Text { .. }
        | Part::Reasoning { .. }
        | Part::Call(_)
        | Part::Data { .. }
        | Part::Image { .. } => None,
    })
}

impl From<&ToolCall> for ToolCallRequest {
    fn from(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            name: call.name.clone(),
            args: call.args.clone(),
        }
    }
}

impl From<&Part> for MessagePart {
    fn from(part: &Part) -> Self {
        match part {
            Part::Text { text } => Self::Text { text: text.clone() },
            Part::Reasoning { text, .. } => Self::Reasoning { text: text.clone() },
            Part::Call(call) => Self::Call(call.into()),
            Part::Outcome {
                call,
                name,
                outcome,
            } => Self::Outcome {
                call: call.clone(),
                name: name.clone(),
                status: outcome.status,
                text: outcome.text.clone(),
                data: outcome.data.clone(),
            },
            Part::Data { name, data } => Self::Data {
                name: name.clone(),
                data: data.clone(),
            },
            Part::Image {
                blob,
                media_type,
                width,
                height,
                bytes,
            } => Self::Image {
                blob: blob.clone(),
                media_type: *media_type,
                width: *width,
                height: *height,
                bytes: *bytes,
            },
        }
    }
}
