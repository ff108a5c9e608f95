//! What images take of the window, and the words in their place when they are not shown.

use std::sync::Arc;

use samovar_core::image::MAX_IMAGES_BYTES;
use samovar_core::{Message, Part};

use super::Sized;

#[cfg(test)]
mod tests;

/// Pixels for a token, as a provider publishes them; larger images are made smaller there.
const PIXELS_PER_TOKEN: u64 = 750;
/// What an image takes at least and at most, in tokens.
const RANGE: (u64, u64) = (85, 1600);

/// Why an image is not shown.
const LEFT_OUT: &str = "left out to save room";

/// Whether a model is shown images, or told of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Images {
    Shown,
    Described,
}

/// The estimated size of an image, in tokens.
pub(super) fn tokens(width: u32, height: u32) -> u64 {
    let pixels = u64::from(width) * u64::from(height);
    pixels.div_ceil(PIXELS_PER_TOKEN).clamp(RANGE.0, RANGE.1)
}

/// The messages for a model that takes no images: each becomes a line that says so.
pub(super) fn described(messages: &mut [Arc<Message>]) {
    for message in messages {
        replace(message, "this model takes no images");
    }
}

/// Leaves out what exceeds [`MAX_IMAGES_BYTES`] in all messages together, which is what services take
/// in one request, the oldest messages' first.
pub(super) fn leave_out_oldest(messages: &mut [Arc<Message>]) {
    let mut room = MAX_IMAGES_BYTES as u64;
    for message in messages.iter_mut().rev() {
        let sizes = message.parts.iter().map(|part| match part {
            Part::Image { bytes, .. } => *bytes,
            _ => 0,
        });
        let left = room.checked_sub(sizes.sum());
        if left.is_none() {
            replace(message, LEFT_OUT);
        }
        room = left.unwrap_or_default();
    }
}

/// Leaves images out, the oldest messages' first, until so many tokens are saved. Returns how many
/// are still to be saved.
pub(super) fn leave_out(messages: &mut [Sized], mut over: u64) -> u64 {
    for sized in messages {
        if over == 0 {
            break;
        }
        let before = sized.tokens;
        if replace(&mut sized.message, LEFT_OUT) {
            sized.tokens = super::tokens(&sized.message);
            over = over.saturating_sub(before.saturating_sub(sized.tokens));
        }
    }
    over
}

/// Replaces the images of a message by words. Whether it has any.
fn replace(message: &mut Arc<Message>, why: &str) -> bool {
    if message.blobs().next().is_none() {
        return false;
    }
    for part in &mut Arc::make_mut(message).parts {
        if let Part::Image { width, height, .. } = part {
            *part = Part::text(format!("\n[An image of {width} × {height} pixels: {why}.]"));
        }
    }
    true
}
