//! A backup put in the place of what is there. It is copied into the data directory first, and takes
//! its place while no store is open: at the next start, or at once when nothing runs. A crash in
//! between is finished by the next start.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use samovar_core::{Backup, Broken, Code, Error, failpoint};
use samovar_locale as locale;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::blobs::{self, BLOBS};
use crate::data_dir::{self, AUDIT, DAMAGED, DataDir, make_folder, make_new, move_all, sync_dir};
use crate::disk::Disk;
use crate::error::OpenError;
use crate::history::SqliteHistory;
use crate::journal::LmdbJournal;
use crate::run::{Run, RunState};

use super::files::{BlobSum, Manifest};
use super::memory::{self, DAILY, MEMORY};
use super::{HISTORY, JOURNAL, JOURNAL_FILE};

/// What is copied and waits for its place. It comes and goes in one step, so it is always whole.
const STAGED: &str = "restore";
/// Half of that: what is being copied, or removed. No start needs it.
const PART: &str = "restore.part";
/// Inside it: what is to be done, and whether what was there is out of the way.
const PLAN: &str = "plan.json";
const MOVED: &str = "moved";
const MAX_BYTES: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct Plan {
    /// Where what was there goes.
    aside: String,
    /// The run that the backup was made in.
    epoch: u64,
}

/// What a restore did.
#[derive(Clone, Debug)]
pub struct RestoreReport {
    /// The backup.
    pub backup: Backup,
    /// The folder with the previous data; `None` if there was none.
    pub aside: Option<PathBuf>,
}

/// Whether there is something that a restore would replace.
fn is_used(data_dir: &Path) -> bool {
    let stores = data_dir::HISTORY.iter().chain(&data_dir::JOURNAL);
    let mut names = stores.chain([&AUDIT]).chain(&MEMORY);
    names.any(|name| data_dir.join(name).exists())
}

/// Puts a backup into a data directory that the caller holds and whose stores are not open. What is
/// there is replaced, and kept beside it, when `replace` says so.
///
/// # Errors
/// [`Code::BackupUnusable`] when the backup is not whole or of another format, or something is there
/// and must not be replaced.
///
/// # Panics
/// Outside of a thread that the runtime keeps for blocking work.
pub fn restore(backup: &Path, dir: &DataDir, replace: Replace) -> Result<RestoreReport, Error> {
    let finished = || take_place(dir).map_err(|error| not_restored(backup, &error));
    // One that was cut off goes first, so that this one begins with what is there.
    finished()?;
    if replace == Replace::Never && is_used(&dir.path) {
        let why = locale::backup::used(locale::quoted(&dir.path));
        return Err(Error::new(Code::BackupUnusable, why));
    }
    let staged = stage(backup, dir)?;
    Ok(RestoreReport {
        backup: staged,
        aside: finished()?,
    })
}

/// Whether what is there may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// Only an empty data directory is filled.
    Never,
    /// What is there is moved aside.
    Aside,
}

/// Copies a backup into the data directory that it is to be restored to, and checks it.
///
/// # Errors
/// [`Code::BackupUnusable`]: it is no backup, incomplete, of another format, or cannot be copied;
/// nothing changes then.
pub(super) fn stage(backup: &Path, dir: &DataDir) -> Result<Backup, Error> {
    let data_dir = &dir.path;
    let broken = |error: io::Error| not_restored(backup, &error);
    let manifest = match Manifest::read(backup) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(broken(error)),
        Ok(Some(manifest)) if has_all(&manifest) && memory::are_own(&manifest.memory) => manifest,
        Ok(_) | Err(_) => {
            let why = locale::backup::none(locale::quoted(backup));
            return Err(Error::new(Code::BackupUnusable, why));
        }
    };
    let part = data_dir.join(PART);
    let staged = clear(&part)
        .and_then(|()| copy(&manifest, backup, &part, dir))
        .and_then(|is_whole| {
            if is_whole {
                check_formats(&part)?;
                failpoint!("restore.staged.before");
                std::fs::rename(&part, data_dir.join(STAGED))?;
                sync_dir(data_dir)?;
                failpoint!("restore.staged.after");
            }
            Ok(is_whole)
        });
    if !matches!(staged, Ok(true))
        && let Err(error) = unstage(data_dir)
    {
        tracing::warn!(%error, "half a restore stays behind until the next start");
    }
    match staged {
        Ok(true) => Ok(manifest.info(backup)),
        Ok(false) => {
            let why = locale::backup::damaged(locale::quoted(backup));
            Err(Error::new(Code::BackupUnusable, why))
        }
        Err(error) => Err(broken(error)),
    }
}

/// Refuses stores of another format, which no start would open. What is damaged, a start sets aside.
fn check_formats(part: &Path) -> io::Result<()> {
    let journal = LmdbJournal::check(part, u64::MAX).and_then(|()| LmdbJournal::find(part));
    let history = Handle::current().block_on(SqliteHistory::find(&part.join(HISTORY)));
    for found in [journal, history] {
        match found {
            Ok(_) | Err(Broken::Damaged(_)) => {}
            Err(broken) => return Err(io::Error::other(broken.to_string())),
        }
    }
    Ok(())
}

