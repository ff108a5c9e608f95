//! Copies of a message that come while it is being accepted: they wait for the answer of the first
//! and take no place in the session's mailbox.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::Shared;
use samovar_core::command::Post;
use samovar_core::{Accepted, Action, Command, Error, Image, MessageId, SessionId};
use tokio::sync::oneshot;

use super::stopping;

type Receiver = oneshot::Receiver<Result<Accepted, Error>>;
type Key = (SessionId, MessageId);

/// The messages that are being accepted.
#[derive(Default)]
pub(super) struct Copies {
    first: Mutex<HashMap<Key, First>>,
    hasher: RandomState,
}

/// A message that is being accepted.
struct First {
    content: u64,
    answer: Shared<Receiver>,
    waiting: usize,
}

impl Copies {
    /// Sends a command; or waits for the answer to the one of which it is a copy.
    pub(super) async fn submit(
        &self,
        command: Command,
        send: impl FnOnce(Command) -> Result<Receiver, Error>,
    ) -> Result<Accepted, Error> {
        let Action::Post(Post {
            message: Some(id),
            text,
            images,
            ..
        }) = &command.action
        else {
            return send(command)?.await.unwrap_or_else(|_| Err(stopping()));
        };
        let hashes: Vec<_> = images.iter().map(Image::hash).collect();
        let content = self.hasher.hash_one((text, hashes));
        let key = (command.session.clone(), id.clone());
        let waiting = match self.lock().entry(key.clone()) {
            Entry::Occupied(mut first) if first.get().content == content => {
                first.get_mut().waiting += 1;
                Ok(first.get().answer.clone())
            }
            Entry::Occupied(_) => Err(send(command)?),
            Entry::Vacant(free) => {
                let answer = send(command)?.shared();
                free.insert(First {
                    content,
                    answer: answer.clone(),
                    waiting: 1,
                });
                Ok(answer)
            }
        };
        let answer = match waiting {
            Ok(answer) => {
                let _here = Waiting { copies: self, key };
                answer.await
            }
            Err(other) => other.await,
        };
        answer.unwrap_or_else(|_| Err(stopping()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, First>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A client that waits for the answer, until it is dropped.
struct Waiting<'a> {
    copies: &'a Copies,
    key: Key,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut all = self.copies.lock();
        if let Some(first) = all.get_mut(&self.key) {
            first.waiting -= 1;
            if first.waiting == 0 {
                all.remove(&self.key);
            }
        }
    }
}
