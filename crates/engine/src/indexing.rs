//! Old messages become searchable, a few at a time, while everything else goes on (AS-27).

use std::sync::Arc;
use std::time::Duration;

use samovar_core::History;
use tokio_util::sync::CancellationToken;

/// How long the history is left alone after some messages were taken.
const PAUSE: Duration = Duration::from_millis(20);
/// How long after it could not take any.
const REST: Duration = Duration::from_mins(1);

/// Works until no message is left that cannot be searched for, or until it is stopped; the next start
/// continues.
pub(crate) async fn run(history: Arc<dyn History>, stop: CancellationToken) {
    loop {
        let pause = match history.index().await {
            Ok(false) => return,
            Ok(true) => PAUSE,
            Err(broken) => {
                tracing::warn!(%broken, "old messages cannot be made searchable");
                REST
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}
