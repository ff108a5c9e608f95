//! Copies the journal while it is in use. Nothing is removed meanwhile; a server that starts from a
//! copy projects everything to the history again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use heed::CompactionOption;
use samovar_core::Broken;

use super::fault::{Fault, from_io};
use super::settings::FILE;
use super::sync_marker::sync_dir;
use super::{LmdbJournal, Shared, pages};
use crate::data_dir::create;
use crate::spool;

/// While it lives, nothing is removed from the journal.
pub struct Pause(Arc<Shared>);

impl Drop for Pause {
    fn drop(&mut self) {
        self.0.pauses.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// Whether somebody wants nothing to be removed.
    pub(super) fn is_paused(&self) -> bool {
        self.pauses.load(Ordering::SeqCst) > 0
    }
}

impl LmdbJournal {
    /// Keeps everything that is in the journal there, until the answer is dropped. A sweep that comes
    /// meanwhile removes nothing.
    pub fn pause_removal(&self) -> Pause {
        self.shared.pauses.fetch_add(1, Ordering::SeqCst);
        Pause(self.shared.clone())
    }

    /// Copies everything committed into a new folder, synced, and checks every page of the copy.
    /// Commits continue meanwhile; live events of unfinished messages are left out. For a thread
    /// that may block.
    ///
    /// # Errors
    /// [`Broken`]; also when the folder is there, or the copy is not sound.
    pub fn copy_to(&self, dir: &Path) -> Result<(), Broken> {
        let unwritable = |error| from_io(&dir.display().to_string(), &error);
        let tables = self.shared.tables()?;
        if dir.exists() {
            return Err(Broken::Io(format!("{} is there already", dir.display())));
        }
        spool::make_dir(dir)?;
        let path = dir.join(FILE);
        let mut file = create(&path).map_err(unwritable)?;
        let copied = tables
            .env
            .copy_to_file(&mut file, CompactionOption::Enabled);
        copied.map_err(Fault::from)?;
        file.sync_all().map_err(unwritable)?;
        sync_dir(dir)?;
        pages::check(&path, u64::MAX).map(drop)
    }

    /// Marks everything that is here as something that the history may lack, so that it is projected
    /// again; what it has is skipped. For a history that is new, or older than the journal.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn project_again(&self) -> Result<(), Broken> {
        let tables = self.shared.tables()?;
        let mut txn = tables.env.write_txn().map_err(Fault::from)?;
        tables.mark_all(&mut txn)?;
        txn.commit().map_err(Fault::from)?;
        self.shared.count_commit();
        Ok(())
    }
}
