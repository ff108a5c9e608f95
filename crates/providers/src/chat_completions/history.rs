//! The conversation as the dialect writes it, in an order that the strictest server takes: one
//! system message, first; no two messages of the user in a row; every call followed by its result.

use std::borrow::Cow;

use samovar_core::{CallId, Message, Part, Prompt, Role, ToolCall};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::details::{EXTRA_CONTENT, REASONING_DETAILS};
use super::thoughts::{self, Thoughts};
use crate::endpoint::Endpoint;
use crate::fingerprint::Fingerprint;
use crate::habits::Habits;
use crate::images::{Piece, pieces};
use crate::results::{NO_RESULT, Outcomes};
use crate::specs::{ProviderSpec, Quirk};
use crate::state;

/// Calls that one message may ask for. A model may ask for more, and then its servers refuse to take
/// the message back.
const MAX_CALLS: usize = 128;

/// What the assistant is made to say where a turn ended behind a result, for servers that insist.
const BROKEN_OFF: &str = "(The turn was broken off here.)";

/// A message.
#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub(super) enum MessageParam<'a> {
    System {
        content: Cow<'a, str>,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        reasoning_details: Vec<&'a Value>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: &'a str,
    },
}

/// What a user says: text alone, which every server takes, or with images.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart<'a>>),
}

/// A piece of what a user says.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
pub(super) struct ImageUrl {
    url: String,
}

impl<'a> Content<'a> {
    /// Adds another message of the user.
    fn push(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Text(text), Self::Text(more)) => {
                let text = text.to_mut();
                text.push_str("\n\n");
                text.push_str(&more);
            }
            (_, more) => {
                let mut parts = std::mem::replace(self, Self::Parts(Vec::new())).into_parts();
                parts.extend(more.into_parts());
                *self = Self::Parts(parts);
            }
        }
    }

    fn into_parts(self) -> Vec<ContentPart<'a>> {
        match self {
            Self::Text(text) => vec![ContentPart::Text { text }],
            Self::Parts(parts) => parts,
        }
    }
}

impl<'a> From<Piece<'a>> for ContentPart<'a> {
    fn from(piece: Piece<'a>) -> Self {
        match piece {
            Piece::Text(text) => Self::Text { text },
            Piece::Image { media_type, data } => Self::ImageUrl {
                image_url: ImageUrl {
                    url: format!("data:{media_type};base64,{data}"),
                },
            },
        }
    }
}

/// A call that the assistant asked for.
#[derive(Serialize)]
pub(super) struct Call<'a> {
    id: Cow<'a, str>,
    r#type: &'static str,
    function: Function<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a Value>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Arguments<'a>,
}

/// A call's arguments, which the dialect writes as JSON inside a string.
enum Arguments<'a> {
    Json(&'a Value),
    /// What the model wrote, for servers that take any text back.
    Verbatim(&'a str),
    /// The same, for servers that read it: as an object.
    Wrapped(&'a str),
}

impl Serialize for Arguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Json(args) => serializer.collect_str(args),
            Self::Verbatim(text) => serializer.serialize_str(text),
            Self::Wrapped(text) => serializer.collect_str(&json!({ "text": text })),
        }
    }
}

/// The messages of a request.
pub(super) fn messages<'a>(
    endpoint: &Endpoint,
    prompt: &'a Prompt,
    habits: &Habits,
    thoughts: &Thoughts,
) -> Vec<MessageParam<'a>> {
    let mut history = History {
        spec: endpoint.spec,
        prompt,
        takes_any_args: endpoint.spec.has(Quirk::AnyArguments) && endpoint.is_makers_own(),
        habits,
        thoughts,
        outcomes: Outcomes::of(&prompt.messages),
        said: Vec::with_capacity(prompt.messages.len() + 1),
    };
    let system = prompt.system();
    if !system.is_empty() {
        let content = Cow::Owned(system);
        history.said.push(MessageParam::System { content });
    }
    for message in &prompt.messages {
        history.add(message);
    }
    history.said
}

struct History<'a, 's> {
    spec: &'s ProviderSpec,
    prompt: &'a Prompt,
    /// Whether arguments go back as the model wrote them.
    takes_any_args: bool,
    habits: &'s Habits,
    thoughts: &'s Thoughts,
    outcomes: Outcomes<'a>,
    said: Vec<MessageParam<'a>>,
}

