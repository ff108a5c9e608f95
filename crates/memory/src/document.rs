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

/// Reads the lines of a text. A line that was copied with its id is one of a hand, so that each id names
/// one line.
#[derive(Default)]
struct Lines(HashSet<MemoryId>);

impl Lines {
    fn read(&mut self, line: &str) -> Option<Entry> {
        let entry = Entry::read(line.trim_end())?;
        let is_new = !entry.id.is_kept() || self.0.insert(entry.id.clone());
        Some(if is_new { entry } else { entry.by_hand() })
    }
}

/// The entries of a text, each with its section.
pub(crate) fn entries(text: &str) -> Vec<(Option<Section>, Entry)> {
    let mut section = None;
    let (mut entries, mut lines) = (Vec::new(), Lines::default());
    for line in text.lines() {
        if line.starts_with('#') {
            section = Section::begun_by(line);
        }
        entries.extend(lines.read(line).map(|entry| (section, entry)));
    }
    entries
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
    lines.join("\n") + "\n"
}

/// The text without the lines of some entries.
pub(crate) fn without(text: &str, is_gone: impl Fn(&Entry) -> bool) -> String {
    changed(text, |entry| (!is_gone(entry)).then(|| entry.line()))
}

/// The text with another line for the entry of an id.
pub(crate) fn replaced(text: &str, id: &MemoryId, new: &Entry) -> String {
    changed(text, |entry| {
        let is_it = entry.id == *id;
        Some(if is_it { new.line() } else { entry.line() })
    })
}

/// The text with what becomes of each entry's line. Other lines stay, and so do the ends of all. A copied
/// line loses the id that is another's: it would go with that.
fn changed(text: &str, line_of: impl Fn(&Entry) -> Option<String>) -> String {
    let (mut new, mut lines) = (String::with_capacity(text.len()), Lines::default());
    for line in text.split_inclusive('\n') {
        let own = Entry::read(line.trim_end());
        let Some((own, entry)) = own.zip(lines.read(line)) else {
            new.push_str(line);
            continue;
        };
        match line_of(&entry) {
            Some(same) if own == entry && same == entry.line() => new.push_str(line),
            Some(other) => {
                new.push_str(&other);
                new.push_str(&line[line.trim_end().len()..]);
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
