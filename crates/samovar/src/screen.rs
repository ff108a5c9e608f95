//! What is written on the terminal. What comes from a model or a tool is shown, not obeyed.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Errno;
use samovar_locale as text;

use crate::exit::{Exit, Failure};
use crate::style::{Tone, columns, has_colours, painted, wrapped};

/// Whether somebody reads what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reader {
    /// Somebody does.
    There,
    /// The pipe was closed, because its reader had enough, or the terminal is gone.
    Gone,
}

/// Writes on stdout, as it is.
///
/// # Errors
/// Everything but a closed pipe or terminal, such as a full disk: exit code 1.
pub(crate) fn put(text: &str) -> Result<Reader, Failure> {
    let mut out = io::stdout().lock();
    written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// What became of something that was written on stdout.
///
/// # Errors
/// As [`put`].
pub(crate) fn written(result: io::Result<()>) -> Result<Reader, Failure> {
    match result {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == ErrorKind::BrokenPipe || is_hang_up(&error) => {
            Ok(Reader::Gone)
        }
        Err(error) => {
            let why = text::error::output_failed(error);
            Err(Failure::new(Exit::TurnFailed, "output_failed", why))
        }
    }
}

/// Whether stdout was a terminal that is gone now; another device fails like that only when it broke.
fn is_hang_up(error: &io::Error) -> bool {
    let is_device = |found: &Stat| FileType::from_raw_mode(found.st_mode).is_char_device();
    error.raw_os_error() == Some(Errno::IO.raw_os_error())
        && fstat(io::stdout()).is_ok_and(|found| is_device(&found))
}

/// Prose on stderr, as one write. When nobody reads it any more, nobody misses it.
pub(crate) fn say(text: &str) {
    write_prose(&for_stderr(text));
}

/// The same in a colour, where stderr shows colours.
pub(crate) fn say_in(tone: Tone, text: &str) {
    let text = for_stderr(text);
    if has_colours(&io::stderr()) {
        let lines = text.split('\n').map(|line| painted(line, tone));
        write_prose(&lines.collect::<Vec<_>>().join("\n"));
    } else {
        write_prose(&text);
    }
}

fn for_stderr(text: &str) -> String {
    let text = visible(text);
    match columns(&io::stderr()) {
        Some(columns) => wrapped(&text, columns),
        None => text,
    }
}

fn write_prose(text: &str) {
    let _nobody_reads = io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// Asks a person at the terminal; anything but a yes is a no.
///
/// # Errors
/// stdin cannot be read.
pub(crate) fn confirm(question: &str) -> Result<bool, Failure> {
    say(question);
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer);
    read.map_err(|error| Failure::usage(text::run::stdin_unreadable(error)))?;
    Ok(matches!(answer.trim(), "y" | "yes"))
}

/// Makes control characters visible, all but the line feed and the tab; so no text moves the
/// cursor, renames the window, or hides what it says.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => shown.push(character),
            // How other systems end their lines.
            '\r' if characters.peek() == Some(&'\n') => {}
            _ if character.is_control() || is_invisible(character) => {
                shown.extend(character.escape_unicode());
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// Marks, overrides and isolates of direction, separators that break lines, and tags, which make
/// text read as something else.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{61c}'
            | '\u{200e}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// A word as a shell takes it.
pub(crate) fn shell_word(word: &Path) -> String {
    let word = word.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The same text without line breaks.
pub(crate) fn one_line(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

/// The first line, cut to at most `width` characters.
pub(crate) fn beginning(text: &str, width: usize) -> String {
    let first = text.lines().next().unwrap_or_default();
    let mut shown: String = first.chars().take(width).collect();
    if first.chars().count() > width || text.lines().nth(1).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sequences_are_shown_and_not_obeyed() {
        assert_eq!(
            visible("a\u{1b}[31mb\r\u{7}\u{9b}"),
            r"a\u{1b}[31mb\u{d}\u{7}\u{9b}"
        );
        assert_eq!(visible("tab\tline\r\n"), "tab\tline\n");
        assert_eq!(visible("\u{202e}exe.txt"), r"\u{202e}exe.txt");
        assert_eq!(visible("привет 你好 🙂"), "привет 你好 🙂");
    }

    #[test]
    fn a_beginning_is_cut_where_it_ends() {
        assert_eq!(beginning("abc", 10), "abc");
        assert_eq!(beginning("abcdef", 3), "abc…");
        assert_eq!(beginning("ab\ncd", 10), "ab…");
    }

    #[test]
    fn an_error_of_several_lines_becomes_one() {
        assert_eq!(one_line("  one\n\n two\r\nthree\n"), "one two three");
    }
}
