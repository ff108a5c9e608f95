//! The exchanges of earlier sessions, for recall (MD-11).

use std::sync::{Arc, Mutex, PoisonError, Weak};

use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery};
use samovar_core::{Error, Future};
use samovar_engine::{Engine, Held};
use samovar_memory::Exchanges;

use crate::engine_cell::starting;
use crate::router::Shared;

/// Those of the sessions of an engine, which has the tools, which have this.
pub(crate) struct OfSessions {
    shared: Weak<Shared>,
    /// What of its memory the vectors take.
    held: Mutex<Option<Held>>,
}

impl OfSessions {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            held: Mutex::default(),
        }
    }

    fn now(&self) -> Option<Arc<Engine>> {
        self.shared.upgrade()?.engine.now().ok()
    }

    async fn engine(&self) -> Result<Arc<Engine>, Error> {
        let engine = self.shared.upgrade().map(|shared| shared.engine.clone());
        engine.ok_or_else(starting)?.wait().await
    }
}

impl Exchanges for OfSessions {
    fn ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, String>> {
        Box::pin(async move {
            let ids = match self.engine().await {
                Ok(engine) => engine.exchange_ids(most).await,
                Err(starting) => Err(starting),
            };
            ids.map_err(|error| error.message.into_owned())
        })
    }

    fn read(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, String>> {
        Box::pin(async move {
            let found = match self.engine().await {
                Ok(engine) => engine.exchanges(query).await,
                Err(starting) => Err(starting),
            };
            found.map_err(|error| error.message.into_owned())
        })
    }

    fn is_idle(&self) -> bool {
        let engine = self.now();
        engine.is_some_and(|engine| engine.numbers().turns_running == 0)
    }

    fn weigh(&self, bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.is_none() {
            *held = self.now().map(|engine| engine.share_of_memory());
        }
        if let Some(held) = &mut *held {
            held.set(bytes);
        }
    }
}
