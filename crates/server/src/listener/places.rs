//! The places of a listener's connections. When all are taken, the oldest connection without a whole
//! head loses its own; without one, a few places are left in which a request is only read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// The places of one listener.
pub(crate) struct Places {
    connections: Arc<Semaphore>,
    first_heads: Arc<Semaphore>,
    silent: Arc<SilentConnections>,
}

/// What a connection was given.
pub(crate) enum Place {
    /// It is served until it ends.
    Connection(OwnedSemaphorePermit),
    /// Its first request is read, and answered if that needs no place, or one is free by then.
    FirstHead(OwnedSemaphorePermit),
}

/// The connections that have sent no whole head, by their age.
#[derive(Default)]
struct SilentConnections(Mutex<Numbered>);

#[derive(Default)]
struct Numbered {
    last: u64,
    oldest: BTreeMap<u64, Silence>,
}

/// How the silence of a connection ends.
#[derive(Clone, Default)]
pub(crate) struct Silence {
    /// Cancelled when the client has sent a whole head, or its connection has ended.
    pub(crate) heard: CancellationToken,
    /// Cancelled when another needs its place.
    pub(crate) evicted: CancellationToken,
}

/// A connection that is listed until its end; it is passed over once it was heard.
pub(crate) struct Silent {
    connections: Arc<SilentConnections>,
    number: u64,
    heard: CancellationToken,
}

impl Places {
    pub(crate) fn new(connections: usize, first_heads: usize) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(connections)),
            first_heads: Arc::new(Semaphore::new(first_heads)),
            silent: Arc::default(),
        }
    }

    /// A place for a connection that has come; waits when all are taken, the last ones too.
    pub(crate) async fn take(&self) -> Place {
        if let Some(permit) = self.free() {
            return Place::Connection(permit);
        }
        // All are safe to drop halfway: a permit that was not taken is another's. No semaphore is
        // ever closed.
        while let Some(oldest) = self.silent.take_oldest() {
            oldest.evicted.cancel();
            tokio::select! {
                biased;
                Ok(permit) = self.connections.clone().acquire_owned() => {
                    return Place::Connection(permit);
                }
                // Its head had come and was not read yet, or another took its place first.
                () = oldest.heard.cancelled() => {}
            }
        }
        tokio::select! {
            biased;
            Ok(permit) = self.connections.clone().acquire_owned() => Place::Connection(permit),
            Ok(permit) = self.first_heads.clone().acquire_owned() => Place::FirstHead(permit),
            else => std::future::pending().await,
        }
    }

    /// A place, if one is free.
    pub(crate) fn free(&self) -> Option<OwnedSemaphorePermit> {
        self.connections.clone().try_acquire_owned().ok()
    }

    /// Notes a connection that has sent no whole head yet.
    pub(crate) fn silent(&self, silence: Silence) -> Silent {
        let mut numbered = self.silent.lock();
        numbered.last += 1;
        let number = numbered.last;
        let heard = silence.heard.clone();
        numbered.oldest.insert(number, silence);
        Silent {
            connections: self.silent.clone(),
            number,
            heard,
        }
    }
}

impl SilentConnections {
    fn take_oldest(&self) -> Option<Silence> {
        let mut numbered = self.lock();
        let mut oldest = std::iter::from_fn(|| numbered.oldest.pop_first());
        let silent = oldest.find(|(_, silence)| !silence.heard.is_cancelled());
        silent.map(|(_, silence)| silence)
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        self.connections.lock().oldest.remove(&self.number);
        self.heard.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_that_another_took_first_is_not_waited_for() {
        let places = Places::new(1, 1);
        let kept = places.take().await;
        let silent = places.silent(Silence::default());

        let taking = tokio::time::timeout(Duration::from_secs(1), places.take());
        let (place, ()) = tokio::join!(taking, async { drop(silent) });

        assert!(matches!(place, Ok(Place::FirstHead(_))));
        drop(kept);
    }
}
