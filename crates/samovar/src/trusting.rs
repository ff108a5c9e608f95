//! Whether the folder is trusted: asked once, at a terminal, before its first turn (FC-3).

use std::io::{self, IsTerminal};
use std::path::Path;

use samovar_config::{FolderTrust, Sources};
use samovar_locale::trust as text;
use samovar_server::told_instructions;

use crate::config::Setup;
use crate::exit::Failure;
use crate::screen::{confirm, say, visible};

/// Lines of a changed file that are shown, at most.
const MAX_SHOWN_LINES: usize = 20;

/// Asks about the folder at its first use. Without a terminal it only says that the folder is not
/// trusted. `is_sure` trusts it without a question.
///
/// # Errors
/// The list of what is trusted cannot be read or written: exit code 3.
pub(crate) fn before_turns(
    found: &Setup,
    is_sure: bool,
    is_person_there: bool,
) -> Result<(), Failure> {
    // Nothing begins in a folder that is too wide or missing, so there is nothing to ask either.
    if found.check_workspace().is_err() || !found.config.workspace.is_dir() {
        return Ok(());
    }
    let (trust, folder) = (&found.config.trust, &found.config.workspace);
    let file = told_instructions(&found.config);
    let file = file.as_ref().map(|(name, text)| (*name, text.as_str()));
    let decision = trust.decision()?;
    if decision == Some(true) && !file.is_some_and(|file| is_foreign(trust, file)) {
        return Ok(());
    }
    if is_sure || decision.is_none() && is_empty(folder, Some(&found.config.data_dir)) {
        return keep(trust, true, file);
    }
    let can_ask = is_person_there && io::stdin().is_terminal() && io::stderr().is_terminal();
    match (decision, file) {
        // They have said no, or there is nothing to ask about.
        (Some(false), _) | (Some(true), None) => Ok(()),
        (None, _) if !can_ask => {
            say(&text::untrusted(folder.display()));
            Ok(())
        }
        (None, file) => {
            let question = match file {
                Some((name, _)) => text::ask_with(folder.display(), name),
                None => text::ask(folder.display()),
            };
            keep(trust, confirm(&question)?, file)
        }
        (Some(true), Some((name, _))) if !can_ask => {
            say(&text::changed(name));
            Ok(())
        }
        (Some(true), Some((name, now))) => {
            show_added(trust.trusted_text(name).as_deref(), now);
            if confirm(&text::ask_changed(name))? {
                return keep(trust, true, file);
            }
            Ok(())
        }
    }
}

/// Whether what the file says is not trusted, in a folder that is.
pub(crate) fn is_foreign(trust: &FolderTrust, (name, text): (&str, &str)) -> bool {
    trust.is_foreign_text(name, text)
}

/// Whether a folder has nothing but the data directory of this user, so that nothing of it is foreign.
pub(crate) fn is_empty(folder: &Path, data_dir: Option<&Path>) -> bool {
    let Ok(mut entries) = folder.read_dir() else {
        return false;
    };
    let data_dir = data_dir.and_then(|path| path.canonicalize().ok());
    entries.all(|entry| {
        let path = entry.and_then(|entry| entry.path().canonicalize());
        path.is_ok_and(|path| Some(path) == data_dir)
    })
}

/// Trusts the current folder, in which nothing is yet. Where that cannot be kept, a person is asked later.
pub(crate) fn trust_empty(sources: &Sources) {
    let config = sources.folders().config;
    let kept = FolderTrust::of(config.as_deref(), &sources.here).decide(true, None);
    if let Err(error) = kept {
        tracing::info!(%error, "the empty folder is not noted as trusted");
    }
}

/// Keeps a decision; where it cannot be kept, the person hears of it and is asked again next time.
fn keep(trust: &FolderTrust, is_trusted: bool, file: Option<(&str, &str)>) -> Result<(), Failure> {
    match trust.decide(is_trusted, file) {
        Ok(_) => Ok(()),
        Err(error) if is_trusted => Err(error.into()),
        Err(error) => {
            say(&error.to_string());
            Ok(())
        }
    }
}

/// Shows the lines that a file got since it was trusted.
fn show_added(before: Option<&str>, now: &str) {
    let before: Vec<_> = before.unwrap_or_default().lines().collect();
    let added: Vec<_> = now.lines().filter(|line| !before.contains(line)).collect();
    for line in added.iter().take(MAX_SHOWN_LINES) {
        say(&visible(&format!("+ {line}")));
    }
    let more = added.len().saturating_sub(MAX_SHOWN_LINES) as u64;
    if more > 0 {
        say(&text::more_lines(more));
    }
}
