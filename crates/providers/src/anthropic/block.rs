//! The blocks that a request is made of.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

/// A block of the system prompt or of a message.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    Image {
        source: ImageSource,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Input<'a>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        /// An empty one is left out: a text may not be empty.
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Cache>,
    },
}

/// An image inside the request.
#[derive(Serialize)]
pub(super) struct ImageSource {
    r#type: &'static str,
    media_type: &'static str,
    data: String,
}

/// The arguments of a call, always an object.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    Args(&'a Value),
    /// What the model wrote in place of an object.
    Raw {
        text: Cow<'a, str>,
    },
}

/// The mark of a place up to which the provider caches: what stands before it and what carries it.
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Cache {
    Ephemeral,
}

impl<'a> Block<'a> {
    /// A text; none when there is nothing in it, which the provider refuses.
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Option<Self> {
        let text = text.into();
        (!text.trim().is_empty()).then_some(Self::Text {
            text,
            cache_control: None,
        })
    }

    /// An image in base64.
    pub(super) fn image(media_type: &'static str, data: String) -> Self {
        Self::Image {
            source: ImageSource {
                r#type: "base64",
                media_type,
                data,
            },
            cache_control: None,
        }
    }

    /// Whether it is a thought, readable or not.
    pub(super) fn is_thought(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }

    /// Has the provider cache up to here. Thoughts cannot be marked, calls never need to be.
    pub(super) fn mark(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(Cache::Ephemeral);
            }
            Self::Thinking { .. } | Self::RedactedThinking { .. } | Self::ToolUse { .. } => {}
        }
    }
}
