//! What `useChat` posts (UI-1): its whole history, of which the last message counts.

use std::borrow::Cow;
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
    /// What the client posted.
    pub posted: Posted,
}

/// What the last message of a post says.
#[derive(Clone, Debug)]
pub enum Posted {
    /// A person's message.
    Message(Box<SendMessageParams>),
    /// A stored message of the person with a new text.
    Edit(Box<SendMessageParams>),
    /// A stored message of the person that is answered again, with its stored text.
    Regenerate(Box<SendMessageParams>),
    /// Answers to what a turn waits for.
    Answers(ClientAnswers),
}

/// What a client's message says of calls.
#[derive(Clone, Debug, Default)]
pub struct ClientAnswers {
    /// The decisions.
    pub approvals: Vec<ApprovalResponse>,
    /// The outcomes of all calls that it has, also those that the server told it.
    pub outputs: Vec<ToolAnswer>,
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

/// The outcome of a call, as a client has it.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// The call.
    pub call: CallId,
    said: Result<Box<RawValue>, String>,
}

impl ToolAnswer {
    /// The outcome, read only where it counts.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] for JSON that is too deep.
    pub fn outcome(&self) -> Result<Outcome, Error> {
        let output = match &self.said {
            Ok(output) => output.get(),
            Err(why) => return Ok(Outcome::failed(why.as_str())),
        };
        if params::depth(output.as_bytes()) > params::MAX_DEPTH {
            let why = locale::params::too_deep(params::MAX_DEPTH as u64);
            return Err(invalid("messages", why));
        }
        Ok(match typed(output, "messages")? {
            Value::String(text) => Outcome::done(text),
            value => Outcome::done(value.to_string()).with_data(value),
        })
    }
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
    /// The message that is edited, or whose answer is made again.
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
struct UiMessage<'a> {
    #[serde(default)]
    id: Option<MessageId>,
    role: String,
    #[serde(borrow, default)]
    parts: Option<&'a RawValue>,
}

/// What counts of a part.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct UiPart<'a> {
    r#type: String,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    url: Option<Cow<'a, str>>,
    state: Option<String>,
    tool_call_id: Option<CallId>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    error_text: Option<String>,
    approval: Option<Responded>,
}

/// What a part says of its approval.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Responded {
    id: Option<ApprovalId>,
    approved: Option<bool>,
    reason: Option<String>,
}

impl<'a> UiMessage<'a> {
    /// Gives each part that can be read to something. One at a time: there may be millions.
    fn each(&self, take: &mut dyn FnMut(UiPart<'a>)) -> Result<(), Error> {
        struct Parts<'t, 'a>(&'t mut dyn FnMut(UiPart<'a>));

        impl<'a> Visitor<'a> for Parts<'_, 'a> {
            type Value = ();

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of parts")
            }

            fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
                while let Some(part) = list.next_element::<&RawValue>()? {
                    if let Ok(part) = serde_json::from_str(part.get()) {
                        (self.0)(part);
                    }
                }
                Ok(())
            }
        }

        let Some(parts) = self.parts else {
            return Ok(());
        };
        let read = serde_json::Deserializer::from_str(parts.get()).deserialize_seq(Parts(take));
        read.map_err(|error| invalid("messages", locale::params::wrong("parts", error)))
    }
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
        let Some(last) = message.or(messages.and_then(|list| list.0)) else {
            return 0;
        };
        let Ok(read) = serde_json::from_str::<UiMessage<'_>>(last.get()) else {
            return 0;
        };
        if read.role == "assistant" {
            return last.get().len();
        }
        let mut bytes = 0;
        let counted = read.each(&mut |part| {
            let url = part.url.filter(|url| url.starts_with("data:"));
            bytes += url.map_or(0, |url| url.len());
        });
        counted.map_or(0, |()| bytes)
    }

    /// Reads the body of a post.
    ///
    /// # Errors
    /// [`Code::InvalidJson`] and [`Code::InvalidParams`], as [`params::from_body`] does; the latter
    /// also for a last message that says nothing.
    pub fn read(body: &[u8]) -> Result<Self, Error> {
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
        let last: UiMessage<'_> = serde_json::from_str(last.get())
            .map_err(|error| invalid("messages", locale::params::wrong("messages", error)))?;
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
                // To get another answer, a client names the old one.
                let edited = body.message_id.filter(|_| !is_again);
                let is_edit = edited.is_some();
                let own = edited.or_else(|| last.id.clone());
                rest.insert("sessionId".into(), session.as_str().into());
                if let Some(id) = &own {
                    rest.insert("messageId".into(), id.as_str().into());
                }
                rest.extend(said(&last)?);
                let params = Box::new(params::from_object(rest)?);
                match (is_again, is_edit) {
                    (true, _) => Posted::Regenerate(params),
                    (false, true) => Posted::Edit(params),
                    (false, false) => Posted::Message(params),
                }
            }
            "assistant" => answers(&last)?,
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
fn said(message: &UiMessage<'_>) -> Result<Map<String, Value>, Error> {
    let mut texts = Vec::new();
    let mut attachments = Vec::new();
    let mut is_other = false;
    message.each(&mut |part| match part.r#type.as_str() {
        "text" => texts.extend(part.text),
        "file" => {
            let url = part.url.unwrap_or_default();
            let data = url.strip_prefix("data:");
            match data.and_then(|data| data.split_once(";base64,")) {
                Some((_, data)) => attachments.push(json!({ "data": data })),
                None => is_other = true,
            }
        }
        _ => {}
    })?;
    if is_other {
        return Err(invalid("messages", locale::ui::no_data_url()));
    }
    let mut said = Map::new();
    said.insert("content".into(), texts.join("\n").into());
    if !attachments.is_empty() {
        said.insert("attachments".into(), attachments.into());
    }
    Ok(said)
}

/// What a client answers to calls. A part that is no answer is ignored: the
/// client sends all that it has, also what the server told it.
fn answers(message: &UiMessage<'_>) -> Result<Posted, Error> {
    let mut said = ClientAnswers::default();
    message.each(&mut |part| match part.state.as_deref() {
        Some("approval-responded") => {
            let approval = part.approval.unwrap_or_default();
            if let (Some(id), Some(is_approved)) = (approval.id, approval.approved) {
                let reason = approval.reason.filter(|words| !words.trim().is_empty());
                said.approvals.push(ApprovalResponse {
                    id,
                    is_approved,
                    reason,
                });
            }
        }
        Some("output-available") => {
            if let (Some(call), Some(output)) = (part.tool_call_id, part.output) {
                let said_of = Ok(output.to_owned());
                said.outputs.push(ToolAnswer {
                    call,
                    said: said_of,
                });
            }
        }
        Some("output-error") => {
            if let Some(call) = part.tool_call_id {
                let why = Err(part.error_text.unwrap_or_default());
                said.outputs.push(ToolAnswer { call, said: why });
            }
        }
        _ => {}
    })?;
    if said.approvals.is_empty() && said.outputs.is_empty() {
        return Err(invalid("messages", locale::ui::no_answer()));
    }
    Ok(Posted::Answers(said))
}