impl<'a> History<'a, '_> {
    fn add(&mut self, message: &'a Message) {
        match message.role {
            // Only the first message may be the system's; later words of ours come as the user's.
            Role::User | Role::System => self.add_user(message),
            Role::Assistant => self.add_assistant(message),
            // Results are written behind their calls, and a result without a call nowhere.
            Role::Tool => {}
        }
    }

    fn add_user(&mut self, message: &'a Message) {
        let Some(more) = self.content(message) else {
            return;
        };
        match self.said.last_mut() {
            Some(MessageParam::User { content }) => {
                content.push(more);
                return;
            }
            Some(MessageParam::Tool { .. }) if self.spec.has(Quirk::AnswerAfterResult) => {
                self.said.push(spoken(Cow::Borrowed(BROKEN_OFF)));
            }
            Some(_) | None => {}
        }
        self.said.push(MessageParam::User { content: more });
    }

    /// What a user's message says; `None` if nothing.
    fn content(&self, message: &'a Message) -> Option<Content<'a>> {
        if message.blobs().next().is_some() {
            let pieces = pieces(message, self.prompt, self.habits);
            return Some(Content::Parts(pieces.map(ContentPart::from).collect()));
        }
        let text = text(message);
        (!text.is_empty()).then_some(Content::Text(text))
    }

    fn add_assistant(&mut self, message: &'a Message) {
        let content = text(message);
        let calls: Vec<_> = message.calls().collect();
        if content.is_empty() && calls.is_empty() {
            return;
        }
        // Where a call carries what its provider wants back, the others of its message lean on that.
        let mut states = calls.iter().filter_map(|call| call.provider_state.as_ref());
        let is_bound = states.any(|state| !thoughts::is_alone(state));
        let most = if is_bound { usize::MAX } else { MAX_CALLS };
        let (first, rest) = calls.split_at(calls.len().min(most));
        let mut back = Back::default();
        if !calls.is_empty() {
            back = self.thoughts_back(message);
        }
        let has_more = back.content.is_some();
        self.said.push(MessageParam::Assistant {
            content: (!content.is_empty()).then_some(content),
            reasoning_content: back.content,
            reasoning: back.other,
            reasoning_details: self.details(message),
            tool_calls: first.iter().map(|call| self.call(call)).collect(),
        });
        self.add_results(first);
        for more in rest.chunks(most) {
            self.said.push(MessageParam::Assistant {
                content: None,
                reasoning_content: has_more.then_some(Cow::Borrowed("")),
                reasoning: None,
                reasoning_details: Vec::new(),
                tool_calls: more.iter().map(|call| self.call(call)).collect(),
            });
            self.add_results(more);
        }
    }

    fn add_results(&mut self, calls: &[&'a ToolCall]) {
        for call in calls {
            let outcome = self.outcomes.get(call);
            self.said.push(MessageParam::Tool {
                tool_call_id: self.id(&call.id),
                content: outcome.map_or(NO_RESULT, |outcome| &outcome.text),
            });
        }
    }

    fn call(&self, call: &'a ToolCall) -> Call<'a> {
        let arguments = match &call.args {
            Value::String(raw) if self.takes_any_args => Arguments::Verbatim(raw),
            Value::String(raw) => Arguments::Wrapped(raw),
            args => Arguments::Json(args),
        };
        let state = call.provider_state.as_ref();
        Call {
            id: self.id(&call.id),
            r#type: "function",
            function: Function {
                name: &call.name,
                arguments,
            },
            extra_content: state::read(state, self.spec, EXTRA_CONTENT),
        }
    }

    /// What the model thought before its calls, for the server that sent it or wants it.
    fn thoughts_back(&self, message: &'a Message) -> Back<'a> {
        let wants = self.spec.has(Quirk::ReasoningBack);
        let field = match self.habits.wants_thoughts() {
            Some(true) => Some(thoughts::CONTENT),
            Some(false) => None,
            None => wants
                .then_some(thoughts::CONTENT)
                .or_else(|| self.thoughts.field(message)),
        };
        let text = field.map(|_| reasoning(message));
        match field {
            Some(thoughts::CONTENT) => Back {
                content: text,
                other: None,
            },
            Some(_) | None => Back {
                content: None,
                other: text,
            },
        }
    }

    fn details(&self, message: &'a Message) -> Vec<&'a Value> {
        let states = message.parts.iter().filter_map(|part| match part {
            Part::Reasoning { provider_state, .. } => {
                state::read(provider_state.as_ref(), self.spec, REASONING_DETAILS)
            }
            Part::Text { .. }
            | Part::Call(_)
            | Part::Outcome { .. }
            | Part::Data { .. }
            | Part::Image { .. } => None,
        });
        states.filter_map(Value::as_array).flatten().collect()
    }

    fn id(&self, id: &'a CallId) -> Cow<'a, str> {
        if self.spec.has(Quirk::NineLetterIds) {
            Cow::Owned(nine_letters(id.as_str()))
        } else {
            Cow::Borrowed(id.as_str())
        }
    }
}

/// What goes back of a thought, by the field in which it goes.
#[derive(Default)]
struct Back<'a> {
    content: Option<Cow<'a, str>>,
    other: Option<Cow<'a, str>>,
}

fn spoken(content: Cow<'_, str>) -> MessageParam<'_> {
    MessageParam::Assistant {
        content: Some(content),
        reasoning_content: None,
        reasoning: None,
        reasoning_details: Vec::new(),
        tool_calls: Vec::new(),
    }
}

/// A message's text, borrowed where it is in one piece.
fn text(message: &Message) -> Cow<'_, str> {
    match message.parts.as_slice() {
        [Part::Text { text }] => Cow::Borrowed(text),
        _ => Cow::Owned(message.text()),
    }
}

/// What the model thought. Servers that want it back want it for every call, if need be empty.
fn reasoning(message: &Message) -> Cow<'_, str> {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Reasoning { text, .. } => Some(text.as_str()),
        Part::Text { .. }
        | Part::Call(_)
        | Part::Outcome { .. }
        | Part::Data { .. }
        | Part::Image { .. } => None,
    });
    Cow::Owned(texts.collect())
}

/// The same nine letters and digits for the same id in every request, as good as never shared by
/// two: 46 bits of its fingerprint.
fn nine_letters(id: &str) -> String {
    const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut hash = Fingerprint::of(id).number();
    let letters = (0..9).map(|_| {
        let letter = LETTERS[usize::try_from(hash % 36).unwrap_or_default()];
        hash /= 36;
        char::from(letter)
    });
    letters.collect()
}
