//! What `useChat` posts (UI-1): its whole history, of which the last message counts.

use std::fmt;

use samovar_core::approval::{Answer, Decision};
use samovar_core::{ApprovalId, CallId, Code, Error, MessageId, Outcome, SessionId};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::de::{DeserializeOwned, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::agent::{CreateSessionParams, SendMessageParams};
use crate::params;

/// The longest post, in bytes: its history is passed over.
pub const MAX_POST_BYTES: usize = 32 * 1024 * 1024;

/// A post that was read.
#[derive(Clone, Debug)]
pub struct UiPost {
    /// The session, by the id of the chat.
    pub session: SessionId,
    /// What the session is opened with if it does not exist.
    pub opening: CreateSessionParams,
    /// What is said.
    pub posted: Posted,
}

/// What the last message of a post says.
#[derive(Clone, Debug)]
pub enum Posted {
    /// A person's message.
    Message(Box<SendMessageParams>),
    /// A stored message of the person that is written anew.
    Edit(Box<SendMessageParams>),
    /// A stored message of the person that is answered anew, with its stored text.
    Regenerate(Box<SendMessageParams>),
    /// Answers to what a turn waits for.
    Answers {
        /// The decisions.
        approvals: Vec<ApprovalResponse>,
        /// The outcomes of calls that the client closes, of all that it has.
        outputs: Vec<ToolAnswer>,
    },
}

/// A decision about a call.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalResponse {
    /// The question.
    pub id: ApprovalId,
    /// Whether the call may run, once.
    pub is_approved: bool,
    /// The person's words.
    pub reason: Option<String>,
}

impl ApprovalResponse {
    /// The answer of who decided.
    pub fn answer(&self, by: &str) -> Answer {
        Answer {
            decision: if self.is_approved {
                Decision::Once
            } else {
                Decision::Deny
            },
            by: by.to_owned(),
            words: self.reason.clone(),
        }
    }
}

/// The outcome of a call that the client closes.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// The call.
    pub call: CallId,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The body of a post, beside what `sendMessage` takes.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UiPost")]
pub struct PostBody<'a> {
    /// The chat: the session.
    id: SessionId,
    /// `submit-message` or `regenerate-message`.
    #[serde(default)]
    trigger: Option<String>,
    /// The message that is written or answered anew.
    #[serde(default)]
    message_id: Option<MessageId>,
    /// The client's history; only the last message is read.
    #[serde(default, borrow)]
    #[schemars(with = "Option<Vec<Value>>")]
    messages: Option<Last<'a>>,
    /// The last message, alone.
    #[serde(default, borrow)]
    #[schemars(with = "Option<Value>")]
    message: Option<&'a RawValue>,
    /// The rest.
    #[serde(flatten)]
    #[schemars(skip)]
    rest: Map<String, Value>,
}

/// The last element of a list; those before it are passed over.
struct Last<'a>(Option<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Last<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Last<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of messages")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Last<'de>, A::Error> {
                let mut found = None;
                while let Some(next) = list.next_element::<&RawValue>()? {
                    found = Some(next);
                }
                Ok(Last(found))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Last<'de>, E> {
                Ok(Last(None))
            }
        }

        deserializer.deserialize_any(List)
    }
}

/// A message as a client has it.
#[derive(Deserialize)]
struct UiMessage {
    #[serde(default)]
    id: Option<MessageId>,
    role: String,
    #[serde(default)]
    parts: Vec<Map<String, Value>>,
}

impl UiPost {
    /// How many bytes of a post may be longer than those of other requests: its images, and all of the
    /// assistant's message, of which answers alone are kept.
    pub fn longer_bytes_in(body: &[u8]) -> usize {
        #[derive(Deserialize)]
        struct Posted<'a> {
            #[serde(borrow, default)]
            messages: Option<Last<'a>>,
            #[serde(borrow, default)]
            message: Option<&'a RawValue>,
        }
        let Ok(Posted { messages, message }) = serde_json::from_slice(body) else {
            return 0;
        };
        let last = message.or(messages.and_then(|list| list.0));
        let last: Option<UiMessage> = last.and_then(|last| serde_json::from_str(last.get()).ok());
        last.map_or(0, |last| match last.role.as_str() {
            "assistant" => body.len(),
            _ => last.parts.iter().map(image_bytes).sum(),
        })
    }

    /// Reads the body of a post.
    ///
    /// # Errors
    /// [`Code::InvalidJson`] and [`Code::InvalidParams`], as [`params::from_body`] does; the latter
    /// also for a last message that says nothing.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
        if params::depth(body) > params::MAX_DEPTH {
            let why = locale::params::too_deep(params::MAX_DEPTH as u64);
            return Err(Error::new(Code::InvalidJson, why));
        }
        let body: PostBody<'_> = serde_json::from_slice(body).map_err(|error| {
            if error.is_data() {
                Error::new(Code::InvalidParams, locale::params::not_json(error))
            } else {
                Error::new(Code::InvalidJson, locale::params::not_json(error))
            }
        })?;
        let last = body
            .message
            .or(body.messages.as_ref().and_then(|list| list.0));
        let last = last.ok_or_else(|| invalid("messages", locale::ui::no_message()))?;
        let last: UiMessage = typed(last.get(), "messages")?;
        let mut rest = body.rest;
        let opening = opening(&body.id, &rest)?;
        let session = body.id;
        let is_again = match body.trigger.as_deref() {
            None | Some("submit-message") => false,
            Some("regenerate-message") => true,
            Some(other) => {
                let why = locale::ui::unknown_trigger(locale::quoted(other));
                return Err(invalid("trigger", why));
            }
        };
        let posted = match last.role.as_str() {
            "user" => {
                // To have a message answered anew, a client names the answer.
                let edited = body.message_id.filter(|_| !is_again);
                let is_edit = edited.is_some();
                let own = edited.or(last.id);
                rest.insert("sessionId".into(), session.as_str().into());
                if let Some(id) = &own {
                    rest.insert("messageId".into(), id.as_str().into());
                }
                rest.extend(said(&last.parts)?);
                let params = Box::new(params::from_object(rest)?);
                match (is_again, is_edit) {
                    (true, _) => Posted::Regenerate(params),
                    (false, true) => Posted::Edit(params),
                    (false, false) => Posted::Message(params),
                }
            }
            "assistant" => answers(&last.parts)?,
            other => {
                let why = locale::ui::foreign_role(locale::quoted(other));
                return Err(invalid("messages", why));
            }
        };
        Ok(Self {
            session,
            opening,
            posted,
        })
    }
}

