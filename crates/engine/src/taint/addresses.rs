//! Addresses in texts, and when two of them are one.

use sha2::{Digest, Sha256};
use url::Url;

/// An address in one spelling, hashed: what is known is compared and never shown.
pub(super) type Key = [u8; 16];

/// Endings of files that are also top-level domains: a file that a person mentions names no host.
const ENDINGS_OF_FILES: &[&str] = &[
    "ai", "am", "as", "bz", "cab", "cc", "cfd", "do", "in", "inc", "java", "la", "md", "mk", "ml",
    "mm", "mov", "pl", "pm", "ps", "pub", "py", "rs", "sh", "so", "st", "tf", "zip",
];
/// Characters that end an address in a text.
const ENDS: &[char] = &['"', '<', '>', '`', '{', '}', '|', '\\', '^'];
/// Ends that one address in a text may have, at most.
const MAX_ENDS: usize = 8;
/// What is between two links of Markdown that have no space between them, and in a link of an image.
const BETWEEN_LINKS: [&str; 2] = [")[", "]("];
/// What ends a sentence or a bracket, and seldom an address.
const CLOSERS: &[char] = &['.', ',', ';', ':', '!', '?', ')', ']', '*', '_', '\''];

/// The key of an address: its host with `www.` or without, port, path and query. The scheme, the
/// fragment and a slash at the end say nothing to a server; credentials may, so an address with some
/// has no key.
pub(super) fn key(address: &str) -> Option<Key> {
    let url = Url::parse(address.trim()).ok()?;
    let is_web = matches!(url.scheme(), "http" | "https");
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return None;
    }
    let host = url.host_str()?.trim_end_matches('.');
    let host = host.strip_prefix("www.").unwrap_or(host);
    let port = url.port().map(|port| port.to_string());
    let path = url.path().trim_end_matches('/');
    let mut hash = Sha256::new();
    for part in [Some(host), port.as_deref(), Some(path), url.query()] {
        // No part of an address has a space.
        hash.update(part.unwrap_or_default());
        hash.update(if part.is_some() { " " } else { "  " });
    }
    hash.finalize().first_chunk().copied()
}

/// The keys of the addresses that stand in a text with their schemes. Where an address ends is not
/// certain in prose and in Markdown, so each end that it may have counts.
pub(super) fn written_out(text: &str) -> impl Iterator<Item = Key> {
    let mut rest = text;
    let words = std::iter::from_fn(move || {
        let begin = scheme(rest)?;
        let word = &rest[begin..];
        let end = word.find(|c: char| c.is_whitespace() || ENDS.contains(&c));
        let word = &word[..end.unwrap_or(word.len())];
        // A comma or a bracket separates two addresses.
        let next =
            scheme(&word[1..]).filter(|at| word[..=*at].ends_with([',', ';', '(', '[', ')', '\'']));
        let word = next.map_or(word, |at| &word[..=at]);
        rest = &rest[begin + word.len()..];
        let ends = BETWEEN_LINKS
            .iter()
            .filter_map(|between| word.find(between));
        Some(ends.min().map_or(word, |end| &word[..end]))
    });
    words.flat_map(|word| ends(word).filter_map(key))
}

/// Where the first address begins.
fn scheme(text: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = text[from..].find("://") {
        let before = &text[..from + at];
        for scheme in ["https", "http"] {
            let begin = before.len().checked_sub(scheme.len());
            let is_it = |begin: &usize| {
                before.is_char_boundary(*begin) && before[*begin..].eq_ignore_ascii_case(scheme)
            };
            if let Some(begin) = begin.filter(is_it) {
                return Some(begin);
            }
        }
        from += at + 3;
    }
    None
}

/// A word, and the same without each of its last closers.
fn ends(word: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(word), |word| word.strip_suffix(CLOSERS)).take(MAX_ENDS)
}

/// The keys of the addresses that a text names without a scheme (`example.com`, `example.com/docs`),
/// but not file names and e-mail addresses.
pub(super) fn hosts_in(text: &str) -> impl Iterator<Item = Key> {
    let ends_word = |c: char| c.is_whitespace() || "\"'`<>(){},;|*".contains(c);
    text.split(ends_word).filter_map(|word| {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let end = word.find(['/', ':', '?', '#']).unwrap_or(word.len());
        let bare = &word[..end];
        let (_, ending) = bare.rsplit_once('.')?;
        let ending = ending.to_lowercase();
        let is_domain = ending.chars().count() >= 2
            && ending.chars().all(char::is_alphabetic)
            && !ENDINGS_OF_FILES.contains(&ending.as_str());
        (is_domain && !bare.contains('@')).then(|| key(&format!("http://{word}")))?
    })
}
