//! Reads what the built-in tools answer: text in fixed formats.

use super::request::{Kind, Listing, Order};

/// An entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    /// Its name, relative to the folder.
    pub(super) name: &'a str,
    /// What it is.
    pub(super) node: Node,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// A file of so many bytes.
    File(u64),
    /// A folder.
    Folder,
    /// A link or something else.
    Other,
}

/// What `list_dir` answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entries<'a> {
    /// The entries, in its order.
    pub(super) all: Vec<Entry<'a>>,
    /// Whether there are more than it showed.
    pub(super) is_cut: bool,
    /// What it says of what it left out.
    pub(super) notes: Vec<&'a str>,
}

impl<'a> Entries<'a> {
    /// Reads an answer of `list_dir`.
    pub(super) fn parse(text: &'a str) -> Self {
        let (head, lines) = text.split_once('\n').unwrap_or((text, ""));
        Self {
            all: lines.split('\n').filter_map(entry).collect(),
            is_cut: head.contains(", first ") && head.ends_with(" shown"),
            notes: lines
                .split('\n')
                .filter(|line| line.starts_with('['))
                .collect(),
        }
    }

    /// The entries that are asked for, in the order that is asked for, without one path. Ties go by
    /// name.
    pub(super) fn choose(&self, listing: &Listing, without: Option<&str>) -> Vec<Entry<'a>> {
        let left_out =
            |entry: &Entry<'_>| without.is_some_and(|path| listing.is_at(entry.name, path));
        let fits = |entry: &&Entry<'_>| listing.wants(entry) && !left_out(entry);
        let mut chosen: Vec<_> = self.all.iter().filter(fits).copied().collect();
        chosen.sort_by_cached_key(|entry| (entry.name.to_lowercase(), entry.name));
        match listing.order {
            Order::Name => {}
            Order::NameReversed => chosen.reverse(),
            Order::Largest => chosen.sort_by_key(|entry| std::cmp::Reverse(entry.bytes())),
            Order::Smallest => chosen.sort_by_key(Entry::bytes),
        }
        chosen
    }
}

impl Entry<'_> {
    fn bytes(&self) -> u64 {
        match self.node {
            Node::File(bytes) => bytes,
            Node::Folder | Node::Other => 0,
        }
    }
}

impl Listing {
    fn wants(&self, entry: &Entry<'_>) -> bool {
        match &self.kind {
            Kind::Any => true,
            Kind::Files => matches!(entry.node, Node::File(_)),
            Kind::Folders => entry.node == Node::Folder,
            Kind::Ending(ending) => {
                let own = entry.name.rsplit_once('.').map(|(_, own)| own);
                matches!(entry.node, Node::File(_))
                    && own.is_some_and(|own| own.eq_ignore_ascii_case(ending))
            }
        }
    }

    /// Whether an entry of this listing is at a path.
    pub(super) fn is_at(&self, name: &str, path: &str) -> bool {
        let folder = self.folder.as_deref().unwrap_or(".");
        plain_path(&format!("{folder}/{name}")) == plain_path(path)
    }
}

/// The names on a path, without those that lead nowhere.
fn plain_path(path: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    names
}

/// A line: the size right-aligned, two spaces, the name, which may hold spaces.
fn entry(line: &str) -> Option<Entry<'_>> {
    let (size, name) = line.trim_start_matches(' ').split_once("  ")?;
    if let Ok(bytes) = size.parse() {
        return Some(Entry {
            name,
            node: Node::File(bytes),
        });
    }
    let node = match (size, name.ends_with('/')) {
        ("-", true) => Node::Folder,
        ("-", false) => Node::Other,
        _ => return None,
    };
    Some(Entry {
        name: name.strip_suffix(['/', '@', '?']).unwrap_or(name),
        node,
    })
}

/// What `read_file` answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileText<'a> {
    /// Lines of text.
    Lines {
        /// Those that were shown.
        shown: Vec<&'a str>,
        /// The number of the first that was shown.
        first: u64,
        /// How many the file has, at least.
        total: u64,
        /// What is said of them, save which of how many they are.
        notes: Vec<&'a str>,
    },
    /// The file is empty.
    Empty,
    /// It is no text; the answer says what it is.
    NotText,
}

impl<'a> FileText<'a> {
    /// Reads an answer of `read_file`.
    pub(super) fn parse(text: &'a str) -> Self {
        let numbered: Vec<_> = text.split('\n').filter_map(numbered).collect();
        let Some((last, _)) = numbered.last() else {
            let empty = text.starts_with("[empty");
            return if empty { Self::Empty } else { Self::NotText };
        };
        let mut notes: Vec<_> = text
            .split('\n')
            .filter(|line| line.starts_with('['))
            .collect();
        let (first, total) = (numbered[0].0, notes.iter().find_map(|note| total_of(note)));
        // Where not all lines were counted, only the note says so.
        notes.retain(|note| total_of(note).is_none() || note.contains(" at least "));
        let total = total.unwrap_or(*last);
        let shown = numbered.into_iter().map(|(_, line)| line).collect();
        Self::Lines {
            shown,
            first,
            total,
            notes,
        }
    }
}

/// A line: its number right-aligned, a tab, its text.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once('\t')?;
    Some((number.trim_start_matches(' ').parse().ok()?, text))
}

/// How many lines there are, as the note below a part says: `[lines 1-20 of 300; …]`.
fn total_of(note: &str) -> Option<u64> {
    let (_, behind) = note.strip_prefix("[lines ")?.split_once(" of ")?;
    let number = behind.split(';').next()?;
    number
        .strip_prefix("at least ")
        .unwrap_or(number)
        .parse()
        .ok()
}

/// What `search_files` answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matches<'a> {
    /// How many there are, in its words; none when there is none.
    pub(super) head: Option<&'a str>,
    /// The lines that match.
    pub(super) lines: Vec<&'a str>,
    /// What it says of what it left out.
    pub(super) notes: Vec<&'a str>,
}

impl<'a> Matches<'a> {
    /// Reads an answer of `search_files`.
    pub(super) fn parse(text: &'a str) -> Self {
        let mut lines: Vec<_> = text.trim_end().split('\n').collect();
        let is_note = |line: &&&str| line.starts_with('[') && !line.contains(": ");
        let count = lines.iter().skip(1).rev().take_while(is_note).count();
        let notes = lines.split_off(lines.len() - count);
        let head = lines.remove(0);
        Self {
            head: (head != "no match").then_some(head),
            lines,
            notes,
        }
    }
}

/// The id that `post_message` answered, else what it answered.
pub(super) fn posted(text: &str) -> &str {
    let text = text.trim();
    let last = text.rsplit(' ').next();
    let is_id = |word: &&str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    last.filter(is_id).unwrap_or(text)
}

#[cfg(test)]
mod tests;
