//! Where a text that is not in a file could have been meant.

use std::borrow::Cow;
use std::collections::HashMap;

use strsim::sorensen_dice;

use crate::text::visible;

use super::document::Document;

/// Candidates that are shown.
const MAX_CANDIDATES: usize = 3;
/// Lines that are shown of one candidate.
const MAX_CANDIDATE_LINES: usize = 5;
/// Different lines that are compared.
const MAX_COMPARED: usize = 10_000;
/// Bytes of a line that are compared and shown.
const MAX_LINE_BYTES: usize = 200;
/// Bytes of a place, or of a whole file, that is quoted to be copied.
const MAX_QUOTED_BYTES: usize = 2000;
/// How alike two lines have to be; 1 is the same, but for case and white space.
const MIN_LIKENESS: f64 = 0.6;

/// Says that `old` is not in a file: with the places that differ only in case or spaces, ready to
/// be copied, or else with those that are most like its first line; if none is, with all of a short
/// file.
pub(super) fn not_found(path: &str, document: &Document, old: &str, new: &str) -> String {
    let quoted = quoted(document, old, new);
    if !quoted.is_empty() {
        return format!(
            "old is not in {path:?} exactly; the text there differs in case or spaces. \
             Call again with {}",
            quoted.join(", or with ")
        );
    }
    let candidates = candidates(document.text(), old);
    let whole = visible(document.text().trim_end());
    if candidates.is_empty() && (1..=MAX_QUOTED_BYTES).contains(&whole.len()) {
        return format!("old is not in {path:?}, which has:\n{whole}\ncopy old from this text");
    }
    if candidates.is_empty() {
        return format!(
            "old is not in {path:?}, nor is a line like its first one; call read_file, then copy old \
             from its result"
        );
    }
    format!(
        "old is not in {path:?}; the nearest places are:\n{}\n\
         give the text exactly as it is there",
        candidates.join("\n[..]\n")
    )
}

/// The first places that are `old` but for case and white space, as arguments that can be copied.
fn quoted(document: &Document, old: &str, new: &str) -> Vec<String> {
    let (wanted, _) = squeeze(old);
    if wanted.is_empty() {
        return Vec::new();
    }
    let text = document.text();
    let (squeezed, origins) = squeeze(text);
    let found = squeezed.match_indices(&wanted).take(MAX_CANDIDATES);
    let places = found.map(|(at, _)| {
        let (first, last) = (origins[at], origins[at + wanted.len() - 1]);
        let end = last + text[last..].chars().next().map_or(0, char::len_utf8);
        (first, &text[first..end])
    });
    // A control character would be shown as what it is not; a copy has to fit at one place.
    let places = places.filter(|(_, place)| {
        place.len() <= MAX_QUOTED_BYTES
            && matches!(visible(place), Cow::Borrowed(_))
            && document.overlapping(place, 2).len() == 1
    });
    let quoted = places.map(|(at, place)| {
        let new = if new.len() <= MAX_QUOTED_BYTES {
            let new = serde_json::Value::from(adapted(old, new, place));
            format!(", \"new\": {new}")
        } else {
            String::new()
        };
        let old = serde_json::Value::from(place);
        format!("\"old\": {old}{new} (line {})", document.line(at))
    });
    quoted.collect()
}

/// `new` with what it has in common with `old`, at both ends, written as in `place`, which is `old`
/// but for case and white space.
fn adapted(old: &str, new: &str, place: &str) -> String {
    let pairs = || old.chars().zip(new.chars());
    let head: usize = pairs()
        .take_while(|(one, other)| one == other)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (old_rest, new_rest) = (&old[head..], &new[head..]);
    let pairs = old_rest.chars().rev().zip(new_rest.chars().rev());
    let tail: usize = pairs
        .take_while(|(one, other)| one == other)
        .map(|(c, _)| c.len_utf8())
        .sum();
    let (squeezed, origins) = squeeze(place);
    let after = |squeezed_bytes: usize| origins.get(squeezed_bytes).copied().unwrap_or(place.len());
    let begin = after(squeeze(&old[..head]).0.len());
    let end = after(squeezed.len() - squeeze(&old[old.len() - tail..]).0.len());
    let middle = &new_rest[..new_rest.len() - tail];
    [&place[..begin], middle, &place[end..]].concat()
}

/// A text in lower case without white space, and where in it the character of each byte stands.
fn squeeze(text: &str) -> (String, Vec<usize>) {
    let mut squeezed = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices().filter(|(_, c)| !c.is_whitespace()) {
        squeezed.extend(c.to_lowercase());
        origins.resize(squeezed.len(), at);
    }
    (squeezed, origins)
}

fn candidates(text: &str, old: &str) -> Vec<String> {
    let Some((above, wanted)) = first_line(old) else {
        return Vec::new();
    };
    let lines: Vec<&str> = text.lines().collect();
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let mut compared = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let line = head(line.trim());
        if numbers.len() < MAX_COMPARED && !line.is_empty() && !numbers.contains_key(line) {
            numbers.insert(line, number);
            compared.push(line);
        }
    }
    let height = old.lines().count().min(MAX_CANDIDATE_LINES);
    let wanted = head(wanted).to_lowercase();
    let mut alike: Vec<_> = compared
        .into_iter()
        .map(|line| (sorensen_dice(&wanted, &line.to_lowercase()), line))
        .filter(|(likeness, _)| *likeness >= MIN_LIKENESS)
        .collect();
    alike.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    alike
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter_map(|(_, line)| numbers.get(line))
        .map(|number| excerpt(&lines, number.saturating_sub(above), height))
        .collect()
}

/// The first line that is not blank, and how many are above it.
fn first_line(old: &str) -> Option<(usize, &str)> {
    let mut lines = old.lines().map(str::trim).enumerate();
    lines.find(|(_, line)| !line.is_empty())
}

fn excerpt(lines: &[&str], first: usize, height: usize) -> String {
    let numbered = lines.iter().enumerate().skip(first).take(height);
    let rows = numbered.map(|(at, line)| format!("{:>6}\t{}", at + 1, visible(head(line))));
    rows.collect::<Vec<_>>().join("\n")
}

fn head(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE_BYTES)]
}
