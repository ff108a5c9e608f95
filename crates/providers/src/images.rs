//! The text and the images of a user's message, for every dialect.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use samovar_core::{Message, Part, Prompt};

use crate::habits::{Habits, Sent};

/// A piece of a message that a model is shown.
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    Image {
        media_type: &'static str,
        /// In base64.
        data: String,
    },
}

/// The pieces of a message, in order. An image whose bytes are missing, or that the model's server
/// refused before, becomes a line of text.
pub(crate) fn pieces<'a>(
    message: &'a Message,
    prompt: &Prompt,
    habits: &Habits,
) -> impl Iterator<Item = Piece<'a>> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(Piece::Text(Cow::Borrowed(text))),
        Part::Image {
            blob,
            media_type,
            width,
            height,
            ..
        } => {
            let bytes = prompt.images.get(blob);
            let shown = bytes.filter(|_| habits.takes(Sent::Images));
            let piece = shown.map(|bytes| Piece::Image {
                media_type: media_type.as_str(),
                data: STANDARD.encode(bytes),
            });
            Some(piece.unwrap_or_else(|| {
                let line = format!("\n[An image of {width} × {height} pixels is not shown.]");
                Piece::Text(Cow::Owned(line))
            }))
        }
        Part::Outcome { outcome, .. } => Some(Piece::Text(Cow::Borrowed(&outcome.text))),
        Part::Reasoning { .. } | Part::Call(_) | Part::Data { .. } => None,
    })
}

/// Whether a refusal, in lower case, says that the model takes no images.
pub(crate) fn is_refused(refusal: &str) -> bool {
    NO_IMAGES.iter().any(|words| refusal.contains(words))
}

/// How servers say that a model takes no images.
const NO_IMAGES: [&str; 12] = [
    "not support image",
    "not support vision",
    "not support multimodal",
    "images are not supported",
    "image input is not",
    "image_url is only supported",
    "required for image input",
    "support image input",
    "not a multimodal",
    "at most 0 image",
    "unknown variant `image_url`",
    "content must be a string",
];
