//! The verdict on a script: whether each of its commands only reads.

use std::collections::BTreeSet;

use crate::git_environment::heeds_environment;
use crate::grammar::parse;
use crate::programs::{self, Why};
use crate::script::{Command, Script, Word};

/// The programs that run without a question.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadOnly {
    has_built_in: bool,
    /// Whether git is in the built-in list.
    has_git: bool,
    /// Entries of the operator, by words.
    entries: BTreeSet<Vec<String>>,
}

/// What a list says about a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Each of its commands is in the list.
    Reads,
    /// A person decides.
    Asks {
        /// The programs that are not in the list with these arguments; empty when the command
        /// could not be read.
        programs: Vec<String>,
        /// The reason for the first of them, for a model or a log.
        why: String,
    },
}

impl ReadOnly {
    /// The built-in list: each program with rules for its options.
    pub fn built_in() -> ReadOnly {
        ReadOnly {
            has_built_in: true,
            has_git: true,
            entries: BTreeSet::new(),
        }
    }

    /// The operator's list instead (`tools.exec.allow`): each entry is a program, which may then
    /// have any arguments, or a program with its first arguments, such as `cargo test`.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a str>) -> ReadOnly {
        let words = |entry: &str| entry.split_whitespace().map(str::to_owned).collect();
        let entries = entries.into_iter().map(words);
        ReadOnly {
            has_built_in: false,
            has_git: false,
            entries: entries
                .filter(|words: &Vec<String>| !words.is_empty())
                .collect(),
        }
    }

    /// This list for a machine with the git that prints this for `git --version`; empty if there is none.
    /// One that is older than 2.38 does not heed [`GIT_ENVIRONMENT`](crate::GIT_ENVIRONMENT), and is not
    /// in the built-in list.
    #[must_use]
    pub fn with_git(self, version: &str) -> ReadOnly {
        let has_git = self.has_git && heeds_environment(version);
        ReadOnly { has_git, ..self }
    }

    /// Reads a command and gives the verdict on it.
    pub fn judge(&self, command: &str) -> Verdict {
        match parse(command) {
            Ok(script) => self.verdict(&script),
            Err(opaque) => Verdict::Asks {
                programs: Vec::new(),
                why: format!("the command has {opaque}"),
            },
        }
    }

    /// The verdict on a script.
    pub fn verdict(&self, script: &Script) -> Verdict {
        let mut programs: Vec<String> = Vec::new();
        let mut reason = None;
        for command in script.commands() {
            let Err(why) = self.reads(command) else {
                continue;
            };
            if !programs.contains(&command.program) {
                programs.push(command.program.clone());
            }
            reason.get_or_insert_with(|| format!("{}: {why}", command.program));
        }
        match reason {
            None => Verdict::Reads,
            Some(why) => Verdict::Asks { programs, why },
        }
    }

    pub(crate) fn reads(&self, command: &Command) -> Result<(), Why> {
        if self.entries.iter().any(|entry| begins_with(command, entry)) {
            return Ok(());
        }
        if !self.has_built_in {
            return Err("not in the list of tools.exec.allow");
        }
        programs::reads(command)?;
        if !self.has_git && command.program.ends_with("git") {
            return Err("a git before 2.38, which runs what a folder names");
        }
        Ok(())
    }
}

/// Whether a command is this program with these first arguments.
fn begins_with(command: &Command, words: &[String]) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let is_same = |(word, wanted): (&Word, &String)| word.literal() == Some(wanted);
    command.program == *program
        && command.arguments.len() >= arguments.len()
        && command.arguments.iter().zip(arguments).all(is_same)
}
