//! A backup of a data directory in use, as a folder: the history, the journal, and a list of both with
//! their checksums.
//!
//! Nothing is removed from the journal meanwhile, and the history is copied first, so that what the
//! copy of the history lacks is in the copy of the journal. Tokens, logs and the address of a running
//! server are not in it: who has a backup can read what was said, and reaches no server with it.

mod files;
mod restore;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::{Broken, Clock, Code, Error, Journal};
use samovar_locale as locale;
use samovar_sandbox::{SmallFiles, Survival};
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use samovar_wire::api::BackupInfo;
use tokio::sync::Mutex;

use crate::clock::SystemClock;
use crate::stores::{Stores, blocking, sync_dir};

use files::{Listed, Manifest};
pub use restore::{Replace, Restored, restore};
pub(crate) use restore::{finish, stage};

/// The files of a backup.
const HISTORY: &str = "history.db";
const JOURNAL: &str = "journal";
const JOURNAL_FILE: &str = "journal/data.mdb";

/// Where the last backup is told of.
const LAST: &str = "last-backup.json";
const MAX_BYTES: u64 = 16 * 1024;

/// Makes backups of the stores that are open.
pub(crate) struct Backups {
    data_dir: PathBuf,
    files: SmallFiles,
    journal: Arc<LmdbJournal>,
    history: Arc<SqliteHistory>,
    /// Held while one is made.
    one: Mutex<()>,
}

/// The last backup of a data directory that need not be held.
pub fn last(data_dir: &Path) -> Option<BackupInfo> {
    let text = SmallFiles::of(data_dir)
        .ok()?
        .read(LAST, MAX_BYTES)
        .ok()??;
    serde_json::from_str(&text).ok()
}

impl Backups {
    pub(crate) fn new(data_dir: &Path, files: SmallFiles, stores: &Stores) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
            files,
            journal: stores.journal.clone(),
            history: stores.history.clone(),
            one: Mutex::default(),
        }
    }

    /// This run of the server.
    pub(crate) fn epoch(&self) -> u64 {
        self.journal.epoch().0
    }

    /// The data directory.
    pub(crate) fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// Makes a backup in a folder that is not there yet; it appears when it is whole.
    ///
    /// # Errors
    /// [`Code::BackupUnusable`] when it cannot be made there, [`Code::Busy`] when another is being
    /// made.
    pub(crate) async fn make(&self, target: &Path) -> Result<BackupInfo, Error> {
        let Ok(_one) = self.one.try_lock() else {
            return Err(Error::new(Code::Busy, locale::backup::busy()));
        };
        let part = part_of(target, &self.data_dir)?;
        let unusable = |why: &dyn std::fmt::Display| {
            let target = locale::quoted(target);
            Error::new(Code::BackupUnusable, locale::backup::not_made(target, why))
        };
        let made = self.fill(&part).await;
        let kept = match made {
            Ok(manifest) => place(&part, target).map(|()| manifest).map_err(from_io),
            Err(broken) => Err(broken),
        };
        let manifest = kept.map_err(|broken| {
            if let Err(error) = std::fs::remove_dir_all(&part) {
                tracing::warn!(%error, "half a backup stays behind");
            }
            unusable(&broken)
        })?;
        let info = manifest.info(target);
        if let Err(error) = self.note(&info) {
            tracing::warn!(%error, "it is not noted that a backup was made");
        }
        Ok(info)
    }

    async fn fill(&self, part: &Path) -> Result<Manifest, Broken> {
        files::make_new(part).map_err(from_io)?;
        let pause = self.journal.pause_removal();
        self.history.copy_to(&part.join(HISTORY)).await?;
        let (journal, folder) = (self.journal.clone(), part.join(JOURNAL));
        blocking(move || journal.copy_to(&folder)).await?;
        drop(pause);
        let (part, epoch) = (part.to_owned(), self.epoch());
        blocking(move || {
            let list = |name: &str| Listed::of(&part, name);
            let files = [HISTORY, JOURNAL_FILE].map(list).into_iter();
            let files = files.collect::<io::Result<_>>().map_err(from_io)?;
            let manifest = Manifest::new(SystemClock.now(), epoch, files);
            manifest.write(&part).map_err(from_io)?;
            Ok(manifest)
        })
        .await
    }

    fn note(&self, info: &BackupInfo) -> io::Result<()> {
        let text = serde_json::to_vec(info)?;
        self.files.write(LAST, &text, Survival::Crash)
    }
}

/// The folder that a backup is made in, beside where it is to be.
fn part_of(target: &Path, data_dir: &Path) -> Result<PathBuf, Error> {
    let refuse = |why: String| Error::new(Code::BackupUnusable, why);
    let shown = || locale::quoted(target);
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(refuse(locale::backup::no_folder(shown())));
    };
    if !target.is_absolute() || !parent.is_dir() {
        return Err(refuse(locale::backup::no_folder(shown())));
    }
    if target.symlink_metadata().is_ok() {
        return Err(refuse(locale::backup::exists(shown())));
    }
    let inside = |parent: PathBuf, data_dir: PathBuf| parent.starts_with(data_dir);
    match (parent.canonicalize(), data_dir.canonicalize()) {
        (Ok(parent), Ok(data_dir)) if inside(parent.clone(), data_dir.clone()) => {
            Err(refuse(locale::backup::inside(shown())))
        }
        _ => {
            let mut part = name.to_owned();
            part.push(format!(".part-{}", std::process::id()));
            Ok(parent.join(part))
        }
    }
}

/// Gives a whole backup its name.
fn place(part: &Path, target: &Path) -> io::Result<()> {
    sync_dir(part)?;
    std::fs::rename(part, target)?;
    target.parent().map_or(Ok(()), sync_dir)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn from_io(error: io::Error) -> Broken {
    Broken::Io(error.to_string())
}
