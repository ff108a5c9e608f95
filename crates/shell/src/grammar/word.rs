//! One word: its plain characters, quotes, escapes and patterns.

use super::Reader;
use crate::script::{Opaque, Word};

/// A word as it is written.
pub(super) struct Raw {
    pub(super) word: Word,
    /// Whether it has quotes or a backslash.
    pub(super) is_quoted: bool,
    /// Whether it has unquoted braces, such as those of `{}` or `HEAD@{1}`.
    pub(super) has_braces: bool,
}

/// What may follow a `$` between double quotes that stays one: `"end$"`.
const AFTER_PLAIN_DOLLAR: [char; 5] = ['"', ' ', '|', '/', ')'];

impl Reader<'_> {
    /// The word that begins here; empty when another token does.
    pub(super) fn word(&mut self) -> Result<Raw, Opaque> {
        let mut raw = Raw {
            word: Word {
                text: String::new(),
                pattern_at: None,
            },
            is_quoted: false,
            has_braces: false,
        };
        let start = self.at;
        while let Some(character) = self.peek() {
            match character {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' => break,
                '\'' => self.single_quoted(&mut raw)?,
                '"' => self.double_quoted(&mut raw)?,
                '\\' => self.escaped(&mut raw)?,
                '{' => self.braces(&mut raw)?,
                '~' => self.tilde(&mut raw, start)?,
                '$' => self.dollar(&mut raw)?,
                '*' | '?' | '[' => {
                    raw.word.pattern_at.get_or_insert(raw.word.text.len());
                    self.take(character, &mut raw);
                }
                _ if is_plain(character) => self.take(character, &mut raw),
                _ => return Err(self.opaque(why_not(character))),
            }
        }
        // A bracket alone is no pattern: it is the program `[`.
        if raw.word.text == "[" {
            raw.word.pattern_at = None;
        }
        let written = &self.text[start..self.at];
        if raw.has_braces && (written.contains(',') || written.contains("..")) {
            return Err(self.opaque("a brace expansion"));
        }
        Ok(raw)
    }

    fn take(&mut self, character: char, raw: &mut Raw) {
        raw.word.text.push(character);
        self.at += character.len_utf8();
    }

    fn single_quoted(&mut self, raw: &mut Raw) -> Result<(), Opaque> {
        raw.is_quoted = true;
        self.at += 1;
        loop {
            match self.quoted_character()? {
                '\'' => break,
                character => self.take(character, raw),
            }
        }
        self.at += 1;
        Ok(())
    }

    fn double_quoted(&mut self, raw: &mut Raw) -> Result<(), Opaque> {
        raw.is_quoted = true;
        self.at += 1;
        loop {
            let character = self.quoted_character()?;
            let next = self.text[self.at + character.len_utf8()..].chars().next();
            match character {
                '"' => break,
                '`' => return Err(self.opaque("a command substitution")),
                '$' if !next.is_some_and(|next| AFTER_PLAIN_DOLLAR.contains(&next)) => {
                    return Err(self.opaque("an expansion"));
                }
                '\\' => match next {
                    Some('\n') => return Err(self.opaque("a continued line inside of a word")),
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        self.at += 1;
                        self.take(next, raw);
                    }
                    _ => self.take(character, raw),
                },
                character => self.take(character, raw),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// The next character between quotes, which may be a tab or a new line.
    fn quoted_character(&self) -> Result<char, Opaque> {
        match self.peek() {
            None => Err(self.opaque("an open quote")),
            Some('\n' | '\t') => Ok(self.peek().unwrap_or('\n')),
            Some(character) if is_hidden(character) => Err(self.opaque(why_not(character))),
            Some(character) => Ok(character),
        }
    }

    fn escaped(&mut self, raw: &mut Raw) -> Result<(), Opaque> {
        raw.is_quoted = true;
        self.at += 1;
        match self.peek() {
            None => Err(self.opaque("a backslash at the end")),
            Some('\n') => Err(self.opaque("a continued line inside of a word")),
            Some(next) if next == ' ' || next.is_ascii_graphic() => {
                self.take(next, raw);
                Ok(())
            }
            Some(next) => Err(self.opaque(why_not(next))),
        }
    }

    /// Braces around a plain name stay as they are; all others can be an expansion.
    fn braces(&mut self, raw: &mut Raw) -> Result<(), Opaque> {
        let rest = &self.text[self.at + 1..];
        let inside = rest.split('}').next().unwrap_or_default();
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if inside.len() == rest.len() || !inside.bytes().all(is_name) {
            return Err(self.opaque("a brace expansion"));
        }
        let length = inside.len() + 2;
        raw.word
            .text
            .push_str(&self.text[self.at..self.at + length]);
        raw.has_braces = true;
        self.at += length;
        Ok(())
    }

    /// The home directory at the start of a word, or a tilde that stays one, as in `HEAD~1`.
    fn tilde(&mut self, raw: &mut Raw, start: usize) -> Result<(), Opaque> {
        let next = self.text[self.at + 1..].chars().next();
        let is_home = matches!(next, None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '/'));
        let before = self.text[start..self.at].chars().next_back();
        let stays = before.is_some_and(|before| {
            before.is_ascii_alphanumeric() || matches!(before, '@' | '^' | '~' | '_' | '-' | '.')
        });
        if (before.is_none() && is_home) || stays {
            self.take('~', raw);
            return Ok(());
        }
        Err(self.opaque("a home directory of another kind than `~/`"))
    }

    /// A dollar at the end of a word stays one.
    fn dollar(&mut self, raw: &mut Raw) -> Result<(), Opaque> {
        match self.text[self.at + 1..].chars().next() {
            None | Some(' ' | '\t' | '\n') => {
                self.take('$', raw);
                Ok(())
            }
            Some('(') => Err(self.opaque("a command substitution")),
            Some('\'' | '"') => Err(self.opaque("a quote of another kind")),
            Some(_) => Err(self.opaque("an expansion")),
        }
    }
}

/// Whether bash takes it for itself outside of quotes.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "_-./,:@%+=^#!]".contains(character)
}

/// Whether a person cannot see it, or sees other text because of it.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}')
}

fn why_not(character: char) -> &'static str {
    match character {
        '`' => "a command substitution",
        '(' | ')' => "a subshell or a function",
        '}' => "a brace expansion",
        _ if is_hidden(character) => "a control or invisible character",
        _ => "an unusual character outside of quotes",
    }
}
