//! Options as getopt reads them, with a list of those that are accepted.

use super::Why;
use crate::script::Word;

/// The options and operands that a program may have.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Letters; one with `:` takes a value, one with `::` takes it only in the same word.
    pub(super) short: &'static str,
    /// Names separated by blanks; `name=` takes a value, `name?` takes it only after `=`.
    pub(super) long: &'static str,
    pub(super) operands: Operands,
    pub(super) style: Style,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Operands {
    Any,
    /// At most this many, and no pattern, which could become more.
    AtMost(usize),
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Style {
    /// Options can follow operands, and a value its letter in the same word.
    Gnu,
    /// Options can follow operands; the value of a letter is always the next word.
    Apart,
    /// The first operand ends the options.
    Leading,
}

/// What a check has found.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) operands: Vec<&'a Word>,
    /// The options without their values, such as `-n` and `--list`.
    pub(super) options: Vec<String>,
    /// The values of options.
    pub(super) values: Vec<&'a str>,
}

impl Found<'_> {
    pub(super) fn has(&self, options: &[&str]) -> bool {
        let is_one = |option: &String| options.contains(&option.as_str());
        self.options.iter().any(is_one)
    }
}

enum Takes {
    Nothing,
    Value,
    ValueInside,
}

const UNKNOWN_OPTION: Why = "an option that is not known to only read";
const MAY_BE_OPTION: Why = "a pattern of files that could become an option";
const TOO_MANY: Why = "an operand that it could write to";

impl Options {
    pub(super) const fn new(short: &'static str, long: &'static str) -> Options {
        Options {
            short,
            long,
            operands: Operands::Any,
            style: Style::Gnu,
        }
    }

    pub(super) const fn at_most(self, count: usize) -> Options {
        let operands = Operands::AtMost(count);
        Options { operands, ..self }
    }

    pub(super) const fn style(self, style: Style) -> Options {
        Options { style, ..self }
    }

    /// Checks arguments, and says which options and operands they are.
    pub(super) fn check<'a>(&self, arguments: &'a [Word]) -> Result<Found<'a>, Why> {
        let mut found = Found::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            if word.pattern_at == Some(0) {
                return Err(MAY_BE_OPTION);
            }
            if !word.may_be_option() {
                found.operands.push(word);
                if self.style == Style::Leading {
                    found.operands.extend(words.by_ref());
                }
                continue;
            }
            let option = word.literal().ok_or(MAY_BE_OPTION)?;
            if option == "--" {
                found.operands.extend(words.by_ref());
            } else if let Some(name) = option.strip_prefix("--") {
                self.long_option(name, &mut words, &mut found)?;
            } else {
                self.letters(&option[1..], &mut words, &mut found)?;
            }
        }
        self.operands(&found)?;
        Ok(found)
    }

    fn long_option<'a>(
        &self,
        written: &'a str,
        words: &mut std::slice::Iter<'a, Word>,
        found: &mut Found<'a>,
    ) -> Result<(), Why> {
        let (name, value) = match written.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (written, None),
        };
        match (self.long_takes(name).ok_or(UNKNOWN_OPTION)?, value) {
            (Takes::Nothing, Some(_)) => return Err(UNKNOWN_OPTION),
            (Takes::Nothing | Takes::ValueInside, None) => {}
            (_, Some(value)) => found.values.push(value),
            (Takes::Value, None) => found.values.push(next_value(words)?),
        }
        found.options.push(format!("--{name}"));
        Ok(())
    }

    fn long_takes(&self, name: &str) -> Option<Takes> {
        self.long.split_whitespace().find_map(|known| {
            if known == name {
                return Some(Takes::Nothing);
            }
            match known.strip_prefix(name)? {
                "=" => Some(Takes::Value),
                "?" => Some(Takes::ValueInside),
                _ => None,
            }
        })
    }

    fn letters<'a>(
        &self,
        letters: &'a str,
        words: &mut std::slice::Iter<'a, Word>,
        found: &mut Found<'a>,
    ) -> Result<(), Why> {
        for (at, letter) in letters.char_indices() {
            found.options.push(format!("-{letter}"));
            let rest = &letters[at + letter.len_utf8()..];
            match self.letter_takes(letter).ok_or(UNKNOWN_OPTION)? {
                Takes::Nothing => {}
                Takes::Value if rest.is_empty() => found.values.push(next_value(words)?),
                Takes::Value if self.style == Style::Apart => return Err(UNKNOWN_OPTION),
                Takes::Value | Takes::ValueInside => {
                    found.values.push(rest);
                    break;
                }
            }
        }
        Ok(())
    }

    fn letter_takes(&self, letter: char) -> Option<Takes> {
        let at = self.short.find(letter).filter(|_| letter != ':')?;
        let rest = &self.short[at + 1..];
        Some(if rest.starts_with("::") {
            Takes::ValueInside
        } else if rest.starts_with(':') {
            Takes::Value
        } else {
            Takes::Nothing
        })
    }

    fn operands(&self, found: &Found<'_>) -> Result<(), Why> {
        let Operands::AtMost(count) = self.operands else {
            return Ok(());
        };
        let has_pattern = found.operands.iter().any(|word| word.pattern_at.is_some());
        if has_pattern || found.operands.len() > count {
            return Err(TOO_MANY);
        }
        Ok(())
    }
}

/// The value of an option in the word after it. A value that looks like an option is refused: an
/// old or a new version of the program may read it as one.
fn next_value<'a>(words: &mut std::slice::Iter<'a, Word>) -> Result<&'a str, Why> {
    let value = words.next().ok_or("an option without its value")?;
    let text = value.literal().ok_or(MAY_BE_OPTION)?;
    if value.may_be_option() {
        return Err("a value that looks like an option");
    }
    Ok(text)
}
