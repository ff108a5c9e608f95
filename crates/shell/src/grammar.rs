//! The grammar: lists, pipelines and simple commands of the POSIX shell, with bash's reading of
//! each character, and nothing else.
//!
//! Every production is here or refused, and so is every character: what this file does not name
//! is opaque. The tests give the accepted commands to real shells, which must see the same words.

mod word;

use crate::script::{Command, Join, Opaque, Redirect, Script};
use word::Raw;

/// Bytes of a command that is read, at most.
pub const MAX_BYTES: usize = 64 * 1024;

/// Simple commands in a script, at most.
pub const MAX_COMMANDS: usize = 256;

/// What the shell takes for syntax where a command begins; quoted ones are refused with them.
const RESERVED: [&str; 22] = [
    "!", "[[", "]]", "{", "}", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

/// Reads a command.
///
/// # Errors
/// It has anything but plain words, quotes, `&& || ; |`, new lines, comments and the redirects of
/// [`Redirect`]; or it is longer than [`MAX_BYTES`], or has more than [`MAX_COMMANDS`] commands.
pub fn parse(command: &str) -> Result<Script, Opaque> {
    if command.len() > MAX_BYTES {
        let why = "the command is too long to be read";
        return Err(Opaque { why, at: MAX_BYTES });
    }
    let mut reader = Reader::new(command);
    reader.list()?;
    let commands = reader.commands;
    Ok(Script { commands })
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    commands: Vec<Command>,
    /// The command that is being read.
    words: Vec<Raw>,
    redirects: Vec<Redirect>,
    join: Join,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str) -> Reader<'a> {
        Reader {
            text,
            at: 0,
            commands: Vec::new(),
            words: Vec::new(),
            redirects: Vec::new(),
            join: Join::Then,
        }
    }

    /// The whole text; each step of the loop begins where a token can begin.
    fn list(&mut self) -> Result<(), Opaque> {
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                Some('#') => self.comment(),
                Some('\n') => self.line_end()?,
                // Bash ends a branch of `case` with `;;`, `;&` or `;;&`.
                Some(';') if self.is_at(";&") => return Err(self.opaque("`;&`")),
                Some(';') => self.separator(";", Join::Then)?,
                Some('|') if self.is_at("||") => self.separator("||", Join::Or)?,
                Some('|') if self.is_at("|&") => return Err(self.opaque("`|&`")),
                Some('|') => self.separator("|", Join::Pipe)?,
                Some('&') if self.is_at("&&") => self.separator("&&", Join::And)?,
                Some('&') if self.is_at("&>") => self.discard_both()?,
                Some('&') => return Err(self.opaque("a command in the background")),
                Some('<' | '>') => self.redirect(None)?,
                Some(_) => self.word_or_descriptor()?,
            }
        }
        self.line_end_of_text()
    }

    /// Blanks, and ends of lines that a backslash continues. Where this joins two characters to an
    /// operator, as in `|\` and `|`, either is refused by itself.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.is_at("\\\n") => self.at += 2,
                _ => break,
            }
        }
    }

    fn comment(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
    }

    fn line_end(&mut self) -> Result<(), Opaque> {
        if self.words.is_empty() && self.redirects.is_empty() {
            self.at += 1;
            return Ok(());
        }
        self.end_command()?;
        self.at += 1;
        self.join = Join::Then;
        Ok(())
    }

    fn line_end_of_text(&mut self) -> Result<(), Opaque> {
        let is_begun = !self.words.is_empty() || !self.redirects.is_empty();
        if is_begun || self.join != Join::Then || self.commands.is_empty() {
            self.end_command()?;
        }
        Ok(())
    }

    fn separator(&mut self, operator: &str, join: Join) -> Result<(), Opaque> {
        self.end_command()?;
        self.at += operator.len();
        self.join = join;
        Ok(())
    }

    fn end_command(&mut self) -> Result<(), Opaque> {
        let mut words = std::mem::take(&mut self.words).into_iter();
        let Some(program) = words.next() else {
            return Err(self.opaque("a command without a program"));
        };
        if self.commands.len() == MAX_COMMANDS {
            return Err(self.opaque("too many commands"));
        }
        let program = self.program(&program)?;
        self.commands.push(Command {
            program,
            arguments: words.map(|raw| raw.word).collect(),
            redirects: std::mem::take(&mut self.redirects),
            join: self.join,
        });
        Ok(())
    }

    /// The first word of a command. Here bash also reads assignments, with subscripts that can
    /// have blanks, and reserved words, so only the characters of ordinary names are accepted.
    fn program(&self, raw: &Raw) -> Result<String, Opaque> {
        let text = raw.word.text.as_str();
        let is_ordinary =
            |character: char| character.is_ascii_alphanumeric() || "_-./+:".contains(character);
        if RESERVED.contains(&text) {
            return Err(self.opaque("shell syntax in place of a program"));
        }
        if raw.is_quoted {
            return Err(self.opaque("quotes in the name of a program"));
        }
        if text.contains('=') {
            return Err(self.opaque("an assignment"));
        }
        if text != "[" && (raw.word.pattern_at.is_some() || !text.chars().all(is_ordinary)) {
            return Err(self.opaque("an unusual name of a program"));
        }
        Ok(text.to_owned())
    }

    /// A word, or the number of a descriptor if a redirect follows it without a blank.
    fn word_or_descriptor(&mut self) -> Result<(), Opaque> {
        let raw = self.word()?;
        if matches!(self.peek(), Some('<' | '>')) {
            let text = raw.word.text.as_str();
            if raw.has_braces {
                return Err(self.opaque("a descriptor that is named by a variable"));
            }
            if !raw.is_quoted && text.bytes().all(|byte| byte.is_ascii_digit()) {
                return self.redirect(Some(text));
            }
        }
        self.words.push(raw);
        Ok(())
    }

    fn redirect(&mut self, descriptor: Option<&str>) -> Result<(), Opaque> {
        let is_input = self.peek() == Some('<');
        self.at += 1;
        let redirect = match (is_input, descriptor, self.peek()) {
            (true, _, Some('<')) => return Err(self.opaque("a here-document")),
            (_, _, Some('(')) => return Err(self.opaque("a process substitution")),
            (true, _, Some('&' | '>')) => return Err(self.opaque("an unusual redirect")),
            (true, None | Some("0"), _) => self.file_to_read()?,
            (false, None | Some("1" | "2"), Some('&')) => {
                self.at += 1;
                let target = self.target()?;
                if target != "1" && target != "2" {
                    return Err(self.opaque("an unusual redirect"));
                }
                Redirect::Merge
            }
            (false, None | Some("1" | "2"), next) => {
                self.at += usize::from(next == Some('>'));
                self.discard()?
            }
            _ => return Err(self.opaque("a redirect of another descriptor")),
        };
        self.redirects.push(redirect);
        Ok(())
    }

    fn discard_both(&mut self) -> Result<(), Opaque> {
        self.at += if self.is_at("&>>") { 3 } else { 2 };
        let redirect = self.discard()?;
        self.redirects.push(redirect);
        Ok(())
    }

    fn discard(&mut self) -> Result<Redirect, Opaque> {
        if self.target()? == "/dev/null" {
            return Ok(Redirect::Discard);
        }
        Err(self.opaque("a redirect into a file"))
    }

    /// Bash gives some paths below `/dev` a meaning: `/dev/tcp/HOST/PORT` is a connection.
    fn file_to_read(&mut self) -> Result<Redirect, Opaque> {
        let file = self.target()?;
        if file != "/dev/null" && file.contains("/dev") {
            return Err(self.opaque("a redirect from a device"));
        }
        Ok(Redirect::Read(file))
    }

    /// The word after a redirect: without quotes, patterns or a home directory.
    fn target(&mut self) -> Result<String, Opaque> {
        self.blanks();
        let raw = self.word()?;
        let text = raw.word.text;
        let is_plain = !raw.is_quoted && !raw.has_braces && raw.word.pattern_at.is_none();
        let is_glued = matches!(self.peek(), Some('<' | '>'));
        if text.is_empty() || !is_plain || is_glued || text.starts_with(['~', '#']) {
            return Err(self.opaque("an unusual redirect"));
        }
        Ok(text)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn is_at(&self, token: &str) -> bool {
        self.text[self.at..].starts_with(token)
    }

    fn opaque(&self, why: &'static str) -> Opaque {
        Opaque { why, at: self.at }
    }
}
