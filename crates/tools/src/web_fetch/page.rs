//! From what a server sent to what a model reads.

use dom_query::Document;
use dom_smoothie::{Config, Readability, TextMode};
use url::Url;

use crate::web_fetch::Format;
use crate::web_fetch::charset::decode;
use crate::web_fetch::tidy::{Tidy, tidy};

/// Bytes in which something that is no text is looked for.
const SNIFFED: usize = 4_096;

/// What begins like this is no text, whatever its server calls it.
const SIGNATURES: &[(&[u8], &str)] = &[
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
];

/// A page as it is read.
pub(super) struct Page {
    /// Its title; empty if it has none.
    pub(super) title: String,
    pub(super) text: String,
    /// The charset in which it was read.
    pub(super) charset: &'static str,
    /// The charset that it names and that is unknown.
    pub(super) unknown_charset: Option<String>,
    /// Whether more of it was there than is ever read.
    pub(super) is_cut: bool,
}

/// What was sent.
pub(super) struct Sent {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: Option<String>,
    pub(super) charset: Option<String>,
    pub(super) url: Url,
}

/// Reads a page.
///
/// # Errors
/// It is no text; the error names what it is.
pub(super) fn read(sent: &Sent, format: Format) -> Result<Page, &'static str> {
    if let Some(what) = not_text(&sent.bytes, sent.charset.as_deref()) {
        return Err(what);
    }
    let decoded = decode(&sent.bytes, sent.charset.as_deref());
    let (title, text, is_cut) = if is_html(sent.content_type.as_deref(), &decoded.text) {
        let tidy = tidy(&decoded.text, &sent.url);
        let text = match format {
            Format::Raw => clean(&decoded.text),
            Format::Markdown | Format::Text => main_text(&tidy, format),
        };
        (tidy.title, text, tidy.is_cut && format != Format::Raw)
    } else {
        (String::new(), clean(&decoded.text), false)
    };
    Ok(Page {
        title,
        text,
        charset: decoded.charset,
        unknown_charset: decoded.unknown,
        is_cut,
    })
}

/// What bytes are that are no text.
fn not_text(bytes: &[u8], charset: Option<&str>) -> Option<&'static str> {
    let begin = bytes.get(..SNIFFED).unwrap_or(bytes);
    // Spaces before a PDF do not make a page of it.
    let signature = begin.trim_ascii_start();
    let known = SIGNATURES
        .iter()
        .find(|(mark, _)| signature.starts_with(mark));
    if let Some((_, what)) = known {
        return Some(what);
    }
    let is_wide = |label: &str| label.to_ascii_lowercase().starts_with("utf-16");
    let is_wide = begin.starts_with(b"\xff\xfe")
        || begin.starts_with(b"\xfe\xff")
        || charset.is_some_and(is_wide);
    (begin.contains(&0) && !is_wide).then_some("binary data")
}

/// Whether it is a page, by its type or, without one, by its beginning.
fn is_html(content_type: Option<&str>, text: &str) -> bool {
    match content_type {
        Some(found) => matches!(found, "text/html" | "application/xhtml+xml"),
        None => text.trim_start().starts_with('<'),
    }
}

/// The main text of a page, or all of it if no part stands out.
fn main_text(page: &Tidy, format: Format) -> String {
    let (mode, html) = match format {
        Format::Markdown => (TextMode::Markdown, &page.html),
        Format::Text | Format::Raw => (TextMode::Formatted, &page.html),
    };
    let config = Config {
        text_mode: mode,
        disable_json_ld: true,
        ..Config::default()
    };
    let found = Readability::new(html.as_str(), None, Some(config));
    let article = found.and_then(|mut found| {
        let stands_out = found.is_probably_readable();
        stands_out.then(|| found.parse()).transpose()
    });
    if let Ok(Some(article)) = article
        && !article.text_content.trim().is_empty()
    {
        return article.text_content.trim().to_owned();
    }
    let whole = Document::from(html.as_str());
    let text = match format {
        Format::Markdown => whole.md(None),
        Format::Text | Format::Raw => whole.formatted_text(),
    };
    text.trim().to_owned()
}

/// Text without control characters, its lines ended in one way.
pub(crate) fn clean(text: &str) -> String {
    let lines = text.replace("\r\n", "\n").replace('\r', "\n");
    let shown = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    lines.chars().filter(shown).collect()
}
