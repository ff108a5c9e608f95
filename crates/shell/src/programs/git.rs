//! git: its subcommands that show something.
//!
//! No tool may write `.git`, so what git runs because of its settings is the person's choice.

use super::Why;
use super::git_rules::options;
use super::options::Found;
use crate::script::Word;

const OTHER: Why = "a subcommand that is not known to only read";

pub(super) fn check(arguments: &[Word]) -> Result<(), Why> {
    let mut words = arguments;
    loop {
        match words {
            [first, rest @ ..] if matches!(first.literal(), Some("--no-pager" | "-P")) => {
                words = rest;
            }
            // The settings of another repository count, as they do after `cd`.
            [first, folder, rest @ ..] if first.literal() == Some("-C") => {
                if folder.may_be_option() || folder.literal().is_none() {
                    return Err("a folder that could become an option");
                }
                words = rest;
            }
            _ => break,
        }
    }
    let (subcommand, rest) = words.split_first().ok_or(OTHER)?;
    check_subcommand(subcommand.literal().ok_or(OTHER)?, rest)
}

fn check_subcommand(subcommand: &str, arguments: &[Word]) -> Result<(), Why> {
    // A second word that chooses what the first one does.
    let second = arguments.first().and_then(Word::literal);
    let (name, arguments) = match (subcommand, second) {
        ("stash", Some("list" | "show")) | ("reflog", Some("show")) => ("log", &arguments[1..]),
        ("reflog", None) if arguments.is_empty() => ("log", arguments),
        ("reflog", Some(option)) if option.starts_with('-') => ("reflog-options", arguments),
        ("worktree", Some("list")) => ("worktree-list", &arguments[1..]),
        ("submodule", Some("status")) => ("submodule-status", &arguments[1..]),
        ("remote", Some("get-url")) => ("remote-get-url", &arguments[1..]),
        _ => (subcommand, arguments),
    };
    let found = options(name).ok_or(OTHER)?.check(arguments)?;
    signatures(&found)?;
    match name {
        "branch" => lists(&found, &["--list"]),
        "tag" => lists(&found, &["-l", "--list"]),
        "config" => config(&found),
        _ => Ok(()),
    }
}

/// A format that shows a signature makes git run a program that checks it.
fn signatures(found: &Found<'_>) -> Result<(), Why> {
    // A placeholder can have a sign or a blank after its percent.
    let placeholders = ["%G", "%+G", "%-G", "% G", "signature"];
    let is_checked = |value: &&str| placeholders.iter().any(|part| value.contains(part));
    if found.values.iter().any(is_checked) {
        return Err("a format that checks signatures with another program");
    }
    Ok(())
}

/// Names are patterns of what is listed, if an option says so; otherwise they are made.
fn lists(found: &Found<'_>, modes: &[&str]) -> Result<(), Why> {
    let filters = [
        "--contains",
        "--no-contains",
        "--merged",
        "--no-merged",
        "--points-at",
    ];
    if found.operands.is_empty() || found.has(modes) || found.has(&filters) {
        return Ok(());
    }
    Err("a name that it could make or move")
}

/// A setting has a dot in its name; `edit` and `unset` are subcommands. A second operand without
/// `--get` is the value to set.
fn config(found: &Found<'_>) -> Result<(), Why> {
    let words: Option<Vec<&str>> = found.operands.iter().map(|word| word.literal()).collect();
    let is_query = match words.as_deref() {
        Some([]) => found.has(&["--list", "-l"]),
        Some(["list"]) => true,
        Some([name] | ["get", name]) => name.contains('.'),
        Some([_, _]) => found.has(&["--get", "--get-all", "--get-regexp"]),
        _ => false,
    };
    if is_query {
        return Ok(());
    }
    Err("a setting that it could change")
}
