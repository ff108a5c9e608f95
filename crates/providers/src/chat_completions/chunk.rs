//! The JSON of an answer, borrowed from the event that holds it. Everything may be missing or null,
//! everything else may be there: servers differ, and only what is read has to fit.

use std::borrow::Cow;

use samovar_core::Usage;
use samovar_locale as locale;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::Fault;
use crate::json::{self, Text};

/// A piece of an answer, or a whole one.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) usage: Option<Cost>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "json::lenient")]
    pub(super) prompt_progress: Option<PromptProgress>,
    #[serde(default, deserialize_with = "json::lenient")]
    x_groq: Option<Beside>,
}

/// Where a server puts the bill that has no place in the dialect.
#[derive(Deserialize)]
struct Beside {
    #[serde(default, deserialize_with = "json::lenient")]
    usage: Option<Cost>,
}

/// How far a server is with reading the prompt, in tokens.
#[derive(Deserialize)]
pub(super) struct PromptProgress {
    pub(super) total: u64,
    pub(super) processed: u64,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    index: Option<i64>,
    /// What is new, in a stream.
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    /// Everything, in an answer that is no stream.
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
    #[serde(default, deserialize_with = "json::lenient")]
    usage: Option<Cost>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    /// A third name of the same.
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "json::plain_list")]
    pub(super) reasoning_details: Option<Vec<Value>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Fragment<'a>>>,
    /// A call as the dialect's first version told it.
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
}

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<i64>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
    #[serde(default, deserialize_with = "json::plain")]
    pub(super) extra_content: Option<Value>,
}

#[derive(Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// What an answer cost, in every spelling that is in use.
#[derive(Deserialize)]
pub(super) struct Cost {
    #[serde(default, alias = "input_tokens", deserialize_with = "json::tokens")]
    prompt_tokens: Option<u64>,
    #[serde(default, alias = "output_tokens", deserialize_with = "json::tokens")]
    completion_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
    total_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::lenient")]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default, deserialize_with = "json::lenient")]
    completion_tokens_details: Option<CompletionDetails>,
    #[serde(default, deserialize_with = "json::tokens")]
    prompt_cache_hit_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    #[serde(default, deserialize_with = "json::tokens")]
    cached_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
    cache_write_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct CompletionDetails {
    #[serde(default, deserialize_with = "json::tokens")]
    reasoning_tokens: Option<u64>,
}

/// What `content` holds: a string, or a list of texts and thoughts.
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Pieces(Vec<Piece>),
}

/// A piece of `content` where that is a list.
#[derive(Deserialize)]
pub(super) struct Piece {
    pub(super) text: Option<String>,
    thinking: Option<Vec<Piece>>,
}

impl<'a> Chunk<'a> {
    /// Reads a piece of an answer as it is usually written.
    ///
    /// # Errors
    /// It is not one.
    pub(super) fn read(json: &'a str) -> serde_json::Result<Self> {
        serde_json::from_str(json)
    }

    /// The error that it is.
    pub(super) fn fault(&self, json: &str) -> Option<Fault> {
        let is_error = |object: &&RawValue| object.get() == "\"error\"";
        let says = |error: &&RawValue| !matches!(error.get(), "false" | "\"\"" | "{}" | "[]");
        match (self.error.filter(says), self.object.filter(is_error)) {
            (Some(error), _) => Some(Fault::inside(error.get())),
            (None, Some(_)) => Some(Fault::inside(json)),
            (None, None) => None,
        }
    }

    /// Whether it may say something in a way that is not usual.
    pub(super) fn is_odd(&self) -> bool {
        let choices = self.choices.as_deref().unwrap_or_default();
        let is_silent = choices.is_empty() && self.costs().next().is_none();
        is_silent || choices.iter().any(Choice::is_odd)
    }

    /// What it says of the cost, wherever that stands.
    pub(super) fn costs(&self) -> impl Iterator<Item = &Cost> {
        let choices = self.choices.iter().flatten();
        let in_choices = choices.filter_map(|choice| choice.usage.as_ref());
        let beside = self
            .x_groq
            .iter()
            .filter_map(|beside| beside.usage.as_ref());
        self.usage.iter().chain(in_choices).chain(beside)
    }
}

impl<'a> Choice<'a> {
    /// Whether it belongs to the one answer that was asked for.
    pub(super) fn is_first(&self) -> bool {
        self.index.is_none_or(|index| index == 0)
    }

    /// What is new. Servers that send the whole message in each piece send what is new beside it, so
    /// `has_begun` says whether the message counts.
    pub(super) fn news(&mut self, has_begun: bool) -> Option<Delta<'a>> {
        let delta = self.delta.take().filter(|delta| !delta.is_empty());
        delta.or_else(|| self.message.take().filter(|_| !has_begun))
    }

    /// The message of a server that has it in the place of what is new.
    pub(super) fn message_instead(&mut self) -> Option<Delta<'a>> {
        self.message.take().filter(|_| self.delta.is_none())
    }

    /// Whether it is a piece of a stream.
    pub(super) fn is_piece(&self) -> bool {
        self.delta.is_some()
    }

    fn is_odd(&self) -> bool {
        match (&self.delta, &self.message) {
            (None, None) => true,
            (delta, message) => delta.iter().chain(message).any(Delta::is_odd),
        }
    }
}

