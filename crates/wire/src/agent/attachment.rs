//! Images that come with a message, in base64 (AS-30).

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use samovar_core::image::{MAX_IMAGE_BYTES, MAX_IMAGES, MAX_IMAGES_BYTES, check_count};
use samovar_core::{Code, Error, Image};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The longest body of a message's images, in bytes of JSON.
pub const MAX_ATTACHMENTS_BYTES: usize = MAX_IMAGES_BYTES.div_ceil(3) * 4 + MAX_IMAGES * 64;

/// An image that comes with a message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    /// A PNG, JPEG or WebP image in base64: at most 5 MiB and 8,000 pixels wide and high.
    pub data: String,
}

impl Attachment {
    /// The bytes of an image, in base64.
    pub fn of(bytes: &[u8]) -> Self {
        let data = STANDARD.encode(bytes);
        Self { data }
    }

    /// How many bytes of a message's JSON are its attachments; 0 if it is no such JSON.
    pub fn bytes_in(message: &[u8]) -> usize {
        #[derive(Deserialize)]
        struct Attached<'a> {
            #[serde(borrow, default)]
            attachments: Vec<Data<'a>>,
        }
        #[derive(Deserialize)]
        struct Data<'a> {
            #[serde(borrow)]
            data: Cow<'a, str>,
        }
        let attached: Option<Attached<'_>> = serde_json::from_slice(message).ok();
        let each = attached.iter().flat_map(|it| &it.attachments);
        each.map(|attachment| attachment.data.len()).sum()
    }
}

impl std::fmt::Debug for Attachment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Attachment({} bytes of base64)", self.data.len())
    }
}

/// The images of a message.
///
/// # Errors
/// [`Code::InvalidParams`] for too many, [`Code::InvalidImage`] and [`Code::ImageTooLarge`] for one
/// that is not accepted; the details say which.
pub(super) fn images(attachments: &[Attachment]) -> Result<Vec<Image>, Error> {
    // Before anything is decoded.
    let sizes = attachments.iter().map(|one| one.data.len() / 4 * 3);
    check_count(attachments.len(), 0).map_err(|error| error.with_details(all()))?;
    if sizes.clone().all(|bytes| bytes <= MAX_IMAGE_BYTES + 2) {
        let together = sizes.sum::<usize>().saturating_sub(2 * attachments.len());
        check_count(0, together).map_err(|error| error.with_details(all()))?;
    }
    let images = attachments.iter().enumerate().map(|(at, attachment)| {
        let details = json!({ "parameter": format!("attachments[{at}].data") });
        image(attachment).map_err(|error| error.with_details(details))
    });
    images.collect()
}

fn all() -> serde_json::Value {
    json!({ "parameter": "attachments" })
}

fn image(attachment: &Attachment) -> Result<Image, Error> {
    let decoded = STANDARD.decode(&attachment.data);
    let bytes = decoded.map_err(|_| Error::new(Code::InvalidImage, locale::image::not_base64()))?;
    Image::new(bytes)
}
