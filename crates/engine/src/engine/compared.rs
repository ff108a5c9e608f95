//! Whether a session's state is what a restart would make of the stores.

use samovar_core::{Error, SessionId};
use tokio::sync::oneshot;

use super::{Engine, stopping};
use crate::session::Letter;

impl Engine {
    /// How the state of a session differs from what a restart would make of the stores; `None` where it
    /// does not, as always. For tests.
    ///
    /// # Errors
    /// As of a command.
    #[doc(hidden)]
    pub async fn difference(&self, session: &SessionId) -> Result<Option<String>, Error> {
        let (reply, said) = oneshot::channel();
        self.bus.send(session, Letter::Compare(reply))?;
        said.await.map_err(|_| stopping())?
    }
}