fn invalid(parameter: &str, why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(Code::InvalidParams, why).with_details(json!({ "parameter": parameter }))
}

fn typed<T: DeserializeOwned>(json: &str, parameter: &str) -> Result<T, Error> {
    serde_json::from_str(json)
        .map_err(|error| invalid(parameter, locale::params::wrong(parameter, error)))
}

/// What an unknown session is opened with.
fn opening(session: &SessionId, rest: &Map<String, Value>) -> Result<CreateSessionParams, Error> {
    let mut given = Map::new();
    given.insert("sessionId".into(), session.as_str().into());
    for name in ["agent", "model"] {
        if let Some(value) = rest.get(name) {
            given.insert(name.into(), value.clone());
        }
    }
    params::from_object(given)
}

/// The text and the images of a person's message, as `sendMessage` takes them.
fn said(parts: &[Map<String, Value>]) -> Result<Map<String, Value>, Error> {
    let text = |part: &Map<String, Value>, key: &str| -> Option<String> {
        part.get(key)?.as_str().map(str::to_owned)
    };
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    for part in parts {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => texts.extend(text(part, "text")),
            Some("file") => {
                let url = text(part, "url").unwrap_or_default();
                let data = url
                    .strip_prefix("data:")
                    .and_then(|url| url.split_once(";base64,"));
                let Some((_, data)) = data else {
                    return Err(invalid("messages", locale::ui::no_data_url()));
                };
                attachments.push(json!({ "data": data }));
            }
            _ => {}
        }
    }
    let mut said = Map::new();
    said.insert("content".into(), texts.join("\n").into());
    if !attachments.is_empty() {
        said.insert("attachments".into(), attachments.into());
    }
    Ok(said)
}

/// The bytes of the image that a part is.
fn image_bytes(part: &Map<String, Value>) -> usize {
    let url = part.get("url").and_then(Value::as_str);
    let url = url.filter(|url| url.starts_with("data:"));
    url.map_or(0, str::len)
}

/// What a client answers to calls. A part that is no answer is none of the server's business: the
/// client sends all that it has, also what the server told it.
fn answers(parts: &[Map<String, Value>]) -> Result<Posted, Error> {
    let (mut approvals, mut outputs) = (Vec::new(), Vec::new());
    for part in parts {
        let part = Value::Object(part.clone());
        match part["state"].as_str() {
            Some("approval-responded") => {
                let approval = &part["approval"];
                let id = ApprovalId::deserialize(&approval["id"]);
                if let (Ok(id), Some(is_approved)) = (id, approval["approved"].as_bool()) {
                    let reason = approval["reason"].as_str();
                    let reason = reason.filter(|words| !words.trim().is_empty());
                    approvals.push(ApprovalResponse {
                        id,
                        is_approved,
                        reason: reason.map(str::to_owned),
                    });
                }
            }
            Some(state @ ("output-available" | "output-error")) => {
                if let Ok(call) = CallId::deserialize(&part["toolCallId"]) {
                    let outcome = match (&part["output"], state) {
                        (_, "output-error") => {
                            Outcome::failed(part["errorText"].as_str().unwrap_or_default())
                        }
                        (Value::String(text), _) => Outcome::done(text.as_str()),
                        (value, _) => Outcome::done(value.to_string()).with_data(value.clone()),
                    };
                    outputs.push(ToolAnswer { call, outcome });
                }
            }
            _ => {}
        }
    }
    if approvals.is_empty() && outputs.is_empty() {
        return Err(invalid("messages", locale::ui::no_answer()));
    }
    Ok(Posted::Answers { approvals, outputs })
}
