//! sed, when its script can only print.

use super::Why;
use super::options::Options;
use crate::script::Word;

const OPTIONS: Options = Options::new(
    "nErzue:",
    "quiet silent regexp-extended expression= null-data posix debug sandbox",
);

const OTHER: Why = "a script that does more than print, delete and replace";

pub(super) fn check(arguments: &[Word]) -> Result<(), Why> {
    let found = OPTIONS.check(arguments)?;
    if found.has(&["-e", "--expression"]) {
        return found.values.iter().try_for_each(|script| commands(script));
    }
    let script = found.operands.first().ok_or("no script")?;
    commands(script.literal().ok_or("a pattern for a script")?)
}

/// Commands of the letters `p d q =`, `s` and `y`, each after addresses, with `;` between them.
fn commands(script: &str) -> Result<(), Why> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';', '\n']);
        if rest.is_empty() {
            return Ok(());
        }
        rest = address(rest)?;
        if let Some(second) = rest.strip_prefix(',') {
            rest = address(second)?;
        }
        rest = rest.trim_start_matches([' ', '!']);
        rest = command(rest)?.trim_start_matches(' ');
        if !rest.is_empty() && !rest.starts_with([';', '\n']) {
            return Err(OTHER);
        }
    }
}

/// A line, the last line, a step, an offset or a regular expression; or nothing.
fn address(text: &str) -> Result<&str, Why> {
    if let Some(expression) = text.strip_prefix('/') {
        return Ok(delimited(expression, '/')?.trim_start_matches('I'));
    }
    Ok(text.trim_start_matches(|c: char| c.is_ascii_digit() || "$~+".contains(c)))
}

fn command(text: &str) -> Result<&str, Why> {
    let mut characters = text.chars();
    match characters.next() {
        Some('p' | 'd' | '=') => Ok(characters.as_str()),
        Some('q') => Ok(characters
            .as_str()
            .trim_start_matches(|c: char| c.is_ascii_digit())),
        Some(letter @ ('s' | 'y')) => {
            let delimiter = characters.next().ok_or(OTHER)?;
            if !delimiter.is_ascii_punctuation() || delimiter == '\\' {
                return Err(OTHER);
            }
            let rest = delimited(characters.as_str(), delimiter)?;
            let rest = delimited(rest, delimiter)?;
            // Of the flags, `w` writes a file, and `e` runs what was replaced.
            let is_flag = |c: char| letter == 's' && (c.is_ascii_digit() || "gpIi".contains(c));
            Ok(rest.trim_start_matches(is_flag))
        }
        _ => Err(OTHER),
    }
}

/// What follows a part that a delimiter ends. Versions of sed differ in whether a delimiter
/// between brackets ends it, so a part that would then have an open bracket is refused.
fn delimited(text: &str, delimiter: char) -> Result<&str, Why> {
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' {
            is_escaped = true;
        } else if character == '\n' {
            return Err(OTHER);
        } else if character == delimiter {
            closed_brackets(&text[..at])?;
            return Ok(&text[at + delimiter.len_utf8()..]);
        }
    }
    Err(OTHER)
}

fn closed_brackets(part: &str) -> Result<(), Why> {
    let mut rest = part;
    while let Some(at) = rest.find(['[', '\\']) {
        let inside = &rest[at + 1..];
        if rest[at..].starts_with('\\') {
            let mut characters = inside.chars();
            characters.next();
            rest = characters.as_str();
            continue;
        }
        let inside = inside.strip_prefix('^').unwrap_or(inside);
        rest = after_bracket(inside.strip_prefix(']').unwrap_or(inside))?;
    }
    Ok(())
}

/// What follows the bracket that closes this part. In it, another one opens only a class such as
/// `[:digit:]`, of which the inner bracket closes nothing.
fn after_bracket(inside: &str) -> Result<&str, Why> {
    let mut rest = inside;
    loop {
        let at = rest.find(['[', ']']).ok_or(OTHER)?;
        if rest[..at].ends_with('\\') {
            return Err(OTHER);
        }
        let after = &rest[at + 1..];
        if rest[at..].starts_with(']') {
            return Ok(after);
        }
        let class = after.strip_prefix(':').ok_or(OTHER)?;
        let class = class.trim_start_matches(|c: char| c.is_ascii_lowercase());
        rest = class.strip_prefix(":]").ok_or(OTHER)?;
    }
}
