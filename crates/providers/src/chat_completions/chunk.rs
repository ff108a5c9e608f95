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
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
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
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    reasoning: Option<Text<'a>>,
    #[serde(default, deserialize_with = "json::plain_list")]
    pub(super) reasoning_details: Option<Vec<Value>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Fragment<'a>>>,
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
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// What an answer cost, in every spelling that is in use.
#[derive(Deserialize)]
pub(super) struct Cost {
    #[serde(default, deserialize_with = "json::tokens")]
    prompt_tokens: Option<u64>,
    #[serde(default, deserialize_with = "json::tokens")]
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
    /// Reads a piece of an answer.
    ///
    /// # Errors
    /// It is not one, or it is an error.
    pub(super) fn read(json: &'a str) -> Result<Self, Fault> {
        let chunk: Self = json::read(json)?;
        let is_error = |object: &RawValue| object.get() == "\"error\"";
        match (chunk.error, chunk.object) {
            (Some(error), _) => Err(Fault::inside(error.get())),
            (None, Some(object)) if is_error(object) => Err(Fault::inside(json)),
            (None, _) => Ok(chunk),
        }
    }
}

impl<'a> Choice<'a> {
    /// Whether it belongs to the one answer that was asked for.
    pub(super) fn is_first(&self) -> bool {
        self.index.is_none_or(|index| index == 0)
    }

    pub(super) fn news(&mut self) -> Option<Delta<'a>> {
        self.delta.take().or(self.message.take())
    }
}

impl<'a> Delta<'a> {
    /// What the model thought, under either name; some servers send it under both.
    pub(super) fn reasoning(&mut self) -> Cow<'a, str> {
        let known = [self.reasoning_content.take(), self.reasoning.take()];
        let mut known = known
            .into_iter()
            .flatten()
            .filter(|text| !text.0.is_empty());
        known.next().map(|text| text.0).unwrap_or_default()
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
