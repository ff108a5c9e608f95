//! Makes sentences of what was found: what is said, and what goes into a file.

use super::arithmetic::{self, Trouble, Value};
use super::request::{Detail, Kind, Listing, Order};
use super::results::{Entries, Entry, FileText, Matches, Node};
use super::say::Sentence;
use super::words::Language;

/// At most so many entries or lines are said; a file gets all.
const MAX_SAID: usize = 100;
/// A line is said up to so many characters.
const MAX_SAID_CHARACTERS: usize = 500;

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// For the person.
    pub(super) said: String,
    /// For a file; none when there is nothing to write.
    pub(super) content: Option<String>,
}

/// Where something is looked for.
pub(super) fn place(language: Language, path: Option<&str>) -> String {
    match path {
        None | Some("." | "./") => language.say(Sentence::Here),
        Some(path) => language.fill(Sentence::Inside, &[("path", path)]),
    }
}

/// The entries that were asked for, out of an answer of `list_dir`, without the file they go to.
pub(super) fn list(
    language: Language,
    listing: &Listing,
    answer: &str,
    sink: Option<&str>,
) -> Report {
    let entries = Entries::parse(answer);
    let fitting = entries.choose(listing, sink);
    let total = fitting.len();
    let chosen = &fitting[..listing.count.map_or(total, |count| count.min(total))];
    let mut said = vec![heading(language, listing, chosen.len(), total)];
    let numbered = chosen.iter().enumerate();
    let lines = numbered.map(|(at, entry)| format!("{}. {}", at + 1, shown_entry(entry)));
    push_bounded(language, &mut said, lines);
    if let Some(asked) = listing.count.filter(|asked| *asked > total) {
        let (asked, total) = (asked.to_string(), total.to_string());
        said.push(language.fill(Sentence::Fewer, &[("asked", &asked), ("total", &total)]));
    }
    if let Some(path) = sink.filter(|_| total < entries.choose(listing, None).len()) {
        said.push(language.fill(Sentence::LeftOut, &[("path", path)]));
    }
    said.extend(gaps(language, &entries));
    let written = chosen
        .iter()
        .map(|entry| written_entry(entry, listing.detail));
    let content = (!chosen.is_empty()).then(|| written.collect());
    Report {
        said: said.join("\n"),
        content,
    }
}

/// What is to be said of entries that were not listed.
fn gaps(language: Language, entries: &Entries<'_>) -> Vec<String> {
    let cut = entries.is_cut.then(|| language.say(Sentence::Cut));
    cut.into_iter()
        .chain(entries.notes.iter().map(|note| (*note).to_owned()))
        .collect()
}

/// What is listed, where, in which order, how many of how many.
fn heading(language: Language, listing: &Listing, shown: usize, total: usize) -> String {
    let order = language.say(match listing.order {
        Order::Name => Sentence::ByName,
        Order::NameReversed => Sentence::ByNameReversed,
        Order::Largest => Sentence::LargestFirst,
        Order::Smallest => Sentence::SmallestFirst,
    });
    let values = [
        ("things", things(language, listing)),
        ("place", place(language, listing.folder.as_deref())),
        ("order", order),
        ("shown", shown.to_string()),
        ("total", total.to_string()),
    ];
    let values = values
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    language.fill(Sentence::Listed, &values)
}

fn written_entry(entry: &Entry<'_>, detail: Detail) -> String {
    match (detail, entry.node) {
        (Detail::Sizes, Node::File(bytes)) => format!("{}\t{bytes}\n", entry.name),
        (Detail::Sizes, Node::Folder | Node::Other) | (Detail::Names, _) => {
            format!("{}\n", entry.name)
        }
    }
}

/// How many entries there are, out of an answer of `list_dir`.
pub(super) fn count(language: Language, listing: &Listing, answer: &str) -> Report {
    let entries = Entries::parse(answer);
    let total = entries.choose(listing, None).len().to_string();
    let (things, place) = (
        things(language, listing),
        place(language, listing.folder.as_deref()),
    );
    let values = [
        ("things", things.as_str()),
        ("place", &place),
        ("total", &total),
    ];
    let mut said = vec![language.fill(Sentence::Counted, &values)];
    said.extend(gaps(language, &entries));
    Report {
        said: said.join("\n"),
        content: Some(format!("{total}\n")),
    }
}

/// Texts of files, out of answers of `read_file`.
pub(super) fn texts(language: Language, paths: &[String], answers: &[&str]) -> Report {
    let mut said = Vec::new();
    for (path, answer) in paths.iter().zip(answers) {
        let values = [("path", path.as_str()), ("result", answer.trim_end())];
        match FileText::parse(answer) {
            FileText::Empty => said.push(language.fill(Sentence::TextEmpty, &values)),
            FileText::NotText => said.push(language.fill(Sentence::NotText, &values)),
            FileText::Lines {
                shown,
                first,
                total,
                notes,
            } => {
                said.push(language.fill(Sentence::Text, &values));
                let count = shown.len();
                push_bounded(language, &mut said, shown.into_iter().map(str::to_owned));
                let last = first + u64::try_from(count).unwrap_or(u64::MAX) - 1;
                if first > 1 || last < total {
                    said.push(part(language, [first, last, total]));
                }
                said.extend(notes.into_iter().map(str::to_owned));
            }
        }
    }
    Report {
        said: said.join("\n"),
        content: None,
    }
}

