//! The exchanges of earlier sessions, for who recalls them (MD-11).

use std::sync::{Arc, Weak};

use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery};
use samovar_core::{Error, Future};
use samovar_engine::Engine;
use samovar_memory::Exchanges;

use crate::engine_cell::starting;
use crate::router::Shared;

/// Those of the sessions of an engine, which has the tools, which have this.
pub(crate) struct OfSessions(pub(crate) Weak<Shared>);

impl OfSessions {
    async fn engine(&self) -> Result<Arc<Engine>, Error> {
        let engine = self.0.upgrade().map(|shared| shared.engine.clone());
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
        let engine = self.0.upgrade().map(|shared| shared.engine.now());
        let engine = engine.and_then(Result::ok);
        engine.is_some_and(|engine| engine.numbers().turns_running == 0)
    }
}
