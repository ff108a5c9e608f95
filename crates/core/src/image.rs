//! Images that a person sends with a message, known by their bytes alone (AS-30).

use std::fmt;
use std::sync::Arc;

use samovar_locale as locale;

use crate::blob::BlobHash;
use crate::error::{Code, Error};

mod header;
#[cfg(test)]
mod tests;

pub use header::ImageType;

/// Maximum size of an image, in bytes.
pub const MAX_IMAGE_BYTES: usize = 5 << 20;
/// Maximum number of images of a message.
pub const MAX_IMAGES: usize = 8;
/// Maximum size of all images of a message, in bytes.
pub const MAX_IMAGES_BYTES: usize = 20 << 20;
/// Maximum width and height of an image, in pixels: what services take.
pub const MAX_IMAGE_SIDE: u32 = 8_000;

/// A whole image, with nothing after its end.
#[derive(Clone)]
pub struct Image {
    hash: BlobHash,
    media_type: ImageType,
    width: u32,
    height: u32,
    bytes: Arc<[u8]>,
}

impl Image {
    /// Takes an image. What follows its end is cut off.
    ///
    /// # Errors
    /// [`Code::ImageTooLarge`] above [`MAX_IMAGE_BYTES`] or [`MAX_IMAGE_SIDE`]; [`Code::InvalidImage`]
    /// if it is of another format, without a size, or not whole.
    pub fn new(mut bytes: Vec<u8>) -> Result<Self, Error> {
        if bytes.len() > MAX_IMAGE_BYTES {
            let why = locale::image::too_large(MAX_IMAGE_BYTES as u64);
            return Err(Error::new(Code::ImageTooLarge, why));
        }
        let invalid = |why: &'static str| Error::new(Code::InvalidImage, why);
        let media_type =
            ImageType::of(&bytes).ok_or_else(|| invalid(locale::image::other_format()))?;
        let header =
            header::read(media_type, &bytes).ok_or_else(|| invalid(locale::image::cut()))?;
        if header.width == 0 || header.height == 0 {
            return Err(invalid(locale::image::cut()));
        }
        if header.width.max(header.height) > MAX_IMAGE_SIDE {
            let why = locale::image::too_wide(
                header.width.to_string(),
                header.height.to_string(),
                MAX_IMAGE_SIDE.to_string(),
            );
            return Err(Error::new(Code::ImageTooLarge, why));
        }
        bytes.truncate(header.end);
        Ok(Self {
            hash: BlobHash::of(&bytes),
            media_type,
            width: header.width,
            height: header.height,
            bytes: bytes.into(),
        })
    }

    /// The hash of its bytes.
    pub fn hash(&self) -> &BlobHash {
        &self.hash
    }

    /// Its bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }

    /// Its format.
    pub fn media_type(&self) -> ImageType {
        self.media_type
    }

    /// Its width and height, in pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({})", self.hash)
    }
}

/// Checks how many images a message has, and how large they are together.
///
/// # Errors
/// [`Code::InvalidParams`] above [`MAX_IMAGES`], [`Code::ImageTooLarge`] above [`MAX_IMAGES_BYTES`].
pub fn check_count(count: usize, bytes: usize) -> Result<(), Error> {
    if count > MAX_IMAGES {
        let why = locale::image::too_many(count as u64, MAX_IMAGES as u64);
        return Err(Error::new(Code::InvalidParams, why));
    }
    if bytes > MAX_IMAGES_BYTES {
        let why = locale::image::too_large_together(bytes as u64, MAX_IMAGES_BYTES as u64);
        return Err(Error::new(Code::ImageTooLarge, why));
    }
    Ok(())
}
