//! The parameters of `appendMessage` and `updateTokenUsage` (AS-17).

use samovar_core::command::{Appended, Change, Text};
use samovar_core::{
    Action, CallId, Code, Error, MessageId, Outcome, Part, Role, SessionId, ToolCall, Usage,
};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Within;

/// Maximum length of the id of an appended call, in characters: what every provider takes.
const MAX_CALL_ID_CHARS: usize = 40;
/// The same of a tool's name.
const MAX_TOOL_CHARS: usize = 64;

/// Parameters of `appendMessage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendMessageParams {
    /// The session.
    pub session_id: SessionId,
    /// The message.
    pub message: AppendedMessage,
    /// The tokens that its model call used, to be counted with the session's.
    pub token_usage: Option<CountedTokens>,
}

/// A message that is appended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppendedMessage {
    /// The id; by default the server generates one. The same message under the same id is kept once.
    pub id: Option<MessageId>,
    /// The role of the author.
    #[schemars(with = "String", extend("enum" = ["system", "user", "assistant", "tool"]))]
    pub role: Role,
    /// The text. Only a message with `toolCalls`, or of role `tool`, may have none.
    #[serde(default)]
    pub content: String,
    /// The calls of a message of role `assistant`.
    #[serde(default)]
    pub tool_calls: Vec<AppendedCall>,
    /// The call that a message of role `tool` answers: one at the end of the conversation that has no
    /// result.
    pub tool_call_id: Option<CallId>,
    /// The tool of a message of role `tool`; the one that the call names counts.
    pub name: Option<String>,
    /// Whether that call failed.
    #[serde(default)]
    pub is_error: bool,
}

/// A call of an appended message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AppendedCall {
    /// The call: 1 to 40 letters, digits, `_` and `-`.
    pub id: CallId,
    /// The tool: 1 to 64 of the same.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// Tokens that a client counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CountedTokens {
    /// Tokens read by the model.
    pub input: Within<0, { u32::MAX }>,
    /// Tokens written by the model.
    pub output: Within<0, { u32::MAX }>,
}

impl From<CountedTokens> for Usage {
    fn from(counted: CountedTokens) -> Self {
        Self {
            input: counted.input.get().into(),
            output: counted.output.get().into(),
            ..Self::default()
        }
    }
}

impl AppendMessageParams {
    /// The action, and its session.
    ///
    /// # Errors
    /// [`Code::BlankContent`], and [`Code::InvalidParams`] if a field does not fit the role.
    pub fn into_action(self) -> Result<(SessionId, Action), Error> {
        let (message, role) = (self.message.id.clone(), self.message.role);
        let appended = Appended {
            message,
            role,
            parts: self.message.into_parts()?,
            usage: self.token_usage.map(Usage::from),
        };
        Ok((self.session_id, Action::Append(Box::new(appended))))
    }
}

impl AppendedMessage {
    fn into_parts(self) -> Result<Vec<Part>, Error> {
        let is_result = self.role == Role::Tool;
        if self.tool_call_id.is_some() != is_result {
            return Err(unfit("toolCallId"));
        }
        if !is_result && self.name.is_some() {
            return Err(unfit("name"));
        }
        if !is_result && self.is_error {
            return Err(unfit("isError"));
        }
        if self.role != Role::Assistant && !self.tool_calls.is_empty() {
            return Err(unfit("toolCalls"));
        }
        if let Some(call) = self.tool_call_id {
            let outcome = if self.is_error {
                Outcome::failed(self.content)
            } else {
                Outcome::done(self.content)
            };
            let name = self.name.unwrap_or_default();
            return Ok(vec![Part::Outcome {
                call,
                name,
                outcome,
            }]);
        }
        let calls = self.tool_calls;
        let text = match calls.as_slice() {
            [_, ..] if self.content.is_empty() => None,
            _ => Some(Part::text(Text::new(self.content)?.into_string())),
        };
        for (at, call) in calls.iter().enumerate() {
            let is_first = !calls.iter().take(at).any(|other| other.id == call.id);
            if !is_first || !call.fits_providers() {
                return Err(unfit("toolCalls"));
            }
        }
        let calls = calls.into_iter().map(|call| {
            // Too deep, it stays text, as a model's would.
            let args = ToolCall::parse_args(&Value::Object(call.args).to_string());
            Part::Call(ToolCall::new(call.id, call.name, args))
        });
        Ok(text.into_iter().chain(calls).collect())
    }
}

impl AppendedCall {
    fn fits_providers(&self) -> bool {
        let fits = |text: &str, most: usize| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
            (1..=most).contains(&text.len()) && text.bytes().all(is_plain)
        };
        fits(self.id.as_str(), MAX_CALL_ID_CHARS) && fits(&self.name, MAX_TOOL_CHARS)
    }
}

fn unfit(field: &str) -> Error {
    let why = match field {
        "toolCalls" => locale::request::unfit_calls(),
        "toolCallId" => locale::request::unfit_call_id(),
        _ => locale::request::unfit_result(),
    };
    let details = json!({"parameter": format!("message.{field}")});
    Error::new(Code::InvalidParams, why).with_details(details)
}

/// Parameters of `updateTokenUsage`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTokenUsageParams {
    /// The session.
    pub session_id: SessionId,
    /// Tokens to add to those that were read by models.
    pub input: Within<0, { u32::MAX }>,
    /// Tokens to add to those that were written by models.
    pub output: Within<0, { u32::MAX }>,
}

impl UpdateTokenUsageParams {
    /// The action, and its session.
    pub fn into_action(self) -> (SessionId, Action) {
        let (input, output) = (self.input, self.output);
        let change = Change {
            usage: CountedTokens { input, output }.into(),
            ..Change::default()
        };
        (self.session_id, Action::Change(change))
    }
}