fn part(language: Language, numbers: [u64; 3]) -> String {
    let [first, last, total] = numbers.map(|number| number.to_string());
    let values = [
        ("first", first.as_str()),
        ("last", &last),
        ("total", &total),
    ];
    language.fill(Sentence::TextPart, &values)
}

/// How many lines files have, out of answers of `read_file`.
pub(super) fn lines(language: Language, paths: &[String], answers: &[&str]) -> Report {
    let mut said = Vec::new();
    let mut content = String::new();
    for (path, answer) in paths.iter().zip(answers) {
        let (count, notes) = match FileText::parse(answer) {
            FileText::Lines { total, notes, .. } => (total.to_string(), notes),
            FileText::Empty => ("0".to_owned(), Vec::new()),
            FileText::NotText => {
                let values = [("path", path.as_str()), ("result", answer.trim_end())];
                said.push(language.fill(Sentence::NotText, &values));
                continue;
            }
        };
        said.push(language.fill(Sentence::Lines, &[("path", path), ("count", &count)]));
        said.extend(notes.into_iter().map(str::to_owned));
        content.push_str(&count);
        content.push('\n');
    }
    Report {
        said: said.join("\n"),
        content: (!content.is_empty()).then_some(content),
    }
}

/// Where a text stands, out of an answer of `search_files`.
pub(super) fn found(language: Language, text: &str, path: Option<&str>, answer: &str) -> Report {
    let place = place(language, path);
    let Matches { head, lines, notes } = Matches::parse(answer);
    let values = [
        ("text", text),
        ("place", place.as_str()),
        ("result", head.unwrap_or("")),
    ];
    let sentence = head.map_or(Sentence::NotFound, |_| Sentence::Found);
    let mut said = vec![language.fill(sentence, &values)];
    let content = head.map(|_| format!("{}\n", lines.join("\n")));
    push_bounded(language, &mut said, lines.into_iter().map(str::to_owned));
    said.extend(notes.into_iter().map(str::to_owned));
    Report {
        said: said.join("\n"),
        content,
    }
}

/// The value of an expression.
pub(super) fn sum(language: Language, expression: &str) -> Report {
    let expression = expression.replace("( ", "(").replace(" )", ")");
    let (sentence, fraction, value) = match arithmetic::evaluate(&expression) {
        Ok(Value::Exact(value)) => (Sentence::Equals, String::new(), Some(value)),
        Ok(Value::Endless { fraction, digits }) => (Sentence::Nearly, fraction, Some(digits)),
        Err(Trouble::DivisionByZero) => (Sentence::DivisionByZero, String::new(), None),
        Err(Trouble::TooLarge) => (Sentence::TooLarge, String::new(), None),
        Err(Trouble::Malformed) => (Sentence::Malformed, String::new(), None),
    };
    let shown = value.clone().unwrap_or_default();
    let values = [
        ("expression", expression.as_str()),
        ("fraction", &fraction),
        ("value", &shown),
    ];
    let content = value.map(|value| format!("{value}\n"));
    Report {
        said: language.fill(sentence, &values),
        content,
    }
}

fn things(language: Language, listing: &Listing) -> String {
    match &listing.kind {
        Kind::Any => language.say(Sentence::Everything),
        Kind::Files => language.say(Sentence::Files),
        Kind::Folders => language.say(Sentence::Folders),
        Kind::Ending(ending) => language.fill(Sentence::Ending, &[("ending", ending)]),
    }
}

fn shown_entry(entry: &Entry<'_>) -> String {
    match entry.node {
        Node::File(bytes) => format!("{} ({bytes} B)", entry.name),
        Node::Folder => format!("{}/", entry.name),
        Node::Other => entry.name.to_owned(),
    }
}

fn push_bounded(
    language: Language,
    said: &mut Vec<String>,
    lines: impl ExactSizeIterator<Item = String>,
) {
    let more = lines.len().saturating_sub(MAX_SAID);
    said.extend(lines.take(MAX_SAID).map(bounded));
    if more > 0 {
        said.push(language.fill(Sentence::More, &[("count", &more.to_string())]));
    }
}

/// A text, cut after so many characters that a person can look over it.
pub(super) fn bounded(mut line: String) -> String {
    if let Some((end, _)) = line.char_indices().nth(MAX_SAID_CHARACTERS) {
        line.truncate(end);
        line.push('…');
    }
    line
}
