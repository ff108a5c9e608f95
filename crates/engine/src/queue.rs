//! The messages of a session that wait: for their own turn, or to join the one that runs.
//!
//! The mailbox owns it; the turn that runs holds a handle and takes out what is to join it. What it
//! took comes back when it could not be kept.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::event::Entry;
use samovar_core::{Bounds, Message, Role, Seq, Situation, TurnId, planted};

use crate::counts::Gauge;
use crate::log::weight;

#[cfg(test)]
mod tests;

/// A message that waits for its turn.
#[derive(Clone, Debug)]
pub(crate) struct Queued {
    pub(crate) turn: TurnId,
    pub(crate) message: Arc<Message>,
    pub(crate) bounds: Bounds,
    pub(crate) entry: Entry,
    /// The situation of its own turn.
    pub(crate) situation: Option<Arc<Situation>>,
}

/// A message that has joined a turn: what became of the turn that it had.
#[derive(Clone, Debug)]
pub(crate) struct Joined {
    pub(crate) was: TurnId,
    pub(crate) now: TurnId,
    /// The position in front of the turn that it joined.
    pub(crate) after: Seq,
}

/// The result of removing a queued message.
#[derive(Debug)]
pub(crate) enum Removal {
    /// It was queued at this position and is removed.
    Out(usize, Queued),
    /// The running turn has taken it; it is not yet known whether it can be kept there.
    Joining,
    /// It is not queued.
    Nothing,
}

/// A handle to the messages that wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    gauge: Gauge,
    queued: VecDeque<Queued>,
    /// Taken by the turn that runs, and not kept as a part of it yet.
    joining: Vec<Queued>,
    joined: Vec<Joined>,
}

impl Queue {
    /// An empty one whose messages are counted here.
    pub(crate) fn counted(gauge: Gauge) -> Self {
        let waiting = Waiting {
            gauge,
            ..Waiting::default()
        };
        Self(Arc::new(Mutex::new(waiting)))
    }

    /// Adds a message: one that interrupts goes before all that do not.
    pub(crate) fn push(&self, queued: Queued) {
        let mut waiting = self.lock();
        planted!("interrupt-waits", {
            return waiting.queued.push_back(queued);
        });
        let at = match queued.entry {
            Entry::Interrupts => waiting.interrupting(),
            Entry::Own | Entry::Steers | Entry::Joined => waiting.queued.len(),
        };
        waiting.queued.insert(at, queued);
    }

    /// Takes out the message whose turn is next.
    pub(crate) fn pop(&self) -> Option<Queued> {
        self.lock().queued.pop_front()
    }

    /// The turn that is next.
    pub(crate) fn next(&self) -> Option<TurnId> {
        self.lock().queued.front().map(|next| next.turn.clone())
    }

    /// Takes out the message of a turn, so that nobody else does.
    pub(crate) fn take(&self, turn: &TurnId) -> Removal {
        let mut waiting = self.lock();
        if waiting.joining.iter().any(|one| one.turn == *turn) {
            return Removal::Joining;
        }
        let at = waiting.queued.iter().position(|one| one.turn == *turn);
        let taken = at.and_then(|at| Some((at, waiting.queued.remove(at)?)));
        taken.map_or(Removal::Nothing, |(at, queued)| Removal::Out(at, queued))
    }

    /// Puts back what was taken out.
    pub(crate) fn put_back(&self, at: usize, queued: Queued) {
        let mut waiting = self.lock();
        let at = at.min(waiting.queued.len());
        waiting.queued.insert(at, queued);
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        let waiting = self.lock();
        waiting.queued.len() + waiting.joining.len()
    }

    /// How many of them are results of children in the background.
    pub(crate) fn results(&self) -> usize {
        let waiting = self.lock();
        let all = waiting.queued.iter();
        all.filter(|one| one.message.role == Role::System).count()
    }

    /// How much memory those that wait take, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let waiting = self.lock();
        let all = waiting.queued.iter().chain(&waiting.joining);
        let bytes = |one: &Queued| {
            let situation = one.situation.as_ref();
            weight::of_message(&one.message) + situation.map_or(0, |situation| situation.bytes())
        };
        all.map(bytes).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one of them is to end the turn that runs.
    pub(crate) fn interrupts(&self) -> bool {
        self.lock().interrupting() > 0
    }

    /// Takes out what is to join the turn that runs, oldest first.
    pub(crate) fn take_steering(&self) -> Vec<Queued> {
        let mut waiting = self.lock();
        let all = std::mem::take(&mut waiting.queued).into_iter();
        let (steering, rest): (Vec<_>, Vec<_>) = all.partition(|one| one.entry == Entry::Steers);
        waiting.queued = rest.into();
        waiting.joining.extend(steering.iter().cloned());
        steering
    }

    /// Notes that what was taken out is a part of this turn, which begins behind `after`.
    pub(crate) fn have_joined(&self, now: &TurnId, after: Seq) {
        let mut waiting = self.lock();
        let joining = std::mem::take(&mut waiting.joining);
        waiting.joined.extend(joining.into_iter().map(|one| Joined {
            was: one.turn,
            now: now.clone(),
            after,
        }));
    }

    /// Puts back what was to join a turn and could not be kept, where it stood.
    pub(crate) fn give_back(&self) {
        let mut waiting = self.lock();
        for queued in std::mem::take(&mut waiting.joining) {
            // Ids of turns are made in the order of time.
            let is_later =
                |other: &Queued| other.entry != Entry::Interrupts && other.turn > queued.turn;
            let at = waiting.queued.iter().position(is_later);
            let at = at.unwrap_or(waiting.queued.len());
            waiting.queued.insert(at, queued);
        }
    }

    /// What has joined a turn since this was asked last.
    pub(crate) fn joined(&self) -> Vec<Joined> {
        std::mem::take(&mut self.lock().joined)
    }

    fn lock(&self) -> Locked<'_> {
        // Every change is one statement on a collection.
        Locked(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What waits, counted again when it is let go.
struct Locked<'a>(MutexGuard<'a, Waiting>);

impl Deref for Locked<'_> {
    type Target = Waiting;

    fn deref(&self) -> &Waiting {
        &self.0
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Waiting {
        &mut self.0
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let waiting = self.0.queued.len() + self.0.joining.len();
        self.0.gauge.set(waiting);
    }
}

impl Waiting {
    /// How many interrupt; they stand before the others.
    fn interrupting(&self) -> usize {
        let interrupts = |one: &&Queued| one.entry == Entry::Interrupts;
        self.queued.iter().take_while(interrupts).count()
    }
}
