//! From the bytes of a page to its text.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::web_fetch::tokens::{Token, tokens};

/// Bytes at the beginning of a page in which it may name its charset.
const PRESCANNED: usize = 4_096;

/// A text, and how it was read.
pub(super) struct Decoded {
    pub(super) text: String,
    /// The charset in which it was read.
    pub(super) charset: &'static str,
    /// The charset that it names, if that one is unknown.
    pub(super) unknown: Option<String>,
}

/// Reads bytes in the charset of their byte order mark, else of the header, else the one that they
/// name themselves, else in UTF-8.
pub(super) fn decode(bytes: &[u8], header: Option<&str>) -> Decoded {
    if let Some((encoding, _)) = Encoding::for_bom(bytes) {
        return read(bytes, encoding, None);
    }
    let label = header.map(str::to_owned).or_else(|| named(bytes));
    let Some(label) = label else {
        return read(bytes, UTF_8, None);
    };
    match Encoding::for_label_no_replacement(label.as_bytes()) {
        // A page that says so in plain letters is not in UTF-16.
        Some(encoding) if header.is_none() && (encoding == UTF_16LE || encoding == UTF_16BE) => {
            read(bytes, UTF_8, None)
        }
        Some(encoding) => read(bytes, encoding, None),
        None => read(bytes, UTF_8, Some(label.chars().take(40).collect())),
    }
}

fn read(bytes: &[u8], encoding: &'static Encoding, unknown: Option<String>) -> Decoded {
    let (text, encoding, _) = encoding.decode(bytes);
    Decoded {
        text: text.into_owned(),
        charset: encoding.name(),
        unknown,
    }
}

/// The charset that a page names in its first tags, or XML in its first line.
fn named(bytes: &[u8]) -> Option<String> {
    let begin = String::from_utf8_lossy(bytes.get(..PRESCANNED).unwrap_or(bytes));
    tokens(&begin).find_map(|token| match token {
        Token::Start(tag) if tag.name == "meta" => {
            let said = || label_after(tag.attribute("content")?, "charset=");
            tag.attribute("charset").map(str::to_owned).or_else(said)
        }
        // The first line of XML is a comment to HTML.
        Token::Comment(text) if text.starts_with("?xml") => label_after(&text, "encoding="),
        Token::Start(_) | Token::End(_) | Token::Text(_) | Token::Comment(_) => None,
    })
}

/// The word after a mark, with or without quotes.
fn label_after(text: &str, mark: &str) -> Option<String> {
    let at = text.to_ascii_lowercase().find(mark)?;
    let rest = text
        .get(at + mark.len()..)?
        .trim_start_matches(['"', '\'', ' ']);
    let label = rest.split(['"', '\'', ';', ' ', '?', '>']).next()?;
    (!label.is_empty()).then(|| label.to_owned())
}
