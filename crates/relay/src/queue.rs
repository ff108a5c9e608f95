//! What waits for a member to take it, bounded in bytes (RL-2).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::relay::{Envelope, MessageKind};
use tokio::sync::Notify;

/// Why nothing more comes to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnected {
    /// Another host has its place.
    Replaced,
    /// It took too little for too long: its queue is full.
    Overrun,
    /// The relay has closed.
    Closed,
}

/// Where a state that waits stands in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowAddress {
    pub(crate) session: Arc<str>,
    pub(crate) index: u64,
}

/// A message on its way to a member.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) envelope: Arc<Envelope>,
    /// What it takes in the queue.
    pub(crate) bytes: usize,
    pub(crate) logged: Option<RowAddress>,
}

/// The queue of one member.
pub(crate) struct Queue {
    max_bytes: usize,
    state: Mutex<State>,
    bell: Notify,
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    gone: Option<Disconnected>,
}

impl Queue {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
            bell: Notify::new(),
        }
    }

    /// Bytes that may wait in it.
    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Puts a message in. When there is no room for it the member is gone, with all that waits.
    ///
    /// # Errors
    /// [`Disconnected`], when it was before or is now.
    pub(crate) fn push(&self, item: Item) -> Result<(), Disconnected> {
        let mut state = self.state();
        if let Some(gone) = state.gone {
            return Err(gone);
        }
        let bytes = state.bytes + item.bytes;
        let is_overrun = bytes > self.max_bytes;
        state.bytes = bytes;
        state.items.push_back(item);
        if is_overrun {
            state.gone = Some(Disconnected::Overrun);
        }
        drop(state);
        self.bell.notify_one();
        if is_overrun {
            return Err(Disconnected::Overrun);
        }
        Ok(())
    }

    /// Takes the states out that wait, when there is so much in the queue that a newer one had better
    /// take their place.
    pub(crate) fn take_stale(&self) -> Vec<Item> {
        let mut state = self.state();
        if state.bytes <= self.max_bytes / 4 || state.gone.is_some() {
            return Vec::new();
        }
        let is_old = |item: &Item| item.envelope.kind == MessageKind::StateUpdated;
        let items = std::mem::take(&mut state.items).into_iter();
        let (taken, rest): (Vec<_>, Vec<_>) = items.partition(is_old);
        state.items = rest.into();
        state.bytes -= taken.iter().map(|item| item.bytes).sum::<usize>();
        taken
    }

    /// Puts those back, because nothing took their place.
    pub(crate) fn put_back(&self, items: Vec<Item>) {
        let mut state = self.state();
        state.bytes += items.iter().map(|item| item.bytes).sum::<usize>();
        state.items.extend(items);
    }

    /// Nothing more comes; what waits is still taken.
    pub(crate) fn close(&self, gone: Disconnected) {
        self.state().gone.get_or_insert(gone);
        self.bell.notify_one();
    }

    /// Whether nothing more comes.
    pub(crate) fn is_gone(&self) -> bool {
        self.state().gone.is_some()
    }

    /// How many messages wait.
    pub(crate) fn len(&self) -> usize {
        self.state().items.len()
    }

    /// The next message; none when there is none yet.
    ///
    /// # Errors
    /// [`Disconnected`], at once when the queue is full and else when all was taken.
    pub(crate) fn pop(&self) -> Result<Option<Arc<Envelope>>, Disconnected> {
        let mut state = self.state();
        if state.gone == Some(Disconnected::Overrun) {
            return Err(Disconnected::Overrun);
        }
        match state.items.pop_front() {
            Some(item) => {
                state.bytes -= item.bytes;
                Ok(Some(item.envelope))
            }
            None => state.gone.map_or(Ok(None), Err),
        }
    }

    /// Waits until there may be something to take. Safe to drop halfway.
    pub(crate) async fn changed(&self) {
        self.bell.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
