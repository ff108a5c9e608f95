//! Reads the size of an image and where it ends, without decoding it.

use crate::words;

words! {
    /// The format of an image, as its media type.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
    pub enum ImageType {
        /// Portable Network Graphics.
        #[serde(rename = "image/png")]
        Png = "image/png",
        /// JPEG.
        #[serde(rename = "image/jpeg")]
        Jpeg = "image/jpeg",
        /// WebP.
        #[serde(rename = "image/webp")]
        WebP = "image/webp",
    }
}

impl ImageType {
    /// The type of an image by its first bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        kind(bytes)
    }
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

/// What an image says of itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) width: u32,
    pub(super) height: u32,
    /// How many bytes it has; more may follow.
    pub(super) end: usize,
}

/// The format by its first bytes.
pub(super) fn kind(bytes: &[u8]) -> Option<ImageType> {
    if bytes.starts_with(PNG) {
        Some(ImageType::Png)
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        Some(ImageType::Jpeg)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        Some(ImageType::WebP)
    } else {
        None
    }
}

/// `None` if the image is not whole.
pub(super) fn read(kind: ImageType, bytes: &[u8]) -> Option<Header> {
    match kind {
        ImageType::Png => png(bytes),
        ImageType::Jpeg => jpeg(bytes),
        ImageType::WebP => webp(bytes),
    }
}

/// Chunks of length, name, data and checksum, from `IHDR` to `IEND`.
fn png(bytes: &[u8]) -> Option<Header> {
    let (width, height) = match chunk(bytes, PNG.len())? {
        (b"IHDR", data) => (big(data, 0, 4)?, big(data, 4, 4)?),
        _ => return None,
    };
    let mut at = PNG.len();
    loop {
        let (name, data) = chunk(bytes, at)?;
        at += 12 + data.len();
        if name == b"IEND" {
            let end = (at <= bytes.len()).then_some(at)?;
            return Some(Header { width, height, end });
        }
    }
}

fn chunk(bytes: &[u8], at: usize) -> Option<(&[u8], &[u8])> {
    let length = usize::try_from(big(bytes, at, 4)?).ok()?;
    let data = bytes.get(at + 8..)?.get(..length)?;
    Some((&bytes[at + 4..at + 8], data))
}

/// Segments of a marker and a length, and the compressed data after each start of a scan.
fn jpeg(bytes: &[u8]) -> Option<Header> {
    let (mut at, mut size) = (2, None);
    loop {
        while bytes.get(at)? == &0xff && bytes.get(at + 1)? == &0xff {
            at += 1;
        }
        let marker = (bytes.get(at)? == &0xff).then(|| bytes.get(at + 1))??;
        at += 2;
        match marker {
            0xd9 => {
                let (height, width) = size?;
                return Some(Header {
                    width,
                    height,
                    end: at,
                });
            }
            0x01 | 0xd0..=0xd7 => continue,
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                size = Some((big(bytes, at + 3, 2)?, big(bytes, at + 5, 2)?));
            }
            _ => {}
        }
        at += usize::try_from(big(bytes, at, 2)?).ok()?.max(2);
        if *marker == 0xda {
            let is_marker = |pair: &[u8]| pair[0] == 0xff && !matches!(pair[1], 0 | 0xd0..=0xd7);
            at += bytes.get(at..)?.windows(2).position(is_marker)?;
        }
    }
}

/// A `RIFF` whose first chunk has the size, in one of three ways.
fn webp(bytes: &[u8]) -> Option<Header> {
    let end = usize::try_from(little(bytes, 4, 4)?).ok()?.checked_add(8)?;
    let data = bytes.get(..end)?.get(20..)?;
    let (width, height) = match &bytes[12..16] {
        b"VP8 " if data.get(3..6)? == b"\x9d\x01\x2a" => {
            (little(data, 6, 2)? & 0x3fff, little(data, 8, 2)? & 0x3fff)
        }
        b"VP8L" if data.first()? == &0x2f => {
            let bits = little(data, 1, 4)?;
            ((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
        }
        b"VP8X" => (little(data, 4, 3)? + 1, little(data, 7, 3)? + 1),
        _ => return None,
    };
    Some(Header { width, height, end })
}

fn big(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(count)?)?.iter();
    Some(digits.fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, count: usize) -> Option<u32> {
    let digits = bytes.get(at..at.checked_add(count)?)?.iter().rev();
    Some(digits.fold(0, |number, byte| number << 8 | u32::from(*byte)))
}
