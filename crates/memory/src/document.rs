//! The text of a file with memories: lines are added, changed and removed, all others stay as they
//! are. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use std::collections::HashSet;

use crate::entry::{Entry, MemoryId};

samovar_core::words! {
    /// A section of the long-term memory (MD-24).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Section {
        /// What is so.
        #[default]
        Facts = "facts",
        /// What the person wants.
        Preferences = "preferences",
        /// What happens again and again.
        Patterns = "patterns",
    }
}

impl Section {
    fn heading(self) -> &'static str {
        match self {
            Self::Facts => "## Facts",
            Self::Preferences => "## Preferences",
            Self::Patterns => "## Patterns",
        }
    }

    /// The one that a line begins.
    fn begun_by(line: &str) -> Option<Self> {
        let name = line.trim_start_matches('#').trim().to_lowercase();
        Self::from_word(&name).filter(|_| line.starts_with('#'))
    }
}

/// A part of a text: an item of a list with all its lines, or any other line.
pub(crate) struct Piece<'a> {
    /// Its lines, with their ends.
    pub(crate) raw: &'a str,
    /// The section that it is in.
    pub(crate) section: Option<Section>,
    /// The memory that it is, and whether its lines name another one's id.
    entry: Option<(Entry, bool)>,
}

impl Piece<'_> {
    /// The memory that it is.
    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.entry.as_ref().map(|(entry, _)| entry)
    }
}

/// The parts of a text, in their order; together they are all of it.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let (mut rest, mut section, mut ids) = (text, None, HashSet::new());
    std::iter::from_fn(move || {
        let line = rest.split_inclusive('\n').next()?;
        if line.starts_with('#') {
            section = Section::begun_by(line.trim_end());
        }
        let is_item = line.starts_with("- ") || line.starts_with("* ");
        let length = if is_item { item(rest) } else { line.len() };
        let (raw, after) = rest.split_at(length);
        rest = after;
        let entry = is_item.then(|| read(raw)).flatten().map(|entry| {
            // A line that was copied with its id is one of a hand, so that each id names one line.
            let is_copy = entry.id.is_kept() && !ids.insert(entry.id.clone());
            let entry = if is_copy { entry.by_hand() } else { entry };
            (entry, is_copy)
        });
        Some(Piece {
            raw,
            section,
            entry,
        })
    })
}

/// The memory that an item is.
fn read(item: &str) -> Option<Entry> {
    let lines = item.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.collect();
    let entry = Entry::read(&lines.join(" "))?;
    let signed = |line| Entry::read(line).filter(|entry| entry.id.is_kept());
    match (&lines[..], lines.first().copied().and_then(signed)) {
        // A person wrote more below the comment.
        ([_, more @ ..], Some(first)) if !entry.id.is_kept() => Some(Entry {
            text: format!("{} {}", first.text, more.join(" ")),
            is_as_written: false,
            ..first
        }),
        _ => Some(entry),
    }
}

/// The length of the item that a text begins with: with the lines that are indented below it, where
/// editors put what is too long for one.
fn item(text: &str) -> usize {
    let (mut at, mut end) = (0, 0);
    for line in text.split_inclusive('\n') {
        let is_blank = line.trim().is_empty();
        if end > 0 && !is_blank && !line.starts_with("  ") && !line.starts_with('\t') {
            break;
        }
        at += line.len();
        if !is_blank {
            end = at;
        }
    }
    end
}

/// The entries of a text, each with its section.
pub fn entries(text: &str) -> Vec<(Option<Section>, Entry)> {
    let entries = pieces(text).filter_map(|piece| Some((piece.section, piece.entry?.0)));
    entries.collect()
}

/// The text with a line at the end of a section, which is made if it is missing; without a section, at
/// the end of the text.
pub(crate) fn with(text: &str, section: Option<Section>, entry: &Entry) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let line = entry.line();
    let heading = section.map(Section::heading);
    let start = section.map(|section| {
        let is_heading = |line: &&str| Section::begun_by(line) == Some(section);
        lines.iter().position(is_heading)
    });
    let (from, is_missing) = match start {
        Some(Some(start)) => (start, false),
        Some(None) => (lines.len(), true),
        None => (0, false),
    };
    let rest = lines.iter().enumerate().skip(from + 1);
    let mut next = rest.filter(|(_, line)| section.is_some() && line.starts_with('#'));
    let mut end = next.next().map_or(lines.len(), |(at, _)| at);
    // Blank lines stay between the sections.
    while end > 0 && lines[end - 1].trim().is_empty() {
        end -= 1;
    }
    let before = end.checked_sub(1).map(|before| lines[before]);
    let mut new = Vec::new();
    if is_missing {
        new.extend(before.map(|_| ""));
        new.extend(heading);
        new.push("");
    } else if before.is_some_and(|line| line.starts_with('#')) {
        new.push("");
    }
    new.push(&line);
    lines.splice(end..end, new);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    lines.join(end) + end
}

/// The text without the lines of some entries.
pub fn without(text: &str, is_gone: impl Fn(&Entry) -> bool) -> String {
    changed(text, |entry| (!is_gone(entry)).then(|| entry.line()))
}

/// The text with another line for the entry of an id.
pub fn replaced(text: &str, id: &MemoryId, new: &Entry) -> String {
    changed(text, |entry| {
        let is_it = entry.id == *id;
        Some(if is_it { new.line() } else { entry.line() })
    })
}

