//! A message that comes again: from a client that did not hear whether it was accepted, over two
//! connections at once, after a restart. It joins its turn; there is never a second one.

use std::fmt::Display;
use std::sync::Arc;

use samovar_core::history::MessageRow;
use samovar_core::{Accepted, Code, Error, Event, Message, MessageId, Role, Seq, TurnId, planted};
use samovar_locale as locale;

use super::Mailbox;
use crate::parts::refusal;
use crate::projector::Claim;
use crate::state::recent::Content;

/// The reply to a message, given what was kept of it.
pub(super) fn posted(message: &Message, turn: &TurnId, kept: &[Arc<Event>]) -> Accepted {
    let before = kept.first().map(|event| Seq(event.seq.0 - 1));
    Accepted::Posted {
        message: message.id.clone(),
        turn: turn.clone(),
        after: before.unwrap_or_default(),
    }
}

impl Mailbox {
    /// A message that was accepted before: the same content joins its turn, another is refused
    /// (SA-10). One that is new has its id taken for this session: whoever fails to accept it must
    /// give the id back.
    pub(super) async fn known(
        &mut self,
        id: &MessageId,
        content: &Content,
    ) -> Result<Option<Accepted>, Error> {
        let Some(open) = &self.open else {
            return Ok(None);
        };
        planted!("forget-duplicate", {
            return Ok(None);
        });
        if let Some(known) = open.session.state.lock().recent.recall(id) {
            if known.content != *content {
                return Err(another_content(id));
            }
            return Ok(Some(Accepted::Posted {
                message: id.clone(),
                turn: known.turn.clone(),
                after: known.after,
            }));
        }
        match self.find_or_claim(id).await? {
            Some(row) => self.join(id, &row, content).await.map(Some),
            None => Ok(None),
        }
    }

    /// What the history has under an id. `None` takes the id for this session: the caller must give it
    /// back if it keeps nothing under it.
    pub(super) async fn find_or_claim(&self, id: &MessageId) -> Result<Option<MessageRow>, Error> {
        let session = self.id.clone();
        let (projector, wait) = (&self.parts.projector, self.parts.settings.read_wait);
        // What a former run accepted is known to nobody until the history has it.
        let is_whole = projector.took_over(wait).await;
        let claim = projector.claims().take(id, &session);
        let stored = self.stored(id, claim).await?;
        if is_whole && claim == Claim::Taken && stored.is_none() {
            return Ok(None);
        }
        // Somebody has it, or had it a moment ago: a turn may have been taken back, and a session
        // deleted, that the history still has.
        if !self.parts.projector.caught_up(wait).await {
            self.let_go(id, claim);
            let why = locale::message::not_caught_up(shown(id));
            return Err(Error::new(Code::Unavailable, why));
        }
        let claim = match claim {
            Claim::Taken => claim,
            // What the history has is nobody's claim any more.
            Claim::Kept | Claim::Refused => self.parts.projector.claims().take(id, &session),
        };
        match (self.stored(id, claim).await?, claim) {
            (Some(row), _) => {
                self.let_go(id, claim);
                Ok(Some(row))
            }
            (None, Claim::Taken | Claim::Kept) => Ok(None),
            (None, Claim::Refused) => Err(another_session(id)),
        }
    }

    /// What the history has under an id; the claim is let go when it cannot say.
    async fn stored(&self, id: &MessageId, claim: Claim) -> Result<Option<MessageRow>, Error> {
        let stored = self.parts.history.message(id).await;
        stored.map_err(|broken| {
            self.let_go(id, claim);
            refusal(broken)
        })
    }

    fn let_go(&self, id: &MessageId, claim: Claim) {
        if claim == Claim::Taken {
            self.parts.projector.claims().give_back(id, &self.id);
        }
    }

    /// Joins the turn of a message that the history has.
    async fn join(
        &self,
        id: &MessageId,
        row: &MessageRow,
        content: &Content,
    ) -> Result<Accepted, Error> {
        if row.session != self.id {
            return Err(another_session(id));
        }
        let Some(turn) = row.turn.clone().filter(|_| row.message.role == Role::User) else {
            return Err(conflict(locale::message::already_kept(shown(id))));
        };
        if Content::of_message(&row.message) != *content {
            return Err(another_content(id));
        }
        let first = self.parts.history.turn_from(&self.id, &turn).await;
        let first = first.map_err(refusal)?.unwrap_or_default();
        Ok(Accepted::Posted {
            message: id.clone(),
            turn,
            after: Seq(first.0.saturating_sub(1)),
        })
    }
}

pub(super) fn another_content(id: &MessageId) -> Error {
    conflict(locale::message::another_content(shown(id)))
}

pub(super) fn another_session(id: &MessageId) -> Error {
    conflict(locale::message::another_session(shown(id)))
}

fn conflict(why: String) -> Error {
    Error::new(Code::MessageConflict, why)
}

fn shown(id: &MessageId) -> impl Display {
    locale::quoted(id.as_str())
}
