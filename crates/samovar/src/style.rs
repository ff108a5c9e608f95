//! How text looks on a terminal: colours, and lines that break between words. Elsewhere there is
//! neither.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::sync::OnceLock;

use rustix::termios::tcgetwinsize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of the narrowest terminal for which lines are broken.
const NARROWEST: usize = 20;

/// Columns between two tab stops.
const TAB: usize = 8;

/// Whether colours are wanted, as the environment says.
static COLOURS: OnceLock<bool> = OnceLock::new();

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// What a person reads only when they look for it.
    Quiet,
    /// What a person does not pass over.
    Strong,
    /// A failure, or what was taken away.
    Bad,
    /// What is well, or what was added.
    Good,
}

/// Takes over what the environment says of colours.
pub(crate) fn begin(are_colours_wanted: bool) {
    // Only the first word counts.
    let _was_said_before = COLOURS.set(are_colours_wanted);
}

/// Whether a stream shows colours.
pub(crate) fn has_colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && COLOURS.get().copied().unwrap_or(false)
}

/// A text in a colour.
pub(crate) fn painted(text: &str, tone: Tone) -> String {
    let code = match tone {
        Tone::Quiet => 2,
        Tone::Strong => 1,
        Tone::Bad => 31,
        Tone::Good => 32,
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// Columns that a stream has for a line; `None` if it is no terminal. The last column stays free,
/// where terminals differ in what they do.
pub(crate) fn columns(stream: &(impl IsTerminal + AsFd)) -> Option<usize> {
    if !stream.is_terminal() {
        return None;
    }
    let columns = usize::from(tcgetwinsize(stream).ok()?.ws_col);
    (columns >= NARROWEST).then(|| columns - 1)
}

/// As much of a line as so many columns show.
pub(crate) fn cut(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |character: &char| match left.checked_sub(character.width().unwrap_or(1)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    let mut shown: String = line.chars().take_while(fits).collect();
    shown.push('…');
    shown
}

/// A text for stdout, its lines broken between words where that is a terminal.
pub(crate) fn for_stdout(text: &str) -> String {
    match columns(&io::stdout()) {
        Some(columns) => wrapped(text, columns),
        None => text.to_owned(),
    }
}

/// A text whose lines have at most so many columns, as far as its words are not longer. What
/// continues a line begins where the line began.
pub(crate) fn wrapped(text: &str, columns: usize) -> String {
    let mut broken = String::with_capacity(text.len() + text.len() / 16);
    for line in text.split_inclusive('\n') {
        if line.trim_end().width() <= columns {
            broken.push_str(line);
            continue;
        }
        let indent = line.len() - line.trim_start_matches(' ').len();
        let indent = &line[..indent.min(columns / 2)];
        let mut column = 0;
        for word in line.split_inclusive(' ') {
            let width = word.trim_end().width();
            if column > indent.len() && column + width > columns {
                broken.truncate(broken.trim_end_matches(' ').len());
                broken.push('\n');
                broken.push_str(indent);
                column = indent.len();
            }
            broken.push_str(word);
            column += word.trim_end_matches('\n').width();
        }
    }
    broken
}

/// Breaks lines of text that comes piece by piece and is shown at once: a word that turns out to be
/// too long for its line is taken back and written on the next one.
pub(crate) struct Flow {
    columns: usize,
    column: usize,
    /// The word that may still be taken back.
    word: String,
    word_columns: usize,
}

impl Flow {
    /// For a line that has not begun.
    pub(crate) fn new(columns: usize) -> Self {
        Self {
            columns,
            column: 0,
            word: String::new(),
            word_columns: 0,
        }
    }

    /// What is written for the next piece.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut written = String::with_capacity(piece.len() + 8);
        for character in piece.chars() {
            match character {
                '\n' => self.line(&mut written),
                ' ' if self.column + 1 > self.columns => self.line(&mut written),
                ' ' => {
                    self.column += 1;
                    self.end_word();
                    written.push(' ');
                }
                '\t' => {
                    self.column = (self.column / TAB + 1) * TAB;
                    self.end_word();
                    written.push('\t');
                }
                _ => self.character(character, &mut written),
            }
        }
        written
    }

    fn character(&mut self, character: char, written: &mut String) {
        let width = character.width().unwrap_or(1);
        // Scripts of wide characters break between any two.
        if width > 1 {
            self.end_word();
        }
        let of_word = self.word_columns;
        if self.column + width > self.columns && of_word < self.column {
            if of_word > 0 {
                // Writing to a string cannot fail.
                let _infallible = write!(written, "\u{1b}[{of_word}D\u{1b}[K");
            }
            written.push('\n');
            written.push_str(&self.word);
            self.column = of_word;
        }
        written.push(character);
        self.column += width;
        self.word_columns += width;
        // A word that is longer than a line began at its start, and stays.
        if self.word_columns <= self.columns {
            self.word.push(character);
        } else {
            self.word.clear();
        }
    }

    fn end_word(&mut self) {
        self.word.clear();
        self.word_columns = 0;
    }

    fn line(&mut self, written: &mut String) {
        written.push('\n');
        self.column = 0;
        self.end_word();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves FC-1
    #[test]
    fn lines_break_between_words_and_go_on_where_they_began() {
        let text = "one two three\n  - four five six\nhttp://one.long.word and\n";
        let broken = "one two\nthree\n  - four\n  five six\nhttp://one.long.word\nand\n";
        assert_eq!(wrapped(text, 10), broken);
        assert_eq!(wrapped(text, 80), text);
    }

    // proves FC-1
    #[test]
    fn a_line_is_cut_at_the_columns_that_it_has() {
        let rows = [
            ("12345", 5, "12345"),
            ("123456", 5, "1234…"),
            ("你好世界", 7, "你好世…"),
            ("你好世界", 6, "你好…"),
            ("a", 0, "…"),
        ];
        for (line, columns, shown) in rows {
            assert_eq!(cut(line, columns), shown);
        }
    }

    // proves FC-1
    #[test]
    fn a_word_that_comes_in_pieces_is_taken_to_the_next_line_when_it_does_not_fit() {
        let mut flow = Flow::new(10);
        assert_eq!(flow.push("one two th"), "one two th");
        assert_eq!(flow.push("ree f"), "\u{1b}[2D\u{1b}[K\nthree f");
        assert_eq!(
            flow.push("our\nhttp://a.long.word ok"),
            "our\nhttp://a.long.word\nok"
        );
        let mut flow = Flow::new(4);
        assert_eq!(flow.push("你好世界 ab"), "你好\n世界\nab");
        let mut flow = Flow::new(20);
        assert_eq!(
            flow.push("a\tb\tcd efg"),
            "a\tb\tcd e\u{1b}[1D\u{1b}[K\nefg"
        );
    }

    #[test]
    fn a_word_that_is_longer_than_a_line_is_not_kept() {
        let mut flow = Flow::new(10);
        flow.push(&"x".repeat(100_000));
        assert!(flow.word.is_empty());
        assert_eq!(flow.push(" ab"), "\nab");
    }
}