impl<'a> Delta<'a> {
    fn is_empty(&self) -> bool {
        let texts = [&self.reasoning_content, &self.reasoning, &self.refusal];
        self.content.is_none()
            && texts.iter().all(|text| text.is_none())
            && self.reasoning_details.is_none()
            && self.tool_calls.is_none()
            && self.function_call.is_none()
    }

    fn is_odd(&self) -> bool {
        let fragments = self.tool_calls.iter().flatten();
        let has_odd_content = self
            .content
            .is_some_and(|content| !is_plain_string(content));
        has_odd_content || self.thinking.is_some() || fragments.into_iter().any(Fragment::is_odd)
    }

    /// What the model thought, and the field that it stands in; some servers send it in both.
    pub(super) fn reasoning(&mut self) -> (Option<&'static str>, Cow<'a, str>) {
        let known = [
            ("reasoning_content", self.reasoning_content.take()),
            ("reasoning", self.reasoning.take()),
        ];
        let said = known.into_iter().find_map(|(field, text)| {
            let text = text.filter(|text| !text.0.is_empty())?;
            Some((Some(field), text.0))
        });
        said.unwrap_or_default()
    }

    pub(super) fn content(&self) -> Result<Option<Content<'a>>, Fault> {
        match self.content.map(RawValue::get) {
            None => Ok(None),
            Some(content) if content.starts_with('"') => Ok(Some(Content::Text(string(content)?))),
            Some(content) => {
                let pieces = serde_json::from_str(content)
                    .map_err(|error| Fault::bad(locale::provider::content_unknown(error)))?;
                Ok(Some(Content::Pieces(pieces)))
            }
        }
    }
}

impl Piece {
    /// What the model thought, if this is a thought.
    pub(super) fn reasoning(self) -> String {
        let thoughts = self.thinking.into_iter().flatten();
        thoughts.filter_map(|thought| thought.text).collect()
    }
}

impl<'a> Fragment<'a> {
    /// A call as the dialect's first version told it.
    pub(super) fn of(function: Function<'a>) -> Self {
        Self {
            index: None,
            id: None,
            function: Some(function),
            extra_content: None,
        }
    }

    /// Whether it lacks what a usual one has.
    fn is_odd(&self) -> bool {
        let function = self.function.as_ref();
        let arguments = function.and_then(|function| function.arguments);
        arguments.is_none_or(|arguments| !is_plain_string(arguments))
    }

    /// The server's id; empty is none.
    pub(super) fn id(&self) -> Option<&str> {
        let id = self.id.as_ref().map(|id| id.0.as_ref());
        id.filter(|id| !id.is_empty())
    }

    /// The tool's name; empty is none.
    pub(super) fn name(&self) -> Option<&str> {
        let name = self
            .function
            .as_ref()
            .and_then(|function| function.name.as_ref());
        name.map(|name| name.0.as_ref())
            .filter(|name| !name.is_empty())
    }

    /// A piece of the arguments: JSON in a string, as it should be, or JSON itself.
    pub(super) fn arguments(&self) -> Result<Cow<'a, str>, Fault> {
        let function = self.function.as_ref();
        match function.and_then(|function| function.arguments) {
            None => Ok(Cow::Borrowed("")),
            Some(raw) if raw.get().starts_with('"') => string(raw.get()),
            Some(raw) => Ok(Cow::Borrowed(raw.get())),
        }
    }
}

/// Whether it is a string without halves of characters.
fn is_plain_string(value: &RawValue) -> bool {
    let value = value.get();
    value.starts_with('"') && !value.contains("\\ud") && !value.contains("\\uD")
}

fn string(json: &str) -> Result<Cow<'_, str>, Fault> {
    let text: Result<Text<'_>, _> = serde_json::from_str(json);
    text.map(|text| text.0)
        .map_err(|error| Fault::bad(locale::provider::string_broken(error)))
}

impl Cost {
    /// The cost in our words. Some servers leave reasoning out of `completion_tokens`, never out
    /// of the total.
    pub(super) fn usage(&self) -> Usage {
        let input = self.prompt_tokens.unwrap_or(0);
        let written = self.completion_tokens.unwrap_or(0);
        let rest = self.total_tokens.unwrap_or(0).saturating_sub(input);
        let prompt = self.prompt_tokens_details.as_ref();
        let completion = self.completion_tokens_details.as_ref();
        Usage {
            input,
            output: written.max(rest),
            cache_read: prompt
                .and_then(|details| details.cached_tokens)
                .or(self.prompt_cache_hit_tokens)
                .or(self.cached_tokens)
                .unwrap_or(0),
            cache_write: prompt
                .and_then(|details| details.cache_write_tokens)
                .unwrap_or(0),
            reasoning: completion
                .and_then(|details| details.reasoning_tokens)
                .unwrap_or(0),
        }
    }
}
