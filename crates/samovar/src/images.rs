//! Images of the person's, as they go with a message (AS-30).

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use samovar_core::image::{MAX_IMAGE_BYTES, check_count};
use samovar_core::{Error, Image};
use samovar_locale as text;
use samovar_wire::agent::Attachment;

use crate::exit::Failure;

/// Reads images that go with one message.
///
/// # Errors
/// One that cannot be read, is no image or too large; or that they are too many.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    let images = paths.iter().map(|path| read_one(path));
    let images = images.collect::<Result<Vec<_>, _>>()?;
    check(&images)?;
    Ok(images)
}

/// Reads an image.
///
/// # Errors
/// It cannot be read, is no image or is too large; the file is named.
pub(crate) fn read_one(path: &Path) -> Result<Image, Failure> {
    let path_text = path.display().to_string();
    let name = || text::quoted(&path_text);
    let mut bytes = Vec::new();
    let opened = File::open(path);
    let read = opened.and_then(|file| {
        let most = MAX_IMAGE_BYTES as u64 + 1;
        file.take(most).read_to_end(&mut bytes)
    });
    read.map_err(|error| Failure::usage(text::image::unreadable(name(), error)))?;
    let image = Image::new(bytes);
    image.map_err(|error| {
        let why = text::image::not_attached(name(), &error.message);
        Error::new(error.code, why).into()
    })
}

/// Whether one message can have all of them.
///
/// # Errors
/// They are too many, or too large together.
pub(crate) fn check(images: &[Image]) -> Result<(), Failure> {
    let bytes = images.iter().map(|image| image.bytes().len()).sum();
    check_count(images.len(), bytes).map_err(Failure::from)
}

/// Spells images for a server.
pub(crate) fn attachments(images: &[Image]) -> Vec<Attachment> {
    let attachment = |image: &Image| Attachment::of(image.bytes());
    images.iter().map(attachment).collect()
}
