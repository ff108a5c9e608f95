//! The blobs that messages name: each is kept before its message, and removed after the last message
//! that names it (AS-30).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use samovar_core::provider::Prompt;
use samovar_core::{BlobHash, Blobs, Broken, Code, Error, Image, Model};
use samovar_locale as locale;
use serde_json::json;
use tokio::sync::{Notify, RwLock, RwLockReadGuard};

use crate::parts::{Parts, refusal};

/// How long the sweep waits when a store did not let it work.
const AGAIN: Duration = Duration::from_secs(1);

/// Gives access to the blobs, and knows when some may be named by no message.
pub struct BlobKeeper {
    store: Arc<dyn Blobs>,
    /// Read while a message that names blobs is being kept; written by the sweep, which never waits for it.
    naming: RwLock<()>,
    is_due: AtomicBool,
    due: Notify,
}

/// No blob is removed until this is dropped. Unless [`Naming::named`] was called, the blobs that were
/// put may have no message, and are looked for.
pub struct Naming<'a> {
    keeper: &'a BlobKeeper,
    _no_sweep: RwLockReadGuard<'a, ()>,
    is_named: bool,
}

impl BlobKeeper {
    pub(crate) fn new(store: Arc<dyn Blobs>) -> Self {
        Self {
            store,
            naming: RwLock::default(),
            // A former run may have been stopped before it could remove some.
            is_due: AtomicBool::new(true),
            due: Notify::new(),
        }
    }

    /// Lets the caller keep blobs and then the message that names them.
    pub async fn naming(&self) -> Naming<'_> {
        Naming {
            keeper: self,
            _no_sweep: self.naming.read().await,
            is_named: false,
        }
    }

    /// The bytes of a blob; `None` if it is missing.
    ///
    /// # Errors
    /// [`Broken`] when it cannot be read.
    pub async fn read(&self, hash: &BlobHash) -> Result<Option<Arc<[u8]>>, Broken> {
        self.store.read(hash).await
    }

    /// Notes that a message that may have named blobs is gone.
    pub(crate) fn is_due(&self) {
        self.is_due.store(true, Ordering::Release);
        self.due.notify_one();
    }
}

impl Naming<'_> {
    /// Keeps bytes, durably.
    ///
    /// # Errors
    /// The store's refusal, also when the disk has no room.
    pub async fn put(&self, bytes: Arc<[u8]>) -> Result<BlobHash, Error> {
        self.keeper.store.put(bytes).await.map_err(refusal)
    }

    /// Notes that all that was put is named by a message that is kept.
    pub fn named(mut self) {
        self.is_named = true;
    }
}

impl Drop for Naming<'_> {
    fn drop(&mut self) {
        if !self.is_named {
            self.keeper.is_due();
        }
    }
}

impl Parts {
    /// Keeps the images of a message that is about to be kept; `None` if it has none.
    ///
    /// # Errors
    /// [`Code::ModelWithoutImages`], or the store's failure; nothing is kept for long then.
    pub(crate) async fn keep_images(
        &self,
        model: &Model,
        images: &[Image],
    ) -> Result<Option<Naming<'_>>, Error> {
        if images.is_empty() {
            return Ok(None);
        }
        if model.is_blind {
            return Err(self.without_images(model));
        }
        let naming = self.blobs.naming().await;
        for image in images {
            naming.put(image.bytes().clone()).await?;
        }
        Ok(Some(naming))
    }

    fn without_images(&self, model: &Model) -> Error {
        let others = self.models.with_images(&model.route);
        let name = locale::quoted(&model.name);
        let why = if others.is_empty() {
            locale::image::none_in_model_alone(name)
        } else {
            locale::image::none_in_model(name, others.join(", "))
        };
        let details = json!({"model": model.name, "modelsWithImages": others});
        Error::new(Code::ModelWithoutImages, why).with_details(details)
    }

    /// Reads the images that a prompt shows. One that is missing is left to the dialect, which says so.
    ///
    /// # Errors
    /// [`Broken`] when the store cannot be read.
    pub(crate) async fn read_images(&self, prompt: &mut Prompt) -> Result<(), Broken> {
        for hash in prompt.messages.iter().flat_map(|message| message.blobs()) {
            if !prompt.images.contains_key(hash)
                && let Some(bytes) = self.blobs.read(hash).await?
            {
                prompt.images.insert(hash.clone(), bytes);
            }
        }
        Ok(())
    }
}

/// Removes blobs that no message names, whenever there may be some.
pub(crate) async fn run(parts: Arc<Parts>) {
    loop {
        let is_done = sweep(&parts).await;
        tokio::select! {
            () = parts.stop.cancelled() => return,
            () = parts.blobs.due.notified(), if is_done => {}
            () = tokio::time::sleep(AGAIN), if !is_done => {}
        }
    }
}

/// Removes the blobs that no message names, if there may be any. Whether nothing is left to do.
pub(crate) async fn sweep(parts: &Parts) -> bool {
    if !parts.blobs.is_due.swap(false, Ordering::AcqRel) {
        return true;
    }
    let swept = try_sweep(parts).await.unwrap_or_else(|broken| {
        tracing::warn!(%broken, "blobs without a message stay for now");
        false
    });
    if !swept {
        parts.blobs.is_due.store(true, Ordering::Release);
    }
    swept
}

async fn try_sweep(parts: &Parts) -> Result<bool, Broken> {
    let (keeper, wait) = (&parts.blobs, parts.settings.read_wait);
    if keeper.store.list().await?.is_empty() {
        return Ok(true);
    }
    // The history lacks what waits in the journal. First without holding up anyone.
    if !parts.projector.took_over(wait).await || !parts.projector.caught_up(wait).await {
        return Ok(false);
    }
    // Never waited for: a fork that holds it may wait for a session that keeps an image, and a sweep that
    // waits would let that session in only after itself.
    let Ok(_alone) = keeper.naming.try_write() else {
        return Ok(false);
    };
    if !parts.projector.caught_up(wait).await {
        return Ok(false);
    }
    let mut blobs = keeper.store.list().await?;
    let named = parts.history.blobs().await?;
    blobs.retain(|hash| !named.contains(hash));
    keeper.store.remove(blobs).await?;
    Ok(true)
}
