//! Where handlers find the engine. The cell is empty until everything is opened, so no call is answered
//! half-built (AS-22).

use std::sync::Arc;
use std::time::Duration;

use samovar_core::{Code, Error};
use samovar_engine::Engine;
use samovar_locale as locale;
use tokio::sync::watch;

/// How long a call waits for a server that is starting.
const PATIENCE: Duration = Duration::from_secs(4);

/// Where handlers find the engine.
#[derive(Clone)]
pub(crate) struct EngineCell(watch::Receiver<Option<Arc<Engine>>>);

/// Fills the cell; dropped before, it lets the waiting calls go.
pub(crate) type Filler = watch::Sender<Option<Arc<Engine>>>;

impl EngineCell {
    /// An empty one.
    pub(crate) fn new() -> (Filler, Self) {
        let (filler, receiver) = watch::channel(None);
        (filler, Self(receiver))
    }

    /// The engine, waited for while the server starts.
    ///
    /// # Errors
    /// [`Code::Unavailable`] after four seconds, or when the start failed.
    pub(crate) async fn wait(&self) -> Result<Arc<Engine>, Error> {
        let mut cell = self.0.clone();
        let filled = tokio::time::timeout(PATIENCE, cell.wait_for(Option::is_some)).await;
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

pub(crate) fn starting() -> Error {
    Error::new(Code::Unavailable, locale::server::starting())
}
