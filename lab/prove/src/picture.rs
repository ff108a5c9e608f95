//! The image that some messages have, each its own: it follows from the message's id.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// One message of this many has an image.
const EVERY: u32 = 4;

/// The image of a message, if it has one: a PNG of one pixel, as far as its header tells.
pub(crate) fn of(message: &str) -> Option<Vec<u8>> {
    let sum: u32 = message.bytes().map(u32::from).sum();
    sum.is_multiple_of(EVERY).then(|| {
        let chunk = |name: &[u8; 4], data: &[u8]| {
            let length = u32::try_from(data.len()).unwrap_or_default().to_be_bytes();
            [&length, name.as_slice(), data, &[0; 4]].concat()
        };
        let head = chunk(b"IHDR", &[0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0]);
        let body = chunk(b"IDAT", message.as_bytes());
        [b"\x89PNG\r\n\x1a\n", &head[..], &body, &chunk(b"IEND", &[])].concat()
    })
}

/// The message in a session that is to be deleted.
pub(crate) fn message_of(session: &str) -> String {
    format!("{session}-m1")
}

/// The same, as a message brings it.
pub(crate) fn spelled(message: &str) -> Option<String> {
    of(message).map(|image| STANDARD.encode(image))
}

/// The name that an image is kept under.
pub(crate) fn name(image: &[u8]) -> String {
    let hash = Sha256::digest(image);
    hash.iter()
        .fold(String::new(), |name, byte| name + &format!("{byte:02x}"))
}
