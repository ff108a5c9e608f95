//! Bringing rows to the disk itself: soon after they are written, and before what must be there is
//! said.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a row may be in the kernel alone.
const EVERY: Duration = Duration::from_secs(1);

/// A file whose writes reach the disk later.
pub(crate) struct SyncedFile {
    file: File,
    /// The folder in which the file is new.
    folder: Mutex<Option<OwnedFd>>,
    is_dirty: AtomicBool,
    /// Why nothing is known of its bytes any more.
    failed: OnceLock<String>,
}

impl SyncedFile {
    pub(crate) fn new(file: File, folder: Option<OwnedFd>) -> Self {
        Self {
            file,
            folder: Mutex::new(folder),
            is_dirty: AtomicBool::new(false),
            failed: OnceLock::new(),
        }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// # Errors
    /// That a sync has failed: nobody knows what of the file is on the disk.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.failed.get() {
            Some(why) => Err(io::Error::other(why.clone())),
            None => Ok(()),
        }
    }

    /// Waits until all that was written is on the disk. Blocks.
    ///
    /// # Errors
    /// What the system said; from then on nothing is written to the file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.is_dirty.store(false, Ordering::Relaxed);
        let folder = self
            .folder
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let named = folder.map_or(Ok(()), rustix::fs::fsync);
        let synced = self.file.sync_data().and(named.map_err(io::Error::from));
        synced.inspect_err(|error| {
            tracing::error!(%error, "a study log may not have reached the disk");
            self.failed.get_or_init(|| error.to_string());
        })
    }
}

/// Syncs what was written, every second and at the end.
#[derive(Default)]
pub(crate) struct Syncer {
    dirty: Mutex<Dirty>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct Dirty {
    files: Vec<Arc<SyncedFile>>,
    is_watched: bool,
}

impl Syncer {
    /// Something was written.
    pub(crate) fn wrote(self: &Arc<Self>, file: &Arc<SyncedFile>) {
        if file.is_dirty.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut dirty = self.dirty();
        dirty.files.push(file.clone());
        // Without a runtime the end of the relay syncs it.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if !std::mem::replace(&mut dirty.is_watched, true) {
            self.tasks.spawn_on(self.clone().watch(), &runtime);
        }
    }

    async fn watch(self: Arc<Self>) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
            let files = {
                let mut dirty = self.dirty();
                dirty.is_watched = !dirty.files.is_empty();
                std::mem::take(&mut dirty.files)
            };
            if files.is_empty() {
                return;
            }
            // A file whose sync fails notes that itself, and its next row is refused.
            let synced = self.tasks.spawn_blocking(move || sync_all(&files));
            if let Err(error) = synced.await {
                tracing::error!(%error, "study logs could not be synced");
            }
        }
    }

    /// Syncs a file away from the threads that must not wait for a disk, and then does something.
    ///
    /// # Errors
    /// How that ended, when there are no such threads: then it was synced here, and nothing was done.
    pub(crate) fn blocking(
        &self,
        file: Arc<SyncedFile>,
        then: impl FnOnce(io::Result<()>) + Send + 'static,
    ) -> Result<JoinHandle<()>, io::Result<()>> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(file.sync());
        };
        let work = move || then(file.sync());
        Ok(self.tasks.spawn_blocking_on(work, &runtime))
    }

    /// Waits for what runs; nothing is synced by itself any more.
    pub(crate) async fn settle(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Syncs all that is left, and waits for what runs.
    pub(crate) async fn close(&self) {
        let files = std::mem::take(&mut self.dirty().files);
        self.tasks.spawn_blocking(move || sync_all(&files));
        self.settle().await;
    }

    fn dirty(&self) -> MutexGuard<'_, Dirty> {
        self.dirty.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sync_all(files: &[Arc<SyncedFile>]) {
    for file in files {
        if let Err(error) = file.sync() {
            tracing::error!(%error, "a study log is stopped");
        }
    }
}
