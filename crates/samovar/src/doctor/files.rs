//! What lies in the data directory: whether it is what it should be, and who may look in.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use samovar_locale::doctor as text;
use samovar_server::{Home, close_to_others};

use super::{Finding, Mode};
use crate::config::Setup;
use crate::exit::Exit;

/// What `--fix` is typed as.
const FIX: &str = "samovar doctor --fix";

/// What a data directory has, by its names; what lies in a folder of these counts, too.
const OURS: [&str; 19] = [
    "folder",
    "lock",
    "owner",
    "token",
    "tokens.json",
    "tools.json",
    "server-id",
    "server.json",
    "run.json",
    "last-backup.json",
    "ballast",
    "restore",
    "restore.part",
    "damaged",
    "history.db",
    "history.db-wal",
    "history.db-shm",
    "journal",
    "spool",
];

/// Files of one folder that are looked at, at most.
const MAX_FILES: usize = 10_000;

/// Everything about the files, where there are any.
pub(super) fn examine(found: &Setup, care: Mode) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    // A person may name a link; what it leads to is the data directory.
    let Ok(real) = dir.canonicalize() else {
        return Vec::new();
    };
    let (links, files): (Vec<_>, Vec<_>) = ours(&real).into_iter().partition(|path| is_link(path));
    let mut findings = vec![modes(&files, care)];
    if !links.is_empty() {
        let fact = text::links_bad(shown(&links));
        let finding = Finding::bad("links", Exit::Configuration, fact, text::links_why());
        findings.push(finding);
    }
    if let Err(error) = Home::try_tokens(&found.config) {
        let (fact, reason) = (error.to_string(), text::tokens_why());
        findings.push(Finding::bad("tokens", Exit::Configuration, fact, reason));
    }
    findings
}

/// The directory and all of ours that is there.
fn ours(dir: &Path) -> Vec<PathBuf> {
    let mut paths = vec![dir.to_owned()];
    for name in OURS {
        let path = dir.join(name);
        let Ok(meta) = fs::symlink_metadata(&path) else {
            continue;
        };
        if let (true, Ok(entries)) = (meta.is_dir(), fs::read_dir(&path)) {
            let entries = entries.take(MAX_FILES).filter_map(Result::ok);
            paths.extend(entries.map(|entry| entry.path()));
        }
        paths.push(path);
    }
    paths
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// Whether others may look in.
fn modes(files: &[PathBuf], care: Mode) -> Finding {
    let is_open = |path: &&PathBuf| {
        let mode = fs::symlink_metadata(path).map_or(0, |meta| meta.permissions().mode());
        mode & 0o077 != 0
    };
    let open: Vec<_> = files.iter().filter(is_open).cloned().collect();
    let reason = text::modes_why();
    match (open.as_slice(), care) {
        ([], _) => Finding::good("modes", text::modes_good().to_owned(), reason),
        (some, Mode::Look) => {
            let fact = text::modes_bad(shown(some));
            Finding::bad("modes", Exit::Configuration, fact, reason).with_command(FIX)
        }
        (some, Mode::Mend) => mend(some),
    }
}

fn mend(open: &[PathBuf]) -> Finding {
    let (shown, reason) = (shown(open), text::modes_why());
    match open.iter().try_for_each(|path| close_to_others(path)) {
        Ok(()) => Finding {
            is_mended: true,
            ..Finding::good("modes", text::modes_mended(shown), reason)
        },
        Err(error) => {
            let fact = text::modes_not_mended(shown, error);
            Finding::bad("modes", Exit::Configuration, fact, reason)
        }
    }
}

fn shown(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
