//! The engine's place, empty until everything is opened: no call is answered half-built (AS-22).

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{Code, Error};
use samovar_engine::Engine;
use samovar_locale as locale;
use tokio::sync::watch;

/// How long a call waits for a server that is starting.
const PATIENCE: Duration = Duration::from_secs(4);

/// Where routes find the engine.
pub(crate) struct Slot(watch::Receiver<Option<Arc<Engine>>>);

/// Fills the slot, once.
pub(crate) struct Filler(watch::Sender<Option<Arc<Engine>>>);

/// A slot that is empty still.
pub(crate) fn slot() -> (Filler, Slot) {
    let (sender, receiver) = watch::channel(None);
    (Filler(sender), Slot(receiver))
}

impl Filler {
    /// Lets those in who wait, and everybody after them.
    pub(crate) fn fill(self, engine: Arc<Engine>) {
        self.0.send_replace(Some(engine));
    }
}

impl Slot {
    /// The engine, waited for while the server starts.
    ///
    /// # Errors
    /// [`Code::Unavailable`] after four seconds, or when the start failed.
    pub(crate) async fn engine(&self) -> Result<Arc<Engine>, Error> {
        let mut slot = self.0.clone();
        let filled = tokio::time::timeout(PATIENCE, slot.wait_for(Option::is_some)).await;
        let engine = match filled {
            Ok(Ok(engine)) => engine.clone(),
            // The start failed, or takes longer.
            Ok(Err(_)) | Err(_) => None,
        };
        engine.ok_or_else(starting)
    }

    /// The engine, if it is there now.
    ///
    /// # Errors
    /// [`Code::Unavailable`] while the server starts.
    pub(crate) fn now(&self) -> Result<Arc<Engine>, Error> {
        self.0.borrow().clone().ok_or_else(starting)
    }
}

fn starting() -> Error {
    Error::new(Code::Unavailable, locale::server::starting())
}
