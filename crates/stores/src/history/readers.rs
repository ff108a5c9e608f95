//! The connections that read, and the threads on which `SQLite` blocks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::failure::Failure;
use super::file;

/// How many reads run at once; more wait for one of them.
const READERS: u32 = 4;

/// The connections that read: opened when they are needed, and kept. As long as one of them is there,
/// `SQLite` leaves the WAL where it is when the writer's connection fails; a WAL that is missing after a
/// crash was removed by a person or a program.
#[derive(Clone)]
pub(super) struct Readers(Arc<Shared>);

struct Shared {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(Arc::new(Shared {
            path,
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(READERS as usize)),
        }))
    }

    /// Reads as of one moment. It ends what it began although the caller goes away.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        self.with(|connection| {
            let moment = connection.unchecked_transaction()?;
            read(&moment)
        })
        .await
    }

    /// Does something with one of them.
    pub(super) async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let shared = self.0.clone();
        let closed = || Failure::Foreign("it is closed".to_owned());
        let place = shared.places.clone().acquire_owned().await;
        let place = place.map_err(|_| closed())?;
        blocking(move || {
            let idle = shared.idle().pop();
            let connection = match idle {
                Some(idle) => idle,
                None => file::reader(&shared.path)?,
            };
            let done = work(&connection);
            shared.idle().push(connection);
            drop(place);
            done
        })
        .await
    }

    /// Closes all of them; later reads fail.
    pub(super) async fn close(&self) {
        let all = self.0.places.acquire_many(READERS).await;
        self.0.places.close();
        drop(all);
        self.0.idle().clear();
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does what blocks on a thread for that.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Failure::Foreign(error.to_string())))
}