/// The text with what becomes of each entry's lines. Other lines stay, and so do the ends of all. A copied
/// line loses the id that is another's: it would go with that.
fn changed(text: &str, line_of: impl Fn(&Entry) -> Option<String>) -> String {
    let mut new = String::with_capacity(text.len());
    for Piece { raw, entry, .. } in pieces(text) {
        let Some((entry, is_copy)) = entry else {
            new.push_str(raw);
            continue;
        };
        match line_of(&entry) {
            Some(same) if !is_copy && same == entry.line() => new.push_str(raw),
            Some(other) => {
                new.push_str(&other);
                new.push_str(&raw[raw.trim_end().len()..]);
            }
            None => {}
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry::read(&format!("- {text}")).unwrap()
    }

    // proves MD-9, MD-24
    #[test]
    fn a_line_comes_to_the_end_of_its_section_and_all_others_stay() {
        let facts = Some(Section::Facts);
        for (text, section, expected) in [
            ("", facts, "## Facts\n\n- new\n"),
            ("# Memory\n", facts, "# Memory\n\n## Facts\n\n- new\n"),
            (
                "# facts\n- a\n\nprose\n\n## Preferences\n- b",
                facts,
                "# facts\n- a\n\nprose\n- new\n\n## Preferences\n- b\n",
            ),
            (
                "## Facts\n\n## Patterns\n",
                facts,
                "## Facts\n\n- new\n\n## Patterns\n",
            ),
            (
                "## Facts\n\n- a\n",
                Some(Section::Patterns),
                "## Facts\n\n- a\n\n## Patterns\n\n- new\n",
            ),
            (
                "# 2026-11-29\n\n- a\n",
                None,
                "# 2026-11-29\n\n- a\n- new\n",
            ),
        ] {
            assert_eq!(with(text, section, &entry("new")), expected);
        }
    }

    // proves MD-13
    #[test]
    fn only_the_lines_of_an_entry_go_or_change() {
        let text = "# Facts\r\n- tea\n* Tea.\n- coffee\nprose\n- milk";
        let tea = entry("tea").id;
        let gone = without(text, |entry| entry.id == tea);
        assert_eq!(gone, "# Facts\r\n- coffee\nprose\n- milk");
        let other = replaced("- tea\n- milk", &tea, &entry("water"));
        assert_eq!(other, "- water\n- milk");
        let crlf = replaced("- tea\r\n- milk\r\n", &tea, &entry("water"));
        assert_eq!(crlf, "- water\r\n- milk\r\n");
    }

    // proves MD-13
    #[test]
    fn a_line_that_was_copied_with_its_id_is_another_memory() {
        let mark = "<!-- maaaaaaaaaa 2026-11-29 -->";
        let text = format!("- one {mark}\n- two {mark}\n");
        let all: Vec<_> = entries(&text).into_iter().map(|(_, entry)| entry).collect();
        let id = all[0].id.clone();
        assert_ne!(all[1].id, id);
        assert_eq!(without(&text, |entry| entry.id == id), "- two\n");
        let new = Entry {
            text: "three".to_owned(),
            ..all[0].clone()
        };
        assert_eq!(
            replaced(&text, &id, &new),
            format!("- three {mark}\n- two\n")
        );
        let second = all[1].id.clone();
        assert_eq!(
            without(&text, |entry| entry.id == second),
            format!("- one {mark}\n")
        );
    }

    // proves MD-9, MD-13
    #[test]
    fn an_item_is_all_its_lines() {
        let mark = "<!-- maaaaaaaaaa 2026-11-29\n  turn=t1 -->";
        let text = format!("- one that an editor\n  wrapped {mark}\n- two\n\nprose\n");
        let all = entries(&text);
        let entry = &all[0].1;
        assert_eq!(entry.text, "one that an editor wrapped");
        assert_eq!(
            (entry.id.as_str(), entry.turn.is_some()),
            ("maaaaaaaaaa", true)
        );
        assert_eq!(
            without(&text, |other| other.id == entry.id),
            "- two\n\nprose\n"
        );
        assert_eq!(
            without(&text, |entry| entry.says("two")),
            text.replace("- two\n", "")
        );
        let new = Entry {
            text: "new".to_owned(),
            ..entry.clone()
        };
        let replaced = replaced(&text, &entry.id, &new);
        assert_eq!(replaced, format!("{}\n- two\n\nprose\n", new.line()));

        let below = "- one <!-- maaaaaaaaaa 2026-11-29 outside -->\n\n\tand more\n- two\n";
        let all = entries(below);
        let entry = &all[0].1;
        assert_eq!(
            (entry.text.as_str(), entry.is_tainted),
            ("one and more", true)
        );
        assert_eq!(without(below, |other| other.id == entry.id), "- two\n");
    }

    // proves MD-9
    #[test]
    fn a_text_keeps_the_ends_of_its_lines() {
        let text = "## Facts\r\n\r\n- a\r\n";
        let new = with(text, Some(Section::Facts), &entry("new"));
        assert_eq!(new, "## Facts\r\n\r\n- a\r\n- new\r\n");
    }

    #[test]
    fn entries_know_their_section() {
        let text = "- before\n# Preferences\n- tea\n## Other\n- x\n";
        let sections: Vec<_> = entries(text)
            .into_iter()
            .map(|(section, _)| section)
            .collect();
        assert_eq!(sections, [None, Some(Section::Preferences), None]);
    }
}
