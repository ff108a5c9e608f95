//! Texts that a model reads.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;

use samovar_sandbox::JailPath;
use sha2::{Digest, Sha256};

/// A path relative to the workspace, `.` for the workspace itself, on one line.
pub(crate) fn path(place: &JailPath) -> String {
    escape(&place.to_string(), char::is_control).into_owned()
}

/// A folder's path, as a sentence names it.
pub(crate) fn here(folder: &JailPath) -> String {
    match path(folder).as_str() {
        "." => "this folder".to_owned(),
        path => path.to_owned(),
    }
}

/// A relative path or a name, on one line.
pub(crate) fn name(path: &Path) -> String {
    escape(&path.to_string_lossy(), char::is_control).into_owned()
}

/// Whether [`name`] is the path as it is, so that it can be given to a tool.
pub(crate) fn is_usable(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|text| !text.contains(char::is_control))
}

/// Text with its control characters made visible (`\u{1b}`), but line feeds and tabs: they would
/// command a terminal, and a model could not tell them from what they hide.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    escape(text, |c| c.is_control() && c != '\n' && c != '\t')
}

fn escape(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// A number with commas between its thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun.
pub(crate) fn plural(count: usize, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// SHA-256 in hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(digest: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// A reader that hashes what it reads.
pub(crate) struct Hashed<R> {
    reader: R,
    hash: Sha256,
}

impl<R> Hashed<R> {
    pub(crate) fn new(reader: R) -> Self {
        let hash = Sha256::new();
        Self { reader, hash }
    }

    /// The SHA-256 of all that was read, in hex.
    pub(crate) fn sha256(self) -> String {
        hex(&self.hash.finalize())
    }
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}
