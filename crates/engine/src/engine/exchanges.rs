//! Finished exchanges, to be recalled in later sessions (MD-11).

use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery};
use samovar_core::{Code, Error};
use samovar_locale as locale;

use super::Engine;
use crate::memory::Held;

impl Engine {
    /// The newest finished exchanges, the newest first.
    ///
    /// # Errors
    /// [`Code::StoreFailed`] when the history cannot be read; [`Code::Unavailable`] while it lacks
    /// something: that may be a deletion.
    pub async fn exchange_ids(&self, most: u32) -> Result<Vec<ExchangeId>, Error> {
        self.has_all().await?;
        let ids = self.parts.history.exchange_ids(most).await;
        ids.map_err(|broken| self.broke(&broken))
    }

    /// What was said in finished exchanges.
    ///
    /// # Errors
    /// As [`Engine::exchange_ids`].
    pub async fn exchanges(&self, query: ExchangeQuery) -> Result<Vec<Exchange>, Error> {
        self.has_all().await?;
        let found = self.parts.history.exchanges(query).await;
        found.map_err(|broken| self.broke(&broken))
    }

    /// A share of the memory of all sessions, for the vectors of exchanges and memories.
    pub fn share_of_memory(&self) -> Held {
        self.parts.memory.share()
    }

    async fn has_all(&self) -> Result<(), Error> {
        if self.caught_up().await {
            return Ok(());
        }
        Err(Error::new(
            Code::Unavailable,
            locale::memory::history_behind(),
        ))
    }
}
