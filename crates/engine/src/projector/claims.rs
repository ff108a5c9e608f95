//! Ids of messages that were accepted and that the history may lack still, so that no two sessions
//! take one while it lags.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::history::{Change, Projection};
use samovar_core::{MessageId, Role, SessionId};

#[cfg(test)]
mod tests;

/// Which session has which id. Holds what is not projected yet.
#[derive(Default)]
pub(crate) struct Claims(Mutex<HashMap<MessageId, SessionId>>);

/// Whose an id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// This session's from now on.
    Taken,
    /// This session's already: a message with it was accepted.
    Kept,
    /// Another session's.
    Refused,
}

/// What a projection has of messages whose ids clients may choose.
pub(super) struct ProjectedIds {
    session: SessionId,
    ids: Vec<MessageId>,
}

impl ProjectedIds {
    pub(super) fn of(projection: &Projection) -> Self {
        let mut ids = Vec::new();
        for (_, change) in &projection.changes {
            if let Change::Put { message, .. } = change
                && (message.role == Role::User || message.is_appended())
            {
                ids.push(message.id.clone());
            }
        }
        Self {
            session: projection.session.clone(),
            ids,
        }
    }
}

impl Claims {
    /// Takes an id for a session, unless one has it.
    pub(crate) fn take(&self, id: &MessageId, session: &SessionId) -> Claim {
        match self.lock().entry(id.clone()) {
            Entry::Vacant(free) => {
                free.insert(session.clone());
                Claim::Taken
            }
            Entry::Occupied(owner) if owner.get() == session => Claim::Kept,
            Entry::Occupied(_) => Claim::Refused,
        }
    }

    /// Gives an id back that the session did not use.
    pub(crate) fn give_back(&self, id: &MessageId, session: &SessionId) {
        let mut claims = self.lock();
        if claims.get(id) == Some(session) {
            claims.remove(id);
        }
    }

    /// Lets go of what the history has from now on.
    pub(super) fn projected(&self, said: ProjectedIds) {
        for id in said.ids {
            self.give_back(&id, &said.session);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<MessageId, SessionId>> {
        // Every change is one call of the map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
