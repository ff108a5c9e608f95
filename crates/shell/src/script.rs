//! What the grammar accepts, as data: each word is what the shell hands to the program.

use std::fmt;

/// Simple commands in the order in which they are written; never empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    pub(crate) commands: Vec<Command>,
}

/// One program with its arguments and redirects.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The program as it is written: without quotes, escapes or patterns.
    pub program: String,
    /// The arguments, after the shell has removed quotes.
    pub arguments: Vec<Word>,
    /// The redirects; none of them writes a file.
    pub redirects: Vec<Redirect>,
    /// What joins this command to the one before it.
    pub join: Join,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// The argument without its quotes. A `~` that the shell replaces by the home directory is
    /// still there, and so is a pattern of file names.
    pub text: String,
    /// Where the first unquoted `*`, `?` or `[` is in `text`. The shell replaces such a word by the
    /// files that match: by any number of words, each of which begins with the text before this.
    pub pattern_at: Option<usize>,
}

/// A redirect of a fixed kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Redirect {
    /// `>/dev/null`, `2>/dev/null` or `&>/dev/null`.
    Discard,
    /// `2>&1`, `1>&2` or `>&2`.
    Merge,
    /// `< file`: the program reads this file.
    Read(String),
}

/// How a command follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// It is the first, or comes after `;` or a new line.
    Then,
    /// After `&&`.
    And,
    /// After `||`.
    Or,
    /// After `|`.
    Pipe,
}

/// A command that the grammar does not accept, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// What was found, in words for a model or a log.
    pub why: &'static str,
    /// The byte of the command at which it was found.
    pub at: usize,
}

impl Script {
    /// The simple commands; at least one.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The programs that it runs, in the order in which they are written.
    pub fn programs(&self) -> impl Iterator<Item = &str> {
        self.commands.iter().map(|command| command.program.as_str())
    }
}

impl Word {
    /// The argument, if it is always this one word.
    pub fn literal(&self) -> Option<&str> {
        self.pattern_at.is_none().then_some(self.text.as_str())
    }

    /// Whether a program can take it, or a file that it matches, for an option.
    pub(crate) fn may_be_option(&self) -> bool {
        self.pattern_at == Some(0) || (self.text.starts_with('-') && self.text != "-")
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.why, self.at)
    }
}

impl std::error::Error for Opaque {}
