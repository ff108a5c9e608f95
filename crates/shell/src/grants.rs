//! What a person can allow permanently: a program with its subcommand, never one that runs others.
//!
//! A program has to be in the table with all of its options, so that none of them, also of a later
//! command with the same key, can name another program. A script, and a program by its path, counts
//! with exactly its arguments.

mod table;

use crate::policy::ReadOnly;
use crate::runners::{runs_others, without_version};
use crate::script::{Command, Join, Script, Word};
use table::{Named, Tool};

/// Programs that run a file, by their names without a version.
const INTERPRETERS: &str = "python pypy node ruby perl php lua tclsh Rscript julia groovy osascript \
    java";

/// Where programs of the system are.
const SYSTEM: [&str; 4] = [
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/opt/homebrew/bin/",
];

/// Bytes of a key, at most.
const MAX_KEY_BYTES: usize = 256;

impl ReadOnly {
    /// What a person can allow together with this script, such as `git push` and `cargo test`: a key
    /// for each command that is not in the list. `folder` is where it runs, relative to the workspace;
    /// there and after a `cd`, the key begins with it: `cd web && npm test`. Keys that were allowed
    /// cover a script whose keys are all among them. Returns `None` when one of its commands can only
    /// be allowed once.
    pub fn grant_keys(&self, script: &Script, folder: Option<&str>) -> Option<Vec<String>> {
        let (folder, commands) = place(script.commands(), folder)?;
        let mut keys = Vec::new();
        for command in commands {
            if changes_folder(command) {
                return None;
            }
            if self.reads(command).is_ok() {
                continue;
            }
            let key = format!("{folder}{}", key(command)?);
            if key.len() > MAX_KEY_BYTES {
                return None;
            }
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Some(keys)
    }
}

/// Where commands run, as the beginning of their keys, and the commands. A `cd` counts if it is the
/// first command, and no other runs when it fails.
fn place<'a>(commands: &'a [Command], folder: Option<&str>) -> Option<(String, &'a [Command])> {
    let folder = folder.map(|folder| folder.trim_start_matches("./").trim_end_matches('/'));
    let folder = folder.filter(|folder| !matches!(*folder, "" | "."));
    match (commands, folder) {
        ([first, second, rest @ ..], None) if first.program == "cd" => {
            let [folder] = first.arguments.as_slice() else {
                return None;
            };
            let is_bound = |command: &Command| matches!(command.join, Join::And | Join::Pipe);
            let is_bound = second.join == Join::And && rest.iter().all(is_bound);
            is_bound.then_some((begin(plain(folder)?), &commands[1..]))
        }
        (_, None) => Some((String::new(), commands)),
        (_, Some(folder)) => {
            let is_plain = is_one_word(folder) && !folder.starts_with(['-', '~']);
            is_plain.then(|| (begin(folder), commands))
        }
    }
}

fn begin(folder: &str) -> String {
    format!("cd {} && ", folder.trim_end_matches('/'))
}

fn changes_folder(command: &Command) -> bool {
    matches!(command.program.as_str(), "cd" | "pushd" | "popd")
}

fn key(command: &Command) -> Option<String> {
    let program = command.program.as_str();
    let name = SYSTEM.iter().find_map(|home| program.strip_prefix(home));
    let name = name.unwrap_or(program);
    let file = name.rsplit('/').next()?;
    if runs_others(file) || command.arguments.iter().any(is_odd) {
        return None;
    }
    if is_interpreter(file) {
        let (first, rest) = command.arguments.split_first()?;
        if first.literal()? == "-m" {
            let (module, rest) = rest.split_first()?;
            return Some(format!(
                "{program} -m {}",
                of_tool(module.literal()?, rest)?
            ));
        }
        plain(first)?;
        return exactly(command);
    }
    if name.contains('/') {
        return exactly(command);
    }
    let home = program.strip_suffix(name)?;
    Some(format!("{home}{}", of_tool(name, &command.arguments)?))
}

/// The key of a program of the table.
fn of_tool(name: &str, arguments: &[Word]) -> Option<String> {
    let tool = Tool::find(name, arguments.first().and_then(Word::literal))?;
    let is_option = |word: &&Word| word.may_be_option();
    let mut options = arguments.iter().filter(is_option);
    if !options.all(|word| word.literal().is_some_and(|option| tool.takes(option))) {
        return None;
    }
    let mut words = vec![name];
    match tool.named {
        Named::First(count) => {
            let named = arguments.get(..count)?.iter().map(plain);
            words.extend(named.collect::<Option<Vec<_>>>()?);
        }
        Named::All => {
            let named = arguments.iter().filter(|word| !is_option(word)).map(plain);
            words.extend(named.collect::<Option<Vec<_>>>()?);
        }
    }
    Some(words.join(" "))
}

/// The whole command, if each of its arguments is one word.
fn exactly(command: &Command) -> Option<String> {
    let mut words = vec![command.program.as_str()];
    for word in &command.arguments {
        words.push(word.literal().filter(|text| is_one_word(text))?);
    }
    Some(words.join(" "))
}

/// A word that is not an option and stays one word in a key.
fn plain(word: &Word) -> Option<&str> {
    let text = word.literal().filter(|text| is_one_word(text))?;
    (!text.starts_with(['-', '+', '~'])).then_some(text)
}

fn is_one_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// What some programs replace by the words of a file, or what is not always the same file.
fn is_odd(word: &Word) -> bool {
    let text = word.text.as_str();
    let is_device = text.contains("/dev/") || text.contains("/proc/");
    text.starts_with('@') || (is_device && text != "/dev/null")
}

/// `python3.12` is `python`, and `nodejs` is `node`.
fn is_interpreter(file: &str) -> bool {
    let name = without_version(file);
    is_in(INTERPRETERS, name.strip_suffix("js").unwrap_or(name))
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}
