//! One connection to the relay: what it says, and what comes to it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::relay::{Envelope, MessageKind};
use tokio::time::sleep_until;

use crate::backend_data::strip_backend_data;
use crate::cell::{Cell, refuse};
use crate::queue::{Disconnected, Queue};
use crate::relay::{Pass, Relay, TooMany};
use crate::room::{Join, Key, Refusal, not_joined, read_join};

/// A connected member: in no room at first, then in the one that its `relay.join` names. Dropping
/// it leaves the room.
pub struct Member {
    relay: Relay,
    key: Key,
    pass: Pass,
    queue: Arc<Queue>,
    seat: Mutex<Option<Seat>>,
}

/// Where a member is.
#[derive(Clone)]
struct Seat {
    cell: Arc<Cell>,
    join: Join,
}

impl Member {
    pub(crate) fn new(relay: Relay, key: Key, pass: Pass, queue_bytes: usize) -> Self {
        Self {
            relay,
            key,
            pass,
            queue: Arc::new(Queue::new(queue_bytes)),
            seat: Mutex::default(),
        }
    }

    /// What this member says. Whatever is wrong with it comes back as an `error`. Done when it has
    /// happened, which waits for a disk when a study session ends. When it is dropped halfway, it has
    /// been said.
    pub async fn say(&self, envelope: Envelope) {
        if self.queue.is_gone() {
            return;
        }
        if envelope.kind == MessageKind::RelayJoin {
            return self.join(envelope);
        }
        let Some(seat) = self.seat().clone() else {
            return refuse(&self.queue, &not_joined(), envelope.id);
        };
        let flushed = seat.cell.said(self.key, envelope);
        self.relay.forget(&seat.cell);
        if let Some(flushed) = flushed
            && let Err(error) = flushed.await
        {
            tracing::error!(%error, "a study log could not be synced");
        }
    }

    /// This member sent something that is not a message, for this reason.
    pub fn malformed(&self, reply_to: Option<String>, why: String) {
        if !self.queue.is_gone() {
            self.refuse(&Refusal::message(why), reply_to);
        }
    }

    /// The next message. Safe to drop halfway: a message is taken only when it is returned.
    ///
    /// While this waits, the relay answers requests of this member that the host does not answer in
    /// time.
    ///
    /// # Errors
    /// [`Disconnected`]: nothing more comes.
    pub async fn next(&mut self) -> Result<Arc<Envelope>, Disconnected> {
        loop {
            if let Some(envelope) = self.queue.pop()? {
                return Ok(envelope);
            }
            let cell = self.seat().as_ref().map(|seat| seat.cell.clone());
            let deadline = cell.as_ref().and_then(|cell| cell.deadline());
            let due = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            // All are only waited for: what is there is taken above.
            tokio::select! {
                () = self.relay.closed() => self.queue.close(Disconnected::Closed),
                () = self.queue.changed() => {}
                () = due => {
                    if let Some(cell) = cell {
                        cell.tick();
                        self.relay.forget(&cell);
                    }
                }
            }
        }
    }

    fn join(&self, mut envelope: Envelope) {
        // Whoever it was, it may be a host from now on.
        strip_backend_data(&mut envelope.payload);
        let judged = read_join(&envelope).and_then(|join| self.judge(join));
        if let Err(refusal) = judged.and_then(|join| self.go(&join, &envelope)) {
            self.refuse(&refusal, envelope.id);
        }
    }

    /// Whether this member may go there (RL-5).
    fn judge(&self, join: Join) -> Result<Join, Refusal> {
        match &self.pass {
            Pass::Only { room, role } if (room, role) != (&join.room, &join.role) => {
                let role = role.as_str();
                let why = format!("your token is for the role {role} in room {room:?} alone");
                Err(Refusal::inactive(why))
            }
            Pass::Any | Pass::Only { .. } => Ok(join),
        }
    }

    /// Goes into a room, out of the one where it was. When there is no place for it, it stays there.
    fn go(&self, join: &Join, asked: &Envelope) -> Result<(), Refusal> {
        loop {
            let cell = self.relay.room(&join.room).map_err(|TooMany| {
                Refusal::inactive("there are as many rooms as there may be; try again later")
            })?;
            let place = cell.has_place(self.key, join.role);
            if let Err(refusal) = place {
                self.relay.forget(&cell);
                return Err(refusal);
            }
            let seat = self.seat().clone();
            if let Some(seat) = seat.filter(|seat| seat.join != *join) {
                self.leave(&seat);
            }
            let joined = cell.join((self.key, &self.queue), join.role, asked);
            self.relay.forget(&cell);
            // A room that was given up in this moment is created again by the next try.
            if let Ok(is_in) = joined {
                let join = join.clone();
                *self.seat() = is_in.then_some(Seat { cell, join });
                return Ok(());
            }
        }
    }

    fn leave(&self, seat: &Seat) {
        seat.cell.left(self.key);
        self.relay.forget(&seat.cell);
        *self.seat() = None;
    }

    /// Tells this member why something was refused, and notes that where it is in a room.
    fn refuse(&self, refusal: &Refusal, reply_to: Option<String>) {
        match self.seat().clone() {
            Some(seat) => {
                seat.cell.refused(self.key, refusal, reply_to);
                self.relay.forget(&seat.cell);
            }
            None => refuse(&self.queue, refusal, reply_to),
        }
    }

    fn seat(&self) -> MutexGuard<'_, Option<Seat>> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let seat = self.seat().clone();
        if let Some(seat) = seat {
            self.leave(&seat);
        }
    }
}
