//! The matches of a search, as they are found.

use std::io::{self, Read};

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use samovar_core::Outcome;
use samovar_sandbox::{JailPath, OpenFile};
use serde_json::{Value, json};

use crate::caller::Stop;
use crate::survey::LeftOut;
use crate::text::{path, plural, visible};

/// Matches that are shown.
const MAX_MATCHES: usize = 200;
/// Bytes of text that they may take.
const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Files that are shown for their names, when no line matches.
const MAX_NAMES: usize = 5;
/// Bytes that are shown of one line.
const MAX_LINE_BYTES: usize = 1000;
/// The largest file that is searched, in bytes.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// A search under way.
pub(super) struct Hunt<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    stop: &'a Stop,
    matches: Vec<Match>,
    text_bytes: usize,
    /// Files with a match.
    files: usize,
    /// Files that were searched.
    searched: usize,
    is_of_folder: bool,
    /// Files whose names match.
    names: Vec<String>,
    is_cut: bool,
    large: usize,
    binary: usize,
    unreadable: usize,
}

struct Match {
    path: String,
    line: u64,
    text: String,
}

impl<'a> Hunt<'a> {
    pub(super) fn new(matcher: RegexMatcher, stop: &'a Stop) -> Self {
        let searcher = SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .build();
        Self {
            matcher,
            searcher,
            stop,
            matches: Vec::new(),
            text_bytes: 0,
            files: 0,
            searched: 0,
            is_of_folder: false,
            names: Vec::new(),
            is_cut: false,
            large: 0,
            binary: 0,
            unreadable: 0,
        }
    }

    /// Whether nothing more is to be found.
    pub(super) fn is_over(&self) -> bool {
        self.is_cut || self.stop.is_set()
    }

    pub(super) fn has_matches(&self) -> bool {
        !self.matches.is_empty()
    }

    /// Notes that a folder is searched, and not one file.
    pub(super) fn enter_folder(&mut self) {
        self.is_of_folder = true;
    }

    /// How many files were searched of a folder; `None` for the search of one file.
    pub(super) fn files_of_folder(&self) -> Option<usize> {
        self.is_of_folder.then_some(self.searched)
    }

    /// Whether a folder was searched that has no file to search, not even one that was left out.
    pub(super) fn has_met_no_file(&self) -> bool {
        self.is_of_folder && self.searched + self.large + self.binary + self.unreadable == 0
    }

    /// Remembers a file whose name matches.
    pub(super) fn look_at_name(&mut self, place: &JailPath) {
        let name = place.name().unwrap_or_default().as_encoded_bytes();
        if self.names.len() < MAX_NAMES && self.matcher.is_match(name).unwrap_or_default() {
            self.names.push(path(place));
        }
    }

    /// Counts a file that cannot be opened.
    pub(super) fn miss(&mut self) {
        self.unreadable += 1;
    }

    /// Searches a file.
    pub(super) fn search(&mut self, place: &JailPath, file: OpenFile) {
        if file.len() > MAX_FILE_BYTES {
            self.large += 1;
            return;
        }
        let mut found = FileMatches {
            path: path(place),
            stop: self.stop,
            matches: Vec::new(),
            max_matches: MAX_MATCHES - self.matches.len(),
            text_bytes: self.text_bytes,
            is_cut: false,
            is_binary: false,
        };
        // The file may grow while it is read.
        let reader = file.into_file().take(MAX_FILE_BYTES);
        let searched = self
            .searcher
            .search_reader(&self.matcher, reader, &mut found);
        if searched.is_err() {
            self.unreadable += 1;
        } else if found.is_binary {
            self.binary += 1;
        } else {
            self.searched += 1;
            self.files += usize::from(!found.matches.is_empty());
            self.text_bytes = found.text_bytes;
            self.is_cut = found.is_cut;
            self.matches.append(&mut found.matches);
        }
    }

    /// How many matches there are.
    pub(super) fn count(&self) -> String {
        let matches = plural(self.matches.len(), "match", "matches");
        format!("{matches} in {}", plural(self.files, "file", "files"))
    }

    /// The answer under its first line.
    pub(super) fn present(self, head: String, left_out: &LeftOut) -> Outcome {
        let mut lines = vec![head];
        if !self.has_matches() && !self.names.is_empty() {
            lines.push(format!(
                "[file names that match are {}]",
                self.names.join(", ")
            ));
        }
        for Match { path, line, text } in &self.matches {
            lines.push(format!("{path}:{line}: {text}"));
        }
        lines.extend(self.notes());
        lines.extend(left_out.notes());
        let matches: Vec<Value> = self
            .matches
            .into_iter()
            .map(|found| json!({ "path": found.path, "line": found.line, "text": found.text }))
            .collect();
        let data = json!({ "matches": matches, "files": self.files, "truncated": self.is_cut });
        Outcome::done(lines.join("\n")).with_data(data)
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_cut {
            notes.push("[there are more matches; narrow the pattern, path or glob]".to_owned());
        }
        for (count, why) in [
            (self.large, "over 8 MiB not searched"),
            (self.binary, "not searched, being binary"),
            (self.unreadable, "could not be read"),
        ] {
            if count > 0 {
                notes.push(format!("[{} {why}]", plural(count, "file", "files")));
            }
        }
        notes
    }
}

/// The matches in one file, which are void if it turns out to be binary.
struct FileMatches<'a> {
    path: String,
    stop: &'a Stop,
    matches: Vec<Match>,
    max_matches: usize,
    text_bytes: usize,
    is_cut: bool,
    is_binary: bool,
}

impl Sink for FileMatches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.stop.is_set() {
            return Ok(false);
        }
        let text = excerpt(found.bytes());
        let bytes = self.path.len() + text.len();
        if self.matches.len() == self.max_matches || self.text_bytes + bytes > MAX_TEXT_BYTES {
            self.is_cut = true;
            return Ok(false);
        }
        self.text_bytes += bytes;
        self.matches.push(Match {
            path: self.path.clone(),
            line: found.line_number().unwrap_or_default(),
            text,
        });
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}

/// A matching line as it is shown.
fn excerpt(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let text = String::from_utf8_lossy(line);
    let head = &text[..text.floor_char_boundary(MAX_LINE_BYTES)];
    let mut shown = visible(head).into_owned();
    if head.len() < text.len() {
        let note = format!(" [line cut, it has {} bytes]", line.len());
        shown.push_str(&note);
    }
    shown
}
