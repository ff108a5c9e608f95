//! What agents remember, where that lies in the data directory: backups have its files, too.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;

use super::files::BackupFile;
use crate::data_dir::{create, make_new, sync_dir};

/// The file with the long-term memory.
const LONG_TERM: &str = "MEMORY.md";
/// The folder with the daily notes.
pub(super) const DAILY: &str = "memory";
/// Both.
pub(super) const MEMORY: [&str; 2] = [LONG_TERM, DAILY];
/// Files of that folder in a backup, at most, the last by their names.
const MAX_FILES: usize = 10_000;

/// Copies the files as they are, durably, and lists them.
pub(super) fn copy_to(dir: &Path, part: &Path) -> io::Result<Vec<BackupFile>> {
    let mut files = Vec::new();
    for path in found(dir)? {
        let from = match File::open(dir.join(&path)) {
            // A hand has just removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            from => from?,
        };
        if path.contains('/') && !part.join(DAILY).exists() {
            make_new(&part.join(DAILY))?;
        }
        let mut to = create(&part.join(&path))?;
        io::copy(&mut &from, &mut to)?;
        to.sync_all()?;
        files.push(BackupFile::of(part, &path)?);
    }
    if part.join(DAILY).exists() {
        sync_dir(&part.join(DAILY))?;
    }
    Ok(files)
}

/// Whether a list names such files and nothing elsewhere.
pub(super) fn are_own(files: &[BackupFile]) -> bool {
    let is_own = |path: &str| {
        let note = path
            .strip_prefix(DAILY)
            .and_then(|rest| rest.strip_prefix('/'));
        path == LONG_TERM || note.is_some_and(is_plain)
    };
    files.iter().all(|file| is_own(&file.path))
}

/// The paths of the regular files, below the data directory; no link is followed.
fn found(dir: &Path) -> io::Result<Vec<String>> {
    let is_file = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_file());
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir());
    let mut notes = Vec::new();
    if is_folder(&dir.join(DAILY)) {
        for entry in fs::read_dir(dir.join(DAILY))? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().filter(|name| is_plain(name));
            if let Some(name) = name.filter(|_| is_file(&entry.path())) {
                notes.push(format!("{DAILY}/{name}"));
            }
        }
    }
    notes.sort_unstable();
    let newest = notes.split_off(notes.len().saturating_sub(MAX_FILES));
    let long_term = is_file(&dir.join(LONG_TERM)).then(|| LONG_TERM.to_owned());
    Ok(long_term.into_iter().chain(newest).collect())
}

/// Whether a name is that of one file, and not of one that is being written.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\0'])
}