/// Takes away what is staged. What is renamed first, no start takes for a restore that waits, however
/// much of it a crash leaves.
fn unstage(data_dir: &Path) -> io::Result<()> {
    let part = data_dir.join(PART);
    match std::fs::rename(data_dir.join(STAGED), &part) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    sync_dir(data_dir)?;
    failpoint!("restore.unstaged.after");
    clear(&part)
}

fn clear(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Whether it lists what a backup has, and nothing that could lead elsewhere.
fn has_all(manifest: &Manifest) -> bool {
    let paths = manifest.files.iter().map(|file| file.path.as_str());
    let mut paths: Vec<_> = paths.collect();
    paths.sort_unstable();
    paths == [AUDIT, HISTORY, JOURNAL_FILE]
}

fn copy(manifest: &Manifest, backup: &Path, part: &Path, dir: &DataDir) -> io::Result<bool> {
    make_new(part)?;
    make_new(&part.join(JOURNAL))?;
    if manifest.memory.iter().any(|file| file.path.contains('/')) {
        make_new(&part.join(DAILY))?;
    }
    for file in manifest.all() {
        if !file.copy(backup, part)? {
            return Ok(false);
        }
    }
    if !blobs::copy(backup, part)? || BlobSum::of(part)? != manifest.blobs {
        return Ok(false);
    }
    let plan = Plan {
        aside: format!("replaced-{}", dir.clock.now().0),
        epoch: manifest.epoch,
    };
    let small = dir.files.of(part)?;
    small.write_synced(PLAN, &serde_json::to_vec(&plan)?)?;
    sync_dir(&part.join(JOURNAL))?;
    if part.join(DAILY).exists() {
        sync_dir(&part.join(DAILY))?;
    }
    sync_dir(part)?;
    Ok(true)
}

/// Whether a backup waits for its place, which the next start gives it.
pub(crate) fn is_waiting(dir: &DataDir) -> bool {
    dir.path.join(STAGED).is_dir()
}

/// Finishes a restore that was cut off, before the stores are opened.
///
/// # Errors
/// [`OpenError::Restore`]; the next start tries again.
pub fn finish(dir: &DataDir) -> Result<(), OpenError> {
    let finished = take_place(dir).map(drop);
    finished.map_err(|source| OpenError::Restore {
        dir: dir.path.clone(),
        source,
    })
}

/// Gives a backup that waits for it its place, and answers where what was there is now.
fn take_place(dir: &DataDir) -> io::Result<Option<PathBuf>> {
    let data_dir = &dir.path;
    let cleared = clear(&data_dir.join(PART));
    let staged = data_dir.join(STAGED);
    if !staged.is_dir() {
        if let Err(error) = cleared {
            tracing::warn!(%error, "half a restore stays behind");
        }
        return Ok(None);
    }
    cleared?;
    // The copy has its room; what is written from here on may need a little more.
    Disk::drop_ballast(data_dir);
    let small = dir.files.of(&staged)?;
    let text = small.read(PLAN, MAX_BYTES)?.unwrap_or_default();
    let plan: Plan = serde_json::from_str(&text)?;
    let aside = make_folder(data_dir, &plan.aside)?;
    // From here on what lies in the data directory is the backup's.
    if !staged.join(MOVED).exists() {
        move_all(data_dir, &aside, &data_dir::HISTORY)?;
        move_all(data_dir, &aside, &data_dir::JOURNAL)?;
        // What was damaged there is not damaged in the backup.
        move_all(data_dir, &aside, &[AUDIT, BLOBS, DAMAGED])?;
        move_all(data_dir, &aside, &MEMORY)?;
        File::create(staged.join(MOVED))?.sync_all()?;
        sync_dir(&staged)?;
        failpoint!("restore.moved.after");
    }
    move_all(&staged, data_dir, &[HISTORY, JOURNAL, AUDIT, BLOBS])?;
    move_all(&staged, data_dir, &MEMORY)?;
    let before = Run::of(dir);
    let run = Run {
        state: RunState::Closed,
        is_restored: true,
        // It has no generation, so that it takes the backup's. No event id of the data that is
        // replaced is given out again.
        epoch: before.epoch.max(plan.epoch),
        ..Run::default()
    };
    run.write_synced(dir)?;
    failpoint!("restore.run.after");
    unstage(data_dir)?;
    // It stays when something is in it.
    Ok(std::fs::remove_dir(&aside).is_err().then_some(aside))
}

fn not_restored(backup: &Path, error: &io::Error) -> Error {
    let why = locale::backup::not_restored(locale::quoted(backup), error);
    Error::new(Code::BackupUnusable, why)
}

#[cfg(test)]
mod tests {
    use samovar_core::{History, Millis};
    use tempfile::TempDir;

    use super::*;
    use crate::backup::files::BackupFile;
    use crate::data_dir::tests::data_dir as dir_of;
    use crate::journal::make_bare;

    /// A backup of empty stores, of which the named one is of another format.
    async fn backup_with(foreign: &str) -> TempDir {
        let folder = TempDir::new().unwrap();
        let history = folder.path().join(HISTORY);
        let opened = SqliteHistory::open(history.clone()).await;
        opened.unwrap().close().await.unwrap();
        if foreign == "history" {
            let later = "UPDATE _sqlx_migrations SET version = 99 WHERE version = 2";
            let connection = rusqlite::Connection::open(&history).unwrap();
            connection.execute_batch(later).unwrap();
        }
        make_new(&folder.path().join(JOURNAL)).unwrap();
        if foreign == "journal" {
            make_bare(&folder.path().join(JOURNAL), 2);
        } else {
            drop(LmdbJournal::open(folder.path(), 1).unwrap());
        }
        File::create(folder.path().join(AUDIT)).unwrap();
        let files = [HISTORY, JOURNAL_FILE, AUDIT];
        let files = files.map(|name| BackupFile::of(folder.path(), name).unwrap());
        let manifest = Manifest::new(Millis(1), 1, files.to_vec());
        manifest.write(folder.path()).unwrap();
        folder
    }

    // proves DU-13
    #[tokio::test]
    async fn a_backup_of_another_format_is_refused_and_nothing_is_moved() {
        for (foreign, is_refused) in [("history", true), ("journal", true), ("neither", false)] {
            let (backup, data) = (backup_with(foreign).await, TempDir::new().unwrap());
            std::fs::write(data.path().join(data_dir::HISTORY[0]), "kept").unwrap();
            let (from, dir) = (backup.path().to_owned(), dir_of(&data));

            let restoring = move || restore(&from, &dir, Replace::Aside);
            let restored = tokio::task::spawn_blocking(restoring).await.unwrap();

            let refusal = restored.err().map(|error| (error.code, error.message));
            let kept = std::fs::read(data.path().join(data_dir::HISTORY[0])).unwrap();
            assert_eq!(kept == b"kept", is_refused, "{foreign}");
            assert!(!data.path().join(STAGED).exists(), "{foreign}");
            match refusal {
                Some((code, why)) => {
                    assert_eq!(code, Code::BackupUnusable, "{why}");
                    assert!(why.contains("format ") && is_refused, "{foreign}: {why}");
                }
                None => assert!(!is_refused, "{foreign}"),
            }
        }
    }

    // proves MD-13
    #[tokio::test]
    async fn what_agents_remember_is_in_a_backup_and_takes_the_place_of_what_is_there() {
        let (source, data) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let text = |dir: &TempDir, name: &str| std::fs::read_to_string(dir.path().join(name)).ok();
        for (dir, says) in [(&source, "then"), (&data, "now")] {
            make_new(&dir.path().join(DAILY)).unwrap();
            std::fs::write(dir.path().join("MEMORY.md"), says).unwrap();
            std::fs::write(dir.path().join("memory/2026-11-29.md"), says).unwrap();
        }
        std::fs::write(source.path().join("memory/.samovar-x.tmp"), "half").unwrap();
        std::os::unix::fs::symlink("/etc/hostname", source.path().join("memory/link.md")).unwrap();
        std::fs::write(data.path().join("memory/2026-11-30.md"), "later").unwrap();
        let backup = backup_with("neither").await;
        let memory = memory::copy_to(source.path(), backup.path()).unwrap();
        assert_eq!(memory.len(), 2);
        let files = [HISTORY, JOURNAL_FILE, AUDIT];
        let files = files.map(|name| BackupFile::of(backup.path(), name).unwrap());
        let manifest = Manifest::new(Millis(1), 1, files.to_vec());
        std::fs::remove_file(backup.path().join("manifest.json")).unwrap();
        manifest
            .with(BlobSum::default(), memory)
            .write(backup.path())
            .unwrap();

        let (from, dir) = (backup.path().to_owned(), dir_of(&data));
        let restoring = move || restore(&from, &dir, Replace::Aside);
        let restored = tokio::task::spawn_blocking(restoring)
            .await
            .unwrap()
            .unwrap();

        assert_eq!(text(&data, "MEMORY.md").as_deref(), Some("then"));
        assert_eq!(text(&data, "memory/2026-11-29.md").as_deref(), Some("then"));
        assert_eq!(text(&data, "memory/2026-11-30.md"), None);
        let aside = restored.aside.unwrap().join("memory/2026-11-30.md");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), "later");
        let elsewhere = [
            "memory/../x",
            "../MEMORY.md",
            "memory/a/b",
            "memory/",
            "other",
        ];
        for path in elsewhere {
            let mut file = BackupFile::of(backup.path(), AUDIT).unwrap();
            path.clone_into(&mut file.path);
            assert!(!memory::are_own(&[file]), "{path}");
        }
    }
}
